"""Samples of a challenge as participants fetch them: all of them laid ready, or a few of them looked at."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from segarena.errors import DatasetError, InvalidInput
from segarena_server.challenges.description import ChallengeDescription
from segarena_server.challenges.evaluator import Evaluator, PackedSample
from segarena_server.challenges.run_plan import challenge_info
from segarena_server.storage.content_store import Storage

ProgressContext = Callable[[int, int], AbstractContextManager[object]]
"""What each sample is opened within, given how many are done and of how many: it tells of it, or limits it."""

MAX_PREVIEWED_SAMPLES = 6
"""Samples of a pool that are opened to say what all of them would be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntry:
    """A sample that lies ready; its fields are those of `segarena_server.db.orm_models.PooledSample`."""

    pool: str
    number: int
    sample: str
    sha256: str
    bytes: int
    dialogues: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePool:
    """What lies ready for a challenge.

    Attributes:
        rows: that runs can draw.
        unusable: samples that cannot be used, with the reason.
    """

    rows: tuple[PoolEntry, ...]
    unusable: tuple[str, ...] = ()

    @property
    def samples(self) -> int:
        """How many there are."""
        return len(self.rows)

    @property
    def dialogues(self) -> int:
        """How many there are about them."""
        return sum(len(json.loads(row.dialogues)) for row in self.rows)

    @property
    def bytes(self) -> int:
        """How many a participant fetches to have all."""
        return sum(row.bytes for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePreview:
    """What a phase would be.

    Attributes:
        phase: its name.
        pool: how many samples can be drawn.
        samples: of a run.
        dialogues, megabytes: of a run, from the samples that were looked at.
        rounds: of a dialogue at most.
        lay_s: about how long it takes to lay the pool ready.
        unusable: of the samples that were looked at, those that cannot be used, with the reason.
    """

    phase: str
    pool: int
    samples: int
    dialogues: float
    megabytes: float
    rounds: int
    lay_s: float
    unusable: tuple[str, ...]


def pools_of(described: ChallengeDescription) -> dict[str, str]:
    """Return the pools of a challenge, each with a phase that draws from it."""
    return {described.pool(phase): phase.name for phase in reversed(described.phases)}


def build_pool(
    evaluator: Evaluator,
    described: ChallengeDescription,
    pools: Collection[str],
    storage: Storage,
    watch: ProgressContext,
) -> SamplePool:
    """Keep every sample of some pools as participants get it.

    Raises:
        InvalidInput: no sample can be used.
        SegarenaError: something cannot be built, or nothing can be kept.
    """
    phases = {pool: phase for pool, phase in pools_of(described).items() if pool in pools}
    names = [
        (pool, phase, name) for pool, phase in phases.items() for name in evaluator.samples(phase)
    ]
    rows = list[PoolEntry]()
    unusable = list[str]()
    for number, (pool, phase, name) in enumerate(names):
        with watch(number, len(names)):
            sample = _opened(evaluator, phase, name, unusable)
        if sample is not None:
            rows.append(
                PoolEntry(
                    pool=pool,
                    number=number,
                    sample=name,
                    sha256=storage.keep(sample.body),
                    bytes=len(sample.body),
                    dialogues=json.dumps(sample.dialogues),
                )
            )
    laid = SamplePool(rows=tuple(rows), unusable=tuple(unusable))
    if pools and not laid.dialogues:
        raise InvalidInput(
            f"no sample can be used: {'; '.join(unusable[:3]) or 'nothing would be asked about any'}"
        )
    return laid


def preview_phases(
    evaluator: Evaluator, described: ChallengeDescription, watch: ProgressContext
) -> list[PhasePreview]:
    """Return what the phases of a challenge would be; a few samples of each pool are opened, nothing is kept.

    Raises:
        SegarenaError: something cannot be built.
    """
    rounds = {phase.name: phase.rounds for phase in challenge_info(described).phases}
    seen = {
        pool: _look_into(evaluator, phase, watch) for pool, phase in pools_of(described).items()
    }
    return [
        _phase_look(described, phase.name, seen[described.pool(phase)], rounds)
        for phase in described.phases
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    names: Sequence[str]
    sizes: Sequence[int]
    dialogues: Sequence[int]
    seconds: float
    unusable: tuple[str, ...]


def _look_into(evaluator: Evaluator, phase: str, watch: ProgressContext) -> _Seen:
    """Open a few samples of a phase's pool, spread over it."""
    names = evaluator.samples(phase)
    unusable = list[str]()
    samples = list[PackedSample]()
    chosen = names[:: max(1, -(-len(names) // MAX_PREVIEWED_SAMPLES))]
    started = time.perf_counter()
    for number, name in enumerate(chosen):
        with watch(number, len(chosen)):
            sample = _opened(evaluator, phase, name, unusable)
        samples += [] if sample is None else [sample]
    return _Seen(
        names=names,
        sizes=[len(sample.body) for sample in samples],
        dialogues=[len(sample.dialogues) for sample in samples],
        seconds=(time.perf_counter() - started) / max(1, len(chosen)),
        unusable=tuple(unusable),
    )


def _phase_look(
    described: ChallengeDescription, name: str, seen: _Seen, rounds: dict[str, int]
) -> PhasePreview:
    per_run = described.phase(name).samples_per_run or len(seen.names)
    count = max(1, len(seen.sizes))
    samples = min(per_run, len(seen.names))
    return PhasePreview(
        phase=name,
        pool=len(seen.names),
        samples=samples,
        dialogues=samples * sum(seen.dialogues) / count,
        megabytes=samples * sum(seen.sizes) / count / 1e6,
        rounds=rounds[name],
        lay_s=seen.seconds * len(seen.names),
        unusable=seen.unusable,
    )


def _opened(
    evaluator: Evaluator, phase: str, name: str, unusable: list[str]
) -> PackedSample | None:
    """Return a sample; None, with the reason in `unusable`, where it cannot be used."""
    try:
        return evaluator.sample(phase, name)
    except (DatasetError, InvalidInput) as error:
        unusable.append(f"{name}: {error}")
        return None

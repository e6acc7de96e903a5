"""The samples of a challenge as participants download them: stored for all of a pool, or previewed for a few."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from segarena.errors import DatasetError, InvalidInput
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.evaluator import Evaluator, PackedSample
from segarena_server.challenges.run_plan import challenge_info
from segarena_server.storage.content_store import ContentStore

ProgressContext = Callable[[int, int], AbstractContextManager[object]]
"""Context in which each sample is processed, given the number of samples before it and of all samples.

It reports progress, or limits the time of a sample.
"""

MAX_PREVIEWED_SAMPLES = 6
"""Number of samples opened to estimate the size of a pool."""
_MAX_LISTED = 3
_BYTES_PER_MEGABYTE = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntry:
    """A stored sample; its fields are those of `segarena_server.db.orm_models.PooledSample`."""

    pool: str
    number: int
    sample: str
    sha256: str
    bytes: int
    dialogues: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePool:
    """The stored samples of a challenge.

    Attributes:
        rows: the samples that runs can draw.
        unusable: names of samples that cannot be used, each with the reason.
    """

    rows: tuple[PoolEntry, ...]
    unusable: tuple[str, ...] = ()

    @property
    def samples(self) -> int:
        """The number of samples."""
        return len(self.rows)

    @property
    def dialogues(self) -> int:
        """The number of dialogues about all samples."""
        return sum(len(json.loads(row.dialogues)) for row in self.rows)

    @property
    def bytes(self) -> int:
        """The size of all samples, as a participant downloads them."""
        return sum(row.bytes for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePreview:
    """Estimated size of a phase.

    Attributes:
        phase: its name.
        pool: the number of samples to draw from.
        samples: of a run.
        dialogues: of a run, estimated from the opened samples.
        megabytes: of a run, estimated from the opened samples.
        rounds: of a dialogue at most.
        lay_s: estimated seconds to store the pool.
        unusable: opened samples that cannot be used, each with the reason.
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
    """Return the pools of a challenge, each with the first phase that draws from it."""
    return {described.pool(phase): phase.name for phase in reversed(described.phases)}


def build_pool(
    evaluator: Evaluator,
    described: ChallengeDescription,
    pools: Collection[str],
    storage: ContentStore,
    progress: ProgressContext,
) -> SamplePool:
    """Store all samples of some pools as participants will receive them.

    Raises:
        InvalidInput: no sample can be used.
        SegarenaError: something cannot be built, or nothing can be stored.
    """
    samples: list[tuple[str, str, str]] = []
    for pool, phase in pools_of(described).items():
        if pool in pools:
            samples += [(pool, phase, name) for name in evaluator.samples(phase)]
    rows: list[PoolEntry] = []
    unusable: list[str] = []
    for number, (pool, phase, name) in enumerate(samples):
        with progress(number, len(samples)):
            sample = _open_sample(evaluator, phase, name, unusable)
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
    built = SamplePool(rows=tuple(rows), unusable=tuple(unusable))
    if pools and not built.dialogues:
        reasons = "; ".join(unusable[:_MAX_LISTED]) or "nothing would be asked about any"
        raise InvalidInput(f"no sample can be used: {reasons}")
    return built


def preview_phases(
    evaluator: Evaluator, described: ChallengeDescription, progress: ProgressContext
) -> list[PhasePreview]:
    """Estimate the size of each phase; open a few samples of each pool, and store none.

    Raises:
        SegarenaError: something cannot be built.
    """
    rounds = {phase.name: phase.rounds for phase in challenge_info(described).phases}
    probes = {
        pool: _probe_pool(evaluator, phase, progress) for pool, phase in pools_of(described).items()
    }
    return [
        _phase_preview(phase, probes[described.pool(phase)], rounds[phase.name])
        for phase in described.phases
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _PoolProbe:
    """Measurements of a few samples of a pool.

    Attributes:
        samples: the number of samples in the pool.
        sizes: of the opened samples in bytes.
        dialogues: their numbers of dialogues.
        seconds: mean time to open one.
        unusable: those that cannot be used, each with the reason.
    """

    samples: int
    sizes: Sequence[int]
    dialogues: Sequence[int]
    seconds: float
    unusable: tuple[str, ...]


def _probe_pool(evaluator: Evaluator, phase: str, progress: ProgressContext) -> _PoolProbe:
    """Open a few samples, spread evenly over the pool of a phase."""
    names = evaluator.samples(phase)
    step = max(1, -(-len(names) // MAX_PREVIEWED_SAMPLES))
    chosen = names[::step]
    unusable: list[str] = []
    samples: list[PackedSample] = []
    started = time.perf_counter()
    for number, name in enumerate(chosen):
        with progress(number, len(chosen)):
            sample = _open_sample(evaluator, phase, name, unusable)
        if sample is not None:
            samples.append(sample)
    elapsed_s = time.perf_counter() - started
    return _PoolProbe(
        samples=len(names),
        sizes=[len(sample.body) for sample in samples],
        dialogues=[len(sample.dialogues) for sample in samples],
        seconds=elapsed_s / max(1, len(chosen)),
        unusable=tuple(unusable),
    )


def _phase_preview(phase: Phase, probe: _PoolProbe, rounds: int) -> PhasePreview:
    opened = max(1, len(probe.sizes))
    samples = min(phase.samples_per_run or probe.samples, probe.samples)
    return PhasePreview(
        phase=phase.name,
        pool=probe.samples,
        samples=samples,
        dialogues=samples * sum(probe.dialogues) / opened,
        megabytes=samples * sum(probe.sizes) / opened / _BYTES_PER_MEGABYTE,
        rounds=rounds,
        lay_s=probe.seconds * probe.samples,
        unusable=probe.unusable,
    )


def _open_sample(
    evaluator: Evaluator, phase: str, name: str, unusable: list[str]
) -> PackedSample | None:
    """Return a packed sample; for one that cannot be used add the reason to `unusable` and return None."""
    try:
        return evaluator.sample(phase, name)
    except (DatasetError, InvalidInput) as error:
        unusable.append(f"{name}: {error}")
        return None

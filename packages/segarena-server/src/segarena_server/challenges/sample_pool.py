"""The samples of a challenge as participants download them: storing whole pools, and previewing a few samples."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from segarena.errors import DatasetError, InvalidInput
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.evaluator import Evaluator, PackedSample
from segarena_server.challenges.run_plan import challenge_info
from segarena_server.challenges.run_sizes import run_sizes, with_run_sizes
from segarena_server.challenges.sample_overlap import (
    PhaseSamples,
    SampleSignature,
    revealed_tests,
    signature_of_body,
)
from segarena_server.storage.content_store import ContentStore

ProgressContext = Callable[[int, int], AbstractContextManager[object]]
"""Context in which each sample is processed, given the number of samples before it and the total number.

It reports progress, or limits the time per sample.
"""

MAX_PREVIEWED_SAMPLES = 6
"""Number of samples that are opened to estimate the size of a pool."""
_MAX_LISTED = 3
_BYTES_PER_MEGABYTE = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntry:
    """A stored sample; its fields are columns of `segarena_server.db.orm_models.PooledSample`."""

    pool: str
    number: int
    sample: str
    sha256: str
    bytes: int
    dialogues: str
    greys: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePool:
    """The stored samples of a challenge.

    Attributes:
        rows: the samples that runs can draw.
        unusable: names of unusable samples, each with the reason.
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
        phase: name of the phase.
        pool: number of samples to draw from.
        samples: number of samples of a run.
        dialogues: number of dialogues of a run, estimated from the opened samples.
        megabytes: size of a run, estimated from the opened samples.
        rounds: maximum rounds of a dialogue.
        lay_s: estimated seconds to store the pool.
        unusable: opened samples that are unusable, each with the reason.
        lasts: a sentence about how long the samples last for a team.
    """

    phase: str
    pool: int
    samples: int
    dialogues: float
    megabytes: float
    rounds: int
    lay_s: float
    unusable: tuple[str, ...]
    lasts: str


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
    """Store all samples of some pools in the form that participants download.

    Raises:
        InvalidInput: no sample is usable.
        SegarenaError: an object cannot be built, or a sample cannot be stored.
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
                    greys=signature_of_body(sample.body).greys,
                )
            )
    built = SamplePool(rows=tuple(rows), unusable=tuple(unusable))
    if pools and not built.dialogues:
        reasons = "; ".join(unusable[:_MAX_LISTED]) or "none of them has a dialogue"
        raise InvalidInput(f"no sample can be used: {reasons}")
    return built


def preview_phases(
    evaluator: Evaluator,
    described: ChallengeDescription,
    progress: ProgressContext,
) -> list[PhasePreview]:
    """Estimate the size of each phase from a few opened samples of each pool, without storing any.

    If a practice and a test phase draw from different pools, all samples are opened to compare
    them.

    Raises:
        InvalidInput: a practice phase reveals the ground truth of a test phase, or there are too few
            samples.
        SegarenaError: an object cannot be built.
    """
    rounds = {phase.name: phase.rounds for phase in challenge_info(described).phases}
    probes = {
        pool: _probe_pool(evaluator, phase, progress) for pool, phase in pools_of(described).items()
    }
    check_practices(_opened_phases(evaluator, described, progress))
    pool_sizes = {pool: probe.samples for pool, probe in probes.items()}
    sized = with_run_sizes(described, pool_sizes)
    previews: list[PhasePreview] = []
    for phase, size in zip(sized.phases, run_sizes(sized, pool_sizes), strict=True):
        probe = probes[described.pool(phase)]
        previews.append(_phase_preview(phase, probe, rounds[phase.name], f"{size}"))
    return previews


def check_practices(phases: Sequence[PhaseSamples], about: str = "") -> None:
    """Raise `InvalidInput` if a practice phase reveals the ground truth of a test phase; see `revealed_tests`."""
    lines = revealed_tests(phases, about)
    if lines:
        raise InvalidInput(
            f"practice_may_reveal_test: {'; '.join(lines)}. Use other samples in the practice phase; or allow it with "
            "--practice-may-reveal-test, on the page, or in the description"
        )


def check_shared_pools(described: ChallengeDescription) -> None:
    """Raise `InvalidInput` if a practice and a test phase draw from one pool without permission; open no sample."""
    if described.practice_may_reveal_test:
        return
    tests = {described.pool(phase): phase for phase in described.phases if phase.kind == "test"}
    for number, phase in enumerate(described.phases):
        test = tests.get(described.pool(phase))
        if phase.kind == "practice" and test is not None:
            raise InvalidInput(
                f"phases[{number}].dataset: expected samples other than those of {test.name}, "
                "because a practice phase shows their ground truth; name another dataset, or "
                "allow it by --practice-may-reveal-test, on the page, or in the description"
            )


def phase_samples(
    described: ChallengeDescription,
    signatures: Mapping[str, Sequence[tuple[str, SampleSignature]]],
) -> list[PhaseSamples]:
    """Return the samples that runs of each phase can draw.

    Args:
        described: the challenge.
        signatures: names and signatures of the samples of each pool, in order.
    """
    phases: list[PhaseSamples] = []
    for phase in described.phases:
        samples = signatures.get(described.pool(phase), ())
        if phase.kind == "practice":
            # All runs of a practice phase use the first samples of its pool.
            samples = samples[: phase.samples_per_run]
        phases.append(
            PhaseSamples(
                challenge=described.slug,
                phase=phase.name,
                kind=phase.kind,
                may_reveal=described.practice_may_reveal_test,
                samples=samples,
            )
        )
    return phases


def _opened_phases(
    evaluator: Evaluator,
    described: ChallengeDescription,
    progress: ProgressContext,
) -> list[PhaseSamples]:
    """Open the samples of all phases if practice and test phases may not share any; otherwise return []."""
    kinds = {phase.kind for phase in described.phases}
    if len(kinds) == 1 or described.practice_may_reveal_test:
        return []
    check_shared_pools(described)
    signatures: dict[str, list[tuple[str, SampleSignature]]] = {}
    for pool, phase in pools_of(described).items():
        names = evaluator.samples(phase)
        signatures[pool] = []
        for number, name in enumerate(names):
            with progress(number, len(names)):
                sample = _open_sample(evaluator, phase, name, [])
            if sample is not None:
                signatures[pool].append((name, signature_of_body(sample.body)))
    return phase_samples(described, signatures)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PoolProbe:
    """Measurements of a few samples of a pool.

    Attributes:
        samples: number of samples in the pool.
        sizes: sizes of the opened samples in bytes.
        dialogues: number of dialogues of each opened sample.
        seconds: mean time to open one sample.
        unusable: opened samples that are unusable, each with the reason.
    """

    samples: int
    sizes: Sequence[int]
    dialogues: Sequence[int]
    seconds: float
    unusable: tuple[str, ...]


def _probe_pool(
    evaluator: Evaluator,
    phase: str,
    progress: ProgressContext,
) -> _PoolProbe:
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


def _phase_preview(
    phase: Phase,
    probe: _PoolProbe,
    rounds: int,
    lasts: str,
) -> PhasePreview:
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
        lasts=lasts,
    )


def _open_sample(
    evaluator: Evaluator,
    phase: str,
    name: str,
    unusable: list[str],
) -> PackedSample | None:
    """Return an encoded sample; if it cannot be used, add the reason to `unusable` and return None."""
    try:
        return evaluator.sample(phase, name)
    except (DatasetError, InvalidInput) as error:
        unusable.append(f"{name}: {error}")
        return None

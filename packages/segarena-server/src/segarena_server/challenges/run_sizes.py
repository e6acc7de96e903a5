"""Choice of how many samples a run has and how many runs are ranked, so that the samples of a pool last.

A ranked run needs samples that are new to its team. A pool of 300 samples therefore lasts for ten
ranked runs of 30 samples, or for one run of all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from segarena.errors import InvalidInput
from segarena.reports.wording import count_text
from segarena_server.challenges.description import ChallengeDescription, Phase

MAX_RANKED_RUNS = 10
"""Maximum number of ranked runs chosen for a large pool. Each further one is another chance of a lucky score."""
MIN_SAMPLES_PER_RUN = 30
"""Several ranked runs are chosen only with at least this many samples each; with fewer, intervals become wide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSizes:
    """How long the samples of a phase last for one team.

    Attributes:
        phase: name of the phase.
        samples: number of samples in its pool.
        samples_per_run: number of samples of a run.
        ranked_runs: number of ranked runs of a team; None for no limit.
        is_practice: whether the ground truth is visible, so that ranks prove nothing.
    """

    phase: str
    samples: int
    samples_per_run: int
    ranked_runs: int | None
    is_practice: bool

    def __str__(self) -> str:
        samples = f"{self.phase}: {count_text(self.samples, 'sample')}"
        if self.is_practice:
            return f"{samples}: every run uses the same {self.samples_per_run}; ranks in a practice phase prove nothing"
        if self.ranked_runs is None:
            return f"{samples}: any number of ranked runs of {self.samples_per_run} for each team"
        runs = count_text(self.ranked_runs, "ranked run")
        return f"{samples}: {runs} of {self.samples_per_run} for each team"


def with_run_sizes(
    described: ChallengeDescription, pool_sizes: Mapping[str, int]
) -> ChallengeDescription:
    """Fill in the numbers of samples per run and of ranked runs in the test phases of a challenge.

    Numbers set by the organiser stay. Test phases that draw from the same pool share its samples
    equally, except phases that accept only programs: a submitted program sees every sample without
    its team.

    Args:
        described: the challenge.
        pool_sizes: number of usable samples by pool; phases of other pools stay as they are.

    Raises:
        InvalidInput: the organiser's number of ranked runs needs more samples than the pool has.
    """
    shares = _shares(described, pool_sizes)
    phases: list[Phase] = []
    for number, phase in enumerate(described.phases):
        samples = shares.get(number)
        phases.append(phase if samples is None else _with_sizes(phase, samples))
    sized = msgspec.structs.replace(described, phases=tuple(phases))
    _check_pools_last(described, sized, pool_sizes)
    return sized


def with_known_run_sizes(
    before: ChallengeDescription,
    after: ChallengeDescription,
    begun: Collection[str],
) -> ChallengeDescription:
    """Keep the numbers that a changed challenge omits in phases with runs.

    Args:
        before: the current description.
        after: the new description, which may omit the numbers.
        begun: names of the phases that have runs.
    """
    known = {phase.name: phase for phase in before.phases if phase.name in begun}
    phases: list[Phase] = []
    for phase in after.phases:
        old = known.get(phase.name)
        if old is not None:
            phase = msgspec.structs.replace(
                phase,
                samples_per_run=phase.samples_per_run or old.samples_per_run,
                ranked_runs=phase.ranked_runs or old.ranked_runs,
            )
        phases.append(phase)
    return msgspec.structs.replace(after, phases=tuple(phases))


def run_sizes(described: ChallengeDescription, pool_sizes: Mapping[str, int]) -> list[RunSizes]:
    """Return how long the samples of each phase last, for a challenge from `with_run_sizes`."""
    sizes: list[RunSizes] = []
    for phase in described.phases:
        samples = pool_sizes.get(described.pool(phase))
        if samples is None:
            continue
        sizes.append(
            RunSizes(
                phase=phase.name,
                samples=samples,
                samples_per_run=min(phase.samples_per_run or samples, samples),
                ranked_runs=None if phase.unlimited_ranked_runs else phase.ranked_runs,
                is_practice=phase.kind == "practice",
            )
        )
    return sizes


def warnings_about_ranks(described: ChallengeDescription) -> list[str]:
    """Return a warning for each phase whose ranks mean less than an organiser may expect.

    A team can improve its rank from memory, or its runs cannot be ranked because it knows prompts about the samples.
    """
    warnings: list[str] = []
    for phase in described.phases:
        if phase.unlimited_ranked_runs and phase.kind == "test":
            warnings.append(
                f"{phase.name}: every run is ranked, even about samples that the team has seen before; a team can "
                "then climb the board by reusing the prompts of its earlier runs"
            )
        others = _phases_that_reveal_prompts(described, phase)
        if phase.takes == ("worker",) and phase.kind == "test" and others:
            warnings.append(
                f"{phase.name}: its programs use the same samples as {', '.join(others)}; a program is not ranked if "
                "its team has received prompts about them there. Give the phase another dataset, or make it the "
                "only test phase"
            )
    return warnings


def _phases_that_reveal_prompts(described: ChallengeDescription, phase: Phase) -> list[str]:
    """Return the test phases that share the phase's pool and show prompts to participants."""
    names: list[str] = []
    for other in described.phases:
        has_pool = described.pool(other) == described.pool(phase)
        if other.kind == "test" and other.takes != ("worker",) and has_pool:
            names.append(other.name)
    return names


def _shares(described: ChallengeDescription, pool_sizes: Mapping[str, int]) -> dict[int, int]:
    """Return the number of samples for each test phase, by the index of the phase."""
    sharing: dict[str, list[int]] = {}
    shares: dict[int, int] = {}
    for number, phase in enumerate(described.phases):
        pool = described.pool(phase)
        if phase.kind != "test" or pool not in pool_sizes:
            continue
        shares[number] = pool_sizes[pool]
        if _uses_up_samples(phase):
            sharing.setdefault(pool, []).append(number)
    for pool, numbers in sharing.items():
        given = [number for number in numbers if _needed(described.phases[number])]
        used = sum(_needed(described.phases[number]) or 0 for number in given)
        open_numbers = [number for number in numbers if number not in given]
        for number in open_numbers:
            shares[number] = max(1, (pool_sizes[pool] - used) // len(open_numbers))
    return shares


def _uses_up_samples(phase: Phase) -> bool:
    """Return whether ranked runs of a phase need samples that are new to their team."""
    return phase.takes != ("worker",) and not phase.unlimited_ranked_runs


def _needed(phase: Phase) -> int | None:
    """Return how many samples the ranked runs of a phase need, or None if the organiser left a number open."""
    if phase.samples_per_run is None or phase.ranked_runs is None:
        return None
    return phase.samples_per_run * phase.ranked_runs


def _with_sizes(phase: Phase, samples: int) -> Phase:
    """Fill in the numbers that a phase leaves open, given its number of samples."""
    per_run = phase.samples_per_run
    ranked = phase.ranked_runs
    if not _uses_up_samples(phase):
        limit = None if phase.unlimited_ranked_runs else ranked or MAX_RANKED_RUNS
        return msgspec.structs.replace(phase, ranked_runs=limit)
    if ranked is None:
        fitting = samples // (per_run or MIN_SAMPLES_PER_RUN)
        # An organiser who sets the samples per run gets as many ranked runs as the pool allows.
        most = MAX_RANKED_RUNS if per_run is None else fitting
        ranked = max(1, min(fitting, most))
    if per_run is None:
        per_run = max(1, samples // ranked)
    return msgspec.structs.replace(phase, samples_per_run=per_run, ranked_runs=ranked)


def _check_pools_last(
    described: ChallengeDescription,
    sized: ChallengeDescription,
    pool_sizes: Mapping[str, int],
) -> None:
    needed: dict[str, list[tuple[int, int]]] = {}
    for number, phase in enumerate(sized.phases):
        pool = sized.pool(phase)
        if phase.kind == "test" and pool in pool_sizes and _uses_up_samples(phase):
            per_run = min(phase.samples_per_run or 0, pool_sizes[pool])
            needed.setdefault(pool, []).append((number, per_run * (phase.ranked_runs or 0)))
    for pool, phases in needed.items():
        # Without a number from the organiser, later phases of a small pool only have repeats, which
        # is not an error.
        is_given = any(described.phases[number].ranked_runs is not None for number, _ in phases)
        if is_given and sum(samples for _, samples in phases) > pool_sizes[pool]:
            raise InvalidInput(_does_not_last(sized, phases, pool_sizes[pool]))


def _does_not_last(
    described: ChallengeDescription,
    phases: Sequence[tuple[int, int]],
    samples: int,
) -> str:
    wanted: list[str] = []
    for number, _ in phases:
        phase = described.phases[number]
        wanted.append(f"{phase.ranked_runs} of {phase.samples_per_run} in {phase.name}")
    number = phases[-1][0]
    return (
        f"phases[{number}].ranked_runs: expected ranked runs with at most {count_text(samples, 'sample')} in "
        f"total, got {' and '.join(wanted)}; lower one of the numbers, or omit both"
    )

"""The selection of the samples of a run: drawn from the pool by a secret seed, those that are new to the team first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from segarena.errors import InvalidInput
from segarena.files.hashes import sha256
from segarena_server.challenges.description import Phase


def draw_samples(
    pool: Sequence[str],
    phase: Phase,
    *,
    runs: Mapping[str, int],
    busy: AbstractSet[str] = frozenset(),
) -> tuple[str, ...]:
    """Return the samples of a team's next run.

    The seed determines an order of the pool, which is the same for all teams. So their first runs are about the same
    samples and can be compared pair by pair, then their second runs, and so on. A practice always takes the first
    samples of the pool in its own order.

    Args:
        pool: all samples with dialogues, in the order of the dataset.
        phase: with the number of samples of a run, and the seed.
        runs: number of the team's earlier runs about each sample; other samples count as 0.
        busy: samples of the team's unfinished runs. A sample is never in two runs of a team at once: both would receive
            first prompts for their answers, twice as many as the team may receive.

    Raises:
        InvalidInput: the pool is empty, or too many of its samples are busy.
    """
    if not pool:
        raise InvalidInput(
            f"phase {phase.name}: expected samples with dialogues in its pool, got none"
        )
    wanted = min(phase.samples_per_run or len(pool), len(pool))
    if phase.kind == "practice":
        return tuple(pool[:wanted])
    free = [name for name in pool if name not in busy]
    if len(free) < wanted:
        raise InvalidInput(
            f"phase {phase.name}: a run has {wanted} samples, and {len(busy)} of {len(pool)} are in runs of yours that "
            "are not over; finish one first"
        )

    def rank(name: str) -> tuple[int, str]:
        return (runs.get(name, 0), sha256(f"{phase.seed} ", name))

    return tuple(sorted(free, key=rank)[:wanted])

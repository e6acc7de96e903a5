"""Selection of a run's samples: drawn from the pool by a secret seed, preferring those that are new to the team."""

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
    met: AbstractSet[str] = frozenset(),
    busy: AbstractSet[str] = frozenset(),
) -> tuple[str, ...]:
    """Return the samples of a team's next run.

    The seed determines an order of the pool that is the same for all teams. Their first runs
    therefore use the same samples and can be compared in pairs, then their second runs, and so on.
    A practice phase always takes the first samples of the pool in the pool's own order.

    Args:
        pool: all samples with dialogues, in the order of the dataset.
        phase: phase with the number of samples per run and the seed.
        runs: number of the team's earlier runs about each sample; 0 for samples not listed.
        met: samples about which the team has received prompts; they come last, because a run about one is unranked.
        busy: samples of the team's unfinished runs. Two runs of a team never share a sample at the same time: both
            would receive first prompts for their answers, twice as many as the team may receive.

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
            f"phase {phase.name}: a run needs {wanted} samples, but {len(busy)} of {len(pool)} are in your "
            "unfinished runs; finish one first"
        )

    def rank(name: str) -> tuple[bool, int, str]:
        return (name in met, runs.get(name, 0), sha256(f"{phase.seed} ", name))

    return tuple(sorted(free, key=rank)[:wanted])

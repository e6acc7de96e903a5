"""Which samples a run is about: drawn from the pool by a secret seed, those that are new for its team first."""

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

    The seed puts the pool in an order, the same for all teams: their first runs are about the same samples and can be
    compared pair by pair, and so on. A practice takes the pool as it is, and the same samples each time.

    Args:
        pool: all samples with dialogues, in the order of the dataset.
        phase: how many a run has, and the seed.
        runs: about how many runs of the team a sample was drawn before; samples that were never drawn may be left out.
        busy: samples of the team's runs that are not over. A sample is not in two runs of a team at once: both would
            get first prompts for their answers, twice as much as is meant to be given away.

    Raises:
        InvalidInput: the pool is empty, or too much of it is busy.
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
    return tuple(
        sorted(free, key=lambda name: (runs.get(name, 0), sha256(f"{phase.seed} ", name)))[:wanted]
    )

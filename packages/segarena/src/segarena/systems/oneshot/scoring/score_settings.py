"""Settings of the scores, and the type of a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from segarena.errors import InvalidInput
from segarena.systems.oneshot.pairs.pair_table import PARTITIONS

IouAggregate: TypeAlias = Literal["accumulate", "per_pair"]
EmptyUnionRule: TypeAlias = Literal["clamp", "toss", "pfenet"]
VoidRule: TypeAlias = Literal["ignore", "background", "script"]
LcaWeights: TypeAlias = Literal["published", "simplicity"] | tuple[float, float, float, float]
ScsVariant: TypeAlias = Literal["published", "paper"]
PartitionOrder: TypeAlias = Literal["paper", "script"]
_ALLOWED_WORDS = {
    "aggregate": IouAggregate,
    "empty_union": EmptyUnionRule,
    "void": VoidRule,
    "variant": ScsVariant,
    "order": PartitionOrder,
}

# TOSS, section 4.1: LCA weights of the partitions in the paper's order. HCA uses them in reverse
# order.
PUBLISHED_WEIGHTS = (3.0, 0.75, 0.75, 0.5)
# "published" follows the script, which pools the levels that share a code. Table 4 of the paper was
# made with these weights, although its equation has seven levels.
SCS_WEIGHTS: dict[ScsVariant, tuple[float, ...]] = {
    "published": (4, 3, 1, 1),
    "paper": (4, 2, 2, 1, 1, 1, 1),
}
"""Weights of the four groups L0, L1, L2 + L3, L4 + L5 + L6, and weights of the seven levels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSettings:
    """Conventions of the scores; `mode` states them in one line on every table.

    Attributes:
        aggregate: "accumulate" adds up intersections and unions of a class before dividing;
            "per_pair" averages the IoU over pairs.
        empty_union: "clamp" divides by at least 1 pixel (HSNet, PMMs), "toss" adds 1e-7 to the
            union, "pfenet" 1e-10.
        void: "ignore" leaves void pixels out; "background" counts them as background (PMMs);
            "script" counts all of them in the union, as the TOSS scripts do with float labels.
        variant: variant of SCS: "published" (4 groups, weights 4 3 1 1 of 9) or "paper" (7
            levels, weights 4 2 2 1 1 1 1 of 12).
        scs_weights: other weights of these groups or levels, divided by their sum.
        weights: weights of LCA, which HCA uses in reverse order. "published" is 3 0.75 0.75 0.5;
            "simplicity" is the mean of salience times difficulty in each partition; or four
            numbers.
        order: partitions that four numbers refer to: "paper" is easy_sal, hard_sal, easy_nsal,
            hard_nsal; "script" swaps the middle two.
        strict_published: count partitions and levels without pairs as IoU 0, and always average
            LCA and HCA over four folds.
        repeats: number of bootstrap resamples of query images; 0 gives no intervals.
        level: confidence level of the intervals.
        seed: random seed of the bootstrap.
    """

    aggregate: IouAggregate = "accumulate"
    empty_union: EmptyUnionRule = "clamp"
    void: VoidRule = "ignore"
    variant: ScsVariant = "published"
    scs_weights: tuple[float, ...] | None = None
    weights: LcaWeights = "published"
    order: PartitionOrder = "paper"
    strict_published: bool = False
    repeats: int = 1000
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        for name, literal in _ALLOWED_WORDS.items():
            words = get_args(literal)
            if getattr(self, name) not in words:
                raise InvalidInput(f"{name} {getattr(self, name)!r}: expected {' or '.join(words)}")
        if isinstance(self.weights, tuple):
            _check_weights("weights", self.weights, len(PARTITIONS))
        elif self.weights not in ("published", "simplicity"):
            raise InvalidInput(
                f"weights {self.weights!r}: expected published, simplicity or four numbers"
            )
        if self.scs_weights is not None:
            _check_weights("scs_weights", self.scs_weights, len(SCS_WEIGHTS[self.variant]))

    @property
    def mode(self) -> str:
        """The scoring conventions in one line, for table captions."""
        weights = self.weights
        if isinstance(weights, tuple):
            weights = _join_numbers(weights)
        scs = self.variant
        if self.scs_weights is not None:
            scs = f"{scs} {_join_numbers(self.scs_weights)}"
        parts = [
            f"IoU {self.aggregate}",
            f"empty union {self.empty_union}",
            f"void {self.void}",
            f"SCS {scs}",
            f"weights {weights}",
            f"order {self.order}",
        ]
        if self.strict_published:
            parts.append("strict_published")
        return ", ".join(parts)


def _check_weights(
    name: str,
    numbers: Sequence[float],
    count: int,
) -> None:
    if len(numbers) != count or min(numbers) < 0 or not sum(numbers) > 0:
        raise InvalidInput(f"{name} {numbers}: expected {count} numbers, none below 0, not all 0")


def _join_numbers(numbers: Sequence[float]) -> str:
    return " ".join(f"{number:g}" for number in numbers)


DEFAULT_SETTINGS = ScoreSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class TierScore:
    """Score of a tier with its confidence interval.

    Attributes:
        name: "LCA", "HCA", "SCS", "GS", "mIoU" or "FB-IoU".
        fold: the fold; None for the mean over folds, and in tiers without folds.
        value: 0 to 1.
        low, high: ends of the interval; NaN without one.
        queries: number of distinct query images.
    """

    name: str
    dataset: str
    tier: str
    fold: int | None
    value: float
    low: float
    high: float
    pairs: int
    queries: int
    classes: int

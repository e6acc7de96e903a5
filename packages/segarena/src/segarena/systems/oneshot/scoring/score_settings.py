"""The choices that scores depend on, and what a score is."""

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
_WORDS = {
    "aggregate": IouAggregate,
    "empty_union": EmptyUnionRule,
    "void": VoidRule,
    "variant": ScsVariant,
    "order": PartitionOrder,
}

PUBLISHED_WEIGHTS = (3.0, 0.75, 0.75, 0.5)
SCS_WEIGHTS: dict[ScsVariant, tuple[float, ...]] = {
    "published": (4, 3, 1, 1),
    "paper": (4, 2, 2, 1, 1, 1, 1),
}
"""Of the four groups L0, L1, L2 + L3, L4 + L5 + L6; of the seven levels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSettings:
    """Every choice that a score depends on; `mode` says them in one line, and every table prints it.

    Attributes:
        aggregate: "accumulate" adds intersections and unions of a class up before dividing; "per_pair" averages the
            IoU of each pair.
        empty_union: "clamp" divides by at least 1 pixel (HSNet, PMMs), "toss" adds 1e-7 to the union, "pfenet" 1e-10.
        void: "ignore" leaves void pixels out; "background" takes them for background (PMMs); "script" has all of them
            in the union, as the TOSS scripts do with float labels.
        variant: of SCS: "published" (4 groups, weights 4 3 1 1 of 9) or "paper" (7 levels, 4 2 2 1 1 1 1 of 12).
        scs_weights: other weights of these groups or levels; their sum is what they are divided by.
        weights: of LCA; HCA has them reversed. "published" 3 0.75 0.75 0.5, "simplicity" the mean of salience times
            difficulty in each partition, or four numbers.
        order: which partitions four numbers mean: "paper" easy_sal, hard_sal, easy_nsal, hard_nsal; "script" has the
            middle two the other way round.
        strict_published: what is missing counts as IoU 0, and LCA and HCA are always means over four folds.
        repeats: bootstrap samples of query images; 0 gives no intervals.
        level: share of them inside the interval.
        seed: of the resampling.
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
        for name, words in _WORDS.items():
            if getattr(self, name) not in get_args(words):
                raise InvalidInput(
                    f"{name} {getattr(self, name)!r}: expected {' or '.join(get_args(words))}"
                )
        numbers: tuple[float, ...] = (
            self.weights if isinstance(self.weights, tuple) else PUBLISHED_WEIGHTS
        )
        if isinstance(self.weights, str) and self.weights not in ("published", "simplicity"):
            raise InvalidInput(
                f"weights {self.weights!r}: expected published, simplicity or four numbers"
            )
        _check_weights("weights", numbers, len(PARTITIONS))
        if self.scs_weights is not None:
            _check_weights("scs_weights", self.scs_weights, len(SCS_WEIGHTS[self.variant]))

    @property
    def mode(self) -> str:
        """One line that says under which conventions a table was made."""
        weights = _written(self.weights) if isinstance(self.weights, tuple) else self.weights
        of_scs = "" if self.scs_weights is None else f" {_written(self.scs_weights)}"
        parts = [
            f"IoU {self.aggregate}",
            f"empty union {self.empty_union}",
            f"void {self.void}",
            f"SCS {self.variant}{of_scs}",
            f"weights {weights}",
            f"order {self.order}",
        ]
        return ", ".join([*parts, *(["strict_published"] if self.strict_published else [])])


def _check_weights(name: str, numbers: Sequence[float], count: int) -> None:
    if len(numbers) != count or min(numbers) < 0 or not sum(numbers) > 0:
        raise InvalidInput(f"{name} {numbers}: expected {count} numbers, none below 0, not all 0")


def _written(numbers: Sequence[float]) -> str:
    return " ".join(f"{number:g}" for number in numbers)


DEFAULT_SETTINGS = ScoreSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class TierScore:
    """A score with its interval.

    Attributes:
        name: "LCA", "HCA", "SCS", "GS", "mIoU" or "FB-IoU".
        fold: None for the mean over them.
        value: 0 to 1.
        low, high: ends of the interval; NaN without one.
        queries: how many distinct query images.
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

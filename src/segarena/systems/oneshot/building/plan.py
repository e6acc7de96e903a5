"""What decides how tiers are built."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from segarena.errors import DatasetError, InvalidInput
from segarena.systems.oneshot.building.sampling import Motion, Quotas

FAMILIAR = ("pascal5i", "coco20i", "fss1000")
"""Data sets whose pairs can be written in the published formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """How tiers are built; all of it is in the manifest.

    Attributes:
        name: of the data set; "pascal5i", "coco20i" and "fss1000" also get lists in the published formats.
        folds: classes of each fold; empty: all classes are tested, without folds.
        saliency: see `segarena.systems.oneshot.saliency.saliency_from`.
        saliency_threshold: of the maps.
        difficulty: see `segarena.systems.oneshot.building.measures.difficulty_of`.
        easy_from: difficulty from which an item is easy; "auto" is 0.75 for tables and folders of predictions, as
            published, and the median for a segmenter that is no supervised one.
        salient_from: salience from which an item is salient; "median" parts the items in halves.
        looks: see `segarena.systems.oneshot.building.measures.looks_of`.
        similar_per: "fold" or "class": over what the mean similarity parts L2 from L3.
        min_area_px: smaller targets are left out; 2048 is PFENet's rule.
        quotas: how many pairs.
        motion: of L1.
        training: classes that models have seen; with any, the Generalization tier is of classes unlike these.
        keep: classes that stay in the Generalization tier whatever they are like.
        drop: classes that do not.
        seed: of all draws.
    """

    name: str = "mine"
    folds: tuple[tuple[str, ...], ...] = ()
    saliency: str = "boundary-contrast"
    saliency_threshold: float = 0.5
    difficulty: str = "superpixel-prototypes"
    easy_from: float | Literal["auto", "median"] = "auto"
    salient_from: float | Literal["median"] = 0.5
    looks: str = "colour-texture"
    similar_per: Literal["fold", "class"] = "fold"
    min_area_px: int = 0
    quotas: Quotas = field(default_factory=Quotas)
    motion: Motion = field(default_factory=Motion)
    training: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    seed: int = 0


def check_plan(plan: BuildPlan) -> None:
    """Raise unless all numbers are in range.

    Raises:
        InvalidInput: one is not.
    """
    numbers = {"easy_from": plan.easy_from, "salient_from": plan.salient_from}
    for name, value in numbers.items():
        words = ("auto", "median") if name == "easy_from" else ("median",)
        if not (value in words if isinstance(value, str) else 0 <= value <= 1):
            raise InvalidInput(f"{name} {value!r}: expected 0 to 1, or {' or '.join(words)}")
    if plan.similar_per not in ("fold", "class"):
        raise InvalidInput(f"similar_per {plan.similar_per!r}: expected fold or class")
    if not 0 < plan.motion.keep <= 1 or plan.motion.scale <= 0:
        raise InvalidInput("motion: expected keep above 0 and up to 1, and a scale above 0")


def check_folds(plan: BuildPlan, there: set[str]) -> None:
    """Raise unless the folds name classes that are there, each once.

    Raises:
        DatasetError: a class has no image.
        InvalidInput: a class is in two folds.
    """
    named = list(chain(*plan.folds))
    absent = sorted(set(named) - there)
    if absent:
        raise DatasetError(
            f"folds name classes without images: {', '.join(absent[:5])}; there are {sorted(there)[:20]}"
        )
    if len(set(named)) != len(named):
        raise InvalidInput("a class is in two folds; every class is tested in one")

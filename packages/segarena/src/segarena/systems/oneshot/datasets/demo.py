"""Synthetic one-shot dataset with all tiers and the demo photographs, without any download."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.datasets.demo import Demo
from segarena.errors import DatasetError, InvalidMask, PluginInvalid
from segarena.registry import dataset
from segarena.samples import ImageSample
from segarena.systems.oneshot.pairs.image_sources import ClassImage, ClassMask
from segarena.systems.oneshot.pairs.pair_dataset import PairDataset
from segarena.systems.oneshot.pairs.pair_table import PARTITIONS, pairs_table
from segarena.systems.oneshot.pairs.query_transforms import SimilarityTransform
from segarena.systems.oneshot.pairs.synthetic_scenes import (
    SCENE_CLASSES,
    SyntheticScene,
    draw_scene,
)
from segarena.systems.oneshot.pairs.toss_lists import read_pair_lists

DEMO_FOLD_COUNT = 2
_TESTED = tuple(SCENE_CLASSES)[:6]
_PER_CELL = 3  # scenes of each class and partition
_PAIRS = 2  # pairs for each of these scenes
_PHOTOGRAPH = "photograph"
# Nominal values on either side of the published thresholds: salient from 0.5, easy from 0.75.
_SALIENCE = {True: 0.8, False: 0.3}
_DIFFICULTY = {True: 0.85, False: 0.5}


@dataset("oneshot-demo")
class OneShotDemoDataset(PairDataset):
    """Textured shapes in all tiers, and rotated demo photographs with the originals as supports.

    Six classes in two folds make the tiers Query Complexity (partitions by construction) and
    Support Cognizance (seven levels, L2 and L3 separate); three others make the Generalization
    tier. Salience and difficulty are nominal numbers, one for each kind of scene; photographs have
    neither.

    Args:
        fold: use only pairs of this fold, 0 or 1; None uses all pairs.
        lists: some of "complexity", "cognizance", "generalization", "photographs", separated by
            commas; "" uses all.
        pairs: tables of other pairs of these images, as written by `segarena toss build` and
            `spurious`, separated by commas; they replace `lists`.

    Raises:
        PluginInvalid: a list has an unknown name.
        DatasetError: see `segarena.systems.oneshot.pairs.toss_lists.read_pair_lists`.
    """

    def __init__(
        self,
        *,
        fold: int | None = None,
        lists: str = "",
        pairs: str = "",
    ) -> None:
        wanted = list(_LISTS)
        if lists:
            wanted = [part.strip() for part in lists.split(",")]
        unknown = sorted(set(wanted) - set(_LISTS))
        if unknown:
            raise PluginInvalid(
                f"lists={lists!r}: {unknown[0]!r} is unknown; expected one or more of {', '.join(_LISTS)}"
            )
        if pairs:
            table = read_pair_lists(Path(part.strip()) for part in pairs.split(","))
        else:
            table = demo_pairs(wanted)
        super().__init__("oneshot-demo", _Scenes(), table, fold=fold)


def demo_pairs(lists: Iterable[str] | None = None) -> pl.DataFrame:
    """Return the pairs of the given lists of the demo dataset (None for all), list by list."""
    tables: list[pl.DataFrame] = []
    for name in lists or _LISTS:
        rows = ({"list": name, **row} for row in _LISTS[name]())
        tables.append(pairs_table(rows))
    return pl.concat(tables)


class _Scenes:
    """Scenes called CLASS/PARTITION/INDEX, rendered on access, and photographs called photograph/NAME."""

    def __init__(self) -> None:
        self._demo = Demo()

    def items(self) -> Sequence[ClassImage]:
        scenes = [(label, image) for label in SCENE_CLASSES for image in _images(label)]
        # Each photograph is a class of its own, named after its image.
        photographs = [f"{_PHOTOGRAPH}/{name}" for name in self._demo.sample_ids]
        return [*scenes, *zip(photographs, photographs, strict=True)]

    def files(self, label: str, image: str) -> tuple[Path, ...]:
        del label, image
        return ()

    missing = files

    def image(self, image: str) -> NDArray[np.uint8]:
        kind, _, name = image.partition("/")
        if kind == _PHOTOGRAPH:
            return self._demo.load(name).image
        return _scene(image).image

    def mask(self, label: str, image: str) -> ClassMask:
        kind, _, name = image.partition("/")
        if kind == _PHOTOGRAPH:
            target = _largest(self._demo.load(name))
            return ClassMask(mask=np.asarray(target.mask, dtype=np.bool_), ignore=target.ignore)
        masks = _scene(image).masks
        if label not in masks:
            raise InvalidMask(f"scene {image} has no {label}; it has {', '.join(masks)}")
        return ClassMask(mask=masks[label])

    def title(self, label: str) -> str:
        kind, _, name = label.partition("/")
        if kind == _PHOTOGRAPH:
            return _largest(self._demo.load(name)).label
        return label


def _largest(sample: ImageSample) -> Any:
    return max(sample.targets, key=lambda target: int(np.count_nonzero(target.mask)))


@lru_cache(maxsize=128)
def _scene(image: str) -> SyntheticScene:
    label, partition, number = image.split("/")
    if label not in SCENE_CLASSES or partition not in PARTITIONS:
        raise DatasetError(f"scene {image!r}: expected CLASS/PARTITION/NUMBER")
    return draw_scene(
        label,
        int(number),
        is_easy=partition.startswith("easy"),
        is_salient=partition.endswith("_sal"),
    )


def _images(label: str, partitions: Sequence[str] = PARTITIONS) -> list[str]:
    return [
        f"{label}/{partition}/{number}"
        for partition, number in product(partitions, range(_PER_CELL))
    ]


def _facts(label: str, query: str) -> dict[str, Any]:
    partition = query.split("/")[1]
    return {
        "dataset": "oneshot-demo",
        "class": label,
        "query": query,
        "fold": _TESTED.index(label) * DEMO_FOLD_COUNT // len(_TESTED)
        if label in _TESTED
        else None,
        "salience": _SALIENCE[partition.endswith("_sal")],
        "difficulty": _DIFFICULTY[partition.startswith("easy")],
    }


def _complexity() -> Iterator[dict[str, Any]]:
    """Yield pairs whose supports are sampled uniformly from all partitions, as in the published tier."""
    for label in _TESTED:
        rng = np.random.default_rng(_TESTED.index(label))
        for query in _images(label):
            others = [image for image in _images(label) if image != query]
            for place in rng.choice(len(others), _PAIRS, replace=False).tolist():
                facts = {
                    **_facts(label, query),
                    "tier": "query-complexity",
                    "partition": query.split("/")[1],
                }
                yield {**facts, "supports": [others[place]]}


def _cognizance() -> Iterator[dict[str, Any]]:
    for label in _TESTED:
        for number in range(_PER_CELL):
            for query in (f"{label}/easy_sal/{number}", f"{label}/hard_nsal/{number}"):
                yield from _levels(label, query, number)


def _levels(
    label: str,
    query: str,
    number: int,
) -> Iterator[dict[str, Any]]:
    """Yield one pair of each level for a query.

    The similar support is a scene of the same partition, the dissimilar one a scene of the opposite
    partition.
    """
    kind = query.split("/")[1]
    opposite = "hard_nsal" if kind == "easy_sal" else "easy_sal"
    similar = f"{label}/{kind}/{(number + 1) % _PER_CELL}"
    dissimilar = f"{label}/{opposite}/{number}"
    own_fold = _facts(label, query)["fold"]
    fold: list[str] = []
    for name in _TESTED:
        if _facts(name, f"{name}/{kind}")["fold"] == own_fold:
            fold.append(name)
    other = fold[(fold.index(label) + 1 + number % (len(fold) - 1)) % len(fold)]
    turned = SimilarityTransform(
        rotation_deg=15.0 + 10 * number, shift_row=0.03, shift_column=-0.04
    )
    base = {**_facts(label, query), "tier": "support-cognizance"}
    yield {**base, "level": "L0", "supports": [query], "similarity": 1.0}
    yield {**base, "level": "L1", "supports": [query], "transform": str(turned), "similarity": 1.0}
    yield {**base, "level": "L2", "supports": [similar], "similarity": 0.8}
    yield {**base, "level": "L3", "supports": [dissimilar], "similarity": 0.4}
    yield {
        **base,
        "level": "L4",
        "supports": [f"{other}/{kind}/{number}"],
        "support_classes": [other],
    }
    yield {**base, "level": "L5", "supports": [similar], "support_kind": "null-mask"}
    yield {**base, "level": "L6", "supports": [similar], "support_kind": "empty"}


def _generalization() -> Iterator[dict[str, Any]]:
    for label in tuple(SCENE_CLASSES)[len(_TESTED) :]:
        images = _images(label, ("easy_sal", "hard_nsal"))
        for index, query in enumerate(images):
            facts = _facts(label, query)
            for step in range(1, 1 + _PAIRS):
                support = images[(index + step) % len(images)]
                yield {**facts, "tier": "generalization", "supports": [support]}


def _photographs() -> Iterator[dict[str, Any]]:
    for number, name in enumerate(Demo().sample_ids):
        image = f"{_PHOTOGRAPH}/{name}"
        turned = SimilarityTransform(rotation_deg=12.0 * (-1) ** number, scale=0.95)
        yield {
            "dataset": "oneshot-demo",
            "class": image,
            "query": image,
            "supports": [image],
            "transform": str(turned),
        }


_LISTS = {
    "complexity": _complexity,
    "cognizance": _cognizance,
    "generalization": _generalization,
    "photographs": _photographs,
}
"""The lists of the demo dataset, in order."""

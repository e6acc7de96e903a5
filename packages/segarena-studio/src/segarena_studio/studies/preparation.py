"""A study made ready: its dataset is opened once, every picture is kept as it is sent, every target as run lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from segarena.arrays.rle import encode_rle
from segarena.errors import DatasetError, InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.roles import Dataset, Segmenter
from segarena_server.storage.content_store import Storage
from segarena_studio.studies.corrections import correction_items
from segarena_studio.studies.description import Study
from segarena_studio.studies.display_modes import (
    encode_jpeg,
    resample_to_square_pixels,
    shrink,
    turn_half_round,
)
from segarena_studio.studies.easy_items import generate_easy_items
from segarena_studio.studies.hidden_datasets import HiddenDataset, check_samples
from segarena_studio.studies.items import StudyTarget, list_targets

TRAINING_TRIES = 3
"""So often as the training has tasks, somebody may try."""

SampleContext = Callable[[int, int], AbstractContextManager[object]]
"""Is called with how many samples were opened, and of how many, around each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStudy:
    """A study that can begin.

    Attributes:
        dataset: as it calls itself.
        rows: what is shown, as the columns of `StudyItem`.
        unusable: samples that cannot be used, with the reason.
    """

    dataset: str
    rows: tuple[dict[str, Any], ...]
    unusable: tuple[str, ...] = ()


def prepare_study(
    study: Study,
    storage: Storage,
    watch: SampleContext = lambda done, of: nullcontext(),
    hidden: Sequence[HiddenDataset] = (),
) -> PreparedStudy:
    """Return a study made ready; its pictures are in the storage.

    Raises:
        InvalidInput: it shows what is hidden; nothing can be shown, or not in words, or no batch can be of different
            images.
        SegarenaError: the dataset or a segmenter cannot be built, or nothing can be kept.
    """
    dataset: Dataset = build("dataset", study.dataset)
    check_samples(study.dataset, dataset, hidden)
    segmenters = {
        spec.name: build("segmenter", spec)
        for spec in map(PluginSpec.parse_named, study.corrections)
    }
    keeper = ItemStore(study.longest_px, storage)
    names = list(dataset.sample_ids)[: study.samples]
    unusable = list[str]()
    for number, name in enumerate(names):
        with watch(number, len(names)):
            try:
                keeper.keep(_items(study, dataset, name, segmenters))
            except (DatasetError, InvalidInput) as error:
                unusable.append(f"{name}: {error}")
    _check(study, keeper.rows, unusable)
    keeper.keep(
        list(
            generate_easy_items(
                TRAINING_TRIES * study.training + study.attention * study.batches, study.seed
            )
        )
    )
    return PreparedStudy(dataset=dataset.name, rows=tuple(keeper.rows), unusable=tuple(unusable))


def _items(
    study: Study, dataset: Dataset, name: str, segmenters: dict[str, Segmenter]
) -> list[StudyTarget]:
    found = list(list_targets(dataset.load(name), study.planes))
    by_image = {
        item.image: [other for other in found if other.image == item.image] for item in found
    }
    for of_one in by_image.values():
        for model, segmenter in segmenters.items():
            found += correction_items(of_one, segmenter, model)
    return found


class ItemStore:
    """Keeps pictures, each once, and makes rows of items.

    Args:
        longest_px: larger pictures are kept smaller.
        storage: where pictures are kept.
    """

    def __init__(self, longest_px: int, storage: Storage) -> None:
        self._longest_px = longest_px
        self._storage = storage
        self.rows: list[dict[str, Any]] = []

    def keep(self, items: Sequence[StudyTarget]) -> None:
        """Keep the items of one sample."""
        kept: dict[str, str] = {}
        for item in items:
            if item.image not in kept:
                picture = shrink(
                    turn_half_round(
                        resample_to_square_pixels(item.picture, item.edges), item.is_turned
                    ),
                    self._longest_px,
                )
                kept[item.image] = self._storage.keep(encode_jpeg(picture))
            self.rows.append(self._row(item, kept[item.image]))

    def _row(self, item: StudyTarget, sha256: str) -> dict[str, Any]:
        height, width = item.mask.shape
        names = (
            "image",
            "sample",
            "target",
            "object_id",
            "plane",
            "label",
            "is_alone",
            "goal",
            "model",
            "is_easy",
            "is_turned",
        )
        return {name: getattr(item, name) for name in names} | {
            "number": len(self.rows),
            "width": width,
            "height": height,
            "sha256": sha256,
            "mask": encode_rle(item.mask),
            "previous": None if item.previous is None else encode_rle(item.previous),
        }


def _check(study: Study, rows: Sequence[dict[str, Any]], unusable: Sequence[str]) -> None:
    images = {row["image"] for row in rows}
    if len(images) < study.batch:
        why = f"; {len(unusable)} cannot be used: {'; '.join(unusable[:3])}" if unusable else ""
        raise InvalidInput(
            f"batch: expected at least {study.batch} different images, got {len(images)}{why}"
        )
    if "text" in study.modes and not any(row["label"] and row["goal"] == "object" for row in rows):
        raise InvalidInput("modes: text needs targets with labels; those of this dataset have none")

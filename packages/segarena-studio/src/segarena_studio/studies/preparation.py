"""Preparation of a study: opens its dataset once, stores all pictures as displayed and all targets as run lengths."""

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
from segarena_server.storage.content_store import ContentStore
from segarena_studio.studies.description import Study
from segarena_studio.studies.display_modes import (
    encode_jpeg,
    resample_to_square_pixels,
    rotate_180,
    shrink,
)
from segarena_studio.studies.hidden_datasets import HiddenDataset, check_samples
from segarena_studio.studies.mask_error_regions import correction_items
from segarena_studio.studies.study_targets import StudyTarget, list_targets
from segarena_studio.studies.synthetic_trial_images import generate_easy_items

TRAINING_TRIES = 3
"""A participant may attempt at most this multiple of the number of training tasks."""

# Attributes of a target that are copied to columns of the same name.
_COPIED = (
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

SampleContext = Callable[[int, int], AbstractContextManager[object]]
"""Returns the context around each sample, from the number of samples done and the total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStudy:
    """A study that is ready to begin.

    Attributes:
        dataset: name that the dataset gives itself.
        rows: targets, as columns of `StudyItem`.
        unusable: samples that cannot be used, with the reason.
    """

    dataset: str
    rows: tuple[dict[str, Any], ...]
    unusable: tuple[str, ...] = ()


def prepare_study(
    study: Study,
    storage: ContentStore,
    watch: SampleContext = lambda done, of: nullcontext(),
    hidden: Sequence[HiddenDataset] = (),
) -> PreparedStudy:
    """Prepare a study; its pictures are written to the storage.

    Raises:
        InvalidInput: the study shows hidden data, or has no targets, no labels for targets in
            words, or too few images for a batch.
        SegarenaError: the dataset or segmenter cannot be built, or the storage fails.
    """
    dataset: Dataset = build("dataset", study.dataset)
    check_samples(study.dataset, dataset, hidden)
    specs = [PluginSpec.parse_named(text) for text in study.corrections]
    segmenters: dict[str, Segmenter] = {spec.name: build("segmenter", spec) for spec in specs}
    item_store = ItemStore(study.longest_px, storage)
    # None as the limit takes all samples.
    names = list(dataset.sample_ids)[: study.samples]
    unusable: list[str] = []
    for number, name in enumerate(names):
        with watch(number, len(names)):
            try:
                item_store.add(_items(study, dataset, name, segmenters))
            except (DatasetError, InvalidInput) as error:
                # One bad sample must not prevent a study with thousands of samples.
                unusable.append(f"{name}: {error}")
    _check(study, item_store.rows, unusable)
    # Enough for failing every training task and for the checks of all batches, because no picture
    # is shown twice.
    easy = TRAINING_TRIES * study.training + study.attention * study.batches
    item_store.add(list(generate_easy_items(easy, study.seed)))
    return PreparedStudy(
        dataset=dataset.name,
        rows=tuple(item_store.rows),
        unusable=tuple(unusable),
    )


def _items(
    study: Study,
    dataset: Dataset,
    name: str,
    segmenters: dict[str, Segmenter],
) -> list[StudyTarget]:
    """Return the targets of a sample, then their corrections for each segmenter."""
    targets = list(list_targets(dataset.load(name), study.planes))
    # A segmenter encodes a picture once for all objects on it.
    targets_of: dict[str, list[StudyTarget]] = {}
    for target in targets:
        targets_of.setdefault(target.image, []).append(target)
    for on_image in targets_of.values():
        for model, segmenter in segmenters.items():
            targets += correction_items(on_image, segmenter, model)
    return targets


class ItemStore:
    """Stores each picture once, and collects rows of items.

    Args:
        longest_px: larger pictures are shrunk.
        storage: storage of pictures.
    """

    def __init__(self, longest_px: int, storage: ContentStore) -> None:
        self._longest_px = longest_px
        self._storage = storage
        self.rows: list[dict[str, Any]] = []

    def add(self, items: Sequence[StudyTarget]) -> None:
        """Add the items of one sample."""
        stored: dict[str, str] = {}
        for item in items:
            if item.image not in stored:
                square = resample_to_square_pixels(item.picture, item.edges)
                picture = shrink(rotate_180(square, item.is_turned), self._longest_px)
                stored[item.image] = self._storage.keep(encode_jpeg(picture))
            self.rows.append(self._row(item, stored[item.image]))

    def _row(self, item: StudyTarget, sha256: str) -> dict[str, Any]:
        height, width = item.mask.shape
        return {name: getattr(item, name) for name in _COPIED} | {
            "number": len(self.rows),
            "width": width,
            "height": height,
            "sha256": sha256,
            "mask": encode_rle(item.mask),
            "previous": None if item.previous is None else encode_rle(item.previous),
        }


def _check(
    study: Study,
    rows: Sequence[dict[str, Any]],
    unusable: Sequence[str],
) -> None:
    images = {row["image"] for row in rows}
    # Nobody sees an image twice, so a batch needs at least as many images as answers.
    if len(images) < study.batch:
        why = ""
        if unusable:
            why = f"; {len(unusable)} cannot be used: {'; '.join(unusable[:3])}"
        raise InvalidInput(
            f"batch: expected at least {study.batch} different images, got {len(images)}{why}"
        )
    has_words = any(row["label"] and row["goal"] == "object" for row in rows)
    if "text" in study.modes and not has_words:
        raise InvalidInput("modes: text needs targets with labels, but this dataset has no labels")

"""COCO-20i: COCO's 80 classes in four folds, by either of two conventions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Literal, cast

import polars as pl

from segarena.datasets.listed_dataset import require_folder
from segarena.errors import DatasetError
from segarena.registry import dataset
from segarena.systems.oneshot.pairs.folds import COCO_CLASSES, FoldRule, fold_of
from segarena.systems.oneshot.pairs.image_lists import normalize_image_name
from segarena.systems.oneshot.pairs.image_sources import (
    ClassImage,
    FileSource,
    class_mask_path,
    find_subfolder,
    jpeg_path,
    label_map_path,
    list_class_masks,
    list_label_maps,
)
from segarena.systems.oneshot.pairs.pair_dataset import CrossClassRule, PairDataset
from segarena.systems.oneshot.pairs.random_pairs import read_or_draw_pairs

COCO_LAYOUT = (
    "PATH/images/000000000139.jpg with PATH/maps/000000000139.png or PATH/masks/CLASS_000000000139.png, "
    "or PATH/val2014/COCO_val2014_000000000042.jpg with PATH/annotations/val2014/COCO_val2014_000000000042.png"
)
# COCO pads the image ids in file names to 12 digits.
_DIGITS = 12


@dataset("coco20i")
class Coco20i(PairDataset):
    """COCO-20i with a list of pairs, published or your own; without a list, pairs are sampled.

    Masks are label maps in `maps`, or one binary mask per class, `masks/CLASS_IMAGE.png`. Label
    maps have contiguous classes from 1 (person) to 80 (toothbrush), not COCO's category ids, and
    255 for void. Folders of COCO 2014 have the layout of HSNet and PFENet. Lists may write image
    ids without leading zeros; lists of images may also write `COCO_val2014_000000000042`.

    Args:
        path: folder of images and masks.
        pairs: lists of pairs, folders of such lists, or lists of images from which pairs are
            sampled, separated by commas; "" samples pairs from all images.
        folds: "interleaved" (FWB, HSNet, PMMs, TOSS) or "blocks" of 20 (PANet, PFENet, RePRI).
            Results of the two are not comparable; a list of the other convention is an error.
        fold: use only pairs of this fold.
        per_class: number of sampled pairs of each class.
        shots: number of supports of a sampled pair.
        seed: random seed of the sampled pairs.
        cross_class: "keep" or "drop" pairs whose support shows another class by mistake.

    Raises:
        DatasetMissing: a folder or list does not exist.
        DatasetError: a list cannot be read or has the other convention, or no pair is left.
    """

    def __init__(
        self,
        *,
        path: str,
        pairs: str = "",
        folds: Literal["interleaved", "blocks"] = "interleaved",
        fold: int | None = None,
        per_class: int = 200,
        shots: int = 1,
        seed: int = 0,
        cross_class: CrossClassRule = "keep",
    ) -> None:
        source = coco_source(require_folder(Path(path).expanduser(), "COCO-20i", COCO_LAYOUT))
        table = read_or_draw_pairs(
            pairs,
            source.items,
            per_class=per_class,
            shots=shots,
            seed=seed,
            fold_of=lambda label: fold_of(int(label), folds),
            dataset="coco20i",
        )
        _check_folds(table, folds)
        super().__init__(
            f"COCO-20i-{folds}", source, _padded(table), cross_class=cross_class, fold=fold
        )


def coco_source(root: Path) -> FileSource:
    """Return the images and masks of COCO-20i; raise `DatasetMissing` if either folder is missing."""
    images = find_subfolder(
        root, ("images", "val2017", "train2017", "val2014", "train2014"), "the images"
    )
    folder = find_subfolder(
        root, ("maps", "masks", f"annotations/{images.name}"), "label maps or masks"
    )
    has_labels = folder.name != "masks"
    mask_file = _map_file if has_labels else _mask_file
    list_items = _label_items if has_labels else list_class_masks
    numbers = range(1, len(COCO_CLASSES) + 1)
    return FileSource(
        image_file=partial(_image_file, images),
        mask_file=partial(mask_file, folder),
        list_items=partial(list_items, folder, numbers),
        titles={str(number): name for number, name in enumerate(COCO_CLASSES, 1)},
        has_labels=has_labels,
    )


def _image_file(folder: Path, image: str) -> Path:
    return jpeg_path(folder, _written(folder, image))


def _map_file(
    folder: Path,
    label: str,
    image: str,
) -> Path:
    return label_map_path(folder, label, _written(folder, image))


def _mask_file(
    folder: Path,
    label: str,
    image: str,
) -> Path:
    return class_mask_path(folder, label, image.zfill(_DIGITS))


def _written(folder: Path, image: str) -> str:
    """Return the file name of an image in a folder, without its extension."""
    # File names of COCO 2014 contain the split; those of COCO 2017 are the id alone.
    prefix = f"COCO_{folder.name}_" if folder.name.endswith("2014") else ""
    return prefix + image.zfill(_DIGITS)


def _label_items(folder: Path, classes: Iterable[int]) -> list[ClassImage]:
    items: list[ClassImage] = []
    for label, image in list_label_maps(folder, classes):
        items.append((label, normalize_image_name(image)))
    return items


def _check_folds(table: pl.DataFrame, folds: FoldRule) -> None:
    classes = table.filter(pl.col("fold").is_not_null()).select("class", "fold").unique()
    wrong: list[tuple[str, int]] = []
    for label, fold in classes.iter_rows():
        if fold_of(int(label), folds) != fold:
            wrong.append((label, fold))
    if wrong:
        label, fold = min(wrong, key=lambda pair: int(pair[0]))
        other = cast(FoldRule, "blocks" if folds == "interleaved" else "interleaved")
        raise DatasetError(
            f"the list tests class {label} in fold {fold}, but folds={folds!r} does not; "
            f"the list may be for folds={other!r}"
        )


def _padded(table: pl.DataFrame) -> pl.DataFrame:
    """Pad image ids with zeros as in file names, so that every image has a single name."""
    # The published lists write `1_129492` where COCO's file is called `000000129492.jpg`.
    query = pl.col("query").str.zfill(_DIGITS)
    padded_element = pl.element().str.zfill(_DIGITS)
    supports = pl.col("supports").list.eval(padded_element)
    return table.with_columns(query, supports)

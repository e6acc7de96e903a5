"""PASCAL-5i: VOC 2012 with SBD, 20 classes in four folds."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias

from segarena.datasets.listed_dataset import require_folder
from segarena.errors import DatasetMissing
from segarena.files.safe_paths import safe_join
from segarena.registry import dataset
from segarena.systems.oneshot.pairs.folds import PASCAL_CLASSES, fold_of
from segarena.systems.oneshot.pairs.image_sources import (
    ClassImage,
    FileSource,
    class_mask_path,
    files_by_stem,
    find_subfolder,
    jpeg_path,
    label_map_path,
    list_class_masks,
    list_label_maps,
)
from segarena.systems.oneshot.pairs.pair_dataset import CrossClassRule, PairDataset
from segarena.systems.oneshot.pairs.random_pairs import read_or_draw_pairs

PASCAL_LAYOUT = "PATH/JPEGImages with PATH/Binary_map_aug or PATH/SegmentationClassAug, or PATH/images with PATH/masks"
MaskLayout: TypeAlias = Literal["auto", "binary", "maps", "merged"]

_PARTS = ("train", "val")


@dataset("pascal5i")
class Pascal5i(PairDataset):
    """PASCAL-5i with a list of pairs, published or your own; without one, pairs are drawn.

    Masks have one of three layouts: CANet's `Binary_map_aug/{train,val}/CLASS/IMAGE.png`, which has
    no void border; `SegmentationClassAug/IMAGE.png`, whose value 255 is void and ignored; and the
    folder that TOSS merges, `masks/CLASS_IMAGE.png`. Images are in `JPEGImages` or `images`. Fold k
    (0 to 3) tests classes 5k + 1 to 5k + 5.

    Args:
        path: folder of images and masks.
        pairs: lists of pairs or folders of lists, separated by commas; "" draws pairs.
        fold: use only pairs of this fold.
        masks: layout: "binary", "maps", "merged", or "auto", the first of these that exists.
        per_class: number of drawn pairs of each class.
        shots: number of supports of a drawn pair.
        seed: of the drawn pairs.
        cross_class: "keep" or "drop" pairs whose support shows another class by mistake.

    Raises:
        DatasetMissing: a folder or list does not exist.
        DatasetError: a list cannot be read, or no pair is left.

    Source: Shaban et al., BMVC 2017.
    """

    def __init__(
        self,
        *,
        path: str,
        pairs: str = "",
        fold: int | None = None,
        masks: MaskLayout = "auto",
        per_class: int = 200,
        shots: int = 1,
        seed: int = 0,
        cross_class: CrossClassRule = "keep",
    ) -> None:
        source = pascal_source(
            require_folder(Path(path).expanduser(), "PASCAL-5i", PASCAL_LAYOUT), masks
        )
        table = read_or_draw_pairs(
            pairs,
            source.items,
            per_class=per_class,
            shots=shots,
            seed=seed,
            fold_of=lambda label: fold_of(int(label), "pascal"),
            dataset="pascal5i",
        )
        super().__init__("PASCAL-5i", source, table, cross_class=cross_class, fold=fold)


def pascal_source(root: Path, masks: MaskLayout = "auto") -> FileSource:
    """Return the images and masks of PASCAL-5i.

    Raises:
        DatasetMissing: no folder of images, or of masks in a known layout.
    """
    layouts = _LAYOUTS if masks == "auto" else (masks,)
    layout = next((name for name in layouts if (root / _LAYOUTS[name][0]).is_dir()), None)
    if layout is None:
        known = ", ".join(name for name, _, _ in _LAYOUTS.values())
        raise DatasetMissing(f"{root}: expected masks in {known}; the layout is {PASCAL_LAYOUT}")
    name, mask_file, list_items = _LAYOUTS[layout]
    return FileSource(
        image_file=partial(jpeg_path, find_subfolder(root, ("JPEGImages", "images"), "the images")),
        mask_file=partial(mask_file, root / name),
        list_items=partial(list_items, root / name, range(1, len(PASCAL_CLASSES) + 1)),
        titles={str(number): name for number, name in enumerate(PASCAL_CLASSES, 1)},
        has_labels=layout == "maps",
    )


def _in_parts(folder: Path, label: str, image: str) -> Path:
    files = [safe_join(folder, f"{part}/{label}/{image}.png") for part in _PARTS]
    return next((file for file in files if file.is_file()), files[-1])


def _binary_items(folder: Path, classes: Iterable[int]) -> list[ClassImage]:
    items: list[ClassImage] = []
    for label, part in product(map(str, classes), _PARTS):
        if (folder / part / label).is_dir():
            items += [(label, stem) for stem in files_by_stem(folder / part / label, (".png",))]
    return items


_LAYOUTS = {
    "binary": ("Binary_map_aug", _in_parts, _binary_items),
    "maps": ("SegmentationClassAug", label_map_path, list_label_maps),
    "merged": ("masks", class_mask_path, list_class_masks),
}
"""Folder, file of a mask and list of items for each layout of masks, in the order of "auto"."""

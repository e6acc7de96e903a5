"""PASCAL-5i: VOC 2012 with SBD masks, 20 classes in four folds."""

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
    """PASCAL-5i with a list of pairs, published or your own; without a list, pairs are sampled.

    Masks have one of three layouts: `Binary_map_aug/{train,val}/CLASS/IMAGE.png` of CANet, which
    has no void border; `SegmentationClassAug/IMAGE.png`, whose value 255 is void and ignored; and
    `masks/CLASS_IMAGE.png`, into which TOSS merges CANet's folders `train` and `val`. Images are in
    `JPEGImages` or `images`. Fold k (0 to 3) tests classes 5k + 1 to 5k + 5.

    Args:
        path: folder of images and masks.
        pairs: lists of pairs, folders of such lists, or lists of images from which pairs are
            sampled, separated by commas; "" samples pairs from all images.
        fold: use only pairs of this fold.
        masks: layout of the masks: "binary", "maps", "merged", or "auto" for the first of these that exists.
        per_class: number of sampled pairs of each class.
        shots: number of supports of a sampled pair.
        seed: random seed of the sampled pairs.
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
        DatasetMissing: there is no folder of images, or no folder of masks in a known layout.
    """
    layouts = _LAYOUTS if masks == "auto" else (masks,)
    layout = next((name for name in layouts if (root / _LAYOUTS[name][0]).is_dir()), None)
    if layout is None:
        known = ", ".join(name for name, _, _ in _LAYOUTS.values())
        raise DatasetMissing(f"{root}: expected masks in {known}; the layout is {PASCAL_LAYOUT}")
    name, mask_file, list_items = _LAYOUTS[layout]
    mask_folder = root / name
    image_folder = find_subfolder(root, ("JPEGImages", "images"), "the images")
    numbers = range(1, len(PASCAL_CLASSES) + 1)
    titles = {str(number): title for number, title in enumerate(PASCAL_CLASSES, 1)}
    return FileSource(
        image_file=partial(jpeg_path, image_folder),
        mask_file=partial(mask_file, mask_folder),
        list_items=partial(list_items, mask_folder, numbers),
        titles=titles,
        # CANet's binary masks contain 0 and 255 only, so VOC's void border is lost in them.
        has_labels=layout == "maps",
    )


def _in_parts(
    folder: Path,
    label: str,
    image: str,
) -> Path:
    """Return the mask's path in CANet's folder `train` or `val`; in `val` if neither contains it."""
    file = folder
    for part in _PARTS:
        file = safe_join(folder, f"{part}/{label}/{image}.png")
        if file.is_file():
            break
    return file


def _binary_items(folder: Path, classes: Iterable[int]) -> list[ClassImage]:
    items: list[ClassImage] = []
    for number, part in product(classes, _PARTS):
        label = str(number)
        class_folder = folder / part / label
        if class_folder.is_dir():
            stems = files_by_stem(class_folder, (".png",))
            items += [(label, stem) for stem in stems]
    return items


_LAYOUTS = {
    "binary": ("Binary_map_aug", _in_parts, _binary_items),
    "maps": ("SegmentationClassAug", label_map_path, list_label_maps),
    "merged": ("masks", class_mask_path, list_class_masks),
}
"""Layouts of masks, in the order in which "auto" tries them.

Each has a folder, a function that returns the path of a mask, and a function that lists the items.
"""

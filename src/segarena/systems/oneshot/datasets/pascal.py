"""PASCAL-5i: VOC 2012 with SBD, 20 classes in four folds."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias

from segarena.datasets.listing import existing_folder
from segarena.errors import DatasetMissing
from segarena.files.within import within
from segarena.registry import dataset
from segarena.systems.oneshot.pairs.drawing import listed_or_drawn
from segarena.systems.oneshot.pairs.folds import PASCAL_CLASSES, fold_of
from segarena.systems.oneshot.pairs.paired import CrossClass, PairedImages
from segarena.systems.oneshot.pairs.sources import (
    FileSource,
    Item,
    by_stem,
    find_folder,
    image_in,
    label_items,
    map_in,
    merged_in,
    merged_items,
)

LAYOUT = "PATH/JPEGImages with PATH/Binary_map_aug or PATH/SegmentationClassAug, or PATH/images with PATH/masks"
Masks: TypeAlias = Literal["auto", "binary", "maps", "merged"]

_PARTS = ("train", "val")
_BINARY, _MAPS, _MERGED = "Binary_map_aug", "SegmentationClassAug", "masks"


@dataset("pascal5i")
class Pascal5i(PairedImages):
    """PASCAL-5i with a list of pairs, published or your own; without one, pairs are drawn.

    Three layouts of masks are known: CANet's `Binary_map_aug/{train,val}/CLASS/IMAGE.png`, which has no void border;
    `SegmentationClassAug/IMAGE.png`, whose value 255 is void and ignored; and the folder that TOSS merges,
    `masks/CLASS_IMAGE.png`. Images are in `JPEGImages` or `images`. Fold k (0 to 3) tests classes 5k + 1 to 5k + 5.

    Args:
        path: the folder with images and masks.
        pairs: a list or folder of lists, several separated by commas; "" draws pairs.
        fold: only pairs of this fold.
        masks: which of the layouts: "binary", "maps", "merged", or "auto", the first of these that is there.
        per_class: with drawn pairs, how many of each class.
        shots: with drawn pairs, how many supports each has.
        seed: of drawn pairs.
        cross_class: "keep" or "drop" pairs whose support shows another class by mistake.

    Raises:
        DatasetMissing: a folder or list is not there.
        DatasetError: a list cannot be read, or no pair is left.

    Source: Shaban et al., BMVC 2017.
    """

    def __init__(
        self,
        *,
        path: str,
        pairs: str = "",
        fold: int | None = None,
        masks: Masks = "auto",
        per_class: int = 200,
        shots: int = 1,
        seed: int = 0,
        cross_class: CrossClass = "keep",
    ) -> None:
        source = pascal_source(existing_folder(Path(path).expanduser(), "PASCAL-5i", LAYOUT), masks)
        table = listed_or_drawn(
            pairs,
            source.items,
            per_class=per_class,
            shots=shots,
            seed=seed,
            fold_of=lambda label: fold_of(int(label), "pascal"),
            dataset="pascal5i",
        )
        super().__init__("PASCAL-5i", source, table, cross_class=cross_class, fold=fold)


def pascal_source(root: Path, masks: Masks = "auto") -> FileSource:
    """Return where PASCAL-5i's images and masks are.

    Raises:
        DatasetMissing: no folder of images, or of masks in a known layout.
    """
    folders = {"binary": _BINARY, "maps": _MAPS, "merged": _MERGED}
    there = [name for name, folder in folders.items() if (root / folder).is_dir()] if masks == "auto" else [masks]
    if not there or not (root / folders[there[0]]).is_dir():
        raise DatasetMissing(f"{root}: expected masks in {', '.join(folders.values())}; the layout is {LAYOUT}")
    images = find_folder(root, ("JPEGImages", "images"), "the images")
    titles = {str(number): name for number, name in enumerate(PASCAL_CLASSES, 1)}
    folder = root / folders[there[0]]

    image_file = partial(image_in, images)
    if there[0] == "maps":
        listing = partial(label_items, folder, range(1, len(PASCAL_CLASSES) + 1))
        return FileSource(
            image_file=image_file, mask_file=partial(map_in, folder), list_items=listing, titles=titles, has_labels=True
        )
    if there[0] == "merged":
        mask_file, listing = partial(merged_in, folder), partial(merged_items, folder)
    else:
        mask_file, listing = partial(_in_parts, folder), partial(_binary_items, folder)
    return FileSource(image_file=image_file, mask_file=mask_file, list_items=listing, titles=titles)


def _in_parts(folder: Path, label: str, image: str) -> Path:
    files = [within(folder, f"{part}/{label}/{image}.png") for part in _PARTS]
    return next((file for file in files if file.is_file()), files[-1])


def _binary_items(folder: Path) -> list[Item]:
    items: list[Item] = []
    for label, part in product(map(str, range(1, len(PASCAL_CLASSES) + 1)), _PARTS):
        if (folder / part / label).is_dir():
            items += [(label, stem) for stem in by_stem(folder / part / label, (".png",))]
    return items

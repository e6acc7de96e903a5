"""FSS-1000: a thousand classes of ten images each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segarena.datasets.listed_dataset import CheckTally, abbreviate_names, require_folder
from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.images import read_mask_colours, read_mask_values
from segarena.files.safe_paths import safe_join
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.systems.oneshot.pairs.image_sources import ClassImage, FileSource, files_by_stem
from segarena.systems.oneshot.pairs.pair_dataset import CrossClassRule, PairDataset
from segarena.systems.oneshot.pairs.random_pairs import read_or_draw_pairs

FSS_LAYOUT = "PATH/CLASS/1.jpg and PATH/CLASS/1.png, up to 10"
_IMAGES = (".jpg", ".jpeg")
_BLUE = 2


@dataset("fss1000")
class Fss1000(PairDataset):
    """FSS-1000 with a list of pairs, such as the Generalization tier; without one, pairs are drawn.

    Masks may hold 0 and 1, or 0 and 255: the authors ship both. Of masks with stray coloured pixels,
    the first channel in OpenCV's order, blue, is used, as by the authors. Published lists write `0`
    for `'` and `-` in names of classes; folders with either name are found.

    Args:
        path: folder with a folder per class.
        pairs: lists of pairs or folders of lists, separated by commas; "" draws pairs.
        per_class: number of drawn pairs of each class.
        shots: number of supports of a drawn pair.
        seed: of the drawn pairs.
        cross_class: "keep" or "drop" pairs whose support shows another class by mistake (389 in
            the published list).

    Raises:
        DatasetMissing: a folder or list does not exist.
        DatasetError: a list cannot be read, or no pair is left.

    Source: Li et al., CVPR 2020.
    """

    def __init__(
        self,
        *,
        path: str,
        pairs: str = "",
        per_class: int = 10,
        shots: int = 1,
        seed: int = 0,
        cross_class: CrossClassRule = "keep",
    ) -> None:
        source = fss_source(require_folder(Path(path).expanduser(), "FSS-1000", FSS_LAYOUT))
        table = read_or_draw_pairs(
            pairs, source.items, per_class=per_class, shots=shots, seed=seed, dataset="fss1000"
        )
        super().__init__("FSS-1000", source, table, cross_class=cross_class)

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        yield from super()._verdict(tally)
        coloured = [file for file in self._mask_files() if _is_coloured(file)]
        if coloured:
            what = "masks have coloured pixels; their blue channel is taken, as the authors do"
            yield Finding(
                is_error=False,
                message=f"{len(coloured)} {what}: {abbreviate_names(list(map(str, coloured)), 3)}",
            )

    def _mask_files(self) -> list[Path]:
        shown = self.pairs.select("supports").explode("supports").to_series().to_list()
        images = sorted({*self.pairs["query"].to_list(), *shown})
        return [file for image in images if (file := self.source.files("", image)[1]).is_file()]


def fss_source(root: Path) -> FileSource:
    """Return the images and masks of FSS-1000; images are called CLASS/NUMBER.

    Raises:
        DatasetMissing: no class folder with images.
    """
    # Published lists write these characters as 0.
    folders = {
        re.sub(r"['-]", "0", folder.name): folder
        for folder in sorted(root.iterdir())
        if folder.is_dir()
    }
    folders |= {folder.name: folder for folder in folders.values()}
    if not any(files_by_stem(folder, _IMAGES) for folder in folders.values()):
        raise DatasetMissing(
            f"{root}: expected class folders with images, found none; the layout is {FSS_LAYOUT}"
        )

    return FileSource(
        image_file=partial(_image_file, root, folders),
        mask_file=partial(_mask_file, root, folders),
        read_mask=_values,
        list_items=partial(_items, folders),
        titles={name: folder.name.replace("_", " ") for name, folder in folders.items()},
    )


def _image_file(root: Path, folders: Mapping[str, Path], image: str) -> Path:
    label, _, number = image.rpartition("/")
    return safe_join(folders.get(label) or safe_join(root, label or "-"), f"{number}.jpg")


def _mask_file(root: Path, folders: Mapping[str, Path], label: str, image: str) -> Path:
    del label
    return _image_file(root, folders, image).with_suffix(".png")


def _values(file: Path) -> NDArray[np.int32]:
    try:
        return read_mask_values(file)
    except InvalidMask:
        return read_mask_colours(file)[..., _BLUE].astype(np.int32)


def _is_coloured(file: Path) -> bool:
    """Return whether a mask file has colours instead of grey values or a palette."""
    for read, is_coloured in ((read_mask_values, False), (read_mask_colours, True)):
        with suppress(InvalidMask):
            read(file)
            return is_coloured
    return False


def _items(folders: Mapping[str, Path]) -> list[ClassImage]:
    items: list[ClassImage] = []
    for name, folder in folders.items():
        if name == folder.name:
            items += [(name, f"{name}/{stem}") for stem in files_by_stem(folder, (".png",))]
    return items

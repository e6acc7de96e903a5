"""FSS-1000: one thousand classes of ten images each."""

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
# The channel that OpenCV, with its BGR order, reads first; Pillow's RGB has it last.
_BLUE = 2


@dataset("fss1000")
class Fss1000(PairDataset):
    """FSS-1000 with a list of pairs such as the Generalization tier; without a list, pairs are sampled.

    Masks may hold 0 and 1, or 0 and 255, because the authors distribute both. In masks with stray
    coloured pixels, only the blue channel counts, because the authors read the first channel in
    OpenCV's BGR order. Published lists write `0` for `'` and `-` in class names; folders with
    either spelling are found.

    Args:
        path: folder that contains one folder per class.
        pairs: lists of pairs or folders of lists, separated by commas; "" samples pairs.
        per_class: number of sampled pairs of each class.
        shots: number of supports of a sampled pair.
        seed: random seed of the sampled pairs.
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
            pairs,
            source.items,
            per_class=per_class,
            shots=shots,
            seed=seed,
            dataset="fss1000",
        )
        super().__init__("FSS-1000", source, table, cross_class=cross_class)

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        yield from super()._verdict(tally)
        coloured = [file for file in self._mask_files() if _is_coloured(file)]
        if coloured:
            what = "masks have coloured pixels; only their blue channel is used, as by the authors"
            yield Finding(
                is_error=False,
                message=f"{len(coloured)} {what}: {abbreviate_names(list(map(str, coloured)), 3)}",
            )

    def _mask_files(self) -> list[Path]:
        """Return the existing mask files of all queries and supports."""
        queries = self.pairs["query"].to_list()
        supports = self.pairs["supports"].explode().to_list()
        masks: list[Path] = []
        for image in sorted({*queries, *supports}):
            # The folder of an image is its class, so a mask name needs no class.
            _, mask = self.source.files("", image)
            if mask.is_file():
                masks.append(mask)
        return masks


def fss_source(root: Path) -> FileSource:
    """Return the images and masks of FSS-1000; images are called CLASS/NUMBER.

    Raises:
        DatasetMissing: there is no class folder with images.
    """
    folders: dict[str, Path] = {}
    for folder in sorted(root.iterdir()):
        if folder.is_dir():
            # The published lists write 0 for an apostrophe or a hyphen, so `one-armed` and
            # `one0armed` are one class.
            folders[re.sub(r"['-]", "0", folder.name)] = folder
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


def _image_file(
    root: Path,
    folders: Mapping[str, Path],
    image: str,
) -> Path:
    label, _, number = image.rpartition("/")
    folder = folders.get(label) or safe_join(root, label or "-")
    return safe_join(folder, f"{number}.jpg")


def _mask_file(
    root: Path,
    folders: Mapping[str, Path],
    label: str,
    image: str,
) -> Path:
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

"""One-shot dataset of your own images, with one folder of masks per class."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from segarena.datasets.listed_dataset import require_folder
from segarena.errors import DatasetError, DatasetMissing
from segarena.files.images import IMAGE_SUFFIXES, list_image_files
from segarena.files.safe_paths import safe_join
from segarena.registry import dataset
from segarena.systems.oneshot.pairs.image_sources import ClassImage, FileSource
from segarena.systems.oneshot.pairs.pair_dataset import CrossClassRule, PairDataset
from segarena.systems.oneshot.pairs.random_pairs import read_or_draw_pairs

FOLDER_LAYOUT = "PATH/images/NAME.jpg with PATH/masks/CLASS/NAME.png, or PATH/images/CLASS/NAME.jpg with the same masks"


@dataset("oneshot-folder")
class OneShotFolder(PairDataset):
    """Your own images and masks, with pairs from a table or sampled at random.

    The file `masks/CLASS/NAME.png` is the mask of all objects of the class in `images/NAME.jpg`, or
    in `images/CLASS/NAME.jpg` if the images are sorted by class too. Masks hold 0 and 1, or 0 and
    255. Images without a mask are not used.

    Args:
        path: folder that contains `images` and `masks`.
        pairs: tables of pairs (.parquet, .jsonl, .csv) with the columns class, query and supports,
            separated by commas; "" samples pairs.
        fold: use only pairs of this fold.
        per_class: number of sampled pairs of each class.
        shots: number of supports of a sampled pair.
        seed: random seed of the sampled pairs.
        cross_class: "keep" or "drop" pairs whose support shows another class by mistake.
        name: name of the dataset in records; by default the name of the folder at `path`.

    Raises:
        DatasetMissing: a folder or table does not exist, or there are no images or no masks.
        DatasetError: two image files differ only in their ending, a table cannot be read, or no
            pair is left.
    """

    def __init__(
        self,
        *,
        path: str,
        pairs: str = "",
        fold: int | None = None,
        per_class: int = 20,
        shots: int = 1,
        seed: int = 0,
        cross_class: CrossClassRule = "keep",
        name: str | None = None,
    ) -> None:
        root = Path(path).expanduser()
        called = name or root.resolve().name
        source = folder_source(root)
        table = read_or_draw_pairs(
            pairs,
            source.items,
            per_class=per_class,
            shots=shots,
            seed=seed,
            dataset=called,
        )
        super().__init__(called, source, table, cross_class=cross_class, fold=fold)


def folder_source(root: Path) -> FileSource:
    """Return the images and masks of a folder; images in class folders are called CLASS/NAME.

    Raises:
        DatasetMissing: a folder does not exist, or there are no images or no masks.
        DatasetError: two image files differ only in their ending.
    """
    images = _by_name(require_folder(root / "images", "images", FOLDER_LAYOUT))
    masks = require_folder(root / "masks", "masks per class", FOLDER_LAYOUT)
    files: dict[ClassImage, Path] = {}
    for file in list_image_files(masks):
        label, _, stem = file.relative_to(masks).with_suffix("").as_posix().partition("/")
        if stem:
            sorted_by_class = f"{label}/{stem}"
            files[label, sorted_by_class if sorted_by_class in images else stem] = file
    if not files:
        raise DatasetMissing(
            f"{masks}: expected a folder of masks per class, found none; the layout is {FOLDER_LAYOUT}"
        )
    return FileSource(
        image_file=partial(_image_file, root / "images", images),
        mask_file=partial(_mask_file, masks, files),
        list_items=partial(list, files),
    )


def _image_file(
    folder: Path,
    images: Mapping[str, Path],
    image: str,
) -> Path:
    return images.get(image) or safe_join(folder, f"{image}.jpg")


def _mask_file(
    folder: Path,
    files: Mapping[ClassImage, Path],
    label: str,
    image: str,
) -> Path:
    known = files.get((label, image))
    if known:
        return known
    # Error messages name the path where the missing mask is expected.
    _, _, name = image.rpartition("/")
    return safe_join(folder, f"{label}/{name}.png")


def _by_name(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in list_image_files(folder):
        key = file.relative_to(folder).with_suffix("").as_posix()
        if key in found:
            raise DatasetError(
                f"{file} and {found[key]}: expected one image of this name, got two; rename one"
            )
        found[key] = file
    if not found:
        endings = ", ".join(sorted(IMAGE_SUFFIXES))
        raise DatasetMissing(
            f"{folder}: expected image files ({endings}), found none; the layout is {FOLDER_LAYOUT}"
        )
    return found

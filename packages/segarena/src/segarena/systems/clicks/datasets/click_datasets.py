"""The five benchmark datasets of click segmentation.

They are GrabCut, Berkeley, DAVIS-345, COCO-MVal and TETRIS. Their files are read exactly as the
published evaluation codes read them (RITM, and RClicks after it), in the published layouts and
order. Source: RClicks (NeurIPS 2024), section 5, and the data classes of its code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.datasets.listed_dataset import (
    CheckTally,
    Files,
    ListedDataset,
    abbreviate_names,
    require_folder,
)
from segarena.datasets.mask_encodings import DecodedMask, to_targets
from segarena.errors import DatasetError, DatasetMissing, InvalidMask
from segarena.files.images import IMAGE_SUFFIXES, check_same_shape, read_image, read_mask_colours
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import ImageSample

TETRIS_LONG_SIDE_PX = 2048


@dataclass(frozen=True, slots=True)
class ClickDatasetLayout:
    """Folders, mask encoding and size of a published dataset.

    Attributes:
        name: of the dataset.
        folders: of the images and of the masks.
        objects: function from mask pixels (H, W, 3) RGB to objects.
        expected: numbers of images and targets in the published dataset.
        stem_of: function from an image file name to the sample id, which is also the mask's stem.
        long_side_px: limit to which larger images are scaled down; None keeps every size.
    """

    name: str
    folders: tuple[str, str]
    objects: Callable[[NDArray[np.uint8]], DecodedMask]
    expected: tuple[int, int]
    stem_of: Callable[[str], str] = lambda name: name.split(".", maxsplit=1)[0]
    long_side_px: int | None = None


class ClickDataset(ListedDataset[ImageSample]):
    """A published click dataset in its published layout.

    Args:
        path: the folder that holds the folders of images and masks.
        layout: of the dataset.
        stems: the samples to load; None loads all.

    Raises:
        DatasetMissing: a folder does not exist, has no image, or lacks one of `stems`.
        DatasetError: two images have the same mask.
    """

    def __init__(
        self, path: str, layout: ClickDatasetLayout, stems: Sequence[str] | None = None
    ) -> None:
        self._layout = layout
        self._is_whole = stems is None
        root = Path(path).expanduser()
        images_name, masks_name = layout.folders
        image_folder = root / images_name
        self._masks_folder = root / masks_name
        expected = f"{image_folder}/NAME.* with {self._masks_folder}/NAME.*"
        require_folder(image_folder, f"the images of {layout.name}", expected)
        require_folder(self._masks_folder, f"the masks of {layout.name}", expected)
        images = _listed(image_folder, layout.stem_of)
        masks = _listed(self._masks_folder, _without_suffix)
        if not images:
            raise DatasetMissing(
                f"{image_folder}: expected the images of {layout.name}, found none"
            )
        absent = [stem for stem in stems or () if stem not in images]
        if absent:
            raise DatasetMissing(
                f"{image_folder}: expected images of the split, found none for {abbreviate_names(absent)}"
            )
        self._unused_masks = sorted(masks[stem].name for stem in masks.keys() - images.keys())
        selected = set(images)
        if stems is not None:
            selected = set(stems)
        files: dict[str, Files] = {}
        for stem, image in images.items():
            if stem not in selected:
                continue
            # A missing mask is an error of its sample, which `_read` reports.
            files[stem] = (image, masks[stem]) if stem in masks else (image,)
        identity = {"layout": layout.name, "long_side_px": layout.long_side_px}
        super().__init__(layout.name, files, identity)

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        image_path, *mask_paths = files
        if not mask_paths:
            raise InvalidMask(
                f"{image_path}: expected a mask {self._masks_folder / sample_id}.*, found none; restore it"
            )
        (mask_path,) = mask_paths
        image = read_image(image_path)
        pixels = read_mask_colours(mask_path)
        check_same_shape(pixels, mask_path, image, image_path)
        objects = self._layout.objects(pixels)
        if not any(mask.any() for mask in objects.masks.values()):
            raise InvalidMask(
                f"{mask_path}: expected at least one object pixel, got none; download it again"
            )
        if self._layout.long_side_px is not None:
            image, objects = scale_down(image, objects, self._layout.long_side_px)
        return ImageSample(id=sample_id, image=image, targets=to_targets(objects))

    def _oddities(self) -> Iterable[Finding]:
        if self._unused_masks:
            listed = abbreviate_names(self._unused_masks, 20)
            message = f"{len(self._unused_masks)} masks have no image and are not used: {listed}"
            yield Finding(is_error=False, message=message)

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        images = len(self.sample_ids)
        if self._is_whole and (images, tally.targets) != self._layout.expected:
            expected_images, expected_targets = self._layout.expected
            message = (
                f"{self.name}: the published set has {expected_images} images and "
                f"{expected_targets} targets, here are {images} and {tally.targets}"
            )
            yield Finding(is_error=False, message=message)


def trimap_objects(pixels: NDArray[np.uint8]) -> DecodedMask:
    """Return the object and the undecided band of a GrabCut or Berkeley mask.

    The published code reads channel 0 in OpenCV's order, which is blue: 128 is ignored, higher
    values are the object, and so is a raw 1, because the code compares with 1 afterwards.
    """
    values = pixels[:, :, 2]
    is_undecided = values == 128
    is_object = np.asarray((values > 128) | (values == 1))
    ignore = is_undecided if is_undecided.any() else None
    return DecodedMask({"": is_object}, ignore)


def any_channel_objects(pixels: NDArray[np.uint8]) -> DecodedMask:
    """Return the one object of a DAVIS-345 or COCO-MVal mask: every pixel that is not black."""
    return DecodedMask({"": np.asarray(pixels.any(axis=2))}, None)


def colour_code_objects(pixels: NDArray[np.uint8]) -> DecodedMask:
    """Return the objects of a TETRIS mask by code: blue x 65536 + green x 256 + red, ascending.

    The name of an object is its code, as in the published click files. A single object has an
    empty name, there and here.
    """
    channels = pixels.astype(np.int32)
    red = channels[:, :, 0]
    green = channels[:, :, 1]
    blue = channels[:, :, 2]
    codes = (blue << 16) | (green << 8) | red
    distinct = np.unique(codes)
    object_codes = distinct[distinct != 0].tolist()  # code 0 is the background
    if len(object_codes) == 1:
        return DecodedMask({"": codes == object_codes[0]}, None)
    return DecodedMask({str(code): codes == code for code in object_codes}, None)


def scale_down(
    image: NDArray[np.uint8], objects: DecodedMask, long_side_px: int
) -> tuple[NDArray[np.uint8], DecodedMask]:
    """Limit the longer side of image and objects as the published TETRIS reader does.

    Images are never enlarged. Masks are resized bilinearly too: every value above zero is the
    object, and where two objects meet, the later one (with the larger code) wins. An object that
    vanishes, or is completely covered, is left out.
    """
    height, width = image.shape[:2]
    longer = max(height, width)
    shorter = min(height, width)
    long_px = min(longer, long_side_px)
    # Half a pixel rounds up, as in the published reader, which fails on a thread of an image:
    # there at least one pixel stays.
    short_px = max(1, int(shorter / longer * long_px + 0.5))
    size = (short_px, long_px) if height > width else (long_px, short_px)
    small = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_LINEAR), dtype=np.uint8)
    labels = np.zeros(small.shape[:2], dtype=np.int32)
    for label, mask in enumerate(objects.masks.values(), start=1):
        resized = cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_LINEAR)
        labels[resized != 0] = label
    masks: dict[str, NDArray[np.bool_]] = {}
    for label, name in enumerate(objects.masks, start=1):
        mask = labels == label
        if mask.any():
            masks[name] = mask
    return small, DecodedMask(masks, objects.ignore)


def _without_suffix(name: str) -> str:
    return Path(name).stem


@dataset("grabcut")
def grabcut(*, path: str) -> ClickDataset:
    """Load GrabCut: 50 images, one object each; the band of value 128 is ignored."""
    return ClickDataset(
        path, ClickDatasetLayout("GrabCut", ("data_GT", "boundary_GT"), trimap_objects, (50, 50))
    )


@dataset("berkeley")
def berkeley(*, path: str) -> ClickDataset:
    """Load Berkeley: 100 objects of 96 photographs; the band of value 128 is ignored.

    Every object has its own file.
    """
    return ClickDataset(
        path, ClickDatasetLayout("Berkeley", ("images", "masks"), trimap_objects, (100, 100))
    )


@dataset("davis345")
def davis345(*, path: str) -> ClickDataset:
    """Load DAVIS-345: 345 frames of the DAVIS 2016 videos; all foreground is one object."""
    return ClickDataset(
        path, ClickDatasetLayout("DAVIS-345", ("img", "gt"), any_channel_objects, (345, 345))
    )


@dataset("coco-mval")
def coco_mval(*, path: str) -> ClickDataset:
    """Load COCO-MVal: 800 objects, ten of each of the 80 COCO categories."""
    return ClickDataset(
        path, ClickDatasetLayout("COCO-MVal", ("img", "gt"), any_channel_objects, (800, 800))
    )


@dataset("tetris")
def tetris(*, path: str, split: str | None = None) -> ClickDataset:
    """Load TETRIS: 2531 objects in 2000 large photographs, longer side limited to 2048 pixels.

    Args:
        path: the folder with `images` and `masks`.
        split: a text file with one image name without suffix per line, in `path` or elsewhere; None
            takes all images.

    Raises:
        DatasetMissing: the folders or the split file do not exist, or a line of it names no image.
    """
    layout = ClickDatasetLayout(
        "TETRIS",
        ("images", "masks"),
        colour_code_objects,
        (2000, 2531),
        _without_suffix,
        TETRIS_LONG_SIDE_PX,
    )
    if split is None:
        return ClickDataset(path, layout)
    listing = Path(path).expanduser() / split
    if not listing.is_file():
        raise DatasetMissing(
            f"{listing}: expected a text file with one image name per line, found none"
        )
    lines = listing.read_text(encoding="utf-8").splitlines()
    stems = [line.strip() for line in lines]
    return ClickDataset(path, layout, [stem for stem in stems if stem])


def _listed(folder: Path, stem_of: Callable[[str], str]) -> dict[str, Path]:
    """Return the image files of `folder` (not below it), in order of file name, by stem."""
    listed: dict[str, Path] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.suffix.lower() not in IMAGE_SUFFIXES or file.name.startswith("."):
            continue
        stem = stem_of(file.name)
        if stem in listed:
            raise DatasetError(
                f"{file} and {listed[stem]}: expected one file called {stem!r}, got two; remove one"
            )
        listed[stem] = file
    return listed

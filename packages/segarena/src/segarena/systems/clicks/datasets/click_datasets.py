"""The five sets that click segmentation is judged on: GrabCut, Berkeley, DAVIS-345, COCO-MVal and TETRIS.

Their files are read exactly as the published evaluation codes read them (RITM, and RClicks after it), in the
published layouts and order. Source: RClicks (NeurIPS 2024), section 5, and the data classes of its code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.datasets.encodings import DecodedMask, to_targets
from segarena.datasets.listing import CheckTally, Files, ListedDataset, existing_folder, some
from segarena.errors import DatasetError, DatasetMissing, InvalidMask
from segarena.files.images import IMAGE_SUFFIXES, check_same_shape, read_colours, read_image
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import ImageSample

TETRIS_LONG_SIDE_PX = 2048


@dataclass(frozen=True, slots=True)
class ClickDatasetLayout:
    """Where a published set keeps its files and what its mask pixels mean.

    Attributes:
        name: of the set.
        folders: of the images and of the masks.
        objects: mask pixels (H, W, 3) RGB to objects.
        expected: images and targets in the published set.
        stem_of: image file name to sample id, which is also the stem of its mask.
        long_side_px: larger images are scaled down to it; None keeps every size.
    """

    name: str
    folders: tuple[str, str]
    objects: Callable[[NDArray[np.uint8]], DecodedMask]
    expected: tuple[int, int]
    stem_of: Callable[[str], str] = lambda name: name.split(".", maxsplit=1)[0]
    long_side_px: int | None = None


class ClickDataset(ListedDataset[ImageSample]):
    """A published set in its published layout.

    Args:
        path: the folder that holds the folders of images and masks.
        layout: which set it is.
        stems: the samples to keep; None keeps all.

    Raises:
        DatasetMissing: a folder is not there, holds no image, or lacks one of `stems`.
        DatasetError: two images lead to the same mask.
    """

    def __init__(
        self, path: str, layout: ClickDatasetLayout, stems: Sequence[str] | None = None
    ) -> None:
        self._layout = layout
        self._is_whole = stems is None
        image_folder, self._masks_folder = (
            Path(path).expanduser() / folder for folder in layout.folders
        )
        expected = f"{image_folder}/NAME.* with {self._masks_folder}/NAME.*"
        existing_folder(image_folder, f"the images of {layout.name}", expected)
        existing_folder(self._masks_folder, f"the masks of {layout.name}", expected)
        images = _listed(image_folder, layout.stem_of)
        masks = _listed(self._masks_folder, _without_suffix)
        if not images:
            raise DatasetMissing(
                f"{image_folder}: expected the images of {layout.name}, found none"
            )
        absent = [stem for stem in stems or () if stem not in images]
        if absent:
            raise DatasetMissing(
                f"{image_folder}: expected images of the split, found none for {some(absent)}"
            )
        if stems is None:
            kept = images
        else:
            kept = {stem: image for stem, image in images.items() if stem in set(stems)}
        self._idle_masks = sorted(masks[stem].name for stem in masks.keys() - images.keys())
        files = {
            stem: (image, *((masks[stem],) if stem in masks else ()))
            for stem, image in kept.items()
        }
        super().__init__(
            layout.name, files, {"layout": layout.name, "long_side_px": layout.long_side_px}
        )

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        image_path, *mask_paths = files
        if not mask_paths:
            raise InvalidMask(
                f"{image_path}: expected a mask {self._masks_folder / sample_id}.*, found none; restore it"
            )
        (mask_path,) = mask_paths
        image = read_image(image_path)
        pixels = read_colours(mask_path)
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
        if self._idle_masks:
            message = f"{len(self._idle_masks)} masks have no image and are not used: {some(self._idle_masks, 20)}"
            yield Finding(is_error=False, message=message)

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        came = (len(self.sample_ids), tally.targets)
        if self._is_whole and came != self._layout.expected:
            images, targets = self._layout.expected
            published = f"the published set has {images} images and {targets} targets"
            yield Finding(
                is_error=False,
                message=f"{self.name}: {published}, here are {came[0]} and {came[1]}",
            )


def trimap_objects(pixels: NDArray[np.uint8]) -> DecodedMask:
    """Return the object and the undecided band of a GrabCut or Berkeley mask.

    The published code looks at channel 0 in OpenCV's order, which is blue: 128 is ignored, more is the object, and
    so is a raw 1, because it compares with 1 afterwards.
    """
    values = pixels[:, :, 2]
    ignore = values == 128
    return DecodedMask(
        {"": np.asarray((values > 128) | (values == 1))}, ignore if ignore.any() else None
    )


def any_channel_objects(pixels: NDArray[np.uint8]) -> DecodedMask:
    """Return the one object of a DAVIS-345 or COCO-MVal mask: every pixel that is not black."""
    return DecodedMask({"": np.asarray(pixels.any(axis=2))}, None)


def colour_code_objects(pixels: NDArray[np.uint8]) -> DecodedMask:
    """Return the objects of a TETRIS mask by their code, blue x 65536 + green x 256 + red, ascending.

    The code is the name, as in the published click files; an object that is alone has none there and here.
    """
    wide = pixels.astype(np.int32)
    codes = (wide[:, :, 2] << 16) | (wide[:, :, 1] << 8) | wide[:, :, 0]
    found = [int(code) for code in np.unique(codes) if code]
    return DecodedMask(
        {"" if len(found) == 1 else str(code): codes == code for code in found}, None
    )


def scale_down(
    image: NDArray[np.uint8], objects: DecodedMask, long_side_px: int
) -> tuple[NDArray[np.uint8], DecodedMask]:
    """Return image and objects with the longer side limited as the published TETRIS reader does it; never enlarged.

    Bilinear, the masks too: whatever is not zero after it is the object, and where two objects meet the later one
    (of the larger code) wins. An object that is scaled away, or wholly covered, is left out.
    """
    height, width = image.shape[:2]
    long_px = min(max(height, width), long_side_px)
    # At least one pixel: the published reader fails on a thread of an image.
    short_px = max(1, int(min(height, width) / max(height, width) * long_px + 0.5))
    size = (short_px, long_px) if height > width else (long_px, short_px)
    small = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_LINEAR), dtype=np.uint8)
    labels = np.zeros(small.shape[:2], dtype=np.int32)
    for label, mask in enumerate(objects.masks.values(), start=1):
        labels[cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_LINEAR) != 0] = label
    masks = {name: labels == label for label, name in enumerate(objects.masks, start=1)}
    return small, DecodedMask(
        {name: mask for name, mask in masks.items() if mask.any()}, objects.ignore
    )


def _without_suffix(name: str) -> str:
    return Path(name).stem


@dataset("grabcut")
def grabcut(*, path: str) -> ClickDataset:
    """GrabCut: 50 images, one object each; the band of value 128 is ignored."""
    return ClickDataset(
        path, ClickDatasetLayout("GrabCut", ("data_GT", "boundary_GT"), trimap_objects, (50, 50))
    )


@dataset("berkeley")
def berkeley(*, path: str) -> ClickDataset:
    """Berkeley: 100 objects of 96 photographs (one file per object); the band of value 128 is ignored."""
    return ClickDataset(
        path, ClickDatasetLayout("Berkeley", ("images", "masks"), trimap_objects, (100, 100))
    )


@dataset("davis345")
def davis345(*, path: str) -> ClickDataset:
    """DAVIS-345: 345 frames of the DAVIS 2016 videos; all that is not background is one object."""
    return ClickDataset(
        path, ClickDatasetLayout("DAVIS-345", ("img", "gt"), any_channel_objects, (345, 345))
    )


@dataset("coco-mval")
def coco_mval(*, path: str) -> ClickDataset:
    """COCO-MVal: 800 objects, ten of each of the 80 COCO categories."""
    return ClickDataset(
        path, ClickDatasetLayout("COCO-MVal", ("img", "gt"), any_channel_objects, (800, 800))
    )


@dataset("tetris")
def tetris(*, path: str, split: str | None = None) -> ClickDataset:
    """TETRIS: 2531 objects in 2000 large photographs, longer side limited to 2048 pixels.

    Args:
        path: the folder with `images` and `masks`.
        split: a text file with one image name without ending per line, in `path` or elsewhere; None takes all images.

    Raises:
        DatasetMissing: the folders or the split file are not there, or a line of it names no image.
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
    return ClickDataset(path, layout, [line.strip() for line in lines if line.strip()])


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

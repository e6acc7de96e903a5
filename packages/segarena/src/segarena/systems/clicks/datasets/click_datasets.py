"""The five benchmark datasets of interactive click segmentation.

They are GrabCut, Berkeley, DAVIS-345, COCO-MVal and TETRIS. Their files are read exactly as by the
published evaluation code (of RITM, and later of RClicks), in the published layouts and order.
Source: RClicks (NeurIPS 2024), section 5, and the dataset classes in its code.
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
from segarena.datasets.mask_orientation import MaskedPhotograph, orientation_assumptions
from segarena.errors import DatasetError, DatasetMissing, InvalidMask
from segarena.files.images import IMAGE_SUFFIXES, check_same_shape, read_image, read_mask_colours
from segarena.files.text_files import read_text
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import ImageSample

# Limit of the published TETRIS reader; other datasets are read at full size.
TETRIS_LONG_SIDE_PX = 2048


@dataclass(frozen=True, slots=True)
class ClickDatasetLayout:
    """Folder names, mask encoding and expected size of a published dataset.

    Attributes:
        name: name of the dataset.
        folders: names of the image folder and the mask folder.
        objects: function that converts mask pixels, (H, W, 3) RGB, to objects.
        expected: number of images and number of targets in the published dataset.
        stem_of: function that converts an image file name to the sample id, which is also the stem
            of the mask file.
        long_side_px: images whose longer side exceeds this limit are scaled down to it; None keeps
            every size.
    """

    name: str
    folders: tuple[str, str]
    objects: Callable[[NDArray[np.uint8]], DecodedMask]
    expected: tuple[int, int]
    # The published readers cut at the first dot. TETRIS replaces the last suffix instead, because
    # its stems contain dots.
    stem_of: Callable[[str], str] = lambda name: name.split(".", maxsplit=1)[0]
    long_side_px: int | None = None


class ClickDataset(ListedDataset[ImageSample]):
    """A published click dataset in its published layout.

    Args:
        path: the folder that contains the image folder and the mask folder.
        layout: layout of the dataset.
        stems: ids of the samples to load; None loads all.

    Raises:
        DatasetMissing: a folder does not exist or contains no image, or one of `stems` has no
            image.
        DatasetError: two images or two masks have the same name.
    """

    def __init__(
        self,
        path: str,
        layout: ClickDatasetLayout,
        stems: Sequence[str] | None = None,
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
            # A missing mask affects only its own sample; `_read` reports it.
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

    def assumptions(self, sample_ids: Sequence[str]) -> Sequence[str]:
        """State the assumed orientation of masks without an orientation tag."""
        pictures: list[MaskedPhotograph] = []
        for sample_id in sample_ids:
            image, *masks = self.files_of(sample_id)
            pictures.append(MaskedPhotograph(image, tuple(masks)))
        return orientation_assumptions(
            pictures, "upright", remedy="rotate the masks, or remove the tag of the photographs"
        )

    def _oddities(self) -> Iterable[Finding]:
        if self._unused_masks:
            listed = abbreviate_names(self._unused_masks, 20)
            message = f"masks without an image are not used ({len(self._unused_masks)}): {listed}"
            yield Finding(is_error=False, message=message)

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        images = len(self.sample_ids)
        if self._is_whole and (images, tally.targets) != self._layout.expected:
            expected_images, expected_targets = self._layout.expected
            message = (
                f"{self.name}: expected {expected_images} images and "
                f"{expected_targets} targets as published, found {images} and {tally.targets}"
            )
            yield Finding(is_error=False, message=message)


def trimap_objects(pixels: NDArray[np.uint8]) -> DecodedMask:
    """Return the object of a GrabCut or Berkeley mask, and the ignored band along its contour.

    Like the published code, this reads channel 0 in OpenCV's order, which is blue. The value 128 is
    ignored and higher values are the object. A raw value of 1 is also the object, because the code
    later compares with 1.
    """
    values = pixels[:, :, 2]
    is_undecided = values == 128
    is_object = np.asarray((values > 128) | (values == 1))
    ignore = is_undecided if is_undecided.any() else None
    return DecodedMask({"": is_object}, ignore)


def any_channel_objects(pixels: NDArray[np.uint8]) -> DecodedMask:
    """Return the single object of a DAVIS-345 or COCO-MVal mask: every pixel that is not black."""
    return DecodedMask({"": np.asarray(pixels.any(axis=2))}, None)


def colour_code_objects(pixels: NDArray[np.uint8]) -> DecodedMask:
    """Return the objects of a TETRIS mask in ascending order of their code: blue x 65536 + green x 256 + red.

    Each object is named by its code, as in the published click files. If there is only one object,
    its name is empty, also as in those files.
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
    image: NDArray[np.uint8],
    objects: DecodedMask,
    long_side_px: int,
) -> tuple[NDArray[np.uint8], DecodedMask]:
    """Scale image and objects down to a maximum side, as the published TETRIS reader does.

    Images are never enlarged. Masks are resized bilinearly as well: every value above zero counts
    as the object, and where two objects overlap, the one with the larger code wins. Objects that
    vanish or are completely covered are omitted. Ignored pixels, which that reader does not have, are
    resized like the objects.
    """
    height, width = image.shape[:2]
    longer = max(height, width)
    shorter = min(height, width)
    long_px = min(longer, long_side_px)
    # Halves are rounded up, as in the published reader. That reader fails on extremely thin images;
    # here at least one pixel remains.
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
    ignore = objects.ignore
    if ignore is not None:
        resized = cv2.resize(ignore.astype(np.uint8), size, interpolation=cv2.INTER_LINEAR)
        ignore = np.asarray(resized != 0)
    return small, DecodedMask(masks, ignore)


def _without_suffix(name: str) -> str:
    return Path(name).stem


@dataset("grabcut")
def grabcut(*, path: str) -> ClickDataset:
    """Load GrabCut: 50 images with one object each; mask value 128 (the contour band) is ignored."""
    return ClickDataset(
        path, ClickDatasetLayout("GrabCut", ("data_GT", "boundary_GT"), trimap_objects, (50, 50))
    )


@dataset("berkeley")
def berkeley(*, path: str) -> ClickDataset:
    """Load Berkeley: 100 objects in 96 photographs; mask value 128 (the contour band) is ignored.

    Each object has its own image and mask file.
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
        split: a text file with one image name (without suffix) per line, in `path` or elsewhere;
            None loads all images.

    Raises:
        DatasetMissing: a folder or the split file does not exist, or a line of the split file has
            no matching image.
        DatasetError: the split file is not text in UTF-8.
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
    lines = read_text(listing, "image names").splitlines()
    stems = [line.strip() for line in lines]
    return ClickDataset(path, layout, [stem for stem in stems if stem])


def _listed(folder: Path, stem_of: Callable[[str], str]) -> dict[str, Path]:
    """Map the stem of each image file directly in `folder` to its path, in order of file name."""
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

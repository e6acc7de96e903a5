"""Your own images and masks, in two folders, with a declared encoding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segarena.datasets.listed_dataset import (
    CheckTally,
    Files,
    ListedDataset,
    abbreviate_names,
    require_folder,
)
from segarena.datasets.mask_encodings import (
    Colour,
    DecodedMask,
    EncodingKind,
    MaskEncoding,
    to_targets,
)
from segarena.errors import DatasetError, DatasetMissing, InvalidImage, InvalidMask
from segarena.files.images import check_same_shape, list_image_files, read_image
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import ImageSample, Mask

LAYOUT = "PATH/images/NAME.jpg with PATH/masks/NAME.png, PATH/masks/NAME__OBJECT.png or PATH/masks/NAME/OBJECT.png"


@dataclass(slots=True)
class _Pair:
    image: Path | None = None
    masks: list[tuple[str, Path]] = field(default_factory=list[tuple[str, Path]])

    @property
    def files(self) -> Files:
        return (*((self.image,) if self.image else ()), *(mask for _, mask in self.masks))

    @property
    def is_complete(self) -> bool:
        return self.image is not None and bool(self.masks)


@dataset("folder")
class Folder(ListedDataset[ImageSample]):
    """Images in one folder, masks of the same names in another; nested folders are mirrored.

    The masks of image `city/01.jpg` are `city/01.png`, or one file per object: `city/01__dog.png` or
    `city/01/dog.png`. The id of a target is the name of its object ("dog"), its value ("3") or colour
    ("#ff0000") in the file, both ("dog/3"), or "object" if there is neither.

    Args:
        path: the folder that contains both.
        images: folder of the images in `path`.
        masks: folder of the masks in `path`.
        encoding: "binary", "index" or "colour"; see `segarena.datasets.mask_encodings.MaskEncoding`.
        ignore_value: value, or colour as "#rrggbb", of ignored pixels.
        threshold: with "binary", smallest value of the object; by default a third value is an error.
        min_area_px: smallest area of a target, in pixels.
        unpaired: "error" makes an image without mask, or a mask without image, a sample that fails to load;
            "skip" omits it. `check` lists them in both cases.
        name: as it appears in records; by default the name of the folder at `path`.

    Raises:
        DatasetMissing: a folder is missing, or contains no image.
        DatasetError: two images differ only in their suffix.
        PluginInvalid: inconsistent options.
    """

    def __init__(
        self,
        *,
        path: str,
        images: str = "images",
        masks: str = "masks",
        encoding: EncodingKind = "binary",
        ignore_value: Colour | None = None,
        threshold: int | None = None,
        min_area_px: int = 1,
        unpaired: Literal["error", "skip"] = "error",
        name: str | None = None,
    ) -> None:
        self._encoding = MaskEncoding(kind=encoding, ignore_value=ignore_value, threshold=threshold)
        self._min_area_px = min_area_px
        root = Path(path).expanduser()
        images_folder = require_folder(root / images, "images", LAYOUT)
        self._masks_folder = require_folder(root / masks, "masks", LAYOUT)
        pairs = _pair(images_folder, self._masks_folder)
        self._unpaired = [pair.files[0] for pair in pairs.values() if not pair.is_complete]
        self._is_skipping = unpaired == "skip"
        self._pairs = {
            key: pair for key, pair in pairs.items() if pair.is_complete or not self._is_skipping
        }
        rules = {
            "encoding": encoding,
            "ignore_value": ignore_value,
            "threshold": threshold,
            "min_area_px": min_area_px,
        }
        files = {key: pair.files for key, pair in self._pairs.items()}
        super().__init__(name or root.resolve().name, files, rules)

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        del files
        pair = self._pairs[sample_id]
        if pair.image is None:
            raise InvalidImage(
                f"{pair.files[0]}: mask without image; expected an image of that name, add it or set unpaired='skip'"
            )
        if not pair.masks:
            raise InvalidMask(
                f"{pair.image}: image without mask; expected one in {self._masks_folder}, add it or set unpaired='skip'"
            )
        image = read_image(pair.image)
        objects = self._objects(pair, pair.image, image)
        return ImageSample(id=sample_id, image=image, targets=to_targets(objects))

    def _objects(self, pair: _Pair, image_path: Path, image: NDArray[np.uint8]) -> DecodedMask:
        masks: dict[str, Mask] = {}
        ignores: list[Mask] = []
        for name, path in pair.masks:
            found = self._encoding.read(path)
            check_same_shape(next(iter(found.masks.values())), path, image, image_path)
            for inner, mask in found.masks.items():
                key = "/".join(part for part in (name, inner) if part)
                if key in masks:
                    raise InvalidMask(
                        f"{path}: object {key or 'object'!r} has a mask in another file too; keep one"
                    )
                masks[key] = mask
            if found.ignore is not None:
                ignores.append(found.ignore)
        areas = {key: np.count_nonzero(mask) for key, mask in masks.items()}
        large = {key: mask for key, mask in masks.items() if areas[key] >= self._min_area_px}
        ignore = np.logical_or.reduce(ignores) if ignores else None
        return DecodedMask(large, ignore)

    def _oddities(self) -> Iterable[Finding]:
        if self._is_skipping and self._unpaired:
            names = abbreviate_names([str(path) for path in self._unpaired], 20)
            message = f"{len(self._unpaired)} files have no partner and are skipped: {names}"
            yield Finding(is_error=False, message=message)

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        if not tally.targets:
            yield Finding(
                is_error=True,
                message=f"{self.name}: no target at all; expected at least one object to segment",
            )


def _pair(images: Path, masks: Path) -> Mapping[str, _Pair]:
    """Return images with their masks, by image path without suffix; masks without image come last."""
    pairs: dict[str, _Pair] = {}
    for image in list_image_files(images):
        key = _key(image, images)
        if key in pairs:
            raise DatasetError(
                f"{image} and {pairs[key].image}: expected one image of this name, got two; rename one"
            )
        pairs[key] = _Pair(image)
    if not pairs:
        raise DatasetMissing(
            f"{images}: expected image files (png, jpg, tif, ...), found none; the layout is {LAYOUT}"
        )
    known = frozenset(pairs)
    for mask in list_image_files(masks):
        key, name = _owner(_key(mask, masks), known)
        pairs.setdefault(key, _Pair()).masks.append((name, mask))
    return pairs


def _owner(key: str, known: frozenset[str]) -> tuple[str, str]:
    """Return the key of the image of a mask, and the object name; the key itself if there is no image."""
    if key in known:
        return key, ""
    folder, _, last = key.rpartition("/")
    if folder in known:
        return folder, last
    parts = key.split("__")
    for length in range(len(parts) - 1, 0, -1):
        head = "__".join(parts[:length])
        if head in known:
            return head, "__".join(parts[length:])
    return key, ""


def _key(path: Path, folder: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()

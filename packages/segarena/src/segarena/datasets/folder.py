"""Your own images and masks, in two folders, with a declared encoding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segarena.datasets.file_names import NameIndex, confusable_names, normal_form
from segarena.datasets.folder_detection import layout_hint
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
from segarena.datasets.mask_orientation import (
    MaskedPhotograph,
    MaskOrientation,
    orientation_assumptions,
)
from segarena.errors import DatasetError, DatasetMissing, InvalidImage, InvalidMask
from segarena.files.images import (
    check_same_shape,
    list_image_files,
    read_image,
    read_orientation,
    turn_upright,
)
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import ImageSample, Mask

LAYOUT = "PATH/images/NAME.jpg with PATH/masks/NAME.png, PATH/masks/NAME__OBJECT.png or PATH/masks/NAME/OBJECT.png"
_IF_TURNED = "set mask_orientation='stored' if the mask shows the stored pixels, else rotate it"


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
    """Images in one folder, and masks of the same names in another; subfolders must match.

    The masks of image `city/01.jpg` are `city/01.png`, or one file per object: `city/01__dog.png`
    or `city/01/dog.png`. The id of a target is the name of its object ("dog"), its value ("3") or
    colour ("#ff0000") in the file, both ("dog/3"), or "object" if it has neither.

    Args:
        path: the folder that contains both folders.
        images: folder of the images in `path`.
        masks: folder of the masks in `path`.
        encoding: "binary", "index" or "colour"; see `segarena.datasets.mask_encodings.MaskEncoding`.
        ignore_value: value, or colour as "#rrggbb", of ignored pixels.
        threshold: with "binary", smallest value that belongs to the object; by default, a mask may
            have only two values.
        min_area_px: smallest area of a target, in pixels.
        unpaired: "error" makes an image without mask, or a mask without image, a sample that fails to load;
            "skip" omits it. `check` lists them in both cases.
        name: name of the dataset in records; by default the name of the folder at `path`.
        mask_orientation: "stored" if masks show the stored pixels of photographs that EXIF rotates;
            by default, masks without EXIF orientation show the "upright" photograph.

    Raises:
        DatasetMissing: a folder is missing, or contains no image.
        DatasetError: two images differ only in their suffix.
        PluginInvalid: inconsistent options.
    """

    reports_duplicates = True

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
        mask_orientation: MaskOrientation | None = None,
    ) -> None:
        self._mask_orientation: MaskOrientation = mask_orientation or "upright"
        self._encoding = MaskEncoding(kind=encoding, ignore_value=ignore_value, threshold=threshold)
        self._min_area_px = min_area_px
        root = Path(path).expanduser()
        try:
            self._images_folder = require_folder(root / images, "images", LAYOUT)
            self._masks_folder = require_folder(root / masks, "masks", LAYOUT)
            pairs = _pair(self._images_folder, self._masks_folder)
        except DatasetMissing as error:
            hint = layout_hint(root)
            if hint:
                raise DatasetMissing(f"{error}; {hint}") from error
            raise
        self._unpaired = [pair.files[0] for pair in pairs.values() if not pair.is_complete]
        self._is_skipping = unpaired == "skip"
        self._pairs = {
            key: pair for key, pair in pairs.items() if pair.is_complete or not self._is_skipping
        }
        rules: dict[str, object] = {
            "encoding": encoding,
            "ignore_value": ignore_value,
            "threshold": threshold,
            "min_area_px": min_area_px,
        }
        # Fingerprints of earlier versions had no such rule.
        if self._mask_orientation != "upright":
            rules["mask_orientation"] = self._mask_orientation
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

    def _objects(
        self,
        pair: _Pair,
        image_path: Path,
        image: NDArray[np.uint8],
    ) -> DecodedMask:
        masks: dict[str, Mask] = {}
        ignores: list[Mask] = []
        turn = None
        if self._mask_orientation == "stored":
            turn = read_orientation(image_path)
        for name, path in pair.masks:
            decoded = self._encoding.read(path)
            # A mask with a tag of its own is upright already.
            if turn is not None and read_orientation(path) is None:
                decoded = _turned(decoded, turn)
            # All masks in a file have the same shape.
            first_mask = next(iter(decoded.masks.values()))
            check_same_shape(first_mask, path, image, image_path, if_turned=_IF_TURNED)
            for inner, mask in decoded.masks.items():
                key = "/".join(part for part in (name, inner) if part)
                if key in masks:
                    raise InvalidMask(
                        f"{path}: object {key or 'object'!r} has a mask in another file too; keep one"
                    )
                masks[key] = mask
            if decoded.ignore is not None:
                ignores.append(decoded.ignore)
        # Filter after reading all files, so that two files with an object of the same name are an
        # error even if one of its masks is too small.
        large = {
            key: mask for key, mask in masks.items() if np.count_nonzero(mask) >= self._min_area_px
        }
        ignore = None
        if ignores:
            ignore = np.logical_or.reduce(ignores)
        return DecodedMask(large, ignore)

    def assumptions(self, sample_ids: Sequence[str]) -> Sequence[str]:
        """Return how masks without EXIF orientation are interpreted, and which names match in another Unicode form."""
        pictures: list[MaskedPhotograph] = []
        for sample_id in sample_ids:
            pair = self._pairs[sample_id]
            if pair.image is not None:
                pictures.append(MaskedPhotograph(pair.image, tuple(path for _, path in pair.masks)))
        oriented = orientation_assumptions(
            pictures, self._mask_orientation, remedy="set mask_orientation='stored'"
        )
        return (*oriented, *self._matched_names(sample_ids))

    def _matched_names(self, sample_ids: Sequence[str]) -> Iterable[str]:
        """Describe masks that are matched although their names are encoded differently."""
        matched: list[str] = []
        for sample_id in sample_ids:
            for _, path in self._pairs[sample_id].masks:
                mask_key = _key(path, self._masks_folder)
                is_same_form = mask_key.startswith(sample_id)
                if not is_same_form and normal_form(mask_key).startswith(normal_form(sample_id)):
                    matched.append(str(path.relative_to(self._masks_folder)))
        if matched:
            yield (
                f"names of {len(matched)} masks have other Unicode forms (NFC, NFD) than those of their images, and "
                f"are matched because they look the same: {abbreviate_names(matched)}"
            )

    def _oddities(self) -> Iterable[Finding]:
        for folder in (self._images_folder, self._masks_folder):
            names = [
                path.relative_to(folder.parent).as_posix() for path in list_image_files(folder)
            ]
            yield from confusable_names(names)
        if self._is_skipping and self._unpaired:
            names = abbreviate_names([str(path) for path in self._unpaired], 20)
            message = f"images or masks without a counterpart are skipped ({len(self._unpaired)}): {names}"
            yield Finding(is_error=False, message=message)

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        if not tally.targets:
            yield Finding(
                is_error=True,
                message=f"{self.name}: no targets; expected at least one object to segment",
            )


def _turned(decoded: DecodedMask, orientation: int) -> DecodedMask:
    """Return masks of stored pixels rotated upright."""
    masks = {name: turn_upright(mask, orientation) for name, mask in decoded.masks.items()}
    ignore = decoded.ignore
    if ignore is not None:
        ignore = turn_upright(ignore, orientation)
    return DecodedMask(masks, ignore)


def _pair(images: Path, masks: Path) -> Mapping[str, _Pair]:
    """Return images with their masks, keyed by image path without suffix; masks without image come last."""
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
    known = NameIndex(pairs)
    for mask in list_image_files(masks):
        key, name = _owner(_key(mask, masks), known)
        pairs.setdefault(key, _Pair()).masks.append((name, mask))
    return pairs


def _owner(key: str, known: NameIndex) -> tuple[str, str]:
    """Return the key of the image that a mask belongs to, and the object name; without an image, the mask's own key."""
    divisions = [(key, "")]
    folder, _, last = key.rpartition("/")
    divisions.append((folder, last))
    parts = key.split("__")
    # Try the longest name first, because image names may contain two underscores themselves.
    for length in range(len(parts) - 1, 0, -1):
        divisions.append(("__".join(parts[:length]), "__".join(parts[length:])))
    for head, name in divisions:
        image = known.find(head)
        if image is not None:
            return image, name
    return key, ""


def _key(path: Path, folder: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()

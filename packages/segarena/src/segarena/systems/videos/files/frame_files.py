"""Video files: frames that are decoded on access, and label masks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from segarena.datasets.listed_dataset import Files, abbreviate_names
from segarena.errors import InvalidImage, InvalidInput, InvalidMask, SampleInvalid
from segarena.files.images import IMAGE_SUFFIXES, read_image, read_mask_values, read_size
from segarena.files.limits import check_pixels, check_voxels
from segarena.samples import Labels
from segarena.work.lru_cache import LruCache

HIGHEST_VALUE = 255
"""Maximum value in a mask file, because labels have 8 bits."""

_CACHED_FRAMES = 8


def _empty_cache() -> LruCache[int, NDArray[np.uint8]]:
    return LruCache(max_entries=_CACHED_FRAMES)


class FrameFiles(Sequence[NDArray[np.uint8]]):
    """The frames of a video, uint8 (H, W, 3), decoded on access, with a cache for the most recent ones.

    Args:
        sample_id: sample id, for error messages.
        paths: the image file of each frame.
        shape: (H, W) that every frame must have.
    """

    def __init__(
        self,
        sample_id: str,
        paths: Sequence[Path],
        shape: tuple[int, int],
    ) -> None:
        self._sample_id = sample_id
        self._paths = tuple(paths)
        self._shape = shape
        self._kept = _empty_cache()

    def __len__(self) -> int:
        return len(self._paths)

    @overload
    def __getitem__(self, index: int) -> NDArray[np.uint8]: ...

    @overload
    def __getitem__(self, index: slice) -> list[NDArray[np.uint8]]: ...

    def __getitem__(self, index: int | slice) -> NDArray[np.uint8] | list[NDArray[np.uint8]]:
        """Return one read-only frame, or several frames for a slice.

        Raises:
            SampleInvalid: a file is missing, damaged, or its size differs from the other frames.
        """
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        # `range` resolves negative indices and raises IndexError as a list does.
        number = range(len(self))[index]
        # Cached because every round reads the same frames again, and decoding is slow.
        frame = self._kept.get(number)
        if frame is None:
            frame = self._decode(self._paths[number])
            self._kept.put(number, frame)
        return frame

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": _empty_cache()}

    def _decode(self, path: Path) -> NDArray[np.uint8]:
        try:
            image = read_image(path)
        except InvalidInput as error:
            raise SampleInvalid(f"sample {self._sample_id!r}: {error}") from error
        if image.shape[:2] != self._shape:
            raise SampleInvalid(
                f"sample {self._sample_id!r}: {_other_size(path, image.shape[:2], self._paths[0], self._shape)}"
            )
        image.setflags(write=False)
        return image


def image_files(folder: Path) -> Files:
    """Return the images in a folder in natural order: 2 comes before 10."""
    images: list[Path] = []
    for path in folder.iterdir():
        # macOS writes a hidden file ._NAME.jpg next to each image on foreign file systems.
        if path.suffix.lower() in IMAGE_SUFFIXES and not path.name.startswith("."):
            images.append(path)
    images.sort(key=lambda path: (_natural(path.stem), path.name))
    return tuple(images)


def images_if_folder(folder: Path) -> Files:
    """Return the images in a folder as `image_files` does; none if the folder does not exist."""
    if not folder.is_dir():
        return ()
    return image_files(folder)


def frame_shape(paths: Sequence[Path]) -> tuple[int, int]:
    """Return the common (H, W) of all frames, read from the file headers without decoding.

    Raises:
        InvalidImage: there are no frames, a file is not an image, or its size differs from that of
            the first frame.
    """
    if not paths:
        raise InvalidImage("expected at least one frame, found none")
    first = read_size(paths[0])
    for path in paths[1:]:
        size = read_size(path)
        if size != first:
            raise InvalidImage(_other_size(path, size, paths[0], first))
    return first


def match_masks(
    frames: Sequence[Path],
    masks: Sequence[Path],
    folder: Path,
) -> Files:
    """Return the mask of each frame: the file among `masks` with the same name, apart from its suffix.

    `folder` is named in messages.

    Raises:
        InvalidMask: a frame has no mask, a mask has no frame, or two masks have the same name.
    """
    mask_of = {path.stem: path for path in masks}
    missing = [frame.name for frame in frames if frame.stem not in mask_of]
    if missing:
        raise InvalidMask(
            f"{folder}: expected a mask for every frame, found none for {abbreviate_names(missing)}; add them"
        )
    frame_names = {frame.stem for frame in frames}
    extra = [path.name for path in masks if path.stem not in frame_names]
    if extra or len(mask_of) < len(masks):
        # "00000.png" next to "00000.jpg" is not an additional frame, but a second mask for the same
        # frame.
        surplus = abbreviate_names(extra) if extra else "two files with the same name"
        raise InvalidMask(
            f"{folder}: expected exactly one mask per frame, also found {surplus}; remove the surplus files"
        )
    return tuple(mask_of[frame.stem] for frame in frames)


def read_label_stack(paths: Sequence[Path], shape: tuple[int, int]) -> Labels:
    """Read mask files as labels, uint8 (T, H, W), with unchanged values.

    Raises:
        InvalidMask: a file is missing or damaged, has a different shape than the frames, or has
            values above 255; or all files together have more pixels than `segarena.files.limits`
            allows.
    """
    # Checked before the array is allocated: the sizes come from files, and forged sizes could fill
    # the memory.
    first: Path | str = "masks"
    all_masks = ""
    if paths:
        first = paths[0]
        all_masks = f"{paths[0].parent}: {len(paths)} masks"
    frame_px = math.prod(shape)
    check_pixels(frame_px, first, error=InvalidMask)
    check_voxels(len(paths) * frame_px, all_masks, error=InvalidMask)
    labels = np.empty((len(paths), *shape), dtype=np.uint8)
    for frame, path in enumerate(paths):
        values = read_mask_values(path)
        if values.shape != shape:
            raise InvalidMask(
                f"{path}: expected the size of the frames, {shape[1]} x {shape[0]} pixels, "
                f"got {values.shape[1]} x {values.shape[0]}; resize the mask without interpolation"
            )
        if values.size and not 0 <= int(values.min()) <= int(values.max()) <= HIGHEST_VALUE:
            raise InvalidMask(
                f"{path}: expected values 0 to {HIGHEST_VALUE}, got {int(values.max())}; save it with 8 bits"
            )
        labels[frame] = values
    return labels


def missing_frame_names(paths: Sequence[Path]) -> Iterator[str]:
    """Yield the file names missing between the first and the last of numbered files; none for other files."""
    numbers = {int(path.stem) for path in paths if path.stem.isdecimal()}
    # Files with other names, or two files with the same number, are not a numbered sequence.
    if not paths or len(numbers) < len(paths):
        return
    digits = len(paths[0].stem)
    for number in range(min(numbers), max(numbers)):
        if number not in numbers:
            yield f"{number:0{digits}d}{paths[0].suffix}"


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that compares numbers in a name by value."""
    key: list[tuple[int, int, str]] = []
    for part in re.split(r"(\d+)", name):
        # Text sorts before numbers; the first tuple element prevents a comparison between the two
        # types.
        if part.isdecimal():
            key.append((1, int(part), ""))
        else:
            key.append((0, 0, part))
    return key


def _other_size(
    path: Path,
    size: Sequence[int],
    first: Path,
    expected: Sequence[int],
) -> str:
    return (
        f"{path}: expected the size of {first.name}, {expected[1]} x {expected[0]} pixels, got {size[1]} x {size[0]}; "
        "all frames of a video must have the same size"
    )

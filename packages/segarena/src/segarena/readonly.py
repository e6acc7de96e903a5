"""Read-only views of arrays and samples for plug-ins, and samples without ground truth for segmenters.

NumPy's read-only flag prevents accidental writes, but a plug-in can reset it; `--check-plugins`
(`segarena.engine.mutation_guard`) detects such writes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from segarena.samples import ImageSample, Sample, Target, VideoSample, VolumeSample

DType = TypeVar("DType", bound=np.generic)
SampleT = TypeVar("SampleT", bound=ImageSample | VolumeSample | VideoSample)


def read_only(array: NDArray[DType]) -> NDArray[DType]:
    """Return a read-only view of `array`; the owner of the array can still write to it."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def accept_read_only() -> None:
    """Suppress PyTorch's warning about read-only arrays, because segmenters receive only such arrays."""
    warnings.filterwarnings(
        "ignore", message="The given NumPy array is not writable", category=UserWarning
    )


def freeze(value: Any) -> None:
    """Make an array, or the arrays in a tuple or list, read-only for all owners."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, (tuple, list)):
        for each in value:
            freeze(each)


def freeze_mask(mask: NDArray[DType]) -> NDArray[DType]:
    """Return `mask`, read-only for all owners; copied only if it is a writable view of another array."""
    if mask.flags.writeable and mask.base is not None:
        mask = mask.copy()
    freeze(mask)
    return mask


def read_only_sample(sample: Sample) -> Sample:
    """Return `sample` with its pixels and targets read-only."""
    targets = tuple(map(_read_only_target, sample.targets))
    if isinstance(sample, ImageSample):
        return replace(sample, image=read_only(sample.image), targets=targets)
    if isinstance(sample, VolumeSample):
        affine = sample.affine
        if affine is not None:
            affine = read_only(affine)
        return replace(sample, voxels=read_only(sample.voxels), affine=affine, targets=targets)
    return replace(
        sample, frames=ReadOnlyFrames(sample.frames, sample.frame_shape), targets=targets
    )


def without_truth(sample: SampleT) -> SampleT:
    """Return the part of a sample that a segmenter may see: no targets, human scribbles or supports."""
    hidden: dict[str, Any] = {"targets": ()}
    if isinstance(sample, ImageSample):
        hidden["supports"] = {}
    elif isinstance(sample, VideoSample):
        hidden["scribbles"] = ()
    return replace(sample, **hidden)


class ReadOnlyFrames(Sequence[NDArray[np.uint8]]):
    """The frames of a video, loaded lazily and read-only; `np.asarray` loads all of them as one array.

    Attributes:
        shape: (T, H, W, 3), the shape of the array; known without loading a frame if `frame_shape` is given.
    """

    ndim = 4
    dtype = np.dtype(np.uint8)

    def __init__(
        self, frames: Sequence[NDArray[np.uint8]], frame_shape: tuple[int, int] | None = None
    ) -> None:
        self._frames = frames
        self._frame_shape = frame_shape

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(T, H, W, 3)."""
        height, width = self._frame_shape or self[0].shape[:2]
        return (len(self), height, width, 3)

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> NDArray[Any]:
        """Return all frames as one new array (T, H, W, 3).

        Raises:
            ValueError: `copy` is False, but the frames are separate arrays.
        """
        if copy is False:
            raise ValueError(
                "frames: expected copy=None or True, because frames are separate arrays"
            )
        whole = np.empty(self.shape, np.uint8)
        for index, frame in enumerate(self):
            whole[index] = frame
        return whole if dtype is None else whole.astype(dtype)

    def __len__(self) -> int:
        return len(self._frames)

    @overload
    def __getitem__(self, index: int) -> NDArray[np.uint8]: ...
    @overload
    def __getitem__(self, index: slice) -> list[NDArray[np.uint8]]: ...
    def __getitem__(self, index: int | slice) -> NDArray[np.uint8] | list[NDArray[np.uint8]]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        return read_only(self._frames[index])

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return map(read_only, self._frames)


def _read_only_target(target: Target) -> Target:
    ignore = target.ignore
    if ignore is not None:
        ignore = read_only(ignore)
    return replace(target, mask=read_only(target.mask), ignore=ignore)

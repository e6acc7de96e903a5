"""Saliency maps from 0 to 1: two methods without weights, precomputed maps, or your own function.

The two methods are those of `segarena.arrays.saliency`, scaled so that 0.5 is a sensible threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.saliency import SaliencyMap, boundary_contrast, spectral_residual
from segarena.errors import DatasetMissing, InvalidImage, InvalidInput, SampleInvalid
from segarena.files.images import read_size
from segarena.files.npy import read_arrays
from segarena.files.safe_paths import safe_join
from segarena.registry import find
from segarena.samples import ImageSample, as_image

SaliencyFunction: TypeAlias = Callable[[ImageSample], SaliencyMap]

_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".npy")


BUILT_IN_SALIENCY: dict[str, Callable[[NDArray[np.uint8]], SaliencyMap]] = {
    "boundary-contrast": boundary_contrast,
    "spectral-residual": spectral_residual,
}


def build_saliency(written: str) -> SaliencyFunction:
    """Build a saliency function from a key of `BUILT_IN_SALIENCY`, `file.py:function`, or a folder.

    A function takes an RGB image, uint8 (H, W, 3), and returns numbers from 0 to 1, (H, W). A
    folder contains one map per image, named after its sample: a grey image (0 black, 1 white) or a
    `.npy` file of numbers from 0 to 1. A map that differs in size from its image is scaled to it.

    Raises:
        InvalidInput: the name is unknown.
        DatasetMissing: the folder does not exist; or, when called, an image has no map.
        PluginInvalid: the file has no such function.
        SampleInvalid: when called, a map is not (H, W) or has values outside 0 to 1.
    """
    if written in BUILT_IN_SALIENCY:
        return lambda sample: BUILT_IN_SALIENCY[written](
            as_image(sample.image, name=f"sample {sample.id}")
        )
    if ".py:" in written:
        function = find("saliency", written)
        return lambda sample: _checked(function(as_image(sample.image)), sample, written)
    folder = Path(written).expanduser()
    if folder.is_dir():
        return lambda sample: _checked(_read(folder, sample.id), sample, str(folder))
    known = ", ".join(BUILT_IN_SALIENCY)
    message = (
        f"saliency {written!r}: expected {known}, a folder of maps that exists, or file.py:function"
    )
    is_path = "/" in written
    raise DatasetMissing(message) if is_path else InvalidInput(message)


def _read(folder: Path, sample_id: str) -> NDArray[Any]:
    for suffix in _SUFFIXES:
        # Sample ids come from third-party lists and must not point outside the folder.
        file = safe_join(folder, f"{sample_id}{suffix}")
        if file.is_file():
            return _numbers(file)
    others = ", ".join(_SUFFIXES[1:])
    raise DatasetMissing(
        f"{folder}: expected a saliency map {sample_id}.png (or {others}), found none"
    )


def _numbers(file: Path) -> NDArray[Any]:
    if file.suffix == ".npy":
        return next(iter(read_arrays(file).values()), np.zeros(0))
    try:
        read_size(file)
    except InvalidImage as error:
        raise SampleInvalid(
            f"{file}: expected an image file, got other data; create the map again"
        ) from error
    # These flags turn colour into grey and keep 16 bits, which the readers of masks and photographs
    # do not.
    values = cv2.imread(str(file), cv2.IMREAD_GRAYSCALE | cv2.IMREAD_ANYDEPTH)
    if values is None:
        raise SampleInvalid(f"{file}: expected an image file, got other data; create the map again")
    return np.asarray(values) / (65535 if values.dtype == np.uint16 else 255)


def _checked(
    values_or_map: Any,
    sample: ImageSample,
    source: str,
) -> SaliencyMap:
    values = np.asarray(values_or_map, np.float32)
    # The comparison is negated so that it also rejects NaN, which fails both comparisons.
    if values.ndim != 2 or not values.size or not (values.min() >= 0 and values.max() <= 1):
        problem = f"shape {values.shape}" if values.ndim != 2 else "other values"
        raise SampleInvalid(
            f"saliency of {sample.id} from {source}: expected (H, W) of 0 to 1, got {problem}"
        )
    if values.shape == sample.shape:
        return values
    size = sample.shape[::-1]
    scaled = cv2.resize(values, size, interpolation=cv2.INTER_LINEAR)
    return np.asarray(scaled, np.float32)

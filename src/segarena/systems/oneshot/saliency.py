"""What stands out in an image, as a map from 0 to 1: two ways without weights, maps made elsewhere, or a function.

The two ways are scaled so that 0.5 is where one would cut such a map in two.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.errors import DatasetMissing, InvalidInput, SampleInvalid
from segarena.registry import find
from segarena.samples import ImageSample, as_image

SaliencyMap: TypeAlias = NDArray[np.float32]
"""(H, W), 0 to 1."""
Saliency: TypeAlias = Callable[[ImageSample], SaliencyMap]

_RESIDUAL_PX = 64
_CONTRAST_PX = 200
_BAND = 0.1
_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".npy")


def spectral_residual(image: NDArray[np.uint8]) -> SaliencyMap:
    """Return what is left of an image's spectrum when what all images have in common is taken away.

    Three times the mean is 0.5, as its authors cut their maps. An image of one colour is 0 everywhere.

    Source: Hou and Zhang, Saliency Detection: A Spectral Residual Approach, CVPR 2007; on 64 x 64 pixels.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    small = np.asarray(cv2.resize(grey, (_RESIDUAL_PX, _RESIDUAL_PX), interpolation=cv2.INTER_AREA), np.float64)
    if small.max() - small.min() < 1:
        return np.zeros(image.shape[:2], np.float32)
    spectrum = np.fft.fft2(small)
    amplitude = np.log(np.maximum(np.abs(spectrum), 1e-9))
    residual = amplitude - np.asarray(cv2.blur(amplitude, (3, 3)))
    there = np.abs(np.fft.ifft2(np.exp(residual + 1j * np.angle(spectrum)))) ** 2
    smooth = np.asarray(cv2.GaussianBlur(there, (0, 0), 2.5), np.float64)
    return _scaled(smooth, 3 * float(smooth.mean()), image)


def boundary_contrast(image: NDArray[np.uint8]) -> SaliencyMap:
    """Return how unlike the image's four sides each pixel's colour is, the side that it is most unlike left out.

    Unlikeness is the Mahalanobis distance in CIELAB from the colours in a band of a tenth along a side. 0.5 is where
    Otsu's threshold parts the values. An image of one colour is 0 everywhere.

    Source: the image boundary contrast of Zhang et al., Minimum Barrier Salient Object Detection at 80 FPS, ICCV 2015.
    """
    height, width = image.shape[:2]
    scale = min(1.0, _CONTRAST_PX / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.float32) / np.float32(255)
    lab = np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2LAB), np.float64)
    rows, columns = (max(1, round(_BAND * length)) for length in lab.shape[:2])
    sides = lab[:rows], lab[-rows:], lab[:, :columns], lab[:, -columns:]
    away = np.stack([_mahalanobis(lab, side.reshape(-1, 3)) for side in sides])
    unlike = np.asarray(cv2.GaussianBlur(away.sum(0) - away.max(0), (0, 0), 1.5), np.float64)
    if unlike.max() < 1e-3:
        return np.zeros(image.shape[:2], np.float32)
    return _scaled(unlike, _otsu(unlike), image)


BUILT_IN: dict[str, Callable[[NDArray[np.uint8]], SaliencyMap]] = {
    "boundary-contrast": boundary_contrast,
    "spectral-residual": spectral_residual,
}


def saliency_from(written: str) -> Saliency:
    """Return the saliency that is meant: a name of `BUILT_IN`, `file.py:function`, or a folder of maps.

    A function takes an image, uint8 (H, W, 3) RGB, and returns numbers from 0 to 1, (H, W). A folder holds a map for
    each image, named as its sample: grey pictures (0 black, 1 white) or `.npy` of numbers from 0 to 1. A map of another
    size than its image is scaled to it.

    Raises:
        InvalidInput: no such name.
        DatasetMissing: no such folder; or, when called, no map of an image.
        PluginInvalid: the file has no such function.
        SampleInvalid: when called, a map is not (H, W) or not within 0 and 1.
    """
    if written in BUILT_IN:
        return lambda sample: BUILT_IN[written](as_image(sample.image, name=f"sample {sample.id}"))
    if ".py:" in written:
        function = find("saliency", written)
        return lambda sample: _checked(function(as_image(sample.image)), sample, written)
    folder = Path(written).expanduser()
    if folder.is_dir():
        return lambda sample: _checked(_read(folder, sample.id), sample, str(folder))
    known = ", ".join(BUILT_IN)
    raise (DatasetMissing if "/" in written else InvalidInput)(
        f"saliency {written!r}: expected {known}, a folder of maps that exists, or file.py:function"
    )


def _mahalanobis(lab: NDArray[np.float64], side: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distances from the colours of a side; differences below a unit of CIELAB are noise."""
    spread = np.cov(side.T) if len(side) > 1 else np.zeros((3, 3))
    inverse = np.linalg.inv(spread + np.eye(3))
    away = lab - side.mean(axis=0)
    return np.sqrt(np.einsum("...i,ij,...j->...", away, inverse, away))


def _otsu(values: NDArray[np.float64]) -> float:
    from skimage.filters import threshold_otsu

    return float(threshold_otsu(values)) if values.max() > values.min() else float(values.max())


def _scaled(values: NDArray[np.float64], half: float, image: NDArray[np.uint8]) -> SaliencyMap:
    """Return the values in the image's size, `half` being 0.5."""
    scaled = np.minimum(values / (2 * half), 1).astype(np.float32)
    return np.asarray(cv2.resize(scaled, image.shape[1::-1], interpolation=cv2.INTER_LINEAR), np.float32)


def _read(folder: Path, sample_id: str) -> NDArray[Any]:
    for suffix in _SUFFIXES:
        file = folder / f"{sample_id}{suffix}"
        if file.is_file():
            return _numbers(file)
    raise DatasetMissing(
        f"{folder}: expected a saliency map {sample_id}.png (or {', '.join(_SUFFIXES[1:])}), found none"
    )


def _numbers(file: Path) -> NDArray[Any]:
    if file.suffix == ".npy":
        return np.asarray(np.load(file, allow_pickle=False))
    values = cv2.imread(str(file), cv2.IMREAD_GRAYSCALE | cv2.IMREAD_ANYDEPTH)
    if values is None:
        raise SampleInvalid(f"{file}: expected a picture, got something else; make the map again")
    return np.asarray(values) / (65535 if values.dtype == np.uint16 else 255)


def _checked(found: Any, sample: ImageSample, source: str) -> SaliencyMap:
    values = np.asarray(found, np.float32)
    if values.ndim != 2 or not values.size or not (values.min() >= 0 and values.max() <= 1):
        came = f"shape {values.shape}" if values.ndim != 2 else "other values"
        raise SampleInvalid(f"saliency of {sample.id} from {source}: expected (H, W) of 0 to 1, got {came}")
    if values.shape == sample.shape:
        return values
    return np.asarray(cv2.resize(values, sample.shape[::-1], interpolation=cv2.INTER_LINEAR), np.float32)

"""What stands out in an image, without weights: three published measures of saliency."""

from __future__ import annotations

from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.colours import rgb_to_lab

SaliencyMap: TypeAlias = NDArray[np.float32]
"""(H, W), 0 to 1."""

_RESIDUAL_PX = 64
_CONTRAST_PX = 200
_BAND = 0.1


def mean_contrast(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return how far each pixel's colour, slightly blurred, is from the mean colour of the image, in CIELAB.

    An image of one colour is 0 everywhere.

    >>> image = np.full((60, 90, 3), 60, np.uint8)
    >>> image[20:40, 30:50] = (250, 40, 40)
    >>> found = mean_contrast(image)
    >>> bool(found[20:40, 30:50].mean() > 10 * found[:, :20].mean())
    True

    Args:
        image: uint8 (H, W, 3), RGB.

    Source: Achanta et al., Frequency-tuned Salient Region Detection, CVPR 2009.
    """
    lab = rgb_to_lab(image).astype(np.float64)
    smooth = np.asarray(cv2.GaussianBlur(lab, (5, 5), 0))
    away = np.linalg.norm(smooth - lab.mean(axis=(0, 1)), axis=-1)
    # Rounding makes differences of about 1e-5 in an image of one colour.
    return np.where(away < 1e-3, 0.0, away)


def spectral_residual(image: NDArray[np.uint8]) -> SaliencyMap:
    """Return what is left of an image's spectrum when what all images have in common is taken away.

    Three times the mean is 0.5, as its authors cut their maps. An image of one colour is 0 everywhere.

    >>> image = np.full((60, 90, 3), 60, np.uint8)
    >>> image[20:40, 30:50] = (250, 40, 40)
    >>> found = spectral_residual(image)
    >>> bool(found[20:40, 30:50].mean() > 10 * found[:, :20].mean())
    True

    Source: Hou and Zhang, Saliency Detection: A Spectral Residual Approach, CVPR 2007; on 64 x 64 pixels.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    small = np.asarray(
        cv2.resize(grey, (_RESIDUAL_PX, _RESIDUAL_PX), interpolation=cv2.INTER_AREA), np.float64
    )
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

    >>> image = np.full((60, 90, 3), 60, np.uint8)
    >>> image[20:40, 30:50] = (250, 40, 40)
    >>> found = boundary_contrast(image)
    >>> bool(found[20:40, 30:50].mean() > 10 * found[:, :20].mean())
    True

    Source: the image boundary contrast of Zhang et al., Minimum Barrier Salient Object Detection at 80 FPS, ICCV 2015.
    """
    height, width = image.shape[:2]
    scale = min(1.0, _CONTRAST_PX / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    lab = rgb_to_lab(np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA))).astype(
        np.float64
    )
    rows, columns = (max(1, round(_BAND * length)) for length in lab.shape[:2])
    sides = lab[:rows], lab[-rows:], lab[:, :columns], lab[:, -columns:]
    away = np.stack([_mahalanobis(lab, side.reshape(-1, 3)) for side in sides])
    unlike = np.asarray(cv2.GaussianBlur(away.sum(0) - away.max(0), (0, 0), 1.5), np.float64)
    if unlike.max() < 1e-3:
        return np.zeros(image.shape[:2], np.float32)
    return _scaled(unlike, _otsu(unlike), image)


def _mahalanobis(lab: NDArray[np.float64], side: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distances from the colours of a side; differences below a unit of CIELAB are noise."""
    spread = np.cov(side.T) if len(side) > 1 else np.zeros((3, 3))
    inverse = np.linalg.inv(spread + np.eye(3))
    away = lab - side.mean(axis=0)
    return np.sqrt(np.einsum("...i,ij,...j->...", away, inverse, away))


def _otsu(values: NDArray[np.float64]) -> float:
    from skimage.filters import threshold_otsu

    if values.max() > values.min():
        return float(threshold_otsu(values))
    return float(values.max())


def _scaled(values: NDArray[np.float64], half: float, image: NDArray[np.uint8]) -> SaliencyMap:
    """Return the values in the image's size, `half` being 0.5."""
    scaled = np.minimum(values / (2 * half), 1).astype(np.float32)
    return np.asarray(
        cv2.resize(scaled, image.shape[1::-1], interpolation=cv2.INTER_LINEAR), np.float32
    )

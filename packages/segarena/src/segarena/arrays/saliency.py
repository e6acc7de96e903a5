"""Saliency maps without learned weights: three published measures."""

from __future__ import annotations

from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.colours import rgb_to_lab

SaliencyMap: TypeAlias = NDArray[np.float32]
"""(H, W), 0 to 1."""

_RESIDUAL_PX = 64  # side at which the spectrum is computed, as published
_CONTRAST_PX = 200  # longer side at which boundary contrast is computed
_BAND = 0.1  # width of the boundary band as a share of the side
_ONE_COLOUR = 1e-3  # of CIELAB: rounding makes differences of about 1e-5 in an image of one colour


def mean_contrast(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the CIELAB distance of each pixel's colour, slightly blurred, from the mean colour of the image.

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
    blurred = np.asarray(cv2.GaussianBlur(lab, (5, 5), 0))
    mean_colour = lab.mean(axis=(0, 1))
    distance = np.linalg.norm(blurred - mean_colour, axis=-1)
    return np.where(distance < _ONE_COLOUR, 0.0, distance)


def spectral_residual(image: NDArray[np.uint8]) -> SaliencyMap:
    """Return the spectral residual saliency: the log spectrum minus its local mean, transformed back.

    Three times the mean maps to 0.5, the threshold of its authors. An image of one colour is 0 everywhere.

    >>> image = np.full((60, 90, 3), 60, np.uint8)
    >>> image[20:40, 30:50] = (250, 40, 40)
    >>> found = spectral_residual(image)
    >>> bool(found[20:40, 30:50].mean() > 10 * found[:, :20].mean())
    True

    Source: Hou and Zhang, Saliency Detection: A Spectral Residual Approach, CVPR 2007; on 64 x 64 pixels.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    small_size = (_RESIDUAL_PX, _RESIDUAL_PX)
    small = np.asarray(cv2.resize(grey, small_size, interpolation=cv2.INTER_AREA), np.float64)
    if small.max() - small.min() < 1:
        return np.zeros(image.shape[:2], np.float32)
    spectrum = np.fft.fft2(small)
    phase = np.angle(spectrum)
    log_amplitude = np.log(np.maximum(np.abs(spectrum), 1e-9))  # no logarithm of 0
    residual = log_amplitude - np.asarray(cv2.blur(log_amplitude, (3, 3)))
    saliency = np.abs(np.fft.ifft2(np.exp(residual + 1j * phase))) ** 2
    smooth = np.asarray(cv2.GaussianBlur(saliency, (0, 0), 2.5), np.float64)
    return _scaled(smooth, 3 * float(smooth.mean()), image)


def boundary_contrast(image: NDArray[np.uint8]) -> SaliencyMap:
    """Return the contrast of each pixel's colour to three sides of the image; the most different side is left out.

    Contrast is the Mahalanobis distance in CIELAB from the colours in a band along a side, a tenth of the image wide.
    Otsu's threshold maps to 0.5. An image of one colour is 0 everywhere.

    >>> image = np.full((60, 90, 3), 60, np.uint8)
    >>> image[20:40, 30:50] = (250, 40, 40)
    >>> found = boundary_contrast(image)
    >>> bool(found[20:40, 30:50].mean() > 10 * found[:, :20].mean())
    True

    Source: the image boundary contrast of Zhang et al., Minimum Barrier Salient Object Detection at 80 FPS, ICCV 2015.
    """
    height, width = image.shape[:2]
    scale = min(1.0, _CONTRAST_PX / max(height, width))
    small_size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = np.asarray(cv2.resize(image, small_size, interpolation=cv2.INTER_AREA))
    lab = rgb_to_lab(small).astype(np.float64)
    rows = max(1, round(_BAND * lab.shape[0]))
    columns = max(1, round(_BAND * lab.shape[1]))
    sides = (lab[:rows], lab[-rows:], lab[:, :columns], lab[:, -columns:])
    distances = np.stack([_mahalanobis(lab, side.reshape(-1, 3)) for side in sides])
    nearest_three = distances.sum(0) - distances.max(0)
    contrast = np.asarray(cv2.GaussianBlur(nearest_three, (0, 0), 1.5), np.float64)
    if contrast.max() < _ONE_COLOUR:
        return np.zeros(image.shape[:2], np.float32)
    return _scaled(contrast, _otsu(contrast), image)


def _mahalanobis(lab: NDArray[np.float64], side: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distances from the colours of a side; adding the unit matrix ignores noise below a unit of CIELAB."""
    covariance = np.cov(side.T) if len(side) > 1 else np.zeros((3, 3))
    inverse = np.linalg.inv(covariance + np.eye(3))
    offsets = lab - side.mean(axis=0)
    squared = np.einsum("...i,ij,...j->...", offsets, inverse, offsets)
    return np.sqrt(squared)


def _otsu(values: NDArray[np.float64]) -> float:
    from skimage.filters import threshold_otsu

    if values.max() > values.min():
        return float(threshold_otsu(values))
    return float(values.max())


def _scaled(values: NDArray[np.float64], half: float, image: NDArray[np.uint8]) -> SaliencyMap:
    """Scale values so that `half` becomes 0.5, clip them at 1 and resize them to the image."""
    scaled = np.minimum(values / (2 * half), 1).astype(np.float32)
    size = image.shape[1::-1]
    return np.asarray(cv2.resize(scaled, size, interpolation=cv2.INTER_LINEAR), np.float32)

"""Saliency maps without learned weights: three published measures."""

from __future__ import annotations

from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.colours import rgb_to_lab

SaliencyMap: TypeAlias = NDArray[np.float32]
"""A map (H, W) with values from 0 to 1."""

_RESIDUAL_PX = 64  # side at which the spectrum is computed, as published
_RESIDUAL_SIGMA_PX = 2.5  # smoothing of the map at that size
_SALIENT_MEANS = 3  # Hou and Zhang: an object has more than three times the mean saliency
_MIN_AMPLITUDE = 1e-9  # replaces 0, which has no logarithm
_CONTRAST_PX = 200  # longer side at which boundary contrast is computed
_CONTRAST_SIGMA_PX = 1.5
_BAND = 0.1  # width of the boundary band as a share of the side
_ONE_COLOUR = 1e-3  # of CIELAB: rounding makes differences of about 1e-5 in an image of one colour


def mean_contrast(image: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the CIELAB distance between each pixel's slightly blurred colour and the mean colour of the image.

    An image of one colour gives 0 everywhere.

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

    Three times the mean maps to 0.5, because the authors use it as threshold. An image of one
    colour gives 0 everywhere.

    >>> image = np.full((60, 90, 3), 60, np.uint8)
    >>> image[20:40, 30:50] = (250, 40, 40)
    >>> found = spectral_residual(image)
    >>> bool(found[20:40, 30:50].mean() > 10 * found[:, :20].mean())
    True

    Source: Hou and Zhang, Saliency Detection: A Spectral Residual Approach, CVPR 2007; computed at
    64 x 64 pixels.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    small_size = (_RESIDUAL_PX, _RESIDUAL_PX)
    small_grey = cv2.resize(grey, small_size, interpolation=cv2.INTER_AREA)
    small = np.asarray(small_grey, np.float64)
    # Without contrast the spectrum is rounding noise, which scaling would turn into a map.
    if small.max() - small.min() < 1:
        return np.zeros(image.shape[:2], np.float32)
    spectrum = np.fft.fft2(small)
    phase = np.angle(spectrum)
    amplitude = np.maximum(np.abs(spectrum), _MIN_AMPLITUDE)
    log_amplitude = np.log(amplitude)
    local_mean = np.asarray(cv2.blur(log_amplitude, (3, 3)))
    residual = log_amplitude - local_mean
    restored = np.fft.ifft2(np.exp(residual + 1j * phase))
    saliency = np.abs(restored) ** 2
    blurred = cv2.GaussianBlur(saliency, (0, 0), _RESIDUAL_SIGMA_PX)
    smooth = np.asarray(blurred, np.float64)
    threshold = _SALIENT_MEANS * float(smooth.mean())
    return _scaled(smooth, threshold, image)


def boundary_contrast(image: NDArray[np.uint8]) -> SaliencyMap:
    """Return the contrast of each pixel's colour to three sides of the image, ignoring the most different side.

    Contrast is the Mahalanobis distance in CIELAB from the colours in a band along each side, a
    tenth of the image wide. Otsu's threshold maps to 0.5. An image of one colour gives 0
    everywhere.

    >>> image = np.full((60, 90, 3), 60, np.uint8)
    >>> image[20:40, 30:50] = (250, 40, 40)
    >>> found = boundary_contrast(image)
    >>> bool(found[20:40, 30:50].mean() > 10 * found[:, :20].mean())
    True

    Source: the image boundary contrast of Zhang et al., Minimum Barrier Salient Object Detection at 80 FPS, ICCV 2015.
    """
    height, width = image.shape[:2]
    scale = min(1.0, _CONTRAST_PX / max(height, width))
    small_width = max(1, round(width * scale))
    small_height = max(1, round(height * scale))
    small = cv2.resize(image, (small_width, small_height), interpolation=cv2.INTER_AREA)
    lab = rgb_to_lab(np.asarray(small)).astype(np.float64)
    rows = max(1, round(_BAND * small_height))
    columns = max(1, round(_BAND * small_width))
    top = lab[:rows]
    bottom = lab[-rows:]
    left = lab[:, :columns]
    right = lab[:, -columns:]
    distance_by_side = [_mahalanobis(lab, side) for side in (top, bottom, left, right)]
    distances = np.stack(distance_by_side)
    # An object that touches one side resembles that side and differs from the other three.
    nearest_three = distances.sum(axis=0) - distances.max(axis=0)
    blurred = cv2.GaussianBlur(nearest_three, (0, 0), _CONTRAST_SIGMA_PX)
    contrast = np.asarray(blurred, np.float64)
    if contrast.max() < _ONE_COLOUR:
        return np.zeros(image.shape[:2], np.float32)
    return _scaled(contrast, _otsu(contrast), image)


def _mahalanobis(lab: NDArray[np.float64], side: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Mahalanobis distance of each pixel of `lab`, (H, W, 3), from the colours of `side`, (h, w, 3)."""
    colours = side.reshape(-1, 3)
    if len(colours) > 1:
        covariance = np.cov(colours.T)
    else:
        covariance = np.zeros((3, 3))
    # The unit matrix suppresses noise below one CIELAB unit and makes the covariance of a side of
    # one colour invertible.
    inverse = np.linalg.inv(covariance + np.eye(3))
    offsets = lab - colours.mean(axis=0)
    squared = np.einsum("...i,ij,...j->...", offsets, inverse, offsets)
    return np.sqrt(squared)


def _otsu(values: NDArray[np.float64]) -> float:
    from skimage.filters import threshold_otsu

    if values.max() > values.min():
        return float(threshold_otsu(values))
    return float(values.max())


def _scaled(
    values: NDArray[np.float64],
    half: float,
    image: NDArray[np.uint8],
) -> SaliencyMap:
    """Scale values so that `half` becomes 0.5, clip them at 1 and resize them to the image size."""
    clipped = np.minimum(values / (2 * half), 1)
    scaled = clipped.astype(np.float32)
    height, width = image.shape[:2]
    resized = cv2.resize(scaled, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(resized, np.float32)

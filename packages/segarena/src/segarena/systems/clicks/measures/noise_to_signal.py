"""Noise-to-signal ratio (NSR): how strongly a result depends on the user.

NSR is the standard deviation over people or groups, divided by the mean. A segmenter's NSR over
clicking groups is `noise_to_signal(group_stds(auc), group_means(auc))`, averaged over instances.
Source: RClicks, section 5 and appendix D.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.statistics.intervals import Interval, bootstrap_mean


@dataclass(frozen=True, slots=True)
class FirstClickStatistics:
    """Statistics of the IoU after many people's first clicks on each instance ("User IoU@1").

    Attributes:
        mean: mean over the clicks of an instance, averaged over instances.
        std: population standard deviation over the clicks of an instance, averaged over instances.
        nsr: noise-to-signal ratio of an instance, averaged over instances.
    """

    mean: Interval
    std: Interval
    nsr: Interval


def noise_to_signal(
    stds: ArrayLike,
    means: ArrayLike,
    *,
    epsilon: float = 0.0,
) -> NDArray[np.float64]:
    """Return NSR, the standard deviation divided by the mean, elementwise; 0 where both are 0.

    Args:
        stds: standard deviations, non-negative.
        means: means, same shape; positive wherever the deviation is positive.
        epsilon: value added to the mean. The published code adds 1e-9 for real users and nothing
            for groups.

    Raises:
        InvalidInput: the shapes differ, or a deviation is positive where its mean is not.
    """
    noise = np.asarray(stds, dtype=np.float64)
    signal = np.asarray(means, dtype=np.float64) + epsilon
    has_same_shape = noise.shape == signal.shape
    is_defined = False
    if has_same_shape:
        both_zero = (noise == 0) & (signal == 0)
        is_defined = bool(((signal > 0) | both_zero).all())
    if not is_defined:
        raise InvalidInput(
            "noise-to-signal ratio: expected one deviation per mean, and positive means"
        )
    # 0 / 0 would give NaN, but a result that is always 0 does not vary.
    return np.divide(noise, signal, out=np.zeros_like(noise), where=signal > 0)


def first_click_statistics(
    ious: Sequence[ArrayLike],
    clusters: Sequence[Any] | None = None,
    *,
    epsilon: float = 0.0,
) -> FirstClickStatistics:
    """Return the statistics over people's first clicks; instances without clicks are omitted.

    Args:
        ious: for each instance, the IoU after each person's first click.
        clusters: index of each instance's image, see `bootstrap_mean`.
        epsilon: see `noise_to_signal`; the published numbers use 1e-9.
    """
    means: list[float] = []
    stds: list[float] = []
    images: list[Any] = []
    for index, ious_of_instance in enumerate(ious):
        values = np.asarray(ious_of_instance, dtype=np.float64)
        if not len(values):
            continue
        means.append(float(values.mean()))
        stds.append(float(values.std()))
        if clusters is not None:
            images.append(clusters[index])
    nsr = noise_to_signal(stds, means, epsilon=epsilon)
    clicked_clusters = None if clusters is None else images
    return FirstClickStatistics(
        mean=bootstrap_mean(means, clicked_clusters),
        std=bootstrap_mean(stds, clicked_clusters),
        nsr=bootstrap_mean(nsr, clicked_clusters),
    )


def instance_hardness(stds: ArrayLike, means: ArrayLike) -> NDArray[np.float64]:
    """Return how hard each instance is: the NSR of its IoU, from means over segmenters.

    Deviation and mean are each averaged over segmenters before the ratio is computed. Both
    arguments have shape (segmenters, instances) and contain the deviation and the mean of the IoU
    over first clicks.

    Source: RClicks, Figure 8; its legend gives the mean over instances.
    """
    noise = np.asarray(stds, dtype=np.float64)
    signal = np.asarray(means, dtype=np.float64)
    return noise_to_signal(noise.mean(axis=0), signal.mean(axis=0))

"""RClicks statistics over clicking groups: how a segmenter performs with different users.

Values are arrays (instances, groups), with groups ordered from least to most likely clicks (G1 ..
G10). The baseline user's values are (instances,). Functions named after a statistic return one
value per instance; the summaries below average these over instances and add bootstrap intervals. A
relative change is therefore a mean of ratios, never a ratio of means. Changes are fractions; the
paper prints them multiplied by 100. Source: RClicks, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.options import Protocol
from segarena.statistics.intervals import Interval, bootstrap_mean

GroupArray: TypeAlias = NDArray[np.float64]
ChangeKind: TypeAlias = Literal["ratio", "difference"]
"""Relative change (new - old) / old, or difference new - old: the paper's "(D)", for NoF and AuC, which may be 0."""


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """Statistics of one segmenter on one dataset across the clicking groups.

    For failures (NoF), all fields are counts of instances.

    Attributes:
        base: value of the baseline user.
        sample: mean over groups.
        sample_std: population standard deviation over groups, averaged over instances. For
            failures, the standard deviation of the number of failures, which is not a mean over
            instances and therefore has no interval.
        asb: change from the baseline user to the mean of the groups.
        agr: change from the most likely group to the least likely one.
        ahh: change from the more likely half of the groups to the less likely half.
    """

    base: Interval
    sample: Interval
    sample_std: Interval
    asb: Interval
    agr: Interval
    ahh: Interval


def group_means(values: ArrayLike) -> GroupArray:
    """Return each instance's mean over groups.

    Raises:
        InvalidInput: the values are not finite, or their shape is not (instances, groups) with at
            least two groups.
    """
    return _groups(values).mean(axis=1)


def group_stds(values: ArrayLike) -> GroupArray:
    """Return each instance's population standard deviation over groups; for exceptions see `group_means`."""
    return _groups(values).std(axis=1)


def average_vs_baseline(
    values: ArrayLike,
    base: ArrayLike,
    *,
    change: ChangeKind = "ratio",
) -> GroupArray:
    """Return ASB for each instance: the change from the baseline user to the mean over groups.

    Raises:
        InvalidInput: as `group_means`; or `base` is not finite or not of shape (instances,); or the
            denominator of a ratio is not positive.
    """
    mean = group_means(values)
    baseline = np.asarray(base, dtype=np.float64)
    if baseline.shape != mean.shape or not np.isfinite(baseline).all():
        raise InvalidInput(
            f"base: expected one finite value for each of {len(mean)} instances, "
            f"got shape {baseline.shape}"
        )
    return _change(mean, baseline, change)


def least_over_most_likely(values: ArrayLike, *, change: ChangeKind = "ratio") -> GroupArray:
    """Return AGR for each instance: the change from the last group (G10) to the first (G1)."""
    groups = _groups(values)
    return _change(groups[:, 0], groups[:, -1], change)


def lower_over_upper_half(
    values: ArrayLike,
    *,
    change: ChangeKind = "ratio",
    protocol: Protocol = "careful",
) -> GroupArray:
    """Return AHH for each instance: the change from the more likely to the less likely half of the groups.

    Each half covers 50 % of the probability mass; its value is the mean over its groups. This
    differs from a user that samples each click from a whole half, which would need another run. The
    published protocol computes the change for each pair of groups (G1 and G6, .., G5 and G10) and
    averages these changes, instead of merging the halves as described in the paper.

    Raises:
        InvalidInput: as `average_vs_baseline`, or the number of groups is odd.
    """
    groups = _groups(values)
    half, odd = divmod(groups.shape[1], 2)
    if odd:
        raise InvalidInput(
            f"groups: expected an even number, for two halves, got {groups.shape[1]}"
        )
    lower = groups[:, :half]
    upper = groups[:, half:]
    if protocol == "published":
        # The published notebook divides the stacked halves element by element; the paper merges
        # them.
        return _change(lower, upper, change).mean(axis=1)
    return _change(lower.mean(axis=1), upper.mean(axis=1), change)


def group_statistics(
    values: ArrayLike,
    base: ArrayLike,
    clusters: Sequence[Any] | None = None,
    *,
    change: ChangeKind = "ratio",
    protocol: Protocol = "careful",
) -> GroupStatistics:
    """Return the clicking-group statistics of NoC (`change` "ratio") or AuC (`change` "difference").

    Args:
        values: (instances, groups), groups ordered from least to most likely clicks.
        base: values of the baseline user, (instances,).
        clusters: index of each instance's image, see `bootstrap_mean`.
        change: relative change or difference.
        protocol: how AHH is computed, see `lower_over_upper_half`.
    """

    def mean(per_instance: GroupArray) -> Interval:
        return bootstrap_mean(per_instance, clusters)

    asb = average_vs_baseline(values, base, change=change)
    agr = least_over_most_likely(values, change=change)
    ahh = lower_over_upper_half(values, change=change, protocol=protocol)
    return GroupStatistics(
        base=mean(np.asarray(base, dtype=np.float64)),
        sample=mean(group_means(values)),
        sample_std=mean(group_stds(values)),
        asb=mean(asb),
        agr=mean(agr),
        ahh=mean(ahh),
    )


def failure_statistics(
    failed: ArrayLike,
    base: ArrayLike,
    clusters: Sequence[Any] | None = None,
) -> GroupStatistics:
    """Return the clicking-group statistics of NoF, as counts of instances.

    Args:
        failed: (instances, groups), 1 if the dialogue failed, otherwise 0.
        base: the same for the baseline user, (instances,).
        clusters: index of each instance's image, see `bootstrap_mean`.
    """
    shares = group_statistics(failed, base, clusters, change="difference")
    # NoF is one number per group and dataset, so its deviation is over the groups' totals.
    std = float(_groups(failed).sum(axis=0).std()) if shares.sample.n else math.nan
    return GroupStatistics(
        base=_total(shares.base),
        sample=_total(shares.sample),
        sample_std=Interval(std, math.nan, math.nan, shares.sample.n),
        asb=_total(shares.asb),
        agr=_total(shares.agr),
        ahh=_total(shares.ahh),
    )


def _groups(values: ArrayLike) -> GroupArray:
    groups = np.asarray(values, dtype=np.float64)
    if groups.ndim != 2 or groups.shape[1] < 2 or not np.isfinite(groups).all():
        raise InvalidInput(
            f"values: expected finite (instances, groups), two groups or more, got shape {groups.shape}"
        )
    return groups


def _change(
    new: GroupArray,
    old: GroupArray,
    change: ChangeKind,
) -> GroupArray:
    if change not in ("ratio", "difference"):
        raise InvalidInput(f"change: expected 'ratio' or 'difference', got {change!r}")
    if change == "difference":
        return new - old
    # NoC is at least 1, so ratios are safe there; NoF and AuC may be 0 and use differences.
    if (old <= 0).any():
        raise InvalidInput(
            "change: expected positive denominators for a ratio; use change='difference'"
        )
    return (new - old) / old


def _total(share: Interval) -> Interval:
    """Convert a mean over instances, and its interval, to a count of instances."""
    return Interval(share.mean * share.n, share.low * share.n, share.high * share.n, share.n)

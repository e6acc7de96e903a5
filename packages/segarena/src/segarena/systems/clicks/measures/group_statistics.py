"""RClicks' statistics over clicking groups: how a segmenter fares with different users.

Values are arrays (instances, groups), the groups from least to most likely clicks (G1 .. G10), and
the baseline user's (instances,). Functions named for a statistic return one value per instance; the
summaries below average them over instances, with bootstrap intervals. All are means of ratios,
never ratios of means, and fractions, which the paper prints times 100. Source: RClicks, section 5.
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
"""(new - old) / old, or new - old: the paper's "(D)", for what may be 0 (NoF, AuC)."""


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """Statistics of one segmenter on one dataset over the clicking groups.

    For failures (NoF), all fields are numbers of instances.

    Attributes:
        base: value of the baseline user.
        sample: the value itself, mean over groups.
        sample_std: its population deviation over groups, mean over instances. For failures, the
            deviation of the number of failures; it is no mean over instances, so it has no
            interval.
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
    """Return the mean over groups of each instance.

    Raises:
        InvalidInput: not (instances, groups) with two groups or more, or not finite.
    """
    return _groups(values).mean(axis=1)


def group_stds(values: ArrayLike) -> GroupArray:
    """Return the population deviation over groups of each instance; raises as `group_means`."""
    return _groups(values).std(axis=1)


def average_vs_baseline(
    values: ArrayLike, base: ArrayLike, *, change: ChangeKind = "ratio"
) -> GroupArray:
    """Return ASB of each instance: the change from the baseline user to the mean over groups.

    Raises:
        InvalidInput: as `group_means`; `base` is not (instances,) and finite; a ratio to a value
            that is not above 0.
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
    """Return AGR of each instance: the change from the last group (G10) to the first (G1)."""
    groups = _groups(values)
    return _change(groups[:, 0], groups[:, -1], change)


def lower_over_upper_half(
    values: ArrayLike, *, change: ChangeKind = "ratio", protocol: Protocol = "careful"
) -> GroupArray:
    """Return AHH of each instance: the change from the more likely half of the groups to the less.

    A half stands for 50 % of the probability; its value is the mean of its groups. This differs
    from a user that draws each click from the whole half, which would need another run to
    measure. The published protocol takes the change group by group (G1 from G6, .., G5 from G10)
    and averages those, instead of merging the halves as in the paper.

    Raises:
        InvalidInput: as `average_vs_baseline`; an odd number of groups.
    """
    groups = _groups(values)
    half, odd = divmod(groups.shape[1], 2)
    if odd:
        raise InvalidInput(f"groups: expected an even number to halve, got {groups.shape[1]}")
    lower = groups[:, :half]
    upper = groups[:, half:]
    if protocol == "published":
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
    """Return the statistics of NoC (`change` "ratio") or AuC ("difference") over clicking groups.

    Args:
        values: (instances, groups), from least to most likely.
        base: (instances,), the baseline user's.
        clusters: image of each instance, see `bootstrap_mean`.
        change: how two values are compared.
        protocol: of AHH, see `lower_over_upper_half`.
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
    failed: ArrayLike, base: ArrayLike, clusters: Sequence[Any] | None = None
) -> GroupStatistics:
    """Return the statistics of NoF over clicking groups, as numbers of instances.

    Args:
        failed: (instances, groups), 1 where the dialogue failed, 0 where not.
        base: (instances,), the baseline user's.
        clusters: image of each instance, see `bootstrap_mean`.
    """
    shares = group_statistics(failed, base, clusters, change="difference")
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


def _change(new: GroupArray, old: GroupArray, change: ChangeKind) -> GroupArray:
    if change not in ("ratio", "difference"):
        raise InvalidInput(f"change: expected 'ratio' or 'difference', got {change!r}")
    if change == "difference":
        return new - old
    if (old <= 0).any():
        raise InvalidInput(
            "change: a ratio needs values above 0 to divide by; take change='difference'"
        )
    return (new - old) / old


def _total(share: Interval) -> Interval:
    """Convert a mean over instances, and its interval, to a number of instances."""
    return Interval(share.mean * share.n, share.low * share.n, share.high * share.n, share.n)

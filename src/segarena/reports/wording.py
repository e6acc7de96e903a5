"""How numbers and rules read: the same words in the terminal, in LaTeX and on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from segarena.reports.reading import Run
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval, PairedDifference

PRINTED = {
    "iou": "IoU",
    "dice": "Dice",
    "boundary_iou": "boundary IoU",
    "nsd": "NSD",
    "hd95_mm": "HD95 (mm)",
    "jaccard": "J",
    "contour": "F",
    "j_and_f": "J&F",
}
"""Metric columns as the papers print them."""

INTERVALS = (
    "Brackets hold 95 % intervals of the mean over targets: percentile bootstrap, 2000 draws of whole images, so that "
    "targets of one image stay together. Repeats of a dialogue are averaged first."
)
FAILURES = (
    "A dialogue that failed (the segmenter raised, ran out of time or answered with something else than a mask) is "
    "counted under failures and left out of the means."
)
PAIRED = (
    "Differences are means over the targets that both runs finished, with intervals from the same draws of images; "
    "those whose interval leaves out zero are set in bold. pp: percentage points."
)
FEW_IMAGES = 20
"""With fewer images a bootstrap over images says little."""

HELD = "A dialogue that ended early holds its last value in the rounds it did not need."


def metric_name(column: str) -> str:
    """Return a metric column as printed."""
    return PRINTED.get(column, column.replace("_", " "))


def value_text(statistic: Statistic, value: float) -> str:
    """Return a value: rounds to 2 decimals, shares in per cent, the rest to 3 decimals; "–" for NaN."""
    if math.isnan(value):
        return "–"
    match statistic.kind:
        case "noc":
            return f"{value:.2f}"
        case "nof":
            return f"{100 * value:.1f} %"
        case _:
            return f"{value:.3f}"


def bounds_text(statistic: Statistic, low: float, high: float) -> str:
    """Return "[low, high]", empty where there is no interval; the unit stands with the value only."""
    if math.isnan(low):
        return ""
    ends = [value_text(statistic, end).removesuffix(" %") for end in (low, high)]
    return f"[{ends[0]}, {ends[1]}]"


def interval_text(statistic: Statistic, interval: Interval) -> str:
    """Return the mean with its interval."""
    return f"{value_text(statistic, interval.mean)} {bounds_text(statistic, interval.low, interval.high)}".rstrip()


def difference_text(statistic: Statistic, difference: PairedDifference) -> str:
    """Return a difference with its sign (a true minus, none on a zero); shares differ by percentage points, "pp"."""
    text = value_text(statistic, abs(difference.difference)).replace(" %", " pp")
    if math.isnan(difference.difference) or not any(digit in text for digit in "123456789"):
        return text
    return ("+" if difference.difference > 0 else "−") + text


def difference_bounds_text(statistic: Statistic, difference: PairedDifference) -> str:
    """Return the interval of a difference."""
    return bounds_text(statistic, difference.low, difference.high).replace("-", "−")


def seconds_text(seconds: float) -> str:
    """Return a duration in ms or s with three digits; "–" for NaN."""
    if math.isnan(seconds):
        return "–"
    return f"{seconds * 1000:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def count_text(count: int, noun: str) -> str:
    """Return "1 target", "2 targets"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def protocol_text(run: Run) -> str:
    """Say by which rules the run went."""
    protocol = run.config.benchmark.protocol
    if protocol == "published":
        return "published protocol: rules as in the published code, for comparison with printed numbers"
    if protocol == "careful":
        return "careful protocol: the rules a careful reader would want; not the published numbers"
    return f"{protocol} protocol"


def partial_text(run: Run) -> str:
    """Say how far an unfinished run got; empty for a finished one."""
    if run.is_complete:
        return ""
    return (
        f"{run.label}: PARTIAL, {run.done} of {count_text(len(run.samples), 'sample')} done; all numbers are of "
        "these only. The command of the run, given again, continues it."
    )


def empty_text(run: Run) -> str:
    """Say that a run has nothing to show; empty when it has."""
    if run.finished():
        return ""
    failed = f": {count_text(len(run.failures), 'failure')}, see below" if run.failures else " yet"
    return f"{run.label}: no dialogue was finished{failed}."


def pairing_text(runs: Sequence[Run]) -> str:
    """Say what keeps runs from being compared target by target; empty when nothing does."""
    for run in runs:
        first = next(other for other in runs if other.dataset == run.dataset)
        if run.config.dataset.fingerprint != first.config.dataset.fingerprint:
            return (
                f"The data of {run.label} and {first.label} have different fingerprints; targets are matched by name."
            )
    if len({run.dataset for run in runs}) > 1:
        return "Runs on different datasets have no targets in common and are not compared."
    return ""


def baseline_text(runs: Sequence[Run]) -> str:
    """Say which run the others are compared with."""
    return runs[0].label if len({run.dataset for run in runs}) == 1 else "the first one on the same dataset"


def definition(statistic: Statistic, run: Run) -> str:
    """Say what a statistic of the summary is, in one sentence."""
    name, metric, rounds = statistic.name, metric_name(statistic.metric), run.rounds
    match statistic.kind:
        case "noc":
            return (
                f"{name}: number of rounds until {metric} is at least {statistic.threshold:g}; {rounds} when it never "
                f"is. Lower is better."
            )
        case "nof":
            last = run.config.benchmark.options.get("solved_at_last") == "failure"
            also = " (one that gets there only in the last round counts as a failure, as published)" if last else ""
            return (
                f"{name}: share of targets whose {metric} does not reach {statistic.threshold:g} within {rounds} "
                f"rounds{also}; times the number of targets it is the count that papers print. Lower is better."
            )
        case "auc":
            return (
                f"{name}: area under the curve of {metric} over rounds 1 to {rounds} by trapezoids, divided by "
                f"{max(1, rounds - 1)}. Higher is better."
            )
        case _:
            better = "Higher" if statistic.higher_is_better else "Lower"
            return f"{name}: {metric} after round {statistic.round}. {better} is better."

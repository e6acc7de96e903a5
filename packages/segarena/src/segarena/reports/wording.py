"""How numbers and rules read: the same words in the terminal, in LaTeX and on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from segarena.reports.display_names import metric_name
from segarena.reports.recorded_run import Run
from segarena.roles import Statistic
from segarena.statistics.intervals import PairedDifference
from segarena.statistics.over_rounds import definition_of, over_rounds

FAILURES_NOTE = (
    "A dialogue that failed (the segmenter raised, ran out of time or answered with something else than a mask) is "
    "counted under failures and left out of the means."
)
FEW_SAMPLES = 20
"""With fewer samples a bootstrap over them says little."""

EARLY_END_NOTE = "A dialogue that ended early holds its last value in the rounds it did not need."


def sample_word(run: Run) -> str:
    """Return what the benchmark's samples are called."""
    kind = run.config.benchmark.sample_kind
    return "photograph" if kind == "image" else kind


def intervals_text(word: str, target: str) -> str:
    """Say what the brackets of means are; `word` is what samples are called, `target` what targets are."""
    return (
        f"Brackets hold 95 % intervals of the mean over {target}s: percentile bootstrap, 2000 draws of whole {word}s, "
        f"so that {target}s of one {word} stay together. Repeats of a dialogue are averaged first."
    )


def paired_text(word: str, target: str) -> str:
    """Say what differences are, and when they are told apart from nothing."""
    return (
        f"Differences are means over the {target}s that both runs finished. p: two-sided test that flips the signs of "
        f"whole {word}s; brackets hold the differences that this test does not refuse at 5 %, and with fewer than six "
        f"{word}s it refuses none. Bold: p is at most 0.05; of many differences some get there by chance. pp: "
        "percentage points."
    )


def value_text(statistic: Statistic, value: float) -> str:
    """Return a value as its kind prints it: rounds to 2 decimals, shares in per cent, most to 3 decimals."""
    return over_rounds(statistic.kind).text(value)


def bounds_text(statistic: Statistic, low: float, high: float) -> str:
    """Return "[low, high]", empty where there is no interval; the unit stands with the value only."""
    if math.isnan(low):
        return ""
    ends = [value_text(statistic, end).removesuffix(" %") for end in (low, high)]
    return f"[{ends[0]}, {ends[1]}]"


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


def count_text(count: int, noun: str, plural: str = "") -> str:
    """Return "1 target", "2 targets", or the plural given where "s" does not make it."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def protocol_text(run: Run) -> str:
    """Say by which rules the run went."""
    protocol = run.config.benchmark.protocol
    if protocol == "published":
        return "published protocol: rules as in the published code, for comparison with printed numbers"
    if protocol == "careful":
        return "careful protocol: the usual rules, without quirks of published code"
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
    if run.failures:
        failed = f": {count_text(len(run.failures), 'failure')}, see below"
    else:
        failed = " yet"
    return f"{run.label}: no dialogue was finished{failed}."


def verified_text(run: Run) -> str:
    """Say whether answers of a run were asked again, and what came of it."""
    found = run.config.verified
    if found is None:
        return "not verified"
    asked = f"{count_text(found.asked, 'answer')} asked again in another process"
    if not found.differed:
        return f"{asked}: all equal"
    return f"{asked}: {found.differed} came out otherwise, worst IoU {found.worst_iou:.3f} ({found.worst})"


def pairing_text(runs: Sequence[Run]) -> str:
    """Say what keeps runs from being compared target by target; empty when nothing does."""
    for run in runs:
        first = next(other for other in runs if run.is_on_data_of(other))
        if run.config.dataset.fingerprint != first.config.dataset.fingerprint:
            return f"The data of {run.label} and {first.label} have different fingerprints; targets are matched by name."
    if not all(run.is_on_data_of(runs[0]) for run in runs):
        return "Runs on different datasets have no targets in common and are not compared."
    return ""


def baseline_text(runs: Sequence[Run]) -> str:
    """Say which run the others are compared with."""
    if all(run.is_on_data_of(runs[0]) for run in runs):
        return runs[0].label
    return "the first one on the same dataset"


def statistic_definition(statistic: Statistic, run: Run) -> str:
    """Say what a statistic of the summary is, in one sentence, and which way is good."""
    return definition_of(
        statistic, metric_name(statistic.metric), run.rounds, run.config.benchmark.options
    )

"""Texts about numbers and rules, shared by the terminal, LaTeX and the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from segarena.benchmark_rules import Statistic
from segarena.reports.display_names import metric_name
from segarena.reports.recorded_run import Run
from segarena.statistics.intervals import PairedDifference
from segarena.statistics.round_statistics import define_statistic, find_statistic

FAILURES_NOTE = (
    "Failed dialogues (the segmenter raised an error, timed out or returned something other than a mask) are counted "
    "as failures and excluded from the means."
)
FEW_SAMPLES = 20
"""Below this number of samples, bootstrap intervals are unreliable."""

EARLY_END_NOTE = "A dialogue that ended early keeps its last value for the remaining rounds."


def sample_word(run: Run) -> str:
    """Return the word for a sample of the benchmark, such as "photograph" or "volume"."""
    kind = run.config.benchmark.sample_kind
    return "photograph" if kind == "image" else kind


def intervals_text(word: str, target: str) -> str:
    """Explain the intervals of means; `word` stands for a sample, `target` for a target."""
    return (
        f"Brackets show 95 % intervals of the mean over {target}s: percentile bootstrap with 2000 resamples of whole "
        f"{word}s, so that the {target}s of one {word} stay together. Repeats of a dialogue are averaged first."
    )


def paired_text(word: str, target: str) -> str:
    """Explain paired differences and their test; `word` stands for a sample, `target` for a target."""
    return (
        f"Differences are means over the {target}s that both runs finished. p: two-sided sign-flip test on whole "
        f"{word}s; brackets show the differences that this test does not reject at 5 %, and with fewer than six "
        f"{word}s it rejects none. Bold: p ≤ 0.05; among many differences, some are significant by chance. pp: "
        "percentage points."
    )


def value_text(statistic: Statistic, value: float) -> str:
    """Return a value of a statistic as text: rounds with 2 decimals, shares in %, others mostly with 3."""
    return find_statistic(statistic.kind).text(value)


def bounds_text(statistic: Statistic, low: float, high: float) -> str:
    """Return "[low, high]" without the unit, which the value has; empty if there is no interval."""
    if math.isnan(low):
        return ""
    low_text = value_text(statistic, low).removesuffix(" %")
    high_text = value_text(statistic, high).removesuffix(" %")
    return f"[{low_text}, {high_text}]"


def difference_text(statistic: Statistic, difference: PairedDifference) -> str:
    """Return a difference with its sign; zero has none, and shares are in percentage points (pp)."""
    text = value_text(statistic, abs(difference.difference)).replace(" %", " pp")
    is_zero = not any(digit in text for digit in "123456789")
    if math.isnan(difference.difference) or is_zero:
        return text
    sign = "+" if difference.difference > 0 else "−"
    return f"{sign}{text}"


def difference_bounds_text(statistic: Statistic, difference: PairedDifference) -> str:
    """Return the interval of a difference, with typographic minus signs."""
    return bounds_text(statistic, difference.low, difference.high).replace("-", "−")


def seconds_text(seconds: float) -> str:
    """Return a duration in ms or s with three significant digits; "–" for NaN."""
    if math.isnan(seconds):
        return "–"
    # From 0.9995 s on, milliseconds would round to "1e+03 ms".
    return f"{seconds * 1000:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def count_text(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, such as "1 target"; `plural` is for irregular nouns."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {plural or f'{noun}s'}"


def protocol_text(run: Run) -> str:
    """Describe the protocol of a run."""
    protocol = run.config.benchmark.protocol
    if protocol == "published":
        return "published protocol: the rules of the published code, for comparison with published numbers"
    if protocol == "careful":
        return "careful protocol: the usual rules, without quirks of published code"
    return f"{protocol} protocol"


def partial_text(run: Run) -> str:
    """Return a warning about an unfinished run with its progress; empty for a finished run."""
    if run.is_complete:
        return ""
    return (
        f"{run.label}: PARTIAL, {run.done} of {count_text(len(run.samples), 'sample')} done; all numbers cover only "
        "these. Repeat the command of the run to continue it."
    )


def empty_text(run: Run) -> str:
    """Return a warning about a run without finished dialogues; empty for other runs."""
    if run.finished():
        return ""
    if run.failures:
        failed = f": {count_text(len(run.failures), 'failure')}, see below"
    else:
        failed = " yet"
    return f"{run.label}: no dialogue was finished{failed}."


def verified_text(run: Run) -> str:
    """Describe the verification of a run, in which answers are recomputed, and its result."""
    found = run.config.verified
    if found is None:
        return "not verified"
    recomputed = f"{count_text(found.asked, 'answer')} recomputed in another process"
    if not found.differed:
        return f"{recomputed}: all equal"
    return (
        f"{recomputed}: {found.differed} differed, worst IoU {found.worst_iou:.3f} ({found.worst})"
    )


def pairing_text(runs: Sequence[Run]) -> str:
    """Return a remark on why runs cannot be compared target by target; empty if they can."""
    for run in runs:
        first = next(other for other in runs if run.is_on_data_of(other))
        if run.config.dataset.fingerprint != first.config.dataset.fingerprint:
            return (
                f"The data of {run.label} and {first.label} have different fingerprints; "
                "targets are matched by name."
            )
    if not all(run.is_on_data_of(runs[0]) for run in runs):
        return "Runs on different datasets have no targets in common and are not compared."
    return ""


def baseline_text(runs: Sequence[Run]) -> str:
    """Name the run that the others are compared with."""
    if all(run.is_on_data_of(runs[0]) for run in runs):
        return runs[0].label
    return "the first one on the same dataset"


def statistic_definition(statistic: Statistic, run: Run) -> str:
    """Return the definition of a statistic in one sentence, including the direction of improvement."""
    return define_statistic(
        statistic, metric_name(statistic.metric), run.rounds, run.config.benchmark.options
    )

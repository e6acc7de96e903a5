"""Texts about numbers and rules, shared by terminal, LaTeX and HTML output."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from segarena.benchmark_rules import Statistic
from segarena.records.failures import LOADING_PREFIX
from segarena.reports.display_names import metric_name
from segarena.reports.recorded_run import Run
from segarena.samples import word_of_kind
from segarena.statistics.intervals import PairedDifference
from segarena.statistics.round_statistics import define_statistic, find_statistic

FAILURES_NOTE = (
    "Failed dialogues (the segmenter raised an error, timed out or returned something other than a mask) are counted "
    "as failures and excluded from the means."
)
FEW_SAMPLES = 20
"""With fewer samples, bootstrap intervals are unreliable."""

EARLY_END_NOTE = "A dialogue that ended early keeps its last value for the remaining rounds."


def sample_word(run: Run) -> str:
    """Return the benchmark's word for a sample, such as "photograph" or "volume"."""
    return word_of_kind(run.config.benchmark.sample_kind)


def intervals_text(word: str, target: str) -> str:
    """Explain the intervals of means; `word` is the word for a sample, `target` for a target."""
    return (
        f"Brackets show 95 % intervals of the mean over {target}s: percentile bootstrap with 2000 resamples of whole "
        f"{word}s, so that the {target}s of one {word} stay together. Repeats of a dialogue are averaged first."
    )


def paired_text(word: str, target: str) -> str:
    """Explain paired differences and their test; `word` is the word for a sample, `target` for a target."""
    return (
        f"Differences are means over the {target}s that both runs finished. p: two-sided sign-flip test on whole "
        f"{word}s; brackets show the differences that this test does not reject at 5 %, and with fewer than six "
        f"{word}s it rejects none. Every {target} counts equally here; the sentence at the top, rankings and boards "
        f"count every {word} equally, so their p may differ. Bold: p ≤ 0.05; among many differences, some are "
        "significant by chance. pp: percentage points."
    )


def value_text(statistic: Statistic, value: float) -> str:
    """Format a value of a statistic: rounds with 2 decimals, shares in %, most others with 3 decimals."""
    return find_statistic(statistic.kind).text(value)


def bounds_text(
    statistic: Statistic,
    low: float,
    high: float,
) -> str:
    """Return "[low, high]" without the unit, which is printed with the value; empty if there is no interval."""
    if math.isnan(low):
        return ""
    low_text = value_text(statistic, low).removesuffix(" %")
    high_text = value_text(statistic, high).removesuffix(" %")
    return f"[{low_text}, {high_text}]"


def difference_text(statistic: Statistic, difference: PairedDifference) -> str:
    """Format a difference with its sign; zero has no sign, and shares are in percentage points (pp)."""
    text = value_text(statistic, abs(difference.difference)).replace(" %", " pp")
    is_zero = not any(digit in text for digit in "123456789")
    if math.isnan(difference.difference) or is_zero:
        return text
    sign = "+" if difference.difference > 0 else "−"
    return f"{sign}{text}"


def difference_bounds_text(statistic: Statistic, difference: PairedDifference) -> str:
    """Format the interval of a difference, with typographic minus signs."""
    return bounds_text(statistic, difference.low, difference.high).replace("-", "−")


def seconds_text(seconds: float) -> str:
    """Format a duration in ms or s with three significant digits; "–" for NaN."""
    if math.isnan(seconds):
        return "–"
    # From 0.9995 s, milliseconds would be formatted as "1e+03 ms", and from 999.5 s, seconds as "1e+03 s".
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"


def count_text(
    count: int,
    noun: str,
    plural: str = "",
) -> str:
    """Format a count with its noun, such as "1 target"; `plural` is for irregular nouns."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {plural or f'{noun}s'}"


def rough_text(
    samples: int,
    word: str,
    what: str,
) -> str:
    """Return a remark on intervals from few samples, such as "with only 10 photographs, the interval is rough".

    Empty if there are at least `FEW_SAMPLES` samples.

    Args:
        samples: number of independent samples.
        word: word for a sample.
        what: subject and verb, "the interval is" or "the intervals are".
    """
    if samples >= FEW_SAMPLES:
        return ""
    return f"with only {count_text(samples, word)}, {what} rough"


def sentences_text(*sentences: str) -> str:
    """Join sentences, each given without its full stop; leave out empty ones."""
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def with_remark(text: str, remark: str) -> str:
    """Return a text and a remark as one sentence without a full stop; the remark may be empty."""
    return f"{text}; {remark}" if remark else text


def enumeration(names: Sequence[str], most: int = 4) -> str:
    """Join names as "a", "a and b" or, if there are more than `most`, as "a, b, c and 3 more".

    >>> enumeration(["a", "b", "c"])
    'a, b and c'
    """
    listed = list(names)
    if len(listed) > most:
        shown = listed[: most - 1]
        listed = [*shown, f"{len(names) - len(shown)} more"]
    if len(listed) == 1:
        return listed[0]
    return f"{', '.join(listed[:-1])} and {listed[-1]}"


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
    samples = count_text(len(run.samples), sample_word(run))
    return (
        f"{run.label}: PARTIAL, {run.done} of {samples} done; all numbers cover only these. "
        "Repeat the command of the run to continue it."
    )


MAX_NAMED_UNLOADED = 3
"""If more samples could not be loaded, a sentence names only some of them; the page lists them in a table."""


def unloaded_samples(runs: Sequence[Run]) -> dict[tuple[str, str], str]:
    """Return why samples could not be loaded, by dataset and sample; each occurs once for all runs."""
    reasons: dict[tuple[str, str], str] = {}
    for run in runs:
        for dialogue in run.unloaded:
            reason = (dialogue.failure or "").removeprefix(LOADING_PREFIX)
            # The texts below name the sample anyway, so remove it from the message.
            reason = reason.removeprefix(f"sample {dialogue.sample!r}: ")
            reasons.setdefault((run.data, dialogue.sample), reason)
    return reasons


def unloaded_texts(runs: Sequence[Run], word: str) -> list[str]:
    """Return, for each dataset, a sentence on the samples that could not be loaded; `word` is the word for a sample."""
    by_data: dict[str, list[str]] = {}
    for (data, sample), reason in unloaded_samples(runs).items():
        by_data.setdefault(data, []).append(f"{sample} ({reason})")
    texts: list[str] = []
    for data, named in by_data.items():
        counted: set[str] = set()
        for run in runs:
            if run.data == data:
                counted.update(run.samples)
        listed = enumeration(named, most=MAX_NAMED_UNLOADED)
        texts.append(
            f"The dataset {data} could not load {len(named)} of {count_text(len(counted), word)} "
            f"(not counted for any segmenter): {listed}."
        )
    return texts


def empty_text(run: Run) -> str:
    """Return a warning about a run without finished dialogues or without scores; empty for other runs."""
    if run.finished() and not run.config.metrics:
        return (
            f"{run.label}: the records have no scores, because a challenge server scored the masks; "
            "its page of the run shows the scores that the organisers publish."
        )
    if run.finished():
        return ""
    if run.failures:
        failed = f": {count_text(len(run.failures), 'failure')}, see below"
    elif run.unloaded:
        failed = ": no sample could be loaded"
    else:
        failed = " yet"
    return f"{run.label}: no dialogue was finished{failed}."


def remark_texts(runs: Sequence[Run]) -> list[str]:
    """Return one line for each run that has a note or tags."""
    texts: list[str] = []
    for run in runs:
        tags = f"tags: {', '.join(run.config.tags)}" if run.config.tags else ""
        remarks = "; ".join(filter(None, (run.config.note, tags)))
        if remarks:
            texts.append(f"{run.label}: {remarks}")
    return texts


def name_with_words(user: str, words: Mapping[str, str]) -> str:
    """Return the name of a user, followed by its prompts in words if they are known: "3b-inter (three boxes ...)"."""
    return f"{user} ({words[user]})" if user in words else user


def isolation_text(isolation: str) -> str:
    """Describe a `PluginRecord.isolation`: whether the segmenter of a run could reach the ground truth."""
    if isolation == "sandbox":
        return "isolated: the segmenter had neither the ground truth nor the dataset's files"
    if isolation == "process":
        return "isolated in a separate process, which could read the dataset's files"
    return "not isolated"


def verified_text(run: Run) -> str:
    """Describe the verification of a run, which recomputes predictions, and its result."""
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
    """Return a remark if targets are matched only by name or if runs have no targets in common, else ""."""
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
    """Name the run with which the others are compared."""
    if all(run.is_on_data_of(runs[0]) for run in runs):
        return runs[0].label
    return "the first one on the same dataset"


def statistic_definition(statistic: Statistic, run: Run) -> str:
    """Return the definition of a statistic in one sentence, including the direction of improvement."""
    return define_statistic(
        statistic, metric_name(statistic.metric), run.rounds, run.config.benchmark.options
    )

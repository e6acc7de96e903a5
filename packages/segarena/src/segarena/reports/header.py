"""The header of a report: title, warnings, rules, and the configuration of the runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias

from segarena.plugin_spec import PluginSpec
from segarena.records.configuration import PluginRecord, RunCounts
from segarena.reports.comparability import comparability_warnings
from segarena.reports.display_names import non_default_options, short_name
from segarena.reports.pages import Page, broken_pages
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import user_names
from segarena.reports.wording import (
    count_text,
    empty_text,
    isolation_text,
    name_with_words,
    partial_text,
    remark_texts,
    sample_word,
    unloaded_texts,
    verified_text,
)

Facts: TypeAlias = "list[tuple[str, str]]"
"""Names and values as text; the page omits entries without a value."""


MAX_NAMED_SEGMENTERS = 4
"""With more segmenters, the title shows only their number."""

MAX_NAMED_USERS = 6
"""With more users, the lines below the title show only their number."""


def report_title(runs: Sequence[Run]) -> str:
    """Compose the title from the names of segmenters and datasets."""
    data = dict.fromkeys(run.data for run in runs)
    if len(data) == 1:
        segmenters = dict.fromkeys(run.label for run in runs)
    else:
        segmenters = dict.fromkeys(run.segmenter for run in runs)
    if len(segmenters) > MAX_NAMED_SEGMENTERS:
        subject = f"{len(segmenters)} segmenters"
    else:
        subject = ", ".join(segmenters)
    return f"{subject} on {', '.join(data)}"


def report_warnings(runs: Sequence[Run]) -> list[str]:
    """Return the warnings above the report, such as damaged, partial or empty runs and unfair comparisons."""
    warnings: list[str] = []
    for run in runs:
        warnings += [run.folder.damage, partial_text(run), empty_text(run)]
    warnings += unloaded_texts(runs, sample_word(runs[0]))
    warnings += comparability_warnings(runs)
    warnings += broken_pages()
    return [warning for warning in warnings if warning]


def run_description(own: Page) -> list[str]:
    """Return a line on benchmark, data, users and rounds, one on segmenters, and one per run with remarks.

    Options with default values are left out.
    """
    runs = own.runs
    rules = own.runs[0].config.benchmark
    datasets = _distinct([str(_as_set(run.config.dataset)) for run in runs])
    segmenters = _distinct([str(_as_set(run.config.segmenter)) for run in own.every_run])
    users = user_names(runs)
    if len(users) > MAX_NAMED_USERS:
        user_text = f"{len(users)} users"
    else:
        user_text = ", ".join(name_with_words(user, own.users_in_words) for user in users)
    return [
        f"{rules.name} on {', '.join(datasets)}: {_amount(own)}; {user_text}; {_rounds(own)}",
        ", ".join(segmenters),
        *remark_texts(own.every_run),
    ]


def _as_set(used: PluginRecord) -> PluginSpec:
    return PluginSpec(short_name(used.name), non_default_options(used))


def _distinct(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _amount(own: Page) -> str:
    targets = 0
    samples = 0
    planned = 0
    for data in _distinct([run.data for run in own.usual_runs]):
        runs = [run for run in own.usual_runs if run.data == data]
        finished = list(chain.from_iterable(run.finished() for run in runs))
        targets += len({(dialogue.sample, dialogue.target) for dialogue in finished})
        samples += len({dialogue.sample for dialogue in finished})
        planned += len(set(chain.from_iterable(run.samples for run in runs)))
    target_count = count_text(targets, own.target_word)
    if samples < planned:
        # The same count as in the verdict: samples with a finished dialogue.
        return f"{target_count} in {samples} of {count_text(planned, own.sample_word)}"
    return f"{target_count} in {count_text(samples, own.sample_word)}"


def _rounds(own: Page) -> str:
    config = own.runs[0].config
    stop = config.benchmark.stop_at
    until = f", until {stop[0]} is at least {stop[1]:g}" if stop else ""
    return f"at most {count_text(config.rounds, own.word)}{until}"


def benchmark_facts(own: Page) -> Facts:
    """Return the facts about benchmark, data, users and rules."""
    runs = own.runs
    rules = own.runs[0].config.benchmark
    paper = f" ({rules.paper})" if rules.paper else ""
    datasets = _distinct([_dataset_text(run) for run in runs])
    rule_texts = _distinct([_rules_text(own, run) for run in runs])
    return [
        ("Benchmark", f"{rules.name}{paper}"),
        ("Dataset", "; ".join(datasets)),
        (f"{own.target_word.capitalize()}s", _amount(own)),
        (
            "Users",
            ", ".join(name_with_words(user, own.users_in_words) for user in user_names(runs)),
        ),
        ("Rounds", _rounds(own)),
        ("Rules", "; ".join(rule_texts)),
    ]


def run_facts(run: Run) -> Facts:
    """Return the facts about the configuration and environment of a run."""
    config = run.config
    users = [f"{user.written}: {user.spec}" for user in config.users]
    metrics = [str(metric.spec) for metric in config.metrics]
    environment = [f"{key} {value}" for key, value in config.environment.items()]
    digest = config.segmenter.sha256
    return [
        ("Segmenter", str(config.segmenter.spec)),
        ("Dataset", str(config.dataset.spec)),
        ("File", f"sha256 {digest}" if digest else ""),
        ("Users", "; ".join(users)),
        ("Metrics", ", ".join(metrics)),
        ("Repeats, seed", f"{config.repeats}, {config.seed}"),
        ("Started in", config.directory),
        ("Made", f"{config.created} with segarena {config.version}"),
        ("Environment", ", ".join(environment)),
        ("Counts", "" if config.counts is None else _counts_text(run, config.counts)),
        ("Verified", verified_text(run)),
        ("Isolation", isolation_text(run.config.segmenter.isolation)),
        ("Tags", ", ".join(config.tags)),
        ("Note", config.note),
    ]


def _counts_text(run: Run, counts: RunCounts) -> str:
    """Describe the counts of a run; mention encodings from the cache only if there were any."""
    encodes = count_text(counts.encodes, "encoder pass", "encoder passes")
    if run.encodes_with_prompts:
        encodes += ", one per answer"
    parts = [
        count_text(counts.samples, sample_word(run)),
        count_text(counts.targets, "target"),
        count_text(counts.rounds, "round"),
        encodes,
    ]
    if counts.encodes_from_cache:
        parts.append(f"{count_text(counts.encodes_from_cache, 'encoding')} read from the cache")
    parts.append(count_text(counts.failures, "failure"))
    if counts.unloaded:
        parts.append(f"{count_text(counts.unloaded, 'sample')} not loaded")
    for user, number in counts.targets_without.items():
        parts.append(f"no dialogue of {user} about {count_text(number, 'target')}")
    return ", ".join(parts)


def _rules_text(own: Page, run: Run) -> str:
    rules = own.rules(run)
    return ", ".join(f"{name}: {_option_text(value)}" for name, value in rules.items())


def _option_text(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    parts: list[str] = []
    for key, inner in value.items():
        if inner is not None:
            # Fingerprints and similar values are long; their first characters are sufficient.
            parts.append(f"{key} {str(inner)[:16]}")
    return " ".join(parts) or "none"


def _dataset_text(run: Run) -> str:
    dataset = run.config.dataset
    spec = PluginSpec(short_name(dataset.name), dict(dataset.options))
    return f"{spec}, fingerprint {dataset.fingerprint}"

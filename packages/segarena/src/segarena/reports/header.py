"""The header of a report: title, warnings, rules and how the runs were made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from segarena.plugin_spec import PluginSpec
from segarena.records.configuration import PluginRecord, RunCounts
from segarena.reports.comparability import comparability_warnings
from segarena.reports.display_names import non_default_options, short_name
from segarena.reports.pages import Page, broken_pages
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import user_names
from segarena.reports.wording import count_text, empty_text, partial_text, verified_text

Facts: TypeAlias = "list[tuple[str, str]]"
"""Names and texts; the page leaves out those with an empty text."""


MAX_NAMED_SEGMENTERS = 4
"""For more segmenters, the title shows only their number."""

MAX_NAMED_USERS = 6
"""For more users, the lines below the title show only their number."""


def report_title(runs: Sequence[Run]) -> str:
    """Return the title: the segmenters and the datasets."""
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
    """Return the warnings above the report: damage, partial or empty runs, unfair comparisons."""
    warnings: list[str] = []
    for run in runs:
        warnings += [run.folder.damage, partial_text(run), empty_text(run)]
    warnings += comparability_warnings(runs)
    warnings += broken_pages()
    return [warning for warning in warnings if warning]


def run_description(own: Page) -> list[str]:
    """Return two lines about benchmark and data, and about segmenters, without default options."""
    runs = own.runs
    rules = own.runs[0].config.benchmark
    data = dict.fromkeys(str(_as_set(run.config.dataset)) for run in runs)
    segmenters = dict.fromkeys(str(_as_set(run.config.segmenter)) for run in own.every_run)
    users = user_names(runs)
    user_text = f"{len(users)} users" if len(users) > MAX_NAMED_USERS else ", ".join(users)
    return [
        f"{rules.name} on {', '.join(data)}: {_amount(own)}; {user_text}; {_rounds(own)}",
        ", ".join(segmenters),
    ]


def _as_set(used: PluginRecord) -> PluginSpec:
    return PluginSpec(short_name(used.name), non_default_options(used))


def _amount(own: Page) -> str:
    targets = {
        (run.data, dialogue.sample, dialogue.target)
        for run in own.runs
        for dialogue in run.finished()
    }
    samples = {(run.data, sample) for run in own.runs for sample in run.samples}
    return f"{count_text(len(targets), own.target_word)} in {count_text(len(samples), own.sample_word)}"


def _rounds(own: Page) -> str:
    config = own.runs[0].config
    stop = config.benchmark.stop_at
    until = f", until {stop[0]} is at least {stop[1]:g}" if stop else ""
    return f"at most {count_text(config.rounds, own.word)}{until}"


def benchmark_facts(own: Page) -> Facts:
    """Return the facts about benchmark, data, users and rules."""
    runs = own.runs
    rules = own.runs[0].config.benchmark
    return [
        ("Benchmark", rules.name + (f" ({rules.paper})" if rules.paper else "")),
        ("Dataset", "; ".join(dict.fromkeys(_dataset_text(run) for run in runs))),
        (f"{own.target_word.capitalize()}s", _amount(own)),
        ("Users", ", ".join(user_names(runs))),
        ("Rounds", _rounds(own)),
        ("Rules", "; ".join(dict.fromkeys(_rules_text(own, run) for run in runs))),
    ]


def run_facts(run: Run) -> Facts:
    """Return the facts about how a run was made."""
    config = run.config
    return [
        ("Segmenter", str(config.segmenter.spec)),
        ("Dataset", str(config.dataset.spec)),
        ("File", f"sha256 {config.segmenter.sha256}" if config.segmenter.sha256 else ""),
        ("Users", "; ".join(f"{user.written}: {user.spec}" for user in config.users)),
        ("Metrics", ", ".join(str(metric.spec) for metric in config.metrics)),
        ("Repeats, seed", f"{config.repeats}, {config.seed}"),
        ("Started in", config.directory),
        ("Made", f"{config.created} with segarena {config.version}"),
        ("Environment", ", ".join(f"{key} {value}" for key, value in config.environment.items())),
        ("Counts", "" if config.counts is None else _counts_text(run, config.counts)),
        ("Verified", verified_text(run)),
    ]


def _counts_text(run: Run, counts: RunCounts) -> str:
    """Return the counts of a run; encodings from the cache only if there were any."""
    parts = [
        count_text(counts.samples, "sample"),
        count_text(counts.targets, "target"),
        count_text(counts.rounds, "round"),
        count_text(counts.encodes, "encoder pass", "encoder passes")
        + ", one per answer" * run.encodes_with_prompts,
        count_text(counts.failures, "failure"),
        *(
            f"no dialogue of {user} about {count_text(n, 'target')}"
            for user, n in counts.targets_without.items()
        ),
    ]
    if counts.encodes_from_cache:
        parts.insert(4, f"{count_text(counts.encodes_from_cache, 'encoding')} read from the cache")
    return ", ".join(parts)


def _rules_text(own: Page, run: Run) -> str:
    return ", ".join(f"{name}: {_option_text(value)}" for name, value in own.rules(run).items())


def _option_text(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return (
        " ".join(f"{key} {str(inner)[:16]}" for key, inner in value.items() if inner is not None)
        or "none"
    )


def _dataset_text(run: Run) -> str:
    dataset = run.config.dataset
    return f"{PluginSpec(short_name(dataset.name), dict(dataset.options))}, fingerprint {dataset.fingerprint}"

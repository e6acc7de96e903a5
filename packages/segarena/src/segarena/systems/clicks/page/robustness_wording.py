"""Wording of the rclicks report, shared by terminal, LaTeX and page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from segarena.benchmark_rules import Statistic
from segarena.reports.cells import Value
from segarena.reports.recorded_run import Run
from segarena.reports.wording import count_text, value_text
from segarena.statistics.intervals import Interval
from segarena.systems.clicks.page.robustness_run_values import is_robustness_run, user_roles
from segarena.systems.clicks.page.robustness_statistics import FirstClickRow, GroupRow

USER_KIND_LABELS = {
    "base": "base user",
    "groups": "clicking groups",
    "real": "real people",
    "sampled": "sampled from the click model",
}

GROUP_NOTES = (
    "Sample: mean over the clicking groups, ± the population deviation over them. ASB: change from "
    "the base user to the mean of the groups. AGR: change from the most likely group to the least "
    "likely one (G1). AHH: change from the more likely half of the groups to the less likely half. "
    "For NoC these are relative changes per target, in per cent; for NoF and AuC they are "
    "differences, and NoF counts targets. NSR: ratio of deviation to mean of each target."
)
FIRST_CLICK_NOTES = (
    "Mean, population deviation and their ratio (noise to signal, NSR) over the clicks on a target; "
    "averaged over the targets that every kind of user has clicked. Clicking groups: one click "
    "per group, so these numbers vary over groups, not over people. “Minus real”: difference from "
    "real people, target by target."
)


def group_statistic_label(statistic: Statistic) -> str:
    """Return the label of a statistic over groups of users; NoF counts targets here."""
    return f"{statistic.name}, targets" if statistic.kind == "nof" else statistic.name


def group_cells(row: GroupRow) -> list[Value]:
    """Return the cells of a table row: base, sample ± deviation, sample, deviation, changes, NSR."""
    groups = row.groups
    deviation = _level(row, groups.sample_std.mean)
    sample = _level_cell(row, groups.sample)
    sample_and_deviation = sample
    if row.targets:
        sample_and_deviation = replace(sample, printed=f"{sample.printed} ± {deviation}")
    kind = row.statistic.kind
    return [
        _level_cell(row, groups.base),
        sample_and_deviation,
        sample,
        _value(groups.sample_std, deviation),
        _change_cell(groups.asb, kind),
        _change_cell(groups.agr, kind),
        _change_cell(groups.ahh, kind),
        _plain_cell(row.nsr),
    ]


def first_click_cells(row: FirstClickRow) -> list[Value]:
    """Return the cells of a table row: mean, deviation, NSR, and difference from real people."""
    paired = row.to_real
    difference = Value(mean=math.nan)
    if paired is not None:
        interval = Interval(paired.difference, paired.low, paired.high, paired.n)
        # Differences of AuC and of IoU have the same format.
        difference = _change_cell(interval, "auc")
    return [_plain_cell(row.mean), _plain_cell(row.std), _plain_cell(row.nsr), difference]


def rclicks_protocol_text(run: Run) -> str:
    """Describe the RClicks rules that the run followed."""
    options = run.config.benchmark.options
    roles = user_roles(run)
    if run.config.benchmark.protocol == "published":
        ahh_rule = "AHH group by group (G1 from G6, …, as published)"
    else:
        ahh_rule = "AHH of the merged halves"
    group_users = [user for user in run.config.users if user.written in roles.groups]
    group_options = group_users[0].options if group_users else {}
    solved = "failed" if options.get("solved_at_last") == "failure" else "solved"
    words = [
        f"{run.config.benchmark.protocol} protocol",
        f"{len(roles.groups)} clicking groups, {group_options.get('groups', 'exact')}",
        f"click model {options.get('click_model', {}).get('written', 'unknown')}",
        ahh_rule,
        f"a target solved only in the last round counts as {solved}",
        f"{count_text(run.config.repeats, 'repeat')} of each dialogue, averaged first",
    ]
    return "; ".join(words) + "."


def missing_texts(runs: Sequence[Run]) -> list[str]:
    """Describe, for each run, which users its tables lack and what is omitted as a result."""
    notes: list[str] = []
    for run in runs:
        missing = user_roles(run).missing
        if missing:
            notes.append(
                f"{run.label}: made without {', '.join(missing)}; tables that need them are omitted."
            )
    has_real_clicks = any(user_roles(run).real for run in runs)
    if is_robustness_run(runs[0]) and not has_real_clicks:
        notes.append(
            "No real clicks were given: first clicks are those of the base user and of the "
            "clicking groups."
        )
    return notes


def left_out_text(rows: Sequence[GroupRow], runs: Sequence[Run]) -> str:
    """State how many targets are excluded because not every user finished them; empty if none."""
    largest: dict[int, int] = {}
    for row in rows:
        largest[row.run] = max(row.left_out, largest.get(row.run, 0))
    listed = _targets_by_run(dict(sorted(largest.items())), runs)
    if not listed:
        return ""
    return f"Excluded, because not every user finished them: {listed}."


def unclicked_text(rows: Sequence[FirstClickRow], runs: Sequence[Run]) -> str:
    """State how many targets have no real click; empty if the runs contain no real clicks."""
    counts = {row.run: row.without for row in rows if row.user_kind == "real"}
    if not counts:
        return ""
    listed = _targets_by_run(counts, runs)
    if not listed:
        return "Every target has real clicks."
    return f"Excluded, because they have no real click: {listed}."


def _targets_by_run(counts: Mapping[int, int], runs: Sequence[Run]) -> str:
    """List the positive counts by run."""
    texts: list[str] = []
    for run_index, count in counts.items():
        if count:
            texts.append(f"{count_text(count, 'target')} of {runs[run_index].label}")
    return ", ".join(texts)


def signed_text(
    value: float,
    digits: int,
    unit: str = "",
) -> str:
    """Format a difference with its sign (U+2212 for minus); zero has no sign, and NaN is "–"."""
    if math.isnan(value):
        return "–"
    text = f"{abs(value):.{digits}f}{unit}"
    is_zero = not any(digit in text for digit in "123456789")
    if is_zero:
        return text
    sign = "+" if value > 0 else "−"
    return sign + text


def _level(row: GroupRow, value: float) -> str:
    if row.statistic.kind != "nof":
        return value_text(row.statistic, value)
    return "–" if math.isnan(value) else f"{value:.1f}"


def _level_cell(row: GroupRow, interval: Interval) -> Value:
    bounds = ""
    if not math.isnan(interval.low):
        bounds = f"[{_level(row, interval.low)}, {_level(row, interval.high)}]"
    return _value(interval, _level(row, interval.mean), bounds)


def _change_cell(interval: Interval, kind: str) -> Value:
    scale = 1.0
    digits = 3
    unit = ""
    if kind == "noc":  # relative changes, in per cent
        scale = 100.0
        digits = 1
        unit = " %"
    elif kind == "nof":  # numbers of targets
        digits = 1
    bounds = ""
    if not math.isnan(interval.low):
        low = f"{scale * interval.low:.{digits}f}".replace("-", "−")
        high = f"{scale * interval.high:.{digits}f}".replace("-", "−")
        bounds = f"[{low}, {high}]"
    return _value(interval, signed_text(scale * interval.mean, digits, unit), bounds)


def _plain_cell(interval: Interval | None) -> Value:
    if interval is None:
        return Value(mean=math.nan)
    return Value(mean=interval.mean, low=interval.low, high=interval.high)


def _value(
    interval: Interval,
    printed: str,
    bounds: str = "",
) -> Value:
    return Value(
        mean=interval.mean,
        low=interval.low,
        high=interval.high,
        printed=printed,
        printed_bounds=bounds,
    )

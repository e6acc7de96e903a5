"""How the numbers and rules of the rclicks report read; the same words in the terminal, in LaTeX and on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from segarena.reports.recorded_run import Run
from segarena.reports.sheets import Value
from segarena.reports.wording import count_text, value_text
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval
from segarena.systems.clicks.page.robustness_statistics import FirstClickRow, GroupRow
from segarena.systems.clicks.page.run_values import is_robustness_run, user_roles

USER_KIND_LABELS = {
    "base": "base user",
    "groups": "clicking groups",
    "real": "real people",
    "sampled": "sampled from the click model",
}

GROUP_NOTES = (
    "Sample: mean over the clicking groups, ± the population deviation over them. ASB: how much more than with the "
    "base user the mean of the groups is. AGR: how much more with the least likely group (G1) than with the most "
    "likely one. AHH: how much more with the less likely half of the groups. Of NoC these are relative changes of each "
    "target, in per cent; of NoF and AuC plain differences, and NoF counts targets. NSR: deviation over mean of each "
    "target."
)
FIRST_CLICK_NOTES = (
    "Over the clicks on a target the mean, the population deviation and their ratio (noise to signal, NSR); then means "
    "over the targets that every kind of user has clicks on. Clicking groups: one click from each, so these numbers "
    "are over groups, not over people. “Minus real”: difference to real people, target by target."
)


def group_statistic_label(statistic: Statistic) -> str:
    """Return the name of a statistic over groups of users, where NoF is a number of targets and no share."""
    return f"{statistic.name}, targets" if statistic.kind == "nof" else statistic.name


def group_cells(row: GroupRow) -> list[Value]:
    """Return base, sample with its deviation, sample, deviation, the three changes, and NSR."""
    over = row.groups
    deviation = _level(row, over.sample_std.mean)
    base = _level_cell(row, over.base)
    sample = _level_cell(row, over.sample)
    if row.targets:
        both = replace(sample, printed=f"{sample.printed} ± {deviation}")
    else:
        both = sample
    changes = [
        _change_cell(interval, row.statistic.kind) for interval in (over.asb, over.agr, over.ahh)
    ]
    return [base, both, sample, _value(over.sample_std, deviation), *changes, _plain_cell(row.nsr)]


def first_click_cells(row: FirstClickRow) -> list[Value]:
    """Return mean, deviation, NSR, and the difference to real people."""
    against = row.to_real
    if against is None:
        difference = Value(mean=math.nan)
    else:
        difference = _change_cell(
            Interval(against.difference, against.low, against.high, against.n), "auc"
        )
    return [_plain_cell(row.mean), _plain_cell(row.std), _plain_cell(row.nsr), difference]


def protocol_text(run: Run) -> str:
    """Say by which rules of RClicks the run went."""
    options = run.config.benchmark.options
    roles = user_roles(run)
    is_published = run.config.benchmark.protocol == "published"
    group = next((user.options for user in run.config.users if user.written in roles.groups), {})
    solved = "failed" if options.get("solved_at_last") == "failure" else "solved"
    words = [
        f"{run.config.benchmark.protocol} protocol",
        f"{len(roles.groups)} clicking groups, {group.get('groups', 'exact')}",
        f"click model {options.get('click_model', {}).get('written', 'unknown')}",
        "AHH group by group (G1 from G6, …, as published)"
        if is_published
        else "AHH of the merged halves",
        f"a target solved only in the last round counts as {solved}",
        f"{count_text(run.config.repeats, 'repeat')} of each dialogue, averaged first",
    ]
    return "; ".join(words) + "."


def missing_texts(runs: Sequence[Run]) -> list[str]:
    """Say of each run what its tables lack, and why."""
    notes: list[str] = []
    for run in runs:
        roles = user_roles(run)
        if roles.missing:
            notes.append(
                f"{run.label}: made without {', '.join(roles.missing)}; what needs them is left out."
            )
    if is_robustness_run(runs[0]) and not any(user_roles(run).real for run in runs):
        notes.append(
            "No real clicks were given: first clicks are those of the base user and of the clicking groups."
        )
    return notes


def left_out_text(rows: Sequence[GroupRow], runs: Sequence[Run]) -> str:
    """Say how many targets are in no table because not everyone finished them; empty when none are."""
    most = {row.run: row.left_out for row in sorted(rows, key=lambda row: row.left_out)}
    told = [
        f"{count_text(count, 'target')} of {runs[place].label}"
        for place, count in sorted(most.items())
        if count
    ]
    if told:
        return f"Left out, because not every user finished them: {', '.join(told)}."
    return ""


def unclicked_text(rows: Sequence[FirstClickRow], runs: Sequence[Run]) -> str:
    """Say how many targets nobody clicked on; empty where there are no real clicks."""
    counts = {row.run: row.without for row in rows if row.who == "real"}
    if not counts:
        return ""
    told = [
        f"{count_text(count, 'target')} of {runs[place].label}"
        for place, count in counts.items()
        if count
    ]
    if not told:
        return "Every target has real clicks."
    return f"Without a real click, and therefore left out: {', '.join(told)}."


def signed_text(value: float, digits: int, unit: str = "") -> str:
    """Return a difference with its sign: a true minus, none on a zero; "–" for NaN."""
    if math.isnan(value):
        return "–"
    text = f"{abs(value):.{digits}f}{unit}"
    if not any(digit in text for digit in "123456789"):
        return text
    return ("+" if value > 0 else "−") + text


def _level(row: GroupRow, value: float) -> str:
    if row.statistic.kind == "nof":
        return "–" if math.isnan(value) else f"{value:.1f}"
    return value_text(row.statistic, value)


def _level_cell(row: GroupRow, found: Interval) -> Value:
    if math.isnan(found.low):
        bounds = ""
    else:
        bounds = f"[{_level(row, found.low)}, {_level(row, found.high)}]"
    return _value(found, _level(row, found.mean), bounds)


def _change_cell(found: Interval, kind: str) -> Value:
    scale, digits, unit = {"noc": (100.0, 1, " %"), "nof": (1.0, 1, "")}.get(kind, (1.0, 3, ""))
    bounds = ""
    if not math.isnan(found.low):
        ends = [f"{scale * end:.{digits}f}".replace("-", "−") for end in (found.low, found.high)]
        bounds = f"[{ends[0]}, {ends[1]}]"
    return _value(found, signed_text(scale * found.mean, digits, unit), bounds)


def _plain_cell(found: Interval | None) -> Value:
    if found is None:
        return Value(mean=math.nan)
    return Value(mean=found.mean, low=found.low, high=found.high)


def _value(found: Interval, printed: str, bounds: str = "") -> Value:
    return Value(
        mean=found.mean, low=found.low, high=found.high, printed=printed, printed_bounds=bounds
    )

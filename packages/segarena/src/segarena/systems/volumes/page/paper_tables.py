"""The tables of runs over volumes, after RadioActive's Tables 2 to 9."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from typing import Any

import numpy as np
import polars as pl

from segarena.reports.recorded_run import Run
from segarena.reports.sheets import Cell, Sheet, Value
from segarena.reports.wording import metric_name
from segarena.roles import Statistic
from segarena.systems.volumes.page.round_values import (
    average_common_targets,
    collect_round_values,
    collect_statistic,
    describe_coverage,
    list_participants,
    look_up_mean,
    select_round,
)

NOC_THRESHOLDS = (0.8, 0.9)


def volume_sheets(runs: Sequence[Run]) -> list[Sheet]:
    """Return every table that the records have something for."""
    if not list_participants(runs):
        return []
    values = collect_round_values(runs)
    made = [prompts_sheet(runs, values), refinement_sheet(runs, values), splits_sheet(runs, values)]
    made += [
        noise_sheet(runs, values),
        areas_sheet(runs),
        classes_sheet(runs, values),
        median_seconds_sheet(runs),
    ]
    return [sheet for sheet in made if sheet is not None]


def _sheet_of_users(
    name: str,
    caption: str,
    columns: Sequence[str],
    who: Sequence[tuple[str, str]],
    cells: Callable[..., Iterable[Cell]],
    *notes: str,
) -> Sheet:
    """Return a table with a row per user and segmenter; `cells` gives the rest of a row, by `user` and `segmenter`."""
    rows = tuple(
        (user, segmenter, *cells(user=user, segmenter=segmenter)) for user, segmenter in who
    )
    return Sheet(
        name=name, caption=caption, head=("Prompts", "Segmenter", *columns), rows=rows, notes=notes
    )


def prompts_sheet(runs: Sequence[Run], values: pl.DataFrame) -> Sheet:
    """Return what each scheme costs and gives after the first prompts (Tables 2 to 4)."""
    first = select_round(values, 1)
    metrics = [metric for metric in ("dice", "nsd") if metric in values.columns]
    averages = {metric: average_common_targets(first, metric) for metric in metrics}
    datasets = sorted(set(first["dataset"]))
    per_dataset = datasets if len(datasets) > 1 else []

    def cells(**who: str) -> Iterator[Cell]:
        yield summarize_effort(first, **who)
        yield from (
            look_up_mean(averages["dice"], "dataset", dataset=dataset, **who)
            for dataset in per_dataset
        )
        yield from (look_up_mean(averages[metric], **who) for metric in metrics)

    caption = "Quality after the first prompts, and what they cost."
    columns = ("Interactions", *per_dataset, *map(metric_name, metrics))
    notes = (describe_coverage(averages["dice"]), EFFORT_NOTE)
    return _sheet_of_users("prompts", caption, columns, list_participants(runs), cells, *notes)


def refinement_sheet(runs: Sequence[Run], values: pl.DataFrame) -> Sheet | None:
    """Return Dice after each round (Tables 5 and 6); None without corrections."""
    who = [pair for pair in list_participants(runs) if has_corrections(runs, *pair)]
    if not who:
        return None
    rounds = range(1, runs[0].rounds + 1)
    averages = [average_common_targets(values.filter(round=number), "dice") for number in rounds]

    def cells(**who: str) -> Iterator[Cell]:
        yield from (
            summarize_effort(values.filter(round=number), **who) for number in (1, runs[0].rounds)
        )
        yield from (look_up_mean(average, **who) for average in averages)

    caption = "Dice after the first prompts (round 1) and after each correction."
    columns = ("Interactions first", "at last", *(f"Round {number}" for number in rounds))
    return _sheet_of_users(
        "refinement", caption, columns, who, cells, describe_coverage(averages[0]), EFFORT_NOTE
    )


def splits_sheet(runs: Sequence[Run], values: pl.DataFrame) -> Sheet | None:
    """Return Dice of organs and pathologies, of CT and MR (Tables 7 and 8); None when targets have neither."""
    last = select_round(values, runs[0].rounds)
    parts: list[tuple[str, str]] = []
    for name in ("kind", "modality"):
        parts += [(name, part) for part in sorted(set(last[name]) - {""})]
    if not parts:
        return None
    averages = {
        name: average_common_targets(last.filter(pl.col(name) != ""), "dice", split=(name,))
        for name, _ in parts
    }
    overall = average_common_targets(last, "dice")

    def cells(**who: str) -> Iterator[Cell]:
        yield look_up_mean(overall, **who)
        yield from (look_up_mean(averages[name], **who, **{name: part}) for name, part in parts)

    counts: list[str] = []
    for name, part in parts:
        lines = averages[name].table.filter(pl.col("level") == "all", pl.col(name) == part)
        counts.append(f"{max(lines['targets'].to_list())} {part}")
    caption = "Dice after the last round by kind of target and by modality."
    note = f"Targets: {', '.join(counts)}. Columns hold different targets: compare within a column."
    columns = ("All", *(part for _, part in parts))
    return _sheet_of_users("splits", caption, columns, list_participants(runs), cells, note)


def noise_sheet(runs: Sequence[Run], values: pl.DataFrame) -> Sheet | None:
    """Return Dice with perturbed first boxes and the loss against exact ones (Table 9); None without such users."""
    families = group_users_by_noise(runs)
    if not families:
        return None
    last = select_round(values, runs[0].rounds)
    averages = average_common_targets(last, "dice")
    noises = sorted(set(chain(*families.values())) - {0})

    def cells(user: str, segmenter: str) -> Iterator[Cell]:
        yield look_up_mean(averages, user=user, segmenter=segmenter)
        for noise in noises:
            noisy = families[user].get(noise, "")
            yield look_up_mean(averages, user=noisy, segmenter=segmenter)
            yield _difference(last.filter(segmenter=segmenter), noisy, user)

    who = list(product(families, dict.fromkeys(run.segmenter for run in runs)))
    caption = "Dice when each edge of the first boxes is moved at random, by at most the number of pixels given."
    columns = ("Exact", *chain.from_iterable((f"±{noise} px", "difference") for noise in noises))
    return _sheet_of_users(
        "noise", caption, columns, who, cells, "Differences are computed target by target."
    )


def areas_sheet(runs: Sequence[Run]) -> Sheet | None:
    """Return the areas under Dice as the field counts them, and NoC; None with one round."""
    rounds = runs[0].rounds
    if rounds == 1:
        return None
    areas = {
        "AuC": "auc",
        "sum": "auc_all",
        **({"last five": "auc_last_five"} if rounds >= 5 else {}),
    }
    statistics = [Statistic(name=name, kind=kind, metric="dice") for name, kind in areas.items()]
    statistics += [
        Statistic(name=f"NoC@{100 * t:g}", kind="noc", metric="dice", threshold=t)
        for t in NOC_THRESHOLDS
    ]
    averages = [
        average_common_targets(collect_statistic(runs, statistic), "value")
        for statistic in statistics
    ]
    note = (
        f"Areas are trapezoid sums of Dice: AuC over all {rounds} rounds divided by {rounds - 1} (at most 1), "
        f"sum as in autoPET (at most {rounds - 1}), last five as in CVPR 2025 (at most 4). NoC: rounds until Dice is "
        f"that high, {rounds} where it never is."
    )
    caption = "Areas under the curve of Dice over rounds, and rounds needed."
    columns = [statistic.name for statistic in statistics]

    def cells(**who: str) -> list[Value]:
        return [look_up_mean(average, **who) for average in averages]

    return _sheet_of_users("areas", caption, columns, list_participants(runs), cells, note)


def classes_sheet(runs: Sequence[Run], values: pl.DataFrame) -> Sheet:
    """Return Dice of each class after the last round, a column per user and segmenter."""
    averages = average_common_targets(select_round(values, runs[0].rounds), "dice")
    who = list_participants(runs)
    is_one = len({segmenter for _, segmenter in who}) == 1
    classes = (
        averages.table.filter(level="class")
        .select("dataset", "class")
        .unique()
        .sort("dataset", "class")
    )
    rows: list[tuple[Cell, ...]] = []
    for dataset, name in classes.iter_rows():
        where = {"dataset": dataset, "class": name}
        lines = averages.table.filter(level="class", **where)
        counts = [max(lines[column].to_list()) for column in ("cases", "targets")]
        cells = [
            look_up_mean(averages, "class", user=user, segmenter=segmenter, **where)
            for user, segmenter in who
        ]
        rows.append((dataset, name, *counts, *cells))
    titles = [user if is_one else f"{user} · {segmenter}" for user, segmenter in who]
    head = ("Dataset", "Class", "Cases", "Targets", *titles)
    return Sheet(
        name="classes",
        caption="Dice of each class after the last round.",
        head=head,
        rows=tuple(rows),
    )


def median_seconds_sheet(runs: Sequence[Run]) -> Sheet:
    """Return the median seconds of the first and of later rounds, and of encoder passes."""

    def cells(user: str, segmenter: str) -> Iterator[Cell]:
        timed = pl.concat([run.timings for run in runs if run.segmenter == segmenter])
        own = timed.filter(pl.col("user") == user)
        parts = [own.filter(round=1), own.filter(pl.col("round") > 1), timed.filter(round=0)]
        parts.append(own.group_by("sample", "target", "repeat").agg(pl.col("predict_s").sum()))
        for part in parts:
            seconds = part["predict_s"].to_numpy()
            yield Value(mean=float(np.median(seconds)) if len(seconds) else math.nan, decimals=4)

    columns = ("First round", "Later rounds", "Encoder pass", "All rounds of a target")
    note = "Of what is predicted together each dialogue has its share. An encoder pass is that of a slice or volume."
    return _sheet_of_users(
        "seconds", "Median seconds in the segmenter.", columns, list_participants(runs), cells, note
    )


EFFORT_NOTE = (
    "Interactions are the ones actually given: the mean over targets, with the range below it. A point costs 1, a box "
    "in a slice 2, a box in the volume 3, limits 2 and a scribble 3; prompts that a lift adds on other slices are free."
)


def summarize_effort(values: pl.DataFrame, *, user: str, segmenter: str) -> Value:
    """Return the mean interactions spent on a target, with the range."""
    spent = values.filter(user=user, segmenter=segmenter)["effort"].drop_nulls().to_numpy()
    if not len(spent):
        return Value(mean=math.nan)
    low = float(spent.min())
    high = float(spent.max())
    note = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return Value(mean=float(np.mean(spent)), decimals=1, note=note)


def has_corrections(runs: Sequence[Run], user: str, segmenter: str) -> bool:
    """Tell whether this user ever gave a second round of prompts."""
    own = chain.from_iterable(run.finished(user) for run in runs if run.segmenter == segmenter)
    return any(dialogue.rounds > 1 for dialogue in own)


def group_users_by_noise(runs: Sequence[Run]) -> dict[str, dict[int, str]]:
    """Return users who differ only in their edge noise, by the one without: {"3b-inter": {0: "3b-inter", 5: ...}}."""
    found: dict[str, dict[int, str]] = {}
    for run in runs:
        for described in run.config.users:
            options: dict[str, Any] = dict(described.options)
            noise = int(options.pop("edge_noise_px", 0))
            found.setdefault(f"{described.name} {options}", {})[noise] = described.written
    return {members[0]: members for members in found.values() if 0 in members and len(members) > 1}


def _difference(values: pl.DataFrame, user: str, exact: str) -> Value:
    keys = ["segmenter", "dataset", "class", "sample", "target", "repeat"]
    both = values.filter(user=user).join(values.filter(user=exact), on=keys, suffix="_exact")
    both = both.with_columns(
        (pl.col("dice") - pl.col("dice_exact")).alias("difference")
    ).drop_nulls("difference")
    if not both.height:
        return Value(mean=math.nan)
    mean = look_up_mean(average_common_targets(both, "difference"))
    return Value(mean=mean.mean, low=mean.low, high=mean.high, is_signed=True)

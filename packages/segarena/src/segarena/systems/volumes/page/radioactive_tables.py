"""Tables for runs on volumes, modelled on RadioActive's Tables 2 to 9."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from typing import Any

import numpy as np
import polars as pl

from segarena.benchmark_rules import Statistic
from segarena.reports.cells import Cell, Value
from segarena.reports.display_names import metric_name
from segarena.reports.human_time import PredictedSeconds, predict_seconds
from segarena.reports.recorded_run import Run
from segarena.reports.sheets import Sheet
from segarena.systems.volumes.measures.hierarchical_average import Averages
from segarena.systems.volumes.page.round_metric_values import (
    average_common_targets,
    collect_round_values,
    collect_statistic,
    describe_coverage,
    list_participants,
    look_up_mean,
    select_round,
)
from segarena.systems.volumes.page.user_descriptions import describe_user
from segarena.users.habits.prompt_time import PromptTimeModel

NOC_THRESHOLDS = (0.8, 0.9)


def volume_sheets(runs: Sequence[Run], pace: PromptTimeModel) -> list[Sheet]:
    """Return every table for which the records have values; `pace` predicts human time in seconds."""
    if not list_participants(runs):
        return []
    values = collect_round_values(runs)
    sheets = [
        prompts_sheet(runs, values, pace),
        refinement_sheet(runs, values),
        splits_sheet(runs, values),
        noise_sheet(runs, values),
        areas_sheet(runs),
        classes_sheet(runs, values),
        median_seconds_sheet(runs),
    ]
    return [sheet for sheet in sheets if sheet is not None]


def _participant_sheet(
    name: str,
    caption: str,
    columns: Sequence[str],
    participants: Sequence[tuple[str, str]],
    cells: Callable[..., Iterable[Cell]],
    *notes: str,
) -> Sheet:
    """Return a table with one row per user and segmenter; `cells` returns the other cells of a row."""
    rows: list[tuple[Cell, ...]] = []
    for user, segmenter in participants:
        rows.append((user, segmenter, *cells(user=user, segmenter=segmenter)))
    return Sheet(
        name=name,
        caption=caption,
        head=("Prompts", "Segmenter", *columns),
        rows=tuple(rows),
        notes=notes,
    )


def prompts_sheet(
    runs: Sequence[Run],
    values: pl.DataFrame,
    pace: PromptTimeModel,
) -> Sheet:
    """Return cost and quality of each scheme after the first prompts (Tables 2 to 4)."""
    first = select_round(values, 1)
    metrics = [metric for metric in ("dice", "nsd") if metric in values.columns]
    averages = {metric: average_common_targets(first, metric) for metric in metrics}
    datasets = sorted(set(first["dataset"]))
    dataset_columns = datasets if len(datasets) > 1 else []
    has_rounds = any(has_corrections(runs, *pair) for pair in list_participants(runs))
    final = average_common_targets(select_round(values, runs[0].rounds), "dice")
    words = {user.written: describe_user(user) for run in runs for user in run.config.users}

    def cells(**participant: str) -> Iterator[Cell]:
        yield words.get(participant["user"], "")
        yield summarize_effort(first, **participant)
        seconds = _person_seconds(runs, pace, **participant)
        yield "–" if seconds is None else seconds.first_round
        for dataset in dataset_columns:
            yield look_up_mean(averages["dice"], "dataset", dataset=dataset, **participant)
        for metric in metrics:
            yield look_up_mean(averages[metric], **participant)
        if has_rounds:
            yield "–" if seconds is None else seconds.whole
            yield look_up_mean(final, **participant)

    metric_columns = [metric_name(metric) for metric in metrics]
    columns = ["In words", "Interactions", "Seconds of a person", *dataset_columns, *metric_columns]
    caption = "Quality after the first prompts, and their cost"
    if has_rounds:
        columns += ["Seconds, whole dialogue", "Dice at last"]
        caption += "; on the right, after all corrections"
    return _participant_sheet(
        "prompts",
        f"{caption}.",
        columns,
        list_participants(runs),
        cells,
        describe_coverage(averages["dice"]),
        EFFORT_NOTE,
        SECONDS_NOTE,
    )


def _person_seconds(
    runs: Sequence[Run],
    pace: PromptTimeModel,
    *,
    user: str,
    segmenter: str,
) -> PredictedSeconds | None:
    """Return a person's predicted seconds for the prompts, or None if they cannot be predicted."""
    for run in runs:
        if run.segmenter == segmenter and user in run.users:
            found = predict_seconds(run, user, pace)
            if found is not None:
                return found
    return None


def refinement_sheet(runs: Sequence[Run], values: pl.DataFrame) -> Sheet | None:
    """Return Dice after each round (Tables 5 and 6), or None if no user gives corrections."""
    participants = [pair for pair in list_participants(runs) if has_corrections(runs, *pair)]
    if not participants:
        return None
    last = runs[0].rounds
    by_round = {number: values.filter(round=number) for number in range(1, last + 1)}
    averages = [average_common_targets(of_round, "dice") for of_round in by_round.values()]

    def cells(**participant: str) -> Iterator[Cell]:
        yield summarize_effort(by_round[1], **participant)
        yield summarize_effort(by_round[last], **participant)
        for average in averages:
            yield look_up_mean(average, **participant)

    round_columns = [f"Round {number}" for number in by_round]
    return _participant_sheet(
        "refinement",
        "Dice after the first prompts (round 1) and after each correction.",
        ("Interactions first", "at last", *round_columns),
        participants,
        cells,
        describe_coverage(averages[0]),
        EFFORT_NOTE,
    )


def splits_sheet(runs: Sequence[Run], values: pl.DataFrame) -> Sheet | None:
    """Return Dice by organ or pathology and by CT or MR (Tables 7 and 8); None if targets have neither attribute."""
    last = select_round(values, runs[0].rounds)
    # Pairs of attribute and value, such as ("modality", "CT").
    splits: list[tuple[str, str]] = []
    for attribute in ("kind", "modality"):
        found = sorted(set(last[attribute]) - {""})
        splits += [(attribute, value) for value in found]
    if not splits:
        return None
    averages: dict[str, Averages] = {}
    for attribute in dict.fromkeys(attribute for attribute, _ in splits):
        with_attribute = last.filter(pl.col(attribute) != "")
        averages[attribute] = average_common_targets(with_attribute, "dice", split=(attribute,))
    overall = average_common_targets(last, "dice")

    def cells(**participant: str) -> Iterator[Cell]:
        yield look_up_mean(overall, **participant)
        for attribute, value in splits:
            yield look_up_mean(averages[attribute], **participant, **{attribute: value})

    counts: list[str] = []
    for attribute, value in splits:
        table = averages[attribute].table
        of_value = table.filter(pl.col("level") == "all", pl.col(attribute) == value)
        counts.append(f"{max(of_value['targets'].to_list())} {value}")
    return _participant_sheet(
        "splits",
        "Dice after the last round by kind of target and by modality.",
        ("All", *(value for _, value in splits)),
        list_participants(runs),
        cells,
        f"Targets: {', '.join(counts)}. Columns cover different targets: compare within a column.",
    )


def noise_sheet(runs: Sequence[Run], values: pl.DataFrame) -> Sheet | None:
    """Return Dice with perturbed boxes, and the loss against exact ones (Table 9); None if no box is perturbed."""
    families = group_users_by_noise(runs)
    if not families:
        return None
    last = select_round(values, runs[0].rounds)
    averages = average_common_targets(last, "dice")
    noises = sorted(set(chain(*families.values())) - {0})

    def cells(user: str, segmenter: str) -> Iterator[Cell]:
        yield look_up_mean(averages, user=user, segmenter=segmenter)
        for noise in noises:
            noisy_user = families[user].get(noise, "")
            yield look_up_mean(averages, user=noisy_user, segmenter=segmenter)
            yield _mean_difference(last.filter(segmenter=segmenter), noisy_user, user)

    columns = ["Exact"]
    for noise in noises:
        columns += [f"±{noise} px", "difference"]
    segmenters = dict.fromkeys(run.segmenter for run in runs)
    return _participant_sheet(
        "noise",
        "Dice when each edge of the first boxes is shifted at random, by at most the given number of pixels.",
        columns,
        list(product(families, segmenters)),
        cells,
        "Differences are computed per target.",
    )


def areas_sheet(runs: Sequence[Run]) -> Sheet | None:
    """Return a table of NoC and areas under the Dice curve by common definitions; None for a single round."""
    rounds = runs[0].rounds
    if rounds == 1:
        return None
    kinds = {"AuC": "auc", "sum": "auc_all"}
    if rounds >= 5:
        kinds["last five"] = "auc_last_five"
    statistics = [Statistic(name=name, kind=kind, metric="dice") for name, kind in kinds.items()]
    for threshold in NOC_THRESHOLDS:
        name = f"NoC@{100 * threshold:g}"
        statistics.append(
            Statistic(
                name=name,
                kind="noc",
                metric="dice",
                threshold=threshold,
            )
        )
    averages: list[Averages] = []
    for statistic in statistics:
        by_dialogue = collect_statistic(runs, statistic)
        averages.append(average_common_targets(by_dialogue, "value"))

    def cells(**participant: str) -> list[Value]:
        return [look_up_mean(average, **participant) for average in averages]

    note = (
        f"Areas are trapezoid sums of Dice: AuC over all {rounds} rounds divided by {rounds - 1} (at most 1), "
        f"sum as in autoPET (at most {rounds - 1}), last five as in CVPR 2025 (at most 4). NoC: rounds until Dice "
        f"reaches the threshold, {rounds} where it never does."
    )
    return _participant_sheet(
        "areas",
        "Areas under the curve of Dice over rounds, and rounds needed.",
        [statistic.name for statistic in statistics],
        list_participants(runs),
        cells,
        note,
    )


def classes_sheet(runs: Sequence[Run], values: pl.DataFrame) -> Sheet:
    """Return Dice of each class after the last round, with one column per user and segmenter."""
    averages = average_common_targets(select_round(values, runs[0].rounds), "dice")
    participants = list_participants(runs)
    of_classes = averages.table.filter(level="class")
    classes = of_classes.select("dataset", "class").unique().sort("dataset", "class")
    rows: list[tuple[Cell, ...]] = []
    for dataset, name in classes.iter_rows():
        where = {"dataset": dataset, "class": name}
        of_class = of_classes.filter(**where)
        cases = max(of_class["cases"].to_list())
        targets = max(of_class["targets"].to_list())
        cells: list[Cell] = []
        for user, segmenter in participants:
            cells.append(look_up_mean(averages, "class", user=user, segmenter=segmenter, **where))
        rows.append((dataset, name, cases, targets, *cells))
    if len({segmenter for _, segmenter in participants}) == 1:
        titles = [user for user, _ in participants]
    else:
        titles = [f"{user} · {segmenter}" for user, segmenter in participants]
    return Sheet(
        name="classes",
        caption="Dice of each class after the last round.",
        head=("Dataset", "Class", "Cases", "Targets", *titles),
        rows=tuple(rows),
    )


def median_seconds_sheet(runs: Sequence[Run]) -> Sheet:
    """Return the median seconds of the first round, later rounds, encoder passes, and all rounds of a target."""

    def cells(user: str, segmenter: str) -> Iterator[Cell]:
        of_segmenter = pl.concat([run.timings for run in runs if run.segmenter == segmenter])
        of_user = of_segmenter.filter(pl.col("user") == user)
        by_dialogue = of_user.group_by("sample", "target", "repeat")
        # Round 0 is the encoder pass, which all users share.
        timings = (
            of_user.filter(round=1),
            of_user.filter(pl.col("round") > 1),
            of_segmenter.filter(round=0),
            by_dialogue.agg(pl.col("predict_s").sum()),
        )
        for part in timings:
            seconds = part["predict_s"].to_numpy()
            median = float(np.median(seconds)) if len(seconds) else math.nan
            yield Value(mean=median, decimals=4)

    return _participant_sheet(
        "seconds",
        "Median seconds in the segmenter.",
        ("First round", "Later rounds", "Encoder pass", "All rounds of a target"),
        list_participants(runs),
        cells,
        "Dialogues in one batch share its time equally. An encoder pass encodes one slice or volume.",
    )


EFFORT_NOTE = (
    "Interactions are those actually made: the mean over targets, with the range below it. A point costs 1, a box "
    "in a slice 2, a box in the volume 3, limits 2 and a scribble 3; prompts that a lift adds on other slices are free."
)


SECONDS_NOTE = (
    "Human time in seconds: predicted from the prompts on a target, as median and range of the middle 80 % of targets "
    "and people; see Human time."
)


def summarize_effort(
    values: pl.DataFrame,
    *,
    user: str,
    segmenter: str,
) -> Value:
    """Return the mean number of interactions per target, with the range."""
    rows = values.filter(user=user, segmenter=segmenter)
    spent = rows["effort"].drop_nulls().to_numpy()
    if not len(spent):
        return Value(mean=math.nan)
    low = float(spent.min())
    high = float(spent.max())
    note = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return Value(mean=float(np.mean(spent)), decimals=1, note=note)


def has_corrections(
    runs: Sequence[Run],
    user: str,
    segmenter: str,
) -> bool:
    """Return whether this user gave this segmenter a second round of prompts in any finished dialogue."""
    for run in runs:
        if run.segmenter != segmenter:
            continue
        if any(dialogue.rounds > 1 for dialogue in run.finished(user)):
            return True
    return False


def group_users_by_noise(runs: Sequence[Run]) -> dict[str, dict[int, str]]:
    """Group users that differ only in edge noise, by the noise-free user: {"3b-inter": {0: "3b-inter", 5: ...}}."""
    families: dict[str, dict[int, str]] = {}
    for run in runs:
        for recorded in run.config.users:
            options: dict[str, Any] = dict(recorded.options)
            noise = int(options.pop("edge_noise_px", 0))
            other_options = f"{recorded.name} {options}"
            families.setdefault(other_options, {})[noise] = recorded.written
    by_exact_user: dict[str, dict[int, str]] = {}
    for members in families.values():
        if 0 in members and len(members) > 1:
            by_exact_user[members[0]] = members
    return by_exact_user


def _mean_difference(
    values: pl.DataFrame,
    user: str,
    exact_user: str,
) -> Value:
    keys = ["segmenter", "dataset", "class", "sample", "target", "repeat"]
    exact = values.filter(user=exact_user)
    inexact = values.filter(user=user)
    paired = inexact.join(exact, on=keys, suffix="_exact")
    difference = pl.col("dice") - pl.col("dice_exact")
    paired = paired.with_columns(difference.alias("difference")).drop_nulls("difference")
    if not paired.height:
        return Value(mean=math.nan)
    averages = average_common_targets(paired, "difference")
    mean = look_up_mean(averages)
    return Value(
        mean=mean.mean,
        low=mean.low,
        high=mean.high,
        is_signed=True,
    )

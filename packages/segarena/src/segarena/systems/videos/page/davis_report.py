"""Report sections of timed video runs, and the same tables as files."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product

import numpy as np
import polars as pl
from rich.console import RenderableType
from rich.text import Text

from segarena.benchmark_rules import Statistic
from segarena.reports.baselines import FLOOR_NOTE, floor_colour
from segarena.reports.cells import Cell, Column, Value
from segarena.reports.chart_series import Figure, chart_size_px, labelled_colours, make_figure
from segarena.reports.charts import ChartColour, Curve, line_chart
from segarena.reports.display_names import metric_name
from segarena.reports.page_parts import Note, Section
from segarena.reports.pages import Page, page, sheet_files
from segarena.reports.recorded_run import Run
from segarena.reports.renderers.terminal import sheet_terminal
from segarena.reports.sheets import Sheet
from segarena.reports.wording import protocol_text
from segarena.systems.videos.benchmarks.davis import METRIC_COLUMNS, last_round, robot_text
from segarena.systems.videos.measures.challenge_report import SampleScore
from segarena.systems.videos.measures.challenge_summary import video_summary
from segarena.systems.videos.measures.recall_decay import decay
from segarena.systems.videos.page.timed_runs import TimedRun, timed_runs


@page("davis")
class DavisPage(Page):
    """Quality against time, and the table of sequences."""

    @cached_property
    def decides(self) -> Statistic | None:
        """Statistic by which runs are ranked: the robot's metric after the last interaction, if the summary has it."""
        column = METRIC_COLUMNS[self.runs[0].config.benchmark.options["metric"]]
        last: Statistic | None = None
        for statistic in self.usual_runs[0].summary:
            if statistic.kind != "at_round" or statistic.metric != column:
                continue
            if last is None or statistic.round > last.round:
                last = statistic
        return super().decides if last is None else last

    @cached_property
    def timed(self) -> list[TimedRun]:
        """All pairs of a run and a user that have scores."""
        return [timed for timed in timed_runs(self.runs) if timed.scores(timed.metric)]

    @cached_property
    def timed_floors(self) -> list[TimedRun]:
        """All pairs of a control run and a user that have scores."""
        return [timed for timed in timed_runs(self.floors) if timed.scores(timed.metric)]

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        """Table "time" with the challenge's values; no table without scores."""
        return {"time": challenge_sheet(self.timed)} if self.timed else {}

    def sections(self) -> list[Section]:
        """Return the challenge's values with their curves, and the table of sequences; nothing without scores."""
        if not self.timed:
            return []
        lead = Note(rules_text(self.runs[0]), is_lead=True)
        charts = quality_charts(self.timed, self.runs, self.timed_floors)
        time_parts = [lead, challenge_sheet(self.timed), charts]
        return [
            Section("time", "Quality against time", time_parts),
            Section("sequences", "Sequences", [sequence_sheet(self.timed)]),
        ]

    def files(self) -> dict[str, str]:
        """Return the tables and curves as CSV, the challenge's values for LaTeX, and the challenge's report as CSV."""
        if not self.timed:
            return {}
        sheets = [challenge_sheet(self.timed), sequence_sheet(self.timed)]
        curves = pl.concat([_curve_frame(timed) for timed in self.timed])
        frames = pl.concat([timed.report for timed in self.timed])
        return {
            **sheet_files("davis", sheets, [rules_text(self.runs[0])], unprinted=("sequences",)),
            "davis-curve.csv": curves.write_csv(),
            "davis-frames.csv": frames.write_csv(),
        }

    def terminal(self) -> list[RenderableType]:
        """Return the challenge's values with a caption, because the summary below contains different means."""
        if not self.timed:
            return []
        sheet = challenge_sheet(self.timed)
        caption = f"{sheet.caption} In the second table, each sample has the same weight."
        return [Text(caption, style="dim"), sheet_terminal(sheet, together=len(self.runs))]


_OVER_OBJECTS = "mean of {name} over all objects of all samples; in the first table each sample has the same weight"


def rules_text(run: Run) -> str:
    """Describe the rules of the robot and of the timing."""
    options = run.config.benchmark.options
    limit = options["seconds_per_object"]
    if limit is None:
        time = "There is no time limit."
    else:
        judging = "including" if options["counts_judging"] else "excluding"
        time = f"The time limit is {limit:g} s for each object of a video, {judging} evaluation and drawing."
    shown = metric_name(METRIC_COLUMNS[options["metric"]])
    return (
        f"{protocol_text(run)}. The robot draws with the parameters {robot_text(options)}, in the frame where {shown} "
        f"is lowest, preferably one that it has not drawn in yet. {time} The time of encoding is part of the first "
        "interaction."
    )


def challenge_sheet(timed: Sequence[TimedRun]) -> Sheet:
    """Return the challenge's values, one row per run and user."""
    options = timed[0].run.config.benchmark.options
    name = metric_name(timed[0].metric)
    last = last_round(timed[0].run.rounds)
    has_intervals = any(not math.isnan(one.intervals.auc[0]) for one in timed)
    kind = "interval" if has_intervals else "number"
    note = _OVER_OBJECTS.format(name=name)
    qualities = [
        Column("AUC", kind, higher_is_better=True),
        Column(f"{name}@60s", kind, higher_is_better=True),
    ]
    for key in (f"{name}@1", f"{name}@{last}"):
        qualities.append(Column(f"{key} over objects", kind, key, note, higher_is_better=True))
    rows: list[tuple[Cell, ...]] = []
    for one in timed:
        summary = one.summary
        intervals = one.intervals
        row: tuple[Cell, ...] = (
            one.label,
            robot_text(options),
            name,
            one.run.config.benchmark.protocol,
            _value(summary.auc, intervals.auc),
            _value(summary.at_threshold, intervals.at_threshold),
            _value(summary.by_round[0], intervals.by_round[:, 0]),
            _value(summary.by_round[-1], intervals.by_round[:, -1]),
            Value(mean=_mean_seconds(one), decimals=2),
            summary.samples,
            one.dropped,
        )
        rows.append(row)
    rules = ("Robot", "Frame by", "Protocol")
    return Sheet(
        name="summary",
        caption="The challenge's values. Quality is averaged over objects, time over samples.",
        head=("Segmenter", *rules, *qualities, "s / interaction", "Samples", "Too late"),
        rows=tuple(rows),
        notes=(
            "Brackets contain 95 % intervals from 2000 bootstrap resamples of whole sequences.",
        ),
    )


def sequence_sheet(timed: Sequence[TimedRun]) -> Sheet:
    """Return the values of each sequence, one row per sequence, run and user."""
    end = last_round(timed[0].run.rounds)
    name = metric_name(timed[0].metric)
    sequences: dict[str, None] = {}
    for one in timed:
        sequences |= dict.fromkeys(score.sequence for score in one.scores(one.metric))
    rows = [_sequence_row(one, sequence) for sequence, one in product(sequences, timed)]
    values = (f"{name}@1", f"{name}@{end}", f"J@{end}", f"F@{end}", "Decay", "Seconds", "AUC")
    return Sheet(
        name="sequences",
        caption="Means over the objects, samples and frames of each sequence.",
        head=("Sequence", "Segmenter", "Objects", "Samples", *values),
        rows=tuple(row for row in rows if row),
        notes=(
            f"Decay: how much {name} after the last interaction drops from the first to the "
            "last quarter of the frames. Seconds: time of all interactions together, mean over samples.",
        ),
    )


def quality_charts(
    timed: Sequence[TimedRun],
    runs: Sequence[Run],
    floors: Sequence[TimedRun] = (),
) -> Figure | None:
    """Return quality against time and against interactions; with several runs, one pair of charts per user.

    Baselines appear against interactions only, since they take almost no time.
    """
    name = metric_name(timed[0].metric)
    until_s = max(one.shown_until_s for one in timed)
    charts: list[tuple[str, str]] = []
    for suffix, group in _chart_groups(timed, runs):
        users = {one.user for one, _ in group}
        by_time = [_against_time(one, colour, until_s) for one, colour in group]
        by_round = [_against_rounds(one, colour) for one, colour in group]
        by_round += _floor_curves(floors, users)
        for against, x_label, lines in (
            ("time", "mean seconds spent on a sample", by_time),
            ("interactions", "interactions", by_round),
        ):
            title = f"{name} against {against}{suffix}"
            chart = line_chart(
                lines,
                title=title,
                x_label=x_label,
                y_label=f"{name} over objects",
                size_px=chart_size_px(2, 330),
            )
            charts.append((title, chart))
    caption = (
        "Bands are 95 % intervals over sequences. AUC is the area under the curve against time."
    )
    end_s = max(float(one.summary.time_s.max()) for one in timed)
    if end_s > until_s:
        caption += f" Beyond this chart, the curve stays level until it ends at {end_s:.4g} s."
    if floors:
        caption += f" {FLOOR_NOTE}"
    return make_figure("Quality against time and interactions", caption, charts)


def _floor_curves(floors: Sequence[TimedRun], users: Collection[str]) -> list[Curve]:
    curves: list[Curve] = []
    for floor in floors:
        if floor.user in users:
            curve = _against_rounds(floor, floor_colour(len(curves)))
            curves.append(replace(curve, is_floor=True))
    return curves


def _chart_groups(
    timed: Sequence[TimedRun], runs: Sequence[Run]
) -> list[tuple[str, list[tuple[TimedRun, int]]]]:
    """Return the curves of each chart with their colours, and a suffix for the chart's title.

    A chart contains all users of a single run, or all runs for one user.
    """
    if len(runs) == 1:
        return [("", [(one, colour) for colour, one in enumerate(timed)])]
    colours = dict(labelled_colours(runs))
    users = dict.fromkeys(one.user for one in timed)
    groups: list[tuple[str, list[tuple[TimedRun, int]]]] = []
    for user in users:
        suffix = f", {user}" if len(users) > 1 else ""
        group = [(one, colours[one.run.label]) for one in timed if one.user == user]
        groups.append((suffix, group))
    return groups


def _value(mean: float, ends: Iterable[float]) -> Value:
    low, high = ends
    return Value(mean=float(mean), low=float(low), high=float(high))


def _sequence_row(one: TimedRun, sequence: str) -> tuple[str | int | Value, ...]:
    """Return the row of a sequence; an empty row if this run has no score for the sequence."""

    def scores_of(metric: str) -> list[SampleScore]:
        return [score for score in one.scores(metric) if score.sequence == sequence]

    def at_last(metric: str) -> Value:
        summary = video_summary(scores_of(metric), rounds=one.rounds)
        return Value(mean=float(summary.by_round[-1]))

    scores = scores_of(one.metric)
    if not scores:
        return ()
    summary = video_summary(scores, rounds=one.rounds, horizon=one.horizon)
    return (
        sequence,
        one.label,
        scores[0].objects,
        len(scores),
        Value(mean=float(summary.by_round[0])),
        Value(mean=float(summary.by_round[-1])),
        at_last("jaccard"),
        at_last("contour"),
        Value(mean=_decay(one, sequence), is_signed=True),
        Value(mean=float(summary.time_s[-2]), decimals=2),
        Value(mean=summary.auc),
    )


def _decay(one: TimedRun, sequence: str) -> float:
    """Return the decay of the mean over objects after the last interaction of each sample."""
    rows = one.report.filter(pl.col("sequence") == sequence)
    last_interaction = pl.col("interaction").max().over("scribble_idx")
    last_rows = rows.filter(pl.col("interaction") == last_interaction)
    quality = pl.col(one.metric).mean()
    by_frame = last_rows.group_by("frame").agg(quality).sort("frame")
    values = by_frame[one.metric].to_numpy()
    if not len(values):
        return math.nan
    return decay(values)


def _mean_seconds(one: TimedRun) -> float:
    groups = one.report.group_by("sequence", "scribble_idx", "interaction")
    rounds = groups.agg(pl.col("timing").first())
    if not rounds.height:
        return math.nan
    return float(np.mean(rounds["timing"].to_numpy()))


def _against_time(
    one: TimedRun,
    colour: int,
    until_s: float,
) -> Curve:
    grid = np.linspace(0, until_s, _GRID_POINTS)
    low_ends, high_ends = one.intervals.by_time
    low = np.interp(grid, one.intervals.time_s, low_ends)
    high = np.interp(grid, one.intervals.time_s, high_ends)
    level = np.interp(grid, one.summary.time_s, one.summary.quality)
    return Curve(
        label=one.label,
        colour=colour,
        x=grid.tolist(),
        y=level.tolist(),
        low=low.tolist(),
        high=high.tolist(),
    )


def _against_rounds(one: TimedRun, colour: ChartColour) -> Curve:
    low, high = one.intervals.by_round.tolist()
    level = one.summary.by_round.tolist()
    rounds = range(1, len(level) + 1)
    return Curve(
        label=one.label,
        colour=colour,
        x=rounds,
        y=level,
        low=low,
        high=high,
    )


def _curve_frame(one: TimedRun) -> pl.DataFrame:
    return pl.DataFrame(
        {"segmenter": one.label, "time_s": one.summary.time_s, one.metric: one.summary.quality}
    )


# Number of points of a curve against time.
_GRID_POINTS = 121

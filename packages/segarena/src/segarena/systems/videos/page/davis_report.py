"""The sections of timed video runs, and the same tables as files."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, product

import numpy as np
import polars as pl
from rich.console import RenderableType

from segarena.reports.baselines import FLOOR_NOTE, floor_colour
from segarena.reports.chart_series import Figure, chart_size_px, labelled_colours, make_figure
from segarena.reports.charts import ChartColour, Curve, line_chart
from segarena.reports.page_parts import Note, Section
from segarena.reports.pages import Page, page, sheet_files
from segarena.reports.recorded_run import Run
from segarena.reports.renderers import sheet_terminal
from segarena.reports.sheets import Cell, Column, Sheet, Value
from segarena.reports.wording import metric_name, protocol_text
from segarena.roles import Statistic
from segarena.systems.videos.benchmarks.davis import METRIC_COLUMNS, last_round, robot_text
from segarena.systems.videos.measures.challenge_report import SampleScore
from segarena.systems.videos.measures.challenge_summary import video_summary
from segarena.systems.videos.measures.recall_decay import decay
from segarena.systems.videos.page.timed_runs import TimedRun, timed_runs


@page("davis")
class DavisPage(Page):
    """Quality against time, and each sequence."""

    @cached_property
    def decides(self) -> Statistic | None:
        """What the robot looks at, after the last interaction."""
        column = METRIC_COLUMNS[self.runs[0].config.benchmark.options["metric"]]
        own = [
            one
            for one in self.usual_runs[0].summary
            if one.kind == "at_round" and one.metric == column
        ]
        return max(own, key=lambda one: one.round, default=super().decides)

    @cached_property
    def timed(self) -> list[TimedRun]:
        """Every run and user with something to report."""
        return [one for one in timed_runs(self.runs) if one.scores(one.metric)]

    @cached_property
    def timed_floors(self) -> list[TimedRun]:
        """The same of the floors."""
        return [one for one in timed_runs(self.floors) if one.scores(one.metric)]

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        """The challenge's values against time."""
        return {"time": challenge_sheet(self.timed)} if self.timed else {}

    def sections(self) -> list[Section]:
        """Return the challenge's values with their curves, and the sequences."""
        if not self.timed:
            return []
        lead = Note(rules_text(self.runs[0]), is_lead=True)
        return [
            Section(
                "time",
                "Quality against time",
                [
                    lead,
                    challenge_sheet(self.timed),
                    quality_charts(self.timed, self.runs, self.timed_floors),
                ],
            ),
            Section("sequences", "Sequences", [sequence_sheet(self.timed)]),
        ]

    def files(self) -> dict[str, str]:
        """Return the tables as CSV, the means for LaTeX, and the challenge's table of every object and frame."""
        if not self.timed:
            return {}
        sheets = [challenge_sheet(self.timed), sequence_sheet(self.timed)]
        curve = pl.concat([_curve_frame(one) for one in self.timed])
        return {
            **sheet_files("davis", sheets, [rules_text(self.runs[0])], unprinted=("sequences",)),
            "davis-curve.csv": curve.write_csv(),
            "davis-frames.csv": pl.concat([one.report for one in self.timed]).write_csv(),
        }

    def terminal(self) -> list[RenderableType]:
        """Return the challenge's values."""
        if self.timed:
            return [sheet_terminal(challenge_sheet(self.timed), together=len(self.runs))]
        return []


_OVER_OBJECTS = (
    "mean of {name} over all objects of all samples; in the first table each sample counts once"
)


def rules_text(run: Run) -> str:
    """Say by which rules the robot drew and the clock ran."""
    options = run.config.benchmark.options
    limit = options["seconds_per_object"]
    time = "no time limit" if limit is None else f"{limit:g} s for each object of a video"
    if options["counts_judging"]:
        judging = "judging and drawing included"
    else:
        judging = "judging and drawing not counted"
    shown = metric_name(METRIC_COLUMNS[options["metric"]])
    return (
        f"{protocol_text(run)}. The robot draws with the parameters {robot_text(options)}, in the frame where {shown} "
        f"is lowest; {time}, {judging}. The time of encoding is part of the first interaction."
    )


def challenge_sheet(timed: Sequence[TimedRun]) -> Sheet:
    """Return the challenge's values, a row for each segmenter."""
    options = timed[0].run.config.benchmark.options
    name = metric_name(timed[0].metric)
    places = {f"{name}@1": 0, f"{name}@{last_round(timed[0].run.rounds)}": -1}
    if all(math.isnan(one.intervals.auc[0]) for one in timed):
        kind = "number"
    else:
        kind = "interval"
    qualities = [Column(title, kind, higher_is_better=True) for title in ("AUC", f"{name}@60s")]
    qualities += [
        Column(
            f"{key} over objects", kind, key, _OVER_OBJECTS.format(name=name), higher_is_better=True
        )
        for key in places
    ]
    rows: list[tuple[Cell, ...]] = []
    for one in timed:
        rules = (robot_text(options), name, one.run.config.benchmark.protocol)
        auc = _value(one.summary.auc, one.intervals.auc)
        at_threshold = _value(one.summary.at_threshold, one.intervals.at_threshold)
        values = (
            _value(one.summary.by_round[at], one.intervals.by_round[:, at])
            for at in places.values()
        )
        seconds = Value(mean=_mean_seconds(one), decimals=2)
        rows.append(
            (
                one.label,
                *rules,
                auc,
                at_threshold,
                *values,
                seconds,
                one.summary.samples,
                one.dropped,
            )
        )
    rules = ("Robot", "Frame by", "Protocol")
    return Sheet(
        name="summary",
        caption="The challenge's values. Quality is averaged over objects, time over samples.",
        head=("Segmenter", *rules, *qualities, "s / interaction", "Samples", "Too late"),
        rows=tuple(rows),
        notes=("Brackets hold 95 % intervals from 2000 bootstrap draws of whole sequences.",),
    )


def sequence_sheet(timed: Sequence[TimedRun]) -> Sheet:
    """Return the values of each sequence, a row for each segmenter."""
    end = last_round(timed[0].run.rounds)
    scores = chain.from_iterable(one.scores(one.metric) for one in timed)
    sequences = dict.fromkeys(score.sequence for score in scores)
    rows = [_sequence_row(one, sequence) for sequence, one in product(sequences, timed)]
    first, last = (f"{metric_name(timed[0].metric)}@{number}" for number in (1, end))
    values = (first, last, f"J@{end}", f"F@{end}", "Decay", "Seconds", "AUC")
    return Sheet(
        name="sequences",
        caption="Means over the objects, samples and frames of each sequence.",
        head=("Sequence", "Segmenter", "Objects", "Samples", *values),
        rows=tuple(row for row in rows if row),
        notes=(
            f"Decay: how much {metric_name(timed[0].metric)} after the last interaction drops from the first to the "
            "last quarter of the frames. Seconds: mean time of all interactions with a sample.",
        ),
    )


def quality_charts(
    timed: Sequence[TimedRun], runs: Sequence[Run], floors: Sequence[TimedRun] = ()
) -> Figure | None:
    """Return quality against time and against interactions; of several runs, a pair of charts for each user.

    Floors stand beside interactions alone: they take no time worth drawing.
    """
    name = metric_name(timed[0].metric)
    until_s = max(one.shown_until_s for one in timed)
    charts: list[tuple[str, str]] = []
    for who, group in _coloured(timed, runs):
        below = _floor_curves(floors, {one.user for one, _ in group})
        panels = {
            "time": (
                "mean seconds spent on a sample",
                [_against_time(one, colour, until_s) for one, colour in group],
            ),
            "interactions": (
                "interactions",
                [*(_against_rounds(one, colour) for one, colour in group), *below],
            ),
        }
        for against, (x_label, lines) in panels.items():
            title = f"{name} against {against}{who}"
            drawn = line_chart(
                lines,
                title=title,
                x_label=x_label,
                y_label=f"{name} over objects",
                size_px=chart_size_px(2, 330),
            )
            charts.append((title, drawn))
    end_s = max(float(one.summary.time_s.max()) for one in timed)
    if end_s > until_s:
        rest = f" From there it stays level until it ends at {end_s:.4g} s."
    else:
        rest = ""
    caption = f"Bands are 95 % intervals over sequences. AUC is the area under the curve against time.{rest}"
    caption = f"{caption} {FLOOR_NOTE}" if floors else caption
    return make_figure("Quality against time and interactions", caption, charts)


def _floor_curves(floors: Sequence[TimedRun], users: Collection[str]) -> list[Curve]:
    own = [one for one in floors if one.user in users]
    return [
        replace(_against_rounds(one, floor_colour(place)), is_floor=True)
        for place, one in enumerate(own)
    ]


def _coloured(
    timed: Sequence[TimedRun], runs: Sequence[Run]
) -> list[tuple[str, list[tuple[TimedRun, int]]]]:
    """Return who is drawn together, each in its colour: all users of one run, or all runs with one user."""
    if len(runs) == 1:
        return [("", [(one, place) for place, one in enumerate(timed)])]
    colours = dict(labelled_colours(runs))
    users = dict.fromkeys(one.user for one in timed)
    return [
        (
            f", {user}" if len(users) > 1 else "",
            [(one, colours[one.run.label]) for one in timed if one.user == user],
        )
        for user in users
    ]


def _value(mean: float, ends: Iterable[float]) -> Value:
    low, high = map(float, ends)
    return Value(mean=float(mean), low=low, high=high)


def _sequence_row(one: TimedRun, sequence: str) -> tuple[str | int | Value, ...]:

    def scores_of(metric: str) -> list[SampleScore]:
        return [score for score in one.scores(metric) if score.sequence == sequence]

    def at_last(metric: str) -> Value:
        return Value(mean=float(video_summary(scores_of(metric), rounds=one.rounds).by_round[-1]))

    mine = scores_of(one.metric)
    if not mine:
        return ()
    own = video_summary(mine, rounds=one.rounds, horizon=one.horizon)
    return (
        sequence,
        one.label,
        mine[0].objects,
        len(mine),
        *(Value(mean=float(own.by_round[number])) for number in (0, -1)),
        at_last("jaccard"),
        at_last("contour"),
        Value(mean=_decay(one, sequence), is_signed=True),
        Value(mean=float(own.time_s[-2]), decimals=2),
        Value(mean=own.auc),
    )


def _decay(one: TimedRun, sequence: str) -> float:
    rows = one.report.filter(pl.col("sequence") == sequence)
    rows = rows.filter(pl.col("interaction") == pl.col("interaction").max().over("scribble_idx"))
    values = (
        rows.group_by("frame").agg(pl.col(one.metric).mean()).sort("frame")[one.metric].to_numpy()
    )
    return decay(values) if len(values) else math.nan


def _mean_seconds(one: TimedRun) -> float:
    rounds = one.report.group_by("sequence", "scribble_idx", "interaction").agg(
        pl.col("timing").first()
    )
    return float(np.mean(rounds["timing"].to_numpy())) if rounds.height else math.nan


def _against_time(one: TimedRun, colour: int, until_s: float) -> Curve:
    grid = np.linspace(0, until_s, 121)
    low, high = (np.interp(grid, one.intervals.time_s, ends) for ends in one.intervals.by_time)
    level = np.interp(grid, one.summary.time_s, one.summary.quality)
    x, y, low, high = (values.tolist() for values in (grid, level, low, high))
    return Curve(label=one.label, colour=colour, x=x, y=y, low=low, high=high)


def _against_rounds(one: TimedRun, colour: ChartColour) -> Curve:
    low, high = one.intervals.by_round.tolist()
    level = one.summary.by_round.tolist()
    return Curve(
        label=one.label, colour=colour, x=range(1, len(level) + 1), y=level, low=low, high=high
    )


def _curve_frame(one: TimedRun) -> pl.DataFrame:
    return pl.DataFrame(
        {"segmenter": one.label, "time_s": one.summary.time_s, one.metric: one.summary.quality}
    )

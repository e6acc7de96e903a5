"""Quality against human time, which is predicted from the prompts of a run.

The records of simulated users do not contain human seconds; the model in
`segarena.users.habits.prompt_time` predicts them for a report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.reports.cells import Cell, Column, Value
from segarena.reports.chart_series import (
    Figure,
    Series,
    chart_size_px,
    make_figure,
    run_column_names,
    series_by_user,
)
from segarena.reports.charts import Curve, line_chart
from segarena.reports.display_names import metric_name
from segarena.reports.figures import highest_value, highlight_best
from segarena.reports.page_parts import FigureRow, Note, Part
from segarena.reports.pages import Page
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.run_statistics import image_clusters, summary_metrics, user_names
from segarena.reports.sheets import Sheet
from segarena.reports.wording import seconds_text
from segarena.statistics.intervals import bootstrap_means
from segarena.statistics.lognormal_mixtures import mixture_quantile, mixture_shares
from segarena.users.habits.prompt_time import PromptTimeModel

MAX_TIMED_DIALOGUES = 300
"""Maximum number of a user's dialogues in the prediction, evenly spaced among all of them."""

_MIN_SPREAD = 1e-9
"""Lower bound for spreads, so that quantiles of the log-normal mixture stay defined without spread."""

_MOMENTS = 40
"""Number of points of a curve against seconds."""

_MIDDLE = (0.1, 0.9)
"""Quantiles that delimit the range over people and prompts in tables."""


@dataclass(frozen=True, eq=False)
class PredictedSeconds:
    """Predicted human seconds for a user's dialogues, as log-normal distributions.

    Attributes:
        dialogues: the dialogues in the prediction.
        values: values of the first metric, (dialogues, rounds); a dialogue that ended early repeats
            its last value.
        centres, spreads: mean and standard deviation of the logarithm of the seconds until the end
            of each round, (dialogues, rounds); the mean is infinite after the end of the dialogue.
        round_centres, round_spreads: mean and standard deviation of the log-seconds of individual
            rounds with manual input, (rounds of all dialogues,).
    """

    dialogues: Sequence[DialogueRecord]
    values: NDArray[np.float64]
    centres: NDArray[np.float64]
    spreads: NDArray[np.float64]
    round_centres: NDArray[np.float64]
    round_spreads: NDArray[np.float64]

    @cached_property
    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of the log-seconds of whole dialogues."""
        lengths = np.array([dialogue.rounds for dialogue in self.dialogues], dtype=np.int64)
        last_rounds = np.minimum(lengths, self.values.shape[1]) - 1
        rows = np.arange(len(last_rounds))
        centres = self.centres[rows, last_rounds]
        spreads = self.spreads[rows, last_rounds]
        return centres, spreads

    @property
    def first_round(self) -> Value:
        """Seconds for the first prompts: the median, and the range of the middle 80 %."""
        return _range(self.centres[:, 0], self.spreads[:, 0])

    @property
    def whole(self) -> Value:
        """Seconds for all prompts of a dialogue: the median, and the range of the middle 80 %."""
        return _range(*self.ends)

    def values_at(self, moments: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected value at each time, (dialogues, times); 0 before the first prediction."""
        # The expected value is a sum over rounds: each adds its change of the value, multiplied by
        # the probability that the round has ended.
        steps = np.diff(self.values, axis=1, prepend=0.0)
        expected: list[NDArray[np.float64]] = []
        for moment in moments:
            finished = mixture_shares(self.centres, self.spreads, moment)
            expected.append((steps * finished).sum(axis=1))
        return np.stack(expected, axis=1)

    def solved(self, threshold: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and standard deviation of the log-seconds until `threshold`, for dialogues that reach it."""
        reached = self.values >= threshold
        rows = np.flatnonzero(reached.any(axis=1))
        # `argmax` of a boolean array is the index of its first True.
        first = reached[rows].argmax(axis=1)
        centres = self.centres[rows, first]
        spreads = self.spreads[rows, first]
        return centres, spreads


def predict_seconds(
    run: Run,
    user: str,
    pace: PromptTimeModel,
) -> PredictedSeconds | None:
    """Return the predicted seconds of a user's dialogues, cached per run.

    None if no dialogue finished, or if no prompt of the user requires manual input.
    """
    # The source identifies the habits: habits with equal sources count as equal.
    cache_key = ("pace", user, pace.pointer, pace.boxes, pace.habits.source)
    if cache_key not in run.computed:
        run.computed[cache_key] = _predict(run, user, pace)
    return run.computed[cache_key]


def _predict(
    run: Run,
    user: str,
    pace: PromptTimeModel,
) -> PredictedSeconds | None:
    every, values = run.curves(user, summary_metrics(run)[0])
    if not every:
        return None
    count = min(len(every), MAX_TIMED_DIALOGUES)
    # Evenly spaced in the order of the run, so that no part of the data dominates.
    chosen = np.unique(np.linspace(0, len(every) - 1, count).astype(int))
    dialogues = [every[index] for index in chosen]
    diagonals = _diagonals(run)
    # Rounds after the end of a dialogue stay at infinity: they are never reached.
    centres = np.full((len(dialogues), run.rounds), np.inf)
    spreads = np.ones(centres.shape)
    single_rounds: list[tuple[float, float]] = []
    for row, dialogue in enumerate(dialogues):
        prompts = dialogue.prompts[: run.rounds]
        size = diagonals.get(dialogue.sample, 0.0) or _prompt_extent(dialogue)
        for round_, seconds in enumerate(pace.until(prompts, size)):
            centres[row, round_] = _logarithm(seconds.median)
            spreads[row, round_] = max(seconds.spread, _MIN_SPREAD)
        for seconds in pace.of_rounds(prompts, size):
            # Rounds without prompts that require manual input take no time.
            if seconds.median:
                # A single round is by a random person, so include the spread between people.
                wider = seconds.wider(pace.habits.between_people)
                single_rounds.append((math.log(wider.median), max(wider.spread, _MIN_SPREAD)))
    if not single_rounds:
        return None
    round_centres, round_spreads = np.array(single_rounds).T
    return PredictedSeconds(
        dialogues, values[chosen], centres, spreads, round_centres, round_spreads
    )


def _logarithm(seconds: float) -> float:
    return math.log(seconds) if seconds else -math.inf


def _diagonals(run: Run) -> Mapping[str, float]:
    """Return the diagonal of each sample's image, slice or frame in px, if predictions were stored."""
    masks = run.folder.read("masks", ["sample", "shape"])
    shapes = masks.unique("sample").select("sample", "shape")
    diagonals: dict[str, float] = {}
    for sample, shape in shapes.rows():
        # The last two axes are those of the image, slice or frame.
        height, width = shape[-2:]
        diagonals[sample] = math.hypot(height, width)
    return diagonals


def _prompt_extent(dialogue: DialogueRecord) -> float:
    """Return a lower bound of the image diagonal from the prompts, in px; 1 without positions."""
    ends = [(0.0, 0.0)]
    for prompt in chain.from_iterable(dialogue.prompts):
        # Clicks have a position and boxes a stop; lassos and scribbles have points.
        for name in ("position", "stop"):
            if hasattr(prompt, name):
                ends.append(tuple(getattr(prompt, name)[-2:]))
        for point in getattr(prompt, "points", ()):
            ends.append(tuple(point[-2:]))
    height, width = np.max(ends, axis=0)
    return math.hypot(height, width) or 1.0


def human_time_parts(own: Page) -> list[Part]:
    """Return predicted human seconds; empty if no finished dialogue has a prompt with manual input."""
    runs = own.usual_runs
    if all(run.kinds <= {"support", "mask"} for run in runs):
        return []
    sheet = human_time_sheet(runs, own.pace)
    if not sheet.rows:
        return []
    figures: list[Figure] = []
    if runs[0].rounds > 1:
        figure = _curves(runs, own.pace)
        if figure is not None:
            figures.append(figure)
    return [FigureRow(figures), sheet, Note(_notes(own.pace))]


def human_time_sheet(runs: Sequence[Run], pace: PromptTimeModel) -> Sheet:
    """Tabulate the seconds per round, per dialogue and until solved, one row per user and run."""
    counted = [statistic for statistic in runs[0].summary if statistic.kind == "noc"]
    statistic = counted[-1] if counted else None
    rows: list[tuple[Cell, ...]] = []
    columns = run_column_names(runs)
    for user in user_names(runs):
        for run in runs:
            if user not in run.users:
                continue
            found = predict_seconds(run, user, pace)
            if found is not None:
                rows.append((user, run.data, columns[run], *_cells(found, statistic)))
    head = (
        "User",
        "Dataset",
        "Segmenter",
        Column("Seconds / round", "interval"),
        Column("Seconds / dialogue", "interval"),
        *_until(statistic),
    )
    caption = "Predicted seconds that a person takes for the prompts: the median and the range of the middle 80 %."
    return Sheet(
        name="person-seconds",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )


def _until(statistic: Statistic | None) -> list[Column]:
    if statistic is None:
        return []
    goal = f"{metric_name(statistic.metric)} {statistic.threshold:g}"
    return [Column(f"Until {goal}", "interval"), Column("Reached, %", "number", key="reached")]


def _cells(found: PredictedSeconds, statistic: Statistic | None) -> list[Cell]:
    cells: list[Cell] = [_range(found.round_centres, found.round_spreads), found.whole]
    if statistic is None:
        return cells
    centres, spreads = found.solved(statistic.threshold)
    share = len(centres) / len(found.dialogues)
    until = _range(centres, spreads) if len(centres) else "–"
    cells.append(until)
    cells.append(Value(mean=share, is_share=True, decimals=0))
    return cells


def _range(centres: NDArray[np.float64], spreads: NDArray[np.float64]) -> Value:
    low = mixture_quantile(centres, spreads, _MIDDLE[0])
    median = mixture_quantile(centres, spreads, 0.5)
    high = mixture_quantile(centres, spreads, _MIDDLE[1])
    bounds = f"{seconds_text(low)} to {seconds_text(high)}"
    return Value(
        mean=median,
        low=low,
        high=high,
        printed=seconds_text(median),
        printed_bounds=bounds,
    )


def _curves(runs: Sequence[Run], pace: PromptTimeModel) -> Figure | None:
    name = metric_name(summary_metrics(runs[0])[0])
    panels = series_by_user(runs)
    if len(runs) == 1 and panels:
        # All users of a single run share a chart.
        series_of_all = [series for _, group in panels for series in group]
        panels = [("", series_of_all)]
    charts: list[tuple[str, str]] = []
    for user, group in panels:
        known: list[tuple[Series, PredictedSeconds]] = []
        for series in group:
            found = predict_seconds(series.run, series.user, pace)
            if found is not None:
                known.append((series, found))
        if not known:
            continue
        # End the axis when the slowest series has finished 90 % of its dialogues.
        until = max(mixture_quantile(*found.ends, share=_MIDDLE[1]) for _, found in known)
        moments = np.linspace(0.0, until, _MOMENTS)
        curves = highlight_best([_curve(series, found, moments) for series, found in known])
        longest_label = max(len(series.label) for series in group)
        chart = line_chart(
            curves,
            title=f"{name} against seconds of a person {user}",
            x_label="seconds of a person",
            y_label=f"mean {name}",
            x_range=(0.0, until),
            y_range=(0.0, max(1.0, highest_value(curves))),
            size_px=chart_size_px(len(panels), 330, longest_label),
        )
        charts.append((user, chart))
    caption = (
        f"Expected {name} against the seconds of a person, averaged over targets and over people of different pace; "
        "0 before the first answer. Bands show 95 % intervals of the mean. Computing time of the model is not included."
    )
    return make_figure(f"{name[:1].upper()}{name[1:]} against human time", caption, charts)


def _curve(
    series: Series,
    found: PredictedSeconds,
    moments: NDArray[np.float64],
) -> Curve:
    targets = [dialogue.key[:2] for dialogue in found.dialogues]
    clusters = image_clusters(targets)
    values = found.values_at(moments)
    means = bootstrap_means(values.T, clusters)
    return Curve.from_intervals(series.label, series.colour, moments.tolist(), means)


def _notes(pace: PromptTimeModel) -> str:
    if pace.boxes == "extreme":
        boxes = "clicks on the object's outermost points"
    else:
        boxes = "a drag from corner to corner"
    return (
        f"Predicted from the recorded prompts for a person with {_pointer_text(pace.pointer)} who draws boxes by "
        f"{boxes}. The model adds the times for looking and deciding, moving (Fitts' law), pressing and drawing, each "
        f"with its spread, and lets people differ in pace. Source: {pace.habits.source}. The prediction covers at most "
        f"{MAX_TIMED_DIALOGUES} dialogues per user."
    )


def _pointer_text(name: str) -> str:
    return "a finger" if name == "touch" else f"a {name}"

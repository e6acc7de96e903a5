"""Quality against the seconds of a person that the prompts of a run would take, predicted from the prompts alone.

Nothing of it is in the records: what a person takes is computed when they are read (`segarena.users.habits.prompt_time`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from segarena.reports.chart_series import (
    Figure,
    Series,
    chart_size_px,
    make_figure,
    run_column_names,
    series_by_user,
)
from segarena.reports.charts import Curve, line_chart
from segarena.reports.figures import highlight_best
from segarena.reports.page_parts import FigureRow, Note, Part
from segarena.reports.pages import Page
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.run_statistics import image_clusters, summary_metrics, user_names
from segarena.reports.sheets import Cell, Column, Sheet, Value
from segarena.reports.wording import metric_name, seconds_text
from segarena.roles import Statistic
from segarena.statistics.intervals import bootstrap_means
from segarena.statistics.mixtures import mixture_quantile, mixture_shares
from segarena.users.habits.prompt_time import PromptTimeModel

MAX_TIMED_DIALOGUES = 300
"""Dialogues of a user that are looked at, evenly chosen of more."""

_MOMENTS = 40
_MIDDLE = (0.1, 0.9)
"""Between these shares lies what tables show as the range of people and prompts."""


@dataclass(frozen=True, eq=False)
class PredictedSeconds:
    """What a user's dialogues would take people.

    Attributes:
        dialogues: those looked at.
        values: of the first metric, (dialogues, rounds); ended dialogues hold their last.
        centres, spreads: of the logarithm of the seconds until each round, (dialogues, rounds); infinite after the end.
        round_centres, round_spreads: the same of each single round, (all rounds,).
    """

    dialogues: Sequence[DialogueRecord]
    values: NDArray[np.float64]
    centres: NDArray[np.float64]
    spreads: NDArray[np.float64]
    round_centres: NDArray[np.float64]
    round_spreads: NDArray[np.float64]

    @cached_property
    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Centre and spread of the logarithm of what each whole dialogue takes."""
        last = [min(dialogue.rounds, self.values.shape[1]) - 1 for dialogue in self.dialogues]
        every = np.arange(len(last))
        return self.centres[every, last], self.spreads[every, last]

    def values_at(self, moments: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value that is expected at each moment, (dialogues, moments); 0 before the first answer."""
        steps = np.diff(self.values, axis=1, prepend=0.0)
        return np.stack(
            [
                (steps * mixture_shares(self.centres, self.spreads, at)).sum(axis=1)
                for at in moments
            ],
            1,
        )

    def solved(self, threshold: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return centre and spread of the seconds until a value is reached, of the dialogues that reach it."""
        reached = self.values >= threshold
        rows = np.flatnonzero(reached.any(axis=1))
        first = reached[rows].argmax(axis=1)
        return self.centres[rows, first], self.spreads[rows, first]


def predict_seconds(run: Run, user: str, pace: PromptTimeModel) -> PredictedSeconds | None:
    """Return what the dialogues of a user would take; None where none was finished, or none had prompts."""
    what = ("pace", user, pace.pointer, pace.boxes, pace.habits.source)
    if what not in run.computed:
        run.computed[what] = _predict(run, user, pace)
    return run.computed[what]


def _predict(run: Run, user: str, pace: PromptTimeModel) -> PredictedSeconds | None:
    every, values = run.curves(user, summary_metrics(run)[0])
    if every:
        chosen = np.unique(
            np.linspace(0, len(every) - 1, min(len(every), MAX_TIMED_DIALOGUES)).astype(int)
        )
    else:
        chosen = []
    dialogues = [every[place] for place in chosen]
    if not dialogues:
        return None
    sizes = _diagonals(run)
    centres = np.full((len(dialogues), run.rounds), np.inf)
    spreads = np.ones(centres.shape)
    single: list[tuple[float, float]] = []
    for row, dialogue in enumerate(dialogues):
        given = dialogue.prompts[: run.rounds]
        size = sizes.get(dialogue.sample, 0.0) or _reach(dialogue)
        for place, seconds in enumerate(pace.until(given, size)):
            centres[row, place], spreads[row, place] = (
                _logarithm(seconds.median),
                max(seconds.spread, 1e-9),
            )
        rounds = (
            one.wider(pace.habits.between_people)
            for one in pace.of_rounds(given, size)
            if one.median
        )
        single += [(math.log(one.median), max(one.spread, 1e-9)) for one in rounds]
    if not single:
        return None
    round_centres, round_spreads = np.array(single).T
    return PredictedSeconds(
        dialogues, values[chosen], centres, spreads, round_centres, round_spreads
    )


def _logarithm(seconds: float) -> float:
    return math.log(seconds) if seconds else -math.inf


def _diagonals(run: Run) -> Mapping[str, float]:
    """Return the diagonal of each sample's picture, slice or frame, in px, where predictions were kept."""
    shapes = (
        run.folder.read("masks", ["sample", "shape"]).unique("sample").select("sample", "shape")
    )
    return {sample: math.hypot(*shape[-2:]) for sample, shape in shapes.rows()}


def _reach(dialogue: DialogueRecord) -> float:
    """Return the diagonal of a picture as far as prompts reach into it; 1 where they tell nothing."""
    ends = [(0.0, 0.0)]
    for prompt in chain.from_iterable(dialogue.prompts):
        for name in ("position", "stop"):
            ends += [tuple(getattr(prompt, name)[-2:])] if hasattr(prompt, name) else []
        ends += [point[-2:] for point in getattr(prompt, "points", ())]
    return math.hypot(*np.max(ends, axis=0)) or 1.0


def human_time_parts(own: Page) -> list[Part]:
    """Return what a report says of a person's seconds; nothing where no user gives prompts that take a hand."""
    runs = own.usual_runs
    if all(run.kinds <= {"support", "mask"} for run in runs):
        return []
    sheet = human_time_sheet(runs, own.pace)
    if not sheet.rows:
        return []
    curves = _curves(runs, own.pace) if runs[0].rounds > 1 else None
    return [FigureRow([one for one in [curves] if one is not None]), sheet, Note(_notes(own.pace))]


def human_time_sheet(runs: Sequence[Run], pace: PromptTimeModel) -> Sheet:
    """Return a row per user and run: the seconds of a round, of a dialogue, and until it is solved."""
    statistic = next((s for s in reversed(runs[0].summary) if s.kind == "noc"), None)
    rows: list[tuple[Cell, ...]] = []
    columns = run_column_names(runs)
    for user in user_names(runs):
        for run in runs:
            found = predict_seconds(run, user, pace) if user in run.users else None
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
    caption = (
        "Seconds that the prompts would take a person: the median, and where the middle 80 % lie."
    )
    return Sheet(name="person-seconds", caption=caption, head=head, rows=tuple(rows))


def _until(statistic: Statistic | None) -> list[Column]:
    if statistic is None:
        return []
    goal = f"{metric_name(statistic.metric)} {statistic.threshold:g}"
    return [Column(f"Until {goal}", "interval"), Column("Reached, %", "number", key="reached")]


def _cells(found: PredictedSeconds, statistic: Statistic | None) -> list[Cell]:
    cells: list[Cell] = [_range(found.round_centres, found.round_spreads), _range(*found.ends)]
    if statistic is None:
        return cells
    solved = found.solved(statistic.threshold)
    share = len(solved[0]) / len(found.dialogues)
    return [
        *cells,
        _range(*solved) if len(solved[0]) else "–",
        Value(mean=share, is_share=True, decimals=0),
    ]


def _range(centres: NDArray[np.float64], spreads: NDArray[np.float64]) -> Value:
    low, median, high = (
        mixture_quantile(centres, spreads, share) for share in (_MIDDLE[0], 0.5, _MIDDLE[1])
    )
    bounds = f"{seconds_text(low)} to {seconds_text(high)}"
    return Value(
        mean=median, low=low, high=high, printed=seconds_text(median), printed_bounds=bounds
    )


def _curves(runs: Sequence[Run], pace: PromptTimeModel) -> Figure | None:
    name = metric_name(summary_metrics(runs[0])[0])
    panels = series_by_user(runs)
    if len(runs) == 1 and panels:
        panels = [("", list(chain.from_iterable(group for _, group in panels)))]
    charts: list[tuple[str, str]] = []
    for user, group in panels:
        known = [
            (one, found)
            for one in group
            if (found := predict_seconds(one.run, one.user, pace)) is not None
        ]
        if not known:
            continue
        until = max(mixture_quantile(*found.ends, share=_MIDDLE[1]) for _, found in known)
        moments = np.linspace(0.0, until, _MOMENTS)
        drawn = highlight_best([_curve(one, found, moments) for one, found in known])
        chart = line_chart(
            drawn,
            title=f"{name} against seconds of a person {user}",
            x_label="seconds of a person",
            y_label=f"mean {name}",
            x_range=(0.0, until),
            y_range=(
                0.0,
                max(
                    [
                        1.0,
                        *(
                            y
                            for curve in drawn
                            for y in (*curve.y, *curve.high)
                            if math.isfinite(y)
                        ),
                    ]
                ),
            ),
            size_px=chart_size_px(len(panels), 330, max(len(one.label) for one in group)),
        )
        charts.append((user, chart))
    caption = (
        f"{name} that is expected after so many seconds of a person, over people as they differ in pace and over "
        "targets; 0 before the first answer. Bands are 95 % intervals of the mean. The model's own seconds are left "
        "out."
    )
    return make_figure(f"{name[:1].upper()}{name[1:]} against a person's seconds", caption, charts)


def _curve(series: Series, found: PredictedSeconds, moments: NDArray[np.float64]) -> Curve:
    clusters = image_clusters([dialogue.key[:2] for dialogue in found.dialogues])
    means = bootstrap_means(found.values_at(moments).T, clusters)
    return Curve(
        label=series.label,
        colour=series.colour,
        x=moments.tolist(),
        y=[mean.mean for mean in means],
        low=[mean.low for mean in means],
        high=[mean.high for mean in means],
    )


def _notes(pace: PromptTimeModel) -> str:
    if pace.boxes == "extreme":
        boxes = "clicks on the object's outermost points"
    else:
        boxes = "a drag from corner to corner"
    return (
        f"Predicted from the prompts in the records, for a person with {_a_pointer(pace.pointer)} and boxes drawn by "
        f"{boxes}: looking and deciding, moving (Fitts), pressing and drawing, each with its spread, and people who "
        f"differ in pace. Source: {pace.habits.source}. Of more than {MAX_TIMED_DIALOGUES} dialogues with a user {MAX_TIMED_DIALOGUES} are looked at."
    )


def _a_pointer(name: str) -> str:
    return "a finger" if name == "touch" else f"a {name}"

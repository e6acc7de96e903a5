"""Figures of a board: mean curves of its best runs, and the results of all runs over time.

There is one chart of curves per dataset, user and metric, and one chart of results per dataset and
user. The script of the page shows the charts of the
selected dataset and user, and replaces their curves when the reader selects other runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from segarena.reports.axes import Frame, px
from segarena.reports.boards.board import Board, Choice
from segarena.reports.boards.board_wording import is_control, time_text
from segarena.reports.boards.extracts import MeanCurve, OptionalNumbers
from segarena.reports.boards.statistic_rankings import PanelKey, score_sign
from segarena.reports.chart_series import Figure, make_figure
from segarena.reports.charts import Curve, legend, line_chart, marker
from segarena.reports.display_names import metric_name
from segarena.reports.wording import value_text

FIRST_CURVES = 5
"""Number of runs with curves initially, the best ones; board.js selects the same number."""

FLOOR_LABEL = "control: "
"""Prefix of the name of a control that ignores the image."""

TIME_TICKS = 5

LONG_S = 2 * 86_400
"""If more than this many seconds separate the first and the last run, the time axis shows dates."""

SHORT_S = 600
"""If at most this many seconds separate the first and the last run, the time axis shows seconds."""


class CurveKey(NamedTuple):
    """Key of a curve chart: dataset, user, and the displayed name of the metric."""

    data: str
    user: str
    title: str


def curves_by_key(board: Board) -> dict[CurveKey, dict[int, MeanCurve]]:
    """Return the mean curves by entry index, for each dataset, user and metric."""
    curves: dict[CurveKey, dict[int, MeanCurve]] = {}
    for number, entry in enumerate(board.entries):
        for user, curve_by_metric in entry.extract.curves.items():
            for metric, curve in curve_by_metric.items():
                key = CurveKey(board.data[number], user, metric_name(metric))
                curves.setdefault(key, {})[number] = curve
    return curves


def best_floor(board: Board, key: PanelKey) -> int | None:
    """Return the control that ignores the image and has the best mean in a panel; None if there is none."""
    sign = score_sign(board.statistic_of(key))
    best: int | None = None
    best_score = -math.inf
    for entry, interval in board.panels[key].mean_by_entry.items():
        score = sign * interval.mean
        if entry in board.floors and score > best_score:
            best = entry
            best_score = score
    return best


def curves_figure(board: Board, choice: Choice) -> Figure | None:
    """Draw the curves of the best runs and of the best control that ignores the image; None without curves."""
    curves = curves_by_key(board)
    word = board.entries[0].extract.words[0]
    charts: list[tuple[str, str]] = []
    for key, curve_by_entry in curves.items():
        panel_key = PanelKey(key.data, key.user, "", board.measure.name)
        if panel_key not in board.panels:
            continue
        shown = _first_curves(board, panel_key, choice, curve_by_entry)
        chart = line_chart(
            shown,
            title=f"{key.title} against {word}s, {key.user}, {key.data}",
            x_label=word,
            y_label=f"mean {key.title}",
            y_range=_padded_range(list(curve_by_entry.values())),
            script_key=json.dumps(key),
        )
        entries = [(curve.label, curve.colour) for curve in shown]
        charts.append((_chart_heading(key, curves), legend(entries) + chart))
    caption = (
        f"Mean over targets after each {word}, with 95 % intervals. "
        "In a chart, the arrow keys step through the values."
    )
    return make_figure("Curves of the selected runs", caption, charts)


def _chart_heading(key: CurveKey, keys: Mapping[CurveKey, object]) -> str:
    """Return those parts of a key that differ between charts."""
    parts: list[str] = []
    for position, part in enumerate(key):
        values = {other[position] for other in keys}
        if len(values) > 1:
            parts.append(part)
    return ", ".join(parts)


def _first_curves(
    board: Board,
    key: PanelKey,
    choice: Choice,
    curves: Mapping[int, MeanCurve],
) -> list[Curve]:
    shown: list[Curve] = []
    for row in board.rows(key, choice):
        if len(shown) == FIRST_CURVES:
            break
        if row.entry in curves and row.entry not in board.floors:
            label = board.names[row.entry]
            shown.append(_curve(label, len(shown), curves[row.entry], is_floor=False))
    floor = best_floor(board, key)
    if floor is not None and floor in curves:
        label = f"{FLOOR_LABEL}{board.names[floor]}"
        shown.append(_curve(label, "floor", curves[floor], is_floor=True))
    return shown


def _curve(
    label: str,
    colour: int | str,
    curve: MeanCurve,
    *,
    is_floor: bool,
) -> Curve:
    return Curve(
        label=label,
        colour=colour,
        x=range(1, len(curve.mean) + 1),
        y=_floats(curve.mean),
        low=_floats(curve.low),
        high=_floats(curve.high),
        is_floor=is_floor,
    )


def _floats(values: OptionalNumbers) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _padded_range(curves: Sequence[MeanCurve]) -> tuple[float, float]:
    """Return the vertical axis range for all curves of the chart, because readers may select any of them."""
    values: list[float] = []
    for curve in curves:
        for column in (curve.mean, curve.low, curve.high):
            values += [value for value in column if value is not None]
    low = min(values, default=0.0)
    high = max(values, default=1.0)
    padding = (high - low) * 0.06 or 0.05
    # Clip the axis of a share to 0 and 1.
    is_share = low >= 0 and high <= 1
    if is_share:
        return max(0.0, low - padding), min(1.0, high + padding)
    return low - padding, high + padding


class _Result(NamedTuple):
    """Mean of an entry, and its finishing time in seconds since 1970."""

    entry: int
    time_s: float
    mean: float


def history_figure(board: Board) -> Figure | None:
    """Draw the result of each run against its finishing time; None if no chart would show two different times."""
    charts: list[tuple[str, str]] = []
    keys: dict[CurveKey, list[_Result]] = {}
    for panel_key in board.panels:
        if panel_key.group or panel_key.statistic != board.measure.name:
            continue
        results = _results_by_time(board, panel_key)
        if len({result.time_s for result in results}) > 1:
            key = CurveKey(panel_key.data, panel_key.user, panel_key.statistic)
            keys[key] = results
    for key, results in keys.items():
        charts.append((_chart_heading(key, keys), _history_chart(board, key, results)))
    caption = f"{board.measure.name} of each run by the time when it finished; the line shows the best result so far."
    return make_figure("History", caption, charts)


def _results_by_time(board: Board, key: PanelKey) -> list[_Result]:
    results: list[_Result] = []
    for entry, interval in board.panels[key].mean_by_entry.items():
        time = board.entries[entry].time
        if time_text(time, "%Y"):
            result = _Result(entry, time.timestamp(), interval.mean)
            results.append(result)
    return sorted(results, key=lambda result: result.time_s)


def _history_chart(
    board: Board,
    key: CurveKey,
    results: Sequence[_Result],
) -> str:
    first = results[0].time_s
    last = results[-1].time_s
    means = [result.mean for result in results]
    padding = (max(means) - min(means)) * 0.06 or 0.05 * max(1.0, abs(means[0]))
    # Leave a margin, because the label of the last tick is centred at the right end of the axis.
    frame = Frame(540, 330, f"{key.title} of each run by time, {key.user}, {key.data}", right=36)
    x_scale = frame.x_scale(first, last)
    y_scale = frame.y_scale(min(means) - padding, max(means) + padding)
    frame.y_axis(y_scale, key.title)
    ticks, texts = _time_ticks(first, last)
    frame.x_axis(x_scale, "finished, UTC", ticks, texts)
    sign = score_sign(board.measure)
    best: _Result | None = None
    corners: list[tuple[float, float]] = []
    for result in results:
        if is_control(board.entries[result.entry].extract):
            continue
        if best is None or sign * result.mean > sign * best.mean:
            x = x_scale(result.time_s)
            if best is not None:
                corners.append((x, y_scale(best.mean)))
            best = result
            corners.append((x, y_scale(best.mean)))
    if best is not None:
        corners.append((x_scale(last), y_scale(best.mean)))
    frame.path(corners, "curve best-so-far")
    floors = [sign * result.mean for result in results if result.entry in board.floors]
    if floors:
        y = y_scale(sign * max(floors))
        frame.line(frame.left, y, x_scale(last), y, "mark")
        frame.text(x_scale(last), y - 5, "image-blind", css="tick", anchor="end")
    for result in results:
        x = x_scale(result.time_s)
        y = y_scale(result.mean)
        day = datetime.fromtimestamp(result.time_s, UTC).strftime("%Y-%m-%d %H:%M")
        text = f"{day}: {board.names[result.entry]} {value_text(board.measure, result.mean)}"
        # The script gives selected runs' points their colours and shapes.
        data = {"run": str(result.entry), "place": f"{px(x)} {px(y)}"}
        frame.draw(marker(x, y, "plain", 2.8, text, data))
    frame.data = {"key": json.dumps([key.data, key.user])}
    return frame.svg()


def _time_ticks(first: float, last: float) -> tuple[list[float], list[str]]:
    """Return evenly spaced times and their labels, without times whose label would repeat."""
    length = last - first
    if length > LONG_S:
        time_format = "%Y-%m-%d"
    elif length > SHORT_S:
        time_format = "%H:%M"
    else:
        time_format = "%H:%M:%S"
    ticks: list[float] = []
    texts: list[str] = []
    for index in range(TIME_TICKS + 1):
        tick = first + length * index / TIME_TICKS
        text = datetime.fromtimestamp(tick, UTC).strftime(time_format)
        if text not in texts:
            ticks.append(tick)
            texts.append(text)
    return ticks, texts

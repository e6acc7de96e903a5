"""Charts as SVG text: curves with bands, bars, scatter plots, and dots with intervals.

Colours are CSS classes, so that the page can define them for its light and dark schemes: `c0` to
`c6` by index, others by name. Each index also has a dash pattern (`d0` to `d3`) and a marker shape,
so that 140 series are distinguishable, and the first 20 even without colours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from segarena.reports.axes import (
    CHARACTER_PX,
    LABEL_PX,
    PHONE_CHARACTER_PX,
    Frame,
    Scale,
    element,
    number,
    px,
)
from segarena.reports.cells import Value
from segarena.reports.html_document import macros
from segarena.statistics.intervals import Interval

# The numbers of colours (7), dash patterns (4) and markers (5) are pairwise coprime, so the first
# 140 series differ.
COLOUR_COUNT = 7
"""Number of colours on the page; further series reuse them with other dash patterns and markers."""

DASH_COUNT = 4

LEGEND_PX = 30.0
"""Width of the line sample next to a legend label."""

MAX_LARGE_MARKERS = 24
"""Curves with more points than this have small markers."""

# A polygon with 16 corners looks round at marker size and needs no element other than paths.
_DISC_ANGLES = [turn * math.tau / 16 for turn in range(16)]

MARKERS: tuple[tuple[tuple[float, float], ...], ...] = (
    # A disc.
    tuple((math.cos(angle), math.sin(angle)) for angle in _DISC_ANGLES),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.3), (1.2, 0.9), (-1.2, 0.9)),
    ((0, -1.4), (1.2, 0), (0, 1.4), (-1.2, 0)),
    ((0, 1.3), (1.2, -0.9), (-1.2, -0.9)),
)
"""Corners of each marker shape at radius 1."""

ChartColour: TypeAlias = int | str
"""A colour index, or the name of a CSS class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line of y over x with a band from `low` to `high`; points with NaN are omitted.

    A faint curve is thin and has neither band nor label. The curve of a floor (a control that
    ignores the image) is thin and has no band.
    """

    label: str
    colour: ChartColour
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    is_faint: bool = False
    is_floor: bool = False

    @classmethod
    def from_intervals(
        cls,
        label: str,
        colour: ChartColour,
        x: Sequence[float],
        intervals: Sequence[Interval | Value],
        *,
        is_floor: bool = False,
    ) -> Curve:
        """Build a curve of means over `x`, with the intervals of the means as its band."""
        return cls(
            label=label,
            colour=colour,
            x=x,
            y=[interval.mean for interval in intervals],
            low=[interval.low for interval in intervals],
            high=[interval.high for interval in intervals],
            is_floor=is_floor,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A series of bars, one per category."""

    label: str
    colour: ChartColour
    heights: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointCloud:
    """A series of points; `names` are their tooltips, `notes` are printed next to them."""

    label: str
    colour: ChartColour
    x: Sequence[float]
    y: Sequence[float]
    names: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Whisker:
    """One row of an interval chart: a dot with a whisker and a note."""

    label: str
    colour: ChartColour
    value: float
    low: float
    high: float
    note: str = ""


def colour_class(colour: ChartColour) -> str:
    """Return the CSS classes of a colour and its dash pattern."""
    if isinstance(colour, str):
        return colour
    return f"c{colour % COLOUR_COUNT} d{colour % DASH_COUNT}"


def marker(
    x: float,
    y: float,
    colour: ChartColour,
    radius: float,
    title: str = "",
    data: Mapping[str, str] | None = None,
) -> str:
    """Return the marker of a colour as SVG; `title` is its tooltip, `data` contains attributes for scripts."""
    shape = 0 if isinstance(colour, str) else colour % len(MARKERS)
    corners: list[str] = []
    for across, down in MARKERS[shape]:
        corners.append(f"{px(x + radius * across)} {px(y + radius * down)}")
    outline = "L".join(corners)
    css = f"dot {colour_class(colour)}"
    attributes = {f"data_{name}": value for name, value in (data or {}).items()}
    return element(
        "path",
        "",
        d=f"M{outline}Z",
        css=css,
        title=title,
        **attributes,
    )


def legend(entries: Sequence[tuple[str, ChartColour]]) -> str:
    """Return an HTML legend with a line sample and a label for each (label, colour)."""
    named = [(swatch(colour), label) for label, colour in entries]
    return str(macros("segarena.reports", "charts.html").legend(named))


def swatch(colour: ChartColour) -> str:
    """Return a line sample of a colour with its marker as SVG."""
    line = element("path", d="M0 6L26 6", css=f"curve {colour_class(colour)}")
    dot = marker(13, 6, colour, 3.5)
    return f'<svg class="chart swatch" width="26" height="12" aria-hidden="true">{line}{dot}</svg>'


def draw_legend(frame: Frame, entries: Sequence[tuple[str, ChartColour]]) -> None:
    """Draw a legend of (label, colour) above a chart and increase the chart's height accordingly.

    Nothing is drawn for fewer than two entries.
    """
    if len(entries) < 2:
        return
    places: list[tuple[float, float]] = []
    x = 4.0
    y = frame.top + 4
    for label, _ in entries:
        # Estimated from the mean character width, because only the browser lays out the text.
        wide = LEGEND_PX + len(_shorten(label)) * CHARACTER_PX
        if x + wide > frame.width_px and x > 4:
            x = 4.0
            y = y + 18
        places.append((x, y))
        x += wide + 14
    for (label, colour), (left, middle) in zip(entries, places, strict=True):
        frame.path([(left, middle), (left + 24, middle)], f"curve {colour_class(colour)}")
        frame.draw(marker(left + 12, middle, colour, 3.5))
        frame.text(left + LEGEND_PX, middle + 4, _shorten(label), css="name")
    # Grow the chart instead of shrinking the plot, so that charts with and without legend have
    # equal plots.
    grown = y + 22 - frame.top
    frame.top += grown
    frame.height_px += grown


def line_chart(
    curves: Sequence[Curve],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] = (0.0, 1.0),
    marks: Sequence[float] = (),
    legend: Sequence[tuple[str, ChartColour]] = (),
    script_key: str = "",
    size_px: tuple[float, float] = (540, 330),
) -> str:
    """Draw curves with their bands, labelled at their right ends.

    Args:
        curves: the curves.
        title: text for screen readers.
        x_label: label of the horizontal axis.
        y_label: label of the vertical axis.
        x_range: range of the horizontal axis; None if x are rounds, which then determine it.
        y_range: range of the vertical axis.
        marks: heights of dashed horizontal lines.
        legend: legend entries for curves without labels.
        script_key: name by which a script finds the chart to replace its curves; the chart then
            stores its scales as attributes, and has no curve labels, because new curves may have
            longer ones.
        size_px: width and height.
    """
    # Draw thin curves first, so that the others lie on top.
    curves = sorted(curves, key=_is_thin, reverse=True)
    labels: list[str] = []
    for curve in curves:
        # A script may replace these curves by ones with longer names, for which no margin is
        # reserved.
        is_unlabelled = curve.is_faint or script_key
        labels.append("" if is_unlabelled else _shorten(curve.label))
    longest = max((len(label) for label in labels), default=0)
    frame = Frame(*size_px, title, right=longest * LABEL_PX + 18)
    draw_legend(frame, legend)
    # An empty chart still needs axes, so fall back to a unit range.
    xs = list(chain.from_iterable(curve.x for curve in curves)) or [0.0, 1.0]
    low = min(xs)
    high = max(xs)
    y_scale = frame.y_scale(*y_range)
    frame.y_axis(y_scale, y_label)
    if x_range is None:
        x_scale = frame.x_scale(low, high)
        frame.x_axis(x_scale, x_label, _round_ticks(low, high))
    else:
        x_scale = frame.x_scale(*x_range)
        frame.x_axis(x_scale, x_label)
    for mark in marks:
        frame.line(frame.left, y_scale(mark), frame.width_px - frame.right, y_scale(mark), "mark")
    # Draw all bands below all curves.
    for curve in curves:
        band = [] if _is_thin(curve) else _band(curve, x_scale, y_scale)
        frame.path(band, f"band {colour_class(curve.colour)}")
    for curve in curves:
        _draw_curve(frame, curve, x_scale, y_scale, x_label)
    _end_labels(frame, curves, labels, y_scale)
    if script_key:
        frame.data = {"key": script_key, "x": x_scale.ends, "y": y_scale.ends}
    return frame.svg()


def _is_thin(curve: Curve) -> bool:
    return curve.is_faint or curve.is_floor


def _draw_curve(
    frame: Frame,
    curve: Curve,
    x_scale: Scale,
    y_scale: Scale,
    x_label: str,
) -> None:
    """Draw the line of a curve, and a marker with a tooltip at each point."""
    finite = _finite(curve)
    places = [(x_scale(curve.x[index]), y_scale(curve.y[index])) for index in finite]
    faint = " faint" if curve.is_faint else ""
    frame.path(places, f"curve {colour_class(curve.colour)}{faint}")
    is_small = _is_thin(curve) or len(places) > MAX_LARGE_MARKERS
    radius = 1.6 if is_small else 3.2
    for index, place in zip(finite, places, strict=True):
        tooltip = f"{x_label} {number(curve.x[index])}: {_point_text(curve, index)}"
        frame.draw(marker(*place, curve.colour, radius, tooltip))


def bar_chart(
    series: Sequence[Bars],
    categories: Sequence[str],
    *,
    title: str,
    x_label: str,
    y_label: str,
    highest: float | None = None,
    size_px: tuple[float, float] = (540, 250),
) -> str:
    """Draw grouped bars over `categories`; `highest` gives neighbouring charts a common axis."""
    frame = Frame(*size_px, title)
    draw_legend(frame, [(bars.label, bars.colour) for bars in series])
    if highest is None:
        heights = chain.from_iterable(bars.heights for bars in series)
        highest = max(heights, default=0.0)
    # The axis ends a little above the highest bar.
    y_scale = frame.y_scale(0.0, (highest or 1.0) * 1.04)
    frame.y_axis(y_scale, y_label)
    frame.x_axis(frame.x_scale(0, 1), x_label, ())
    # At least one category, so that an empty chart does not divide by zero.
    slot = (frame.width_px - frame.left - frame.right) / max(1, len(categories))
    bar = slot * 0.84 / max(1, len(series))
    for order, bars in enumerate(series):
        css = f"bar {colour_class(bars.colour)}"
        for index, value in enumerate(bars.heights):
            tooltip = f"{bars.label}: {categories[index]}: {_rounded(value)}"
            top = y_scale(value)
            rectangle = element(
                "rect",
                x=frame.left + index * slot + slot * 0.08 + order * bar,
                y=top,
                width=f"{bar:.2f}",
                height=y_scale(0) - top,
                css=css,
                title=tooltip,
            )
            frame.draw(rectangle)
    label_y = frame.height_px - frame.bottom + 17
    for index in _labelled_categories(categories, slot):
        middle = frame.left + (index + 0.5) * slot
        frame.text(middle, label_y, categories[index], css="tick", anchor="middle")
    return frame.svg()


def scatter_chart(
    clouds: Sequence[PointCloud],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] = (0.0, 1.0),
    size_px: tuple[float, float] = (540, 330),
) -> str:
    """Draw a scatter plot.

    Without `x_range`, the horizontal axis is logarithmic if all x are positive and span a factor of
    more than 20.
    """
    frame = Frame(*size_px, title)
    draw_legend(frame, [(cloud.label, cloud.colour) for cloud in clouds])
    x_scale = _fitting_scale(frame, clouds) if x_range is None else frame.x_scale(*x_range)
    y_scale = frame.y_scale(*y_range)
    frame.y_axis(y_scale, y_label)
    frame.x_axis(x_scale, x_label)
    for cloud in clouds:
        css = colour_class(cloud.colour)
        unnamed = [""] * len(cloud.x)
        for x, y, name in zip(cloud.x, cloud.y, cloud.names or unnamed, strict=True):
            frame.circle(x_scale(x), y_scale(y), 2.6, f"point {css}", name)
        for x, y, note in zip(cloud.x, cloud.y, cloud.notes or unnamed, strict=True):
            if note:
                frame.text(x_scale(x) + 6, y_scale(y) + 4, note, css=f"note {css}")
    return frame.svg()


def interval_chart(
    rows: Sequence[Whisker],
    *,
    title: str,
    x_label: str,
    x_range: tuple[float, float],
    is_log: bool = False,
) -> str:
    """Draw one line per row with its label, a whisker from low to high, a dot and a note."""
    labels = [_shorten(row.label) for row in rows]
    longest_label = max((len(label) for label in labels), default=0)
    longest_note = max((len(row.note) for row in rows), default=0)
    # Reserve the width that labels have on phones, where the page enlarges the text of charts.
    label_px = longest_label * PHONE_CHARACTER_PX + 14
    note_px = longest_note * PHONE_CHARACTER_PX + 14
    frame = Frame(540, 52 + 24 * len(rows), title, left=label_px, right=note_px)
    x_scale = frame.x_scale(*x_range, is_log=is_log)
    frame.x_axis(x_scale, x_label)
    for index, (row, label) in enumerate(zip(rows, labels, strict=True)):
        y = frame.top + 12 + 24 * index
        frame.text(label_px - 10, y + 4, label, css="name", anchor="end")
        whisker_css = f"whisker {colour_class(row.colour)}"
        frame.line(x_scale(row.low), y, x_scale(row.high), y, whisker_css)
        interval = f"[{_rounded(row.low)}, {_rounded(row.high)}]"
        tooltip = f"{row.label}: {_rounded(row.value)} {interval}"
        frame.draw(marker(x_scale(row.value), y, row.colour, 4.2, tooltip))
        frame.text(frame.width_px - note_px + 10, y + 4, row.note, css="tick")
    return frame.svg()


def _shorten(label: str, longest: int = 28) -> str:
    if len(label) <= longest:
        return label
    return label[: longest - 1] + "…"


def _fitting_scale(frame: Frame, clouds: Sequence[PointCloud]) -> Scale:
    xs = list(chain.from_iterable(cloud.x for cloud in clouds)) or [0.0, 1.0]
    low = min(xs)
    high = max(xs)
    # On a linear axis, small values of such a range would be crowded at the left edge.
    if low > 0 and high / low > 20:
        return frame.x_scale(low / 1.1, high * 1.1, is_log=True)
    pad = (high - low) * 0.03
    return frame.x_scale(low - pad, high + pad)


def _round_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return the ticks of an axis of rounds: the first round, then every round or multiples of five."""
    length = high - low
    # Choose multiples of five such that there are at most about nine ticks.
    step = 1 if length <= 10 else 5 * math.ceil(length / 40)
    multiples = range(step, math.floor(high) + 1, step)
    # The first round is always labelled, even if it is not a multiple of the step.
    return (low, *(tick for tick in multiples if tick > low))


def _labelled_categories(categories: Sequence[str], slot_px: float) -> list[int]:
    """Return the indices of the categories to label: evenly spaced ones, and always the last."""
    if not categories:
        return []
    last = len(categories) - 1
    longest = max((len(category) for category in categories), default=1)
    # The page enlarges the text on phones, where labels must not overlap either.
    label_px = longest * PHONE_CHARACTER_PX + 3
    step = max(1, math.ceil(label_px / max(slot_px, 0.1)))
    labelled: list[int] = []
    for index in range(0, last, step):
        # Omit a label that would touch the label of the last category.
        if (last - index) * slot_px >= label_px:
            labelled.append(index)
    return [*labelled, last]


def _rounded(value: float) -> str:
    return number(round(value, 4))


def _finite(curve: Curve) -> list[int]:
    return [i for i, y in enumerate(curve.y) if math.isfinite(y)]


def _point_text(curve: Curve, i: int) -> str:
    """Return the label, the value and the interval of point `i` as text."""
    text = f"{curve.label} {_rounded(curve.y[i])}"
    low = curve.low[i]
    high = curve.high[i]
    if math.isfinite(low) and math.isfinite(high) and low < high:
        text += f" [{_rounded(low)}, {_rounded(high)}]"
    return text.strip()


def _band(
    curve: Curve,
    x_scale: Scale,
    y_scale: Scale,
) -> list[tuple[float, float]]:
    """Return the outline of a band: forwards along its upper edge, back along its lower edge."""
    upper: list[tuple[float, float]] = []
    lower: list[tuple[float, float]] = []
    for i in _finite(curve):
        if math.isfinite(curve.low[i]) and math.isfinite(curve.high[i]):
            x = x_scale(curve.x[i])
            upper.append((x, y_scale(curve.high[i])))
            lower.append((x, y_scale(curve.low[i])))
    return upper + lower[::-1]


def _end_labels(
    frame: Frame,
    curves: Sequence[Curve],
    labels: Sequence[str],
    y_scale: Scale,
) -> None:
    """Draw the label of each curve at its right end, shifted so that labels do not overlap.

    Empty labels are skipped.
    """
    ends: list[tuple[float, ChartColour, str]] = []
    for curve, label in zip(curves, labels, strict=True):
        finite = _finite(curve)
        if label and finite:
            ends.append((y_scale(curve.y[finite[-1]]), curve.colour, label))
    # From top to bottom, because each label may only push those below it.
    ends.sort(key=lambda end: end[0])
    # 4 px shift a baseline so that the text is vertically centred on its curve's end.
    top = frame.top + 4
    bottom = frame.height_px - frame.bottom + 4
    # If there are many labels, reduce their spacing below the height of a line.
    step = min(15.0, (bottom - top) / max(1, len(ends) - 1))
    places: list[float] = []
    lowest_free = top
    for y, _, _ in ends:
        place = max(y + 4, lowest_free)
        places.append(place)
        lowest_free = place + step
    # Push labels that moved below the chart back up.
    for index in range(len(places) - 1, -1, -1):
        below = len(places) - 1 - index
        places[index] = min(places[index], bottom - step * below)
    x = frame.width_px - frame.right + 8
    for place, (_, colour, label) in zip(places, ends, strict=True):
        frame.text(x, place, label, css=f"end {colour_class(colour)}")

"""Figures of a comparison: separability of users from people, and feature distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from segarena.reports.axes import CHARACTER_PX, Frame, Scale, element, px
from segarena.reports.chart_series import Figure
from segarena.reports.charts import draw_legend, marker
from segarena_people.comparison.answer_features import FEATURE_DEFINITIONS
from segarena_people.comparison.results import ScopeResult, UserResult
from segarena_people.comparison.segmenter_ranking import SegmenterRanking
from segarena_people.comparison.verdict_sentences import feature_title, percent_text

Histogram = NDArray[np.float64]


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class ScopeFeatures:
    """Features of a scope's answers: for each person, a vector per answer; for each user, (answers, features)."""

    people: Mapping[str, Sequence[Histogram]]
    users: Mapping[str, Histogram]


_ROW_PX = 26.0
_PANEL_PX = (240.0, 132.0)
_MOST_BINS = 28
_FEWEST_BINS = 8
# Histograms range between these quantiles, so that outliers do not flatten them.
_INNER = (0.005, 0.995)


def separation_figure(every: Sequence[ScopeResult], definition: str) -> Figure | None:
    """Draw each user's AUC in a row, over a band with the range of AUCs between people; None without AUCs.

    Args:
        every: scopes; each scope with a compared user gets a chart.
        definition: definition of the AUC, for the caption.
    """
    shown: list[ScopeResult] = []
    for found in every:
        if any(user.apart is not None for user in found.users):
            shown.append(found)
    if not shown:
        return None
    has_pairs = any(found.pairs for found in shown)
    if has_pairs:
        marks = (
            "Each small dot is one person, or one pair in the row of two people; the large mark is "
            "their median. The band shows pairs of people, from the most to the least similar pair."
        )
    else:
        marks = "Lines are 95 % intervals."
    caption = f"{definition} {marks} 0.5 means guessing, 1 always right."
    low = min(map(_lowest, shown))
    charts: list[tuple[str, str]] = []
    for found in shown:
        title = found.scope.title if len(shown) > 1 else ""
        charts.append((title, _apart_chart(found, low)))
    return Figure(
        title="Separability from people",
        caption=caption,
        charts=charts,
        is_wide=True,
    )


def _lowest(found: ScopeResult) -> float:
    """Return the lower end of the axis: 0.45, or less if values or intervals extend further down."""
    values = [one.auc.value for one in found.pairs]
    for user in found.users:
        values += [one.auc.value for one in user.each]
        values += _interval(user) or ()
    # Axis ticks are 0.05 apart.
    lowest = 0.45
    for value in values:
        lowest = min(lowest, math.floor(20 * value) / 20)
    return lowest


def _apart_chart(found: ScopeResult, low: float) -> str:
    users = [user for user in found.users if user.apart is not None]
    # A user keeps its colour in the whole report, even in charts where other users have no result.
    colours = [place for place, user in enumerate(found.users) if user.apart is not None]
    names = [user.user for user in users]
    if found.pairs:
        names.append("two people")
    room = min(190.0, max(len(name) for name in names) * CHARACTER_PX + 16)
    frame = Frame(
        540,
        56 + _ROW_PX * len(names),
        f"Separability from people: {found.scope.title}",
        left=room,
        right=46,
    )
    scale = frame.x_scale(low, 1.0)
    base = frame.height_px - frame.bottom
    if found.pairs:
        ends = [one.auc.value for one in found.pairs]
        _area(
            frame,
            scale(min(ends)),
            max(2.0, scale(max(ends)) - scale(min(ends))),
            frame.top,
            base,
            "people band",
        )
    frame.x_axis(scale, "share of pairs in which the classifier finds the person's answer (AUC)")
    frame.line(scale(0.5), frame.top, scale(0.5), base, "mark")
    rows: list[tuple[str, Sequence[float], float]] = []
    for user in users:
        by_person = [one.auc.value for one in user.each]
        rows.append((user.user, by_person, user.apart or math.nan))
    if found.pairs:
        by_pair = [one.auc.value for one in found.pairs]
        rows.append(("two people", by_pair, found.ceiling))
    for place, (name, each, middle) in enumerate(rows):
        y = frame.top + 14 + _ROW_PX * place
        colour: int | str = colours[place] if place < len(colours) else "base"
        frame.text(room - 10, y + 4, _cut(name, room), css="name", anchor="end")
        interval = _interval(users[place]) if place < len(users) else None
        if interval is not None:
            low_x = scale(interval[0])
            high_x = scale(interval[1])
            frame.line(low_x, y, high_x, y, f"whisker {_css(colour)}")
        for value in each:
            frame.circle(scale(value), y, 2.6, f"point {_css(colour)}", f"{name}: {value:.3f}")
        frame.draw(marker(scale(middle), y, colour, 5, f"{name}: {middle:.3f}"))
        frame.text(frame.width_px - 40, y + 4, f"{middle:.2f}", css="tick")
    return frame.svg()


def _interval(user: UserResult) -> tuple[float, float] | None:
    """Return the interval of the AUC against all people together; None if people were tested one by one."""
    if user.each or user.together is None or math.isnan(user.together.auc.low):
        return None
    return max(user.together.auc.low, 0.0), user.together.auc.high


def _area(
    frame: Frame,
    x: float,
    width: float,
    top: float,
    base: float,
    css: str,
) -> None:
    frame.draw(
        element(
            "rect",
            x=x,
            y=top,
            width=width,
            height=base - top,
            css=css,
        )
    )


def _css(colour: int | str) -> str:
    return colour if isinstance(colour, str) else f"c{colour % 7}"


def _cut(name: str, room: float) -> str:
    """Shorten a name to fit into a width in px."""
    most = int((room - 10) / CHARACTER_PX)
    if len(name) <= most:
        return name
    return name[: most - 1] + "…"


def feature_panels(
    found: ScopeResult,
    user: UserResult,
    place: int,
    drawn: ScopeFeatures,
) -> Figure | None:
    """Draw one chart per feature, people as an area and the user as a line; None without answers.

    The feature with the largest difference comes first.
    """
    own = drawn.users[user.user]
    if not len(own) or not drawn.people:
        return None
    names = list(FEATURE_DEFINITIONS[found.scope.kind])
    people = [np.stack(values) for values in drawn.people.values()]
    charts: list[tuple[str, str]] = []
    for feature in user.features:
        column = names.index(feature.name)
        chart = _panel(
            [one[:, column] for one in people],
            own[:, column],
            place,
            f"{feature.name} of {user.user}",
        )
        charts.append((f"{feature_title(feature.name)}", chart))
    several = " Thin lines show individual people." if len(people) > 1 else ""
    caption = (
        f"Distributions of people’s answers (area) and of those by {user.user} (line), the most different feature "
        f"first.{several} The table below defines the features."
    )
    return Figure(
        title=f"Features of {user.user}",
        caption=caption,
        charts=charts,
        is_wide=True,
    )


def _panel(
    people: Sequence[Histogram],
    own: Histogram,
    place: int,
    title: str,
) -> str:
    """Draw the distribution of one feature for all people, for each of several people, and for the user."""
    together = np.concatenate(people)
    edges = bin_edges(np.concatenate([together, own]), len(own))
    together_shares = _shares(together, edges)
    own_shares = _shares(own, edges)
    highest = float(max(together_shares.max(), own_shares.max()))
    frame = Frame(
        *_PANEL_PX,
        title,
        left=8,
        right=8,
        top=6,
        bottom=22,
    )
    y_scale = frame.y_scale(0.0, max(highest, 1e-9) * 1.05)
    x_scale = frame.x_scale(float(edges[0]), float(edges[-1]))
    base = y_scale(0)
    outline = _steps(together_shares, edges, x_scale, y_scale)
    first = (x_scale(edges[0]), base)
    last = (x_scale(edges[-1]), base)
    area = [first, *outline, last]
    frame.path(area, "people area")
    if len(people) > 1:
        for values in people:
            # The pooled distributions set the axis height; curves of single people may exceed it.
            shares = np.minimum(_shares(values, edges), y_scale.high)
            frame.path(_steps(shares, edges, x_scale, y_scale), "people person")
    frame.path(_steps(own_shares, edges, x_scale, y_scale), f"curve {_css(place)}")
    frame.line(frame.left, base, frame.width_px - frame.right, base, "axis")
    for tick in x_scale.ticks(4):
        frame.text(x_scale(tick), base + 15, f"{tick:g}", css="tick", anchor="middle")
    return frame.svg()


def bin_edges(values: Histogram, count: int) -> Histogram:
    """Return histogram bin edges: one bin per integer for integers in a small range, else bins of equal width.

    >>> bin_edges(np.array([1.0, 2.0, 2.0]), 3).tolist()
    [0.5, 1.5, 2.5]
    """
    low, high = np.quantile(values, _INNER)
    if (values == np.round(values)).all() and high - low <= _MOST_BINS:
        # Edges lie halfway between integers, so that each integer is the centre of its bin.
        return np.arange(math.floor(low) - 0.5, math.ceil(high) + 1.0)
    if not high > low:
        return np.array([low - 0.5, low + 0.5])
    bins = int(np.clip(round(2 * math.sqrt(count)), _FEWEST_BINS, _MOST_BINS))
    return np.linspace(low, high, bins + 1)


def _shares(values: Histogram, edges: Histogram) -> Histogram:
    """Return the share of values in each bin; out-of-range values count in the first or last bin."""
    inside = np.clip(values, edges[0], edges[-1])
    counts, _ = np.histogram(inside, edges)
    return counts / max(1, len(values))


def _steps(
    heights: Histogram,
    edges: Histogram,
    x_scale: Scale,
    y_scale: Scale,
) -> list[tuple[float, float]]:
    places: list[tuple[float, float]] = []
    for (left, right), height in zip(pairwise(edges.tolist()), heights.tolist(), strict=True):
        y = y_scale(height)
        places += [(x_scale(left), y), (x_scale(right), y)]
    return places


def importance_figure(found: ScopeResult) -> Figure | None:
    """Draw the features that matter most to the classifier, for each tested user; None if no user was tested."""
    charts: list[tuple[str, str]] = []
    for place, user in enumerate(found.users):
        if user.features and not math.isnan(user.features[0].lost):
            charts.append((user.user, _bars(user, place)))
    if not charts:
        return None
    caption = (
        "Decrease of the classifier’s AUC when the values of one feature are permuted among all answers. "
        "Features with the same information can each seem unimportant."
    )
    return Figure(
        title="Features that the classifier uses",
        caption=caption,
        charts=charts,
        is_wide=len(charts) > 1,
    )


def _bars(user: UserResult, place: int) -> str:
    ranked = sorted(user.features, key=lambda feature: -feature.lost)[:7]
    frame = Frame(
        350,
        34 + 20 * len(ranked),
        f"Features that distinguish {user.user} from people",
        left=104,
        right=46,
        bottom=8,
    )
    scale = frame.x_scale(0.0, max(0.02, ranked[0].lost))
    for row, feature in enumerate(ranked):
        y = frame.top + 8 + 20 * row
        # By chance, permuting a feature can improve the AUC; show such a negative loss as 0.
        lost = max(0.0, feature.lost)
        width = max(0.0, scale(lost) - scale(0))
        tooltip = f"{feature_title(feature.name)}: {feature.lost:.3f}"
        frame.text(98, y + 10, feature_title(feature.name), css="tick", anchor="end")
        frame.draw(
            element(
                "rect",
                x=scale(0),
                y=y,
                width=width,
                height=13,
                css=f"bar {_css(place)}",
                title=tooltip,
            )
        )
        frame.text(scale(0) + width + 5, y + 10, f"{lost:.2f}", css="tick")
    return frame.svg()


# Number of cells along a side of a heat map, and the range of the map around the centre of the
# object's box, in box sides: more than 0.5, so that clicks outside the box are visible.
_HEAT_CELLS = 24
_HEAT_REACH = 0.75


def click_heat_map(drawn: ScopeFeatures) -> Figure | None:
    """Draw heat maps of where people and users click, relative to the object's box."""
    of_people = [np.stack(values) for values in drawn.people.values()]
    whose = {
        "people": np.concatenate(of_people),
        **drawn.users,
    }
    charts: list[tuple[str, str]] = []
    for name, values in whose.items():
        if len(values):
            charts.append((name, _heat(values, name)))
    caption = (
        "Position of clicks relative to the object’s box (dashed), for all objects; darker cells have "
        "more clicks."
    )
    return Figure(
        title="Where they click",
        caption=caption,
        charts=charts,
        is_wide=True,
    )


def _heat(values: Histogram, name: str) -> str:
    edges = np.linspace(0.5 - _HEAT_REACH, 0.5 + _HEAT_REACH, _HEAT_CELLS + 1)
    counts, _, _ = np.histogram2d(values[:, 0], values[:, 1], bins=[edges, edges])
    frame = Frame(
        240,
        240,
        f"clicks of {name}",
        left=4,
        right=4,
        top=4,
        bottom=4,
    )
    scale = Scale(float(edges[0]), float(edges[-1]), 4, 236)
    side = scale(float(edges[1])) - scale(float(edges[0]))
    most = max(1.0, float(counts.max()))
    for row, column in np.argwhere(counts).tolist():
        share = float(counts[row, column])
        strength = px(0.1 + 0.9 * share / most)
        x = scale(float(edges[column]))
        y = scale(float(edges[row]))
        tooltip = f"{percent_text(share / len(values))} %"
        cell = element(
            "rect",
            x=x,
            y=y,
            width=side + 0.3,
            height=side + 0.3,
            css="heat-cell",
            title=tooltip,
        )
        frame.draw(cell.replace("<rect", f'<rect fill-opacity="{strength}"', 1))
    frame.draw(
        element(
            "rect",
            x=scale(0),
            y=scale(0),
            width=scale(1) - scale(0),
            height=scale(1) - scale(0),
            css="mark boxed",
        )
    )
    return frame.svg()


def bias_figure(ranked: Sequence[SegmenterRanking]) -> Figure | None:
    """Draw a scatter plot of the first statistic of each segmenter: with people (x) and with each user (y).

    None if there are no rankings.
    """
    first = [one for one in ranked if one.statistic == ranked[0].statistic]
    if not first:
        return None
    values: list[float] = []
    for one in first:
        values += [value.value for value in one.people]
        for value in one.simulated:
            values += [value.value, value.low, value.high]
    values = [value for value in values if math.isfinite(value)]
    pad = max(0.01, 0.04 * (max(values) - min(values)))
    frame = Frame(430, 400, f"{first[0].statistic} with people and with users", right=90)
    low = min(values) - pad
    high = max(values) + pad
    draw = [(one.user, place) for place, one in enumerate(first)]
    draw_legend(frame, draw)
    x_scale = frame.x_scale(low, high)
    y_scale = frame.y_scale(low, high)
    frame.y_axis(y_scale, f"{first[0].statistic} with the user")
    frame.x_axis(x_scale, f"{first[0].statistic} with people")
    frame.line(x_scale(low), y_scale(low), x_scale(high), y_scale(high), "mark")
    for one, (user, place) in zip(first, draw, strict=True):
        for name, people, simulated in zip(one.segmenters, one.people, one.simulated, strict=True):
            x = x_scale(people.value)
            y = y_scale(simulated.value)
            tooltip = (
                f"{name}, {user}: {people.value:.3f} with people, "
                f"{simulated.value:.3f} with the user"
            )
            if math.isfinite(simulated.low):
                frame.line(
                    x,
                    y_scale(simulated.low),
                    x,
                    y_scale(simulated.high),
                    f"whisker thin {_css(place)}",
                )
            frame.draw(marker(x, y, place, 4.5, tooltip))
            if place == 0:
                frame.text(x + 7, y - 5, name, css="tick")
    caption = (
        "Each mark is a segmenter; on the dashed line its results with the user and with people are equal. "
        "Colours distinguish users."
    )
    return Figure(
        title="Segmenters with people and with users",
        caption=caption,
        charts=[("", frame.svg())],
        is_wide=False,
    )

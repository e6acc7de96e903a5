"""Figures of a comparison: separability of users from people, and distributions of features."""

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScopeFeatures:
    """Features of everyone in a scope: by person as rows, and by user as (answers, features)."""

    people: Mapping[str, Sequence[Histogram]]
    users: Mapping[str, Histogram]


_ROW_PX = 26.0
_PANEL_PX = (240.0, 132.0)
_MOST_BINS = 28
_FEWEST_BINS = 8
_INNER = (0.005, 0.995)
"""Quantiles between which histograms extend, so that outliers do not flatten them."""


def separation_figure(every: Sequence[ScopeResult], definition: str) -> Figure | None:
    """Return the AUC of each user above the range of AUCs between people.

    Args:
        every: scopes; each with a compared user gets a chart.
        definition: definition of the AUC, for the caption.
    """
    shown = [found for found in every if any(user.apart is not None for user in found.users)]
    if not shown:
        return None
    has_pairs = any(found.pairs for found in shown)
    caption = (
        f"{definition} "
        + (
            "Each small dot is one person, the large one their median. "
            if has_pairs
            else "Lines are 95 % intervals. "
        )
        + (
            "The band is where two people are: from the pair least to the pair most alike. "
            if has_pairs
            else ""
        )
        + "0.5 is guessing, 1 is always right."
    )
    titles = [found.scope.title if len(shown) > 1 else "" for found in shown]
    low = min(map(_lowest, shown))
    charts = [(title, _apart_chart(found, low)) for title, found in zip(titles, shown, strict=True)]
    return Figure(title="Told from people", caption=caption, charts=charts, is_wide=True)


def _lowest(found: ScopeResult) -> float:
    """Return the start of the axis, below all values and below guessing."""
    values = [one.auc.value for user in found.users for one in user.each]
    for user in found.users:
        values += _interval(user) or ()
    # Ticks are 0.05 apart.
    lowest = 0.45
    for value in values:
        lowest = min(lowest, math.floor(20 * value) / 20)
    return lowest


def _apart_chart(found: ScopeResult, low: float) -> str:
    users = [user for user in found.users if user.apart is not None]
    colours = [place for place, user in enumerate(found.users) if user.apart is not None]
    names = [user.user for user in users] + (["two people"] if found.pairs else [])
    room = min(190.0, max(len(name) for name in names) * CHARACTER_PX + 16)
    frame = Frame(
        540,
        56 + _ROW_PX * len(names),
        f"Told from people: {found.scope.title}",
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
    frame.x_axis(scale, "share of pairs in which the person's is found (AUC)")
    frame.line(scale(0.5), frame.top, scale(0.5), base, "mark")
    rows: list[tuple[str, Sequence[float], float]] = [
        (user.user, [one.auc.value for one in user.each], user.apart or math.nan) for user in users
    ]
    if found.pairs:
        rows.append(("two people", [one.auc.value for one in found.pairs], found.ceiling))
    for place, (name, each, middle) in enumerate(rows):
        y = frame.top + 14 + _ROW_PX * place
        colour: int | str = colours[place] if place < len(colours) else "base"
        frame.text(room - 10, y + 4, _cut(name, room), css="name", anchor="end")
        interval = _interval(users[place]) if place < len(users) else None
        if interval is not None:
            frame.line(scale(interval[0]), y, scale(interval[1]), y, f"whisker {_css(colour)}")
        for value in each:
            frame.circle(scale(value), y, 2.6, f"point {_css(colour)}", f"{name}: {value:.3f}")
        frame.draw(marker(scale(middle), y, colour, 5, f"{name}: {middle:.3f}"))
        frame.text(frame.width_px - 40, y + 4, f"{middle:.2f}", css="tick")
    return frame.svg()


def _interval(user: UserResult) -> tuple[float, float] | None:
    """Return the interval over images where all people are compared together."""
    if user.each or user.together is None or math.isnan(user.together.auc.low):
        return None
    return max(user.together.auc.low, 0.0), user.together.auc.high


def _area(frame: Frame, x: float, width: float, top: float, base: float, css: str) -> None:
    frame.draw(element("rect", x=x, y=top, width=width, height=base - top, css=css))


def _css(colour: int | str) -> str:
    return colour if isinstance(colour, str) else f"c{colour % 7}"


def _cut(name: str, room: float) -> str:
    """Shorten a name to the room in px."""
    most = int((room - 10) / CHARACTER_PX)
    if len(name) <= most:
        return name
    return name[: most - 1] + "…"


def feature_panels(
    found: ScopeResult, user: UserResult, place: int, drawn: ScopeFeatures
) -> Figure | None:
    """Return a chart for each feature, largest difference first: people as area, user as line."""
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
    several = " Thin lines are single people." if len(people) > 1 else ""
    caption = (
        f"Distributions of people’s answers (area) and of those by {user.user} (line), the most different feature "
        f"first.{several} The table below defines the features."
    )
    return Figure(title=f"Features of {user.user}", caption=caption, charts=charts, is_wide=True)


def _panel(people: Sequence[Histogram], own: Histogram, place: int, title: str) -> str:
    """Draw the distributions of one feature: all people together, each of them, and the user."""
    together = np.concatenate(people)
    edges = bin_edges(np.concatenate([together, own]), len(own))
    together_shares = _shares(together, edges)
    own_shares = _shares(own, edges)
    highest = float(max(together_shares.max(), own_shares.max()))
    frame = Frame(*_PANEL_PX, title, left=8, right=8, top=6, bottom=22)
    y_scale = frame.y_scale(0.0, max(highest, 1e-9) * 1.05)
    x_scale = frame.x_scale(float(edges[0]), float(edges[-1]))
    base = y_scale(0)
    outline = _steps(together_shares, edges, x_scale, y_scale)
    area = [(x_scale(edges[0]), base), *outline, (x_scale(edges[-1]), base)]
    frame.path(area, "people area")
    if len(people) > 1:
        for values in people:
            # The averages set the height of the panel; curves of single people may exceed it.
            shares = np.minimum(_shares(values, edges), y_scale.high)
            frame.path(_steps(shares, edges, x_scale, y_scale), "people person")
    frame.path(_steps(own_shares, edges, x_scale, y_scale), f"curve {_css(place)}")
    frame.line(frame.left, base, frame.width_px - frame.right, base, "axis")
    for tick in x_scale.ticks(4):
        frame.text(x_scale(tick), base + 15, f"{tick:g}", css="tick", anchor="middle")
    return frame.svg()


def bin_edges(values: Histogram, count: int) -> Histogram:
    """Return the bin edges of a histogram: one bin per whole number where these are few, else evenly spaced.

    >>> bin_edges(np.array([1.0, 2.0, 2.0]), 3).tolist()
    [0.5, 1.5, 2.5]
    """
    low, high = np.quantile(values, _INNER)
    if (values == np.round(values)).all() and high - low <= _MOST_BINS:
        return np.arange(math.floor(low) - 0.5, math.ceil(high) + 1.0)
    if not high > low:
        return np.array([low - 0.5, low + 0.5])
    bins = int(np.clip(round(2 * math.sqrt(count)), _FEWEST_BINS, _MOST_BINS))
    return np.linspace(low, high, bins + 1)


def _shares(values: Histogram, edges: Histogram) -> Histogram:
    """Return the share of values in each bin; values beyond the ends count in the first and the last."""
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
    return counts / max(1, len(values))


def _steps(
    heights: Histogram, edges: Histogram, x_scale: Scale, y_scale: Scale
) -> list[tuple[float, float]]:
    places: list[tuple[float, float]] = []
    for (left, right), height in zip(pairwise(edges.tolist()), heights.tolist(), strict=True):
        places += [(x_scale(left), y_scale(height)), (x_scale(right), y_scale(height))]
    return places


def importance_figure(found: ScopeResult) -> Figure | None:
    """Return the feature importances of the classifier, for each user."""
    charts = [
        (user.user, _bars(user, place))
        for place, user in enumerate(found.users)
        if user.features and not math.isnan(user.features[0].lost)
    ]
    if not charts:
        return None
    caption = (
        "By how much the classifier gets worse when the values of one feature are exchanged among all that it judges. "
        "Of features that say the same each may seem to count for little."
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
        width = max(0.0, scale(max(0.0, feature.lost)) - scale(0))
        told = f"{feature_title(feature.name)}: {feature.lost:.3f}"
        frame.text(98, y + 10, feature_title(feature.name), css="tick", anchor="end")
        frame.draw(
            element(
                "rect",
                x=scale(0),
                y=y,
                width=width,
                height=13,
                css=f"bar {_css(place)}",
                title=told,
            )
        )
        frame.text(scale(0) + width + 5, y + 10, f"{max(0.0, feature.lost):.2f}", css="tick")
    return frame.svg()


_HEAT_CELLS = 24
_HEAT_REACH = 0.75
"""Cells along a side of a heat map, and its reach from the centre of the object's box, in box sides."""


def click_heat_map(drawn: ScopeFeatures) -> Figure | None:
    """Return heat maps of the clicks of people and users in the object's box."""
    whose = {
        "people": np.concatenate([np.stack(values) for values in drawn.people.values()]),
        **drawn.users,
    }
    charts = [(name, _heat(values, name)) for name, values in whose.items() if len(values)]
    caption = "Where clicks fall in the object’s box (dashed), all objects together; the darker, the more clicks."
    return Figure(title="Where they click", caption=caption, charts=charts, is_wide=True)


def _heat(values: Histogram, name: str) -> str:
    edges = np.linspace(0.5 - _HEAT_REACH, 0.5 + _HEAT_REACH, _HEAT_CELLS + 1)
    counts, _, _ = np.histogram2d(values[:, 0], values[:, 1], bins=[edges, edges])
    frame = Frame(240, 240, f"clicks of {name}", left=4, right=4, top=4, bottom=4)
    scale = Scale(float(edges[0]), float(edges[-1]), 4, 236)
    side = scale(float(edges[1])) - scale(float(edges[0]))
    most = max(1.0, float(counts.max()))
    for row, column in np.argwhere(counts).tolist():
        share = float(counts[row, column])
        strength = px(0.1 + 0.9 * share / most)
        x = scale(float(edges[column]))
        y = scale(float(edges[row]))
        told = f"{percent_text(share / len(values))} %"
        cell = element(
            "rect", x=x, y=y, width=side + 0.3, height=side + 0.3, css="heat-cell", title=told
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
    """Return a scatter plot of each segmenter's first statistic: with people across, with each user upwards."""
    first = [one for one in ranked if one.statistic == ranked[0].statistic]
    if not first:
        return None
    values = [value.value for one in first for value in one.people]
    values += [
        end
        for one in first
        for value in one.simulated
        for end in (value.value, value.low, value.high)
    ]
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
            told = f"{name}, {user}: {people.value:.3f} with people, {simulated.value:.3f} with the user"
            if math.isfinite(simulated.low):
                frame.line(
                    x,
                    y_scale(simulated.low),
                    x,
                    y_scale(simulated.high),
                    f"whisker thin {_css(place)}",
                )
            frame.draw(marker(x, y, place, 4.5, told))
            if place == 0:
                frame.text(x + 7, y - 5, name, css="tick")
    caption = (
        "Each mark is a segmenter; on the dashed line it comes out with the user as with people. "
        "Colours are users."
    )
    return Figure(
        title="Segmenters with people and with users",
        caption=caption,
        charts=[("", frame.svg())],
        is_wide=False,
    )

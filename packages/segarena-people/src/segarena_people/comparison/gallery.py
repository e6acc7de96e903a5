"""Pictures of a comparison: what people and each user gave about the same goals, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from segarena.arrays.boxes import bounding_window, join_windows
from segarena.engine.random_streams import stream
from segarena.prompts import Box, Click
from segarena.reports.axes import element, px
from segarena.reports.overlays import VIEW_PX, View, jpeg_uri, outline
from segarena_people.collection import Given
from segarena_people.comparison.answer_features import ink_of
from segarena_people.comparison.answers import question_of
from segarena_people.comparison.results import ScopeFound
from segarena_people.comparison.user_comparison import PEOPLE, Comparison
from segarena_people.comparison.user_replies import Picture

PictureOf: TypeAlias = Callable[[Given], Picture]
"""Gives what was shown."""

LEAST_VIEW_PX = 32
MARGIN = 0.2
"""A picture is at least so wide, and shows so much around what is in it."""

MOST_CARDS = 8
MOST_PEOPLE = 3
MOST_USERS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """One picture: who gave it, SVG, and a word below where nothing was given."""

    who: str
    is_person: bool
    box: str
    svg: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One goal, and what everyone gave about it."""

    title: str
    where: str
    panes: Sequence[Pane]


@dataclass(frozen=True, slots=True, kw_only=True)
class Riddle:
    """Two pictures of one goal, and which of them a person drew."""

    first: Pane
    second: Pane
    answer: str


def cards_of(
    comparison: Comparison, found: ScopeFound, picture_of: PictureOf | None = None
) -> list[Card]:
    """Return cards for some of the goals, spread over labels and sizes."""
    by_question = _by_question(comparison, found)
    chosen = _spread([places[0] for places in by_question.values()], comparison, MOST_CARDS)
    every = {places[0]: places for places in by_question.values()}
    return [_card(comparison, found, every[place], picture_of) for place in chosen]


def riddles_of(
    comparison: Comparison, found: ScopeFound, user: str, count: int = 4
) -> list[Riddle]:
    """Return pairs of one person's and one user's answer in random order, for people to try themselves on."""
    places = [
        place for place in comparison.places(found.scope)
        if comparison.measured[user][place].values is not None and comparison.measured[PEOPLE][place].values is not None
    ]  # fmt: skip
    made: list[Riddle] = []
    for place in _spread(places, comparison, count, reverse=True):
        given = comparison.answers[place]
        view = _view(given)
        panes = [
            Pane(
                who="",
                is_person=False,
                box=view.box,
                svg=_drawing(comparison, who, place, view, None, "riddle"),
            )
            for who in (PEOPLE, user)
        ]
        is_swapped = bool(stream(0, "riddle", given.row.id).integers(2))
        first, second = reversed(panes) if is_swapped else panes
        answer = "The right one is a person’s." if is_swapped else "The left one is a person’s."
        made.append(Riddle(first=first, second=second, answer=answer))
    return made


def _by_question(comparison: Comparison, found: ScopeFound) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place in comparison.places(found.scope):
        if comparison.measured[PEOPLE][place].values is not None:
            places.setdefault(question_of(comparison.answers[place].row), []).append(place)
    return places


def _spread(
    places: Sequence[int], comparison: Comparison, most: int, *, reverse: bool = False
) -> list[int]:
    """Return some places: label by label in turn, of each those evenly over the sizes of goals."""
    sized = sorted(places, key=lambda place: comparison.answers[place].row.label)
    labels = list(dict.fromkeys(comparison.answers[place].row.label for place in sized))
    share = math.ceil(most / max(1, len(labels)))
    chosen: list[int] = []
    for label in labels:
        own = [place for place in places if comparison.answers[place].row.label == label]
        if own:
            step = np.linspace(0, len(own) - 1, min(share, len(own))).round().astype(int).tolist()
        else:
            step = []
        chosen += [own[-1 - at if reverse else at] for at in step]
    return chosen[:most]


def _card(
    comparison: Comparison, found: ScopeFound, places: Sequence[int], picture_of: PictureOf | None
) -> Card:
    place = places[0]
    given = comparison.answers[place]
    people = places[:MOST_PEOPLE]
    users = [user.user for user in found.users if user.answered][:MOST_USERS]
    view = _view(given)
    picture = None if picture_of is None else picture_of(given)
    panes = [
        Pane(
            who=_person(comparison.answers[one]), is_person=True, box=view.box,
            svg=_drawing(comparison, PEOPLE, one, view, picture, "people"),
        )
        for one in people
    ]  # fmt: skip
    for number, user in enumerate(users):
        measured = comparison.measured[user][place]
        if measured.values is not None:
            note = ""
        else:
            note = "refused" if measured.refusal else "nothing given"
        svg = _drawing(comparison, user, place, view, picture, f"c{number % 7}")
        panes.append(Pane(who=user, is_person=False, box=view.box, svg=svg, note=note))
    row = given.row
    plane = "" if row.plane is None else f", plane {row.plane}"
    return Card(title=row.label or row.target, where=f"{row.sample}{plane}", panes=panes)


def _person(given: Given) -> str:
    name = given.row.person
    return f"person {name}" if name and len(name) < 3 else name or "person"


def _view(given: Given) -> View:
    """Return a square around the goal and what a person drew."""
    drawn = given.drawn
    window = bounding_window(given.goal)
    window = window if drawn is None else join_windows(window, bounding_window(drawn))
    sides = [side.stop - side.start for side in window]
    length = max(LEAST_VIEW_PX, round(max(sides) * (1 + 2 * MARGIN)))
    spans = [_span(side, length, size) for side, size in zip(window, given.shape, strict=True)]
    return View((spans[0], spans[1]), VIEW_PX / max(span.stop - span.start for span in spans))


def _span(side: slice, length: int, size: int) -> slice:
    length = min(length, size)
    start = min(max(0, (side.start + side.stop - length) // 2), size - length)
    return slice(start, start + length)


def _drawing(
    comparison: Comparison, who: str, place: int, view: View, picture: Picture | None, css: str
) -> str:
    """Return the goal, the mask that was corrected, and over them what somebody gave."""
    given = comparison.answers[place]
    measured = comparison.measured[who][place]
    parts: list[str] = []
    if picture is not None:
        size = f'width="{px(view.width)}" height="{px(view.height)}"'
        parts.append(f'<image {size} preserveAspectRatio="none" href="{jpeg_uri(picture, view)}"/>')
    parts.append(
        element(
            "path",
            d=outline(given.goal, view),
            css="goal" if picture is None else "goal on-picture",
        )
    )
    if given.previous is not None:
        parts.append(element("path", d=outline(given.previous, view), css="before"))
    if who != PEOPLE and not measured.prompts:
        return "".join(parts)
    first = measured.prompts[0] if measured.prompts else None
    if isinstance(first, Click):
        parts += [
            _dot(view, one.position, css) for one in measured.prompts if isinstance(one, Click)
        ]
    elif isinstance(first, Box):
        parts.append(_rectangle(view, first, css))
    else:
        parts.append(
            element("path", d=outline(ink_of(given, measured.prompts), view), css=f"ink {css}")
        )
    return "".join(parts)


def _dot(view: View, position: tuple[int, ...], css: str) -> str:
    x, y = view.place(*position[-2:])
    return element("circle", cx=x, cy=y, r=9.0, css=f"ink {css}")


def _rectangle(view: View, box: Box, css: str) -> str:
    (left, top), (right, bottom) = (
        view.place(*box.start[-2:]),
        view.place(*(stop - 1 for stop in box.stop[-2:])),
    )
    return element(
        "rect", x=left, y=top, width=right - left, height=bottom - top, css=f"frame {css}"
    )

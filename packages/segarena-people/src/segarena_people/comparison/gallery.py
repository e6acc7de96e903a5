"""Gallery of a comparison: drawings by people and users for the same goals, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from segarena.arrays.boxes import bounding_window, join_windows
from segarena.engine.random_streams import random_stream
from segarena.prompts import Box, Click
from segarena.reports.axes import element, px
from segarena.reports.overlays import VIEW_PX, View, jpeg_uri, outline
from segarena_people.collection import CollectedPrompt
from segarena_people.comparison.answer_features import answer_ink
from segarena_people.comparison.answers import question_key
from segarena_people.comparison.results import ScopeResult
from segarena_people.comparison.user_comparison import PEOPLE, UserComparison
from segarena_people.comparison.user_replies import RgbPicture

PictureReader: TypeAlias = Callable[[CollectedPrompt], RgbPicture]
"""Function that returns the picture shown to people."""

SMALLEST_VIEW_PX = 32
VIEW_MARGIN = 0.2
"""Minimum side of a view in px, and its margin around the content as a share of the content's size."""

MOST_CARDS = 8
MOST_PERSON_PANES = 3
MOST_USER_PANES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class GalleryPane:
    """SVG drawing by one person or user, with a note if they gave no prompt."""

    who: str
    is_person: bool
    box: str
    svg: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GalleryCard:
    """Drawings by people and users for one goal."""

    title: str
    where: str
    panes: Sequence[GalleryPane]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessingPair:
    """Two drawings for one goal, one by a person and one by a user; readers guess which is which."""

    first: GalleryPane
    second: GalleryPane
    answer: str


def build_cards(
    comparison: UserComparison,
    found: ScopeResult,
    picture_of: PictureReader | None = None,
) -> list[GalleryCard]:
    """Build one card per question, for a sample of the questions that is spread over labels and the table."""
    # One card per question: several people may have answered the same question.
    by_question = _by_question(comparison, found)
    first_answers = [places[0] for places in by_question.values()]
    chosen = _spread(first_answers, comparison, MOST_CARDS)
    every = {places[0]: places for places in by_question.values()}
    cards: list[GalleryCard] = []
    for place in chosen:
        cards.append(_card(comparison, found, every[place], picture_of))
    return cards


def build_guessing_pairs(
    comparison: UserComparison,
    found: ScopeResult,
    user: str,
    count: int = 4,
) -> list[GuessingPair]:
    """Build up to `count` pairs of a person's and a user's drawing, each in random order, for readers to guess."""
    own = comparison.measured[user]
    people = comparison.measured[PEOPLE]
    places: list[int] = []
    for place in comparison.indices(found.scope):
        if own[place].values is not None and people[place].values is not None:
            places.append(place)
    made: list[GuessingPair] = []
    for place in _spread(places, comparison, count, reverse=True):
        given = comparison.answers[place]
        view = _view(given)
        panes: list[GalleryPane] = []
        for who in (PEOPLE, user):
            panes.append(
                GalleryPane(
                    who="",
                    is_person=False,
                    box=view.box,
                    svg=_drawing(comparison, who, place, view, None, "riddle"),
                )
            )
        # The answer is part of the seed, so that a regenerated report shows the same order.
        is_swapped = bool(random_stream(0, "riddle", given.row.id).integers(2))
        if is_swapped:
            second, first = panes
            answer = "The right one is by a person."
        else:
            first, second = panes
            answer = "The left one is by a person."
        made.append(GuessingPair(first=first, second=second, answer=answer))
    return made


def _by_question(comparison: UserComparison, found: ScopeResult) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place in comparison.indices(found.scope):
        if comparison.measured[PEOPLE][place].values is not None:
            question = question_key(comparison.answers[place].row)
            places.setdefault(question, []).append(place)
    return places


def _spread(
    places: Sequence[int],
    comparison: UserComparison,
    most: int,
    *,
    reverse: bool = False,
) -> list[int]:
    """Choose at most `most` answers, about equally many per label, evenly spaced among the answers of a label.

    With `reverse`, a single answer per label is the last of the label instead of the first.
    """
    sized = sorted(places, key=lambda place: comparison.answers[place].row.label)
    labels = list(dict.fromkeys(comparison.answers[place].row.label for place in sized))
    share = math.ceil(most / max(1, len(labels)))
    chosen: list[int] = []
    for label in labels:
        own = [place for place in places if comparison.answers[place].row.label == label]
        if not own:
            continue
        if reverse:
            own.reverse()
        spaced = np.linspace(0, len(own) - 1, min(share, len(own)))
        chosen += [own[index] for index in spaced.round().astype(int).tolist()]
    return chosen[:most]


def _card(
    comparison: UserComparison,
    found: ScopeResult,
    places: Sequence[int],
    picture_of: PictureReader | None,
) -> GalleryCard:
    place = places[0]
    given = comparison.answers[place]
    people = places[:MOST_PERSON_PANES]
    users = [user.user for user in found.users if user.answered][:MOST_USER_PANES]
    view = _view(given)
    picture = None if picture_of is None else picture_of(given)
    panes: list[GalleryPane] = []
    for one in people:
        panes.append(
            GalleryPane(
                who=_person(comparison.answers[one]),
                is_person=True,
                box=view.box,
                svg=_drawing(comparison, PEOPLE, one, view, picture, "people"),
            )
        )
    for number, user in enumerate(users):
        measured = comparison.measured[user][place]
        if measured.values is not None:
            note = ""
        else:
            note = "refused" if measured.refusal else "nothing given"
        svg = _drawing(comparison, user, place, view, picture, f"c{number % 7}")
        panes.append(
            GalleryPane(
                who=user,
                is_person=False,
                box=view.box,
                svg=svg,
                note=note,
            )
        )
    row = given.row
    plane = "" if row.plane is None else f", plane {row.plane}"
    return GalleryCard(
        title=row.label or row.target,
        where=f"{row.sample}{plane}",
        panes=panes,
    )


def _person(given: CollectedPrompt) -> str:
    name = given.row.person
    if not name:
        return "person"
    # A short name is an index or a letter that means nothing by itself, so add the word "person".
    return f"person {name}" if len(name) < 3 else name


def _view(given: CollectedPrompt) -> View:
    """Return a view that contains the goal and a rasterized stroke; it is square unless the picture cuts it off."""
    window = bounding_window(given.goal)
    if given.drawn is not None:
        window = join_windows(window, bounding_window(given.drawn))
    longest = max(side.stop - side.start for side in window)
    length = max(SMALLEST_VIEW_PX, round(longest * (1 + 2 * VIEW_MARGIN)))
    height, width = given.shape
    rows = _span(window[0], length, height)
    columns = _span(window[1], length, width)
    longest_span = max(rows.stop - rows.start, columns.stop - columns.start)
    return View((rows, columns), VIEW_PX / longest_span)


def _span(
    side: slice,
    length: int,
    size: int,
) -> slice:
    length = min(length, size)
    centred = (side.start + side.stop - length) // 2
    start = min(max(0, centred), size - length)
    return slice(start, start + length)


def _drawing(
    comparison: UserComparison,
    who: str,
    place: int,
    view: View,
    picture: RgbPicture | None,
    css: str,
) -> str:
    """Return SVG of the picture if there is one, the goal, the mask to correct, and the drawing on top."""
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
        for one in measured.prompts:
            if isinstance(one, Click):
                parts.append(_dot(view, one.position, css))
    elif isinstance(first, Box):
        parts.append(_rectangle(view, first, css))
    else:
        ink = answer_ink(given, measured.prompts)
        parts.append(element("path", d=outline(ink, view), css=f"ink {css}"))
    return "".join(parts)


def _dot(
    view: View,
    position: tuple[int, ...],
    css: str,
) -> str:
    x, y = view.place(*position[-2:])
    return element(
        "circle",
        cx=x,
        cy=y,
        r=9.0,
        css=f"ink {css}",
    )


def _rectangle(
    view: View,
    box: Box,
    css: str,
) -> str:
    # The stop of a box is exclusive; the outline runs through the last pixel inside.
    last = [stop - 1 for stop in box.stop[-2:]]
    left, top = view.place(*box.start[-2:])
    right, bottom = view.place(*last)
    return element(
        "rect",
        x=left,
        y=top,
        width=right - left,
        height=bottom - top,
        css=f"frame {css}",
    )

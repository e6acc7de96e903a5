"""The prompting schemes of RadioActive by name: what a person gives first, and how it is meant to be spread."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from segarena.dialogue import Spread
from segarena.errors import InvalidInput
from segarena.prompts import Prompt
from segarena.systems.volumes.prompting import initial_boxes, initial_points
from segarena.systems.volumes.prompting.sliced_target import SlicedTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemeOptions:
    """How a scheme is carried out where there is a choice; see the functions of `points` and `boxes`."""

    centre: initial_points.SliceCentre = "box"
    centre_order: initial_points.CentreOrder = "plane"
    quirks: frozenset[str] = frozenset()


_Give: TypeAlias = Callable[
    [SlicedTarget, np.random.Generator, int, SchemeOptions], Sequence[Prompt]
]


@dataclass(frozen=True, slots=True)
class Scheme:
    """A way to start a dialogue."""

    form: str  # how its name is written; N stands for a number
    table_name: str  # what RadioActive's tables call it
    kinds: frozenset[str]  # the kinds of prompts given
    spread: Spread  # how they are meant for the other slices
    give: _Give  # the prompts of a target, given the number in the name and the manner; none for an empty target
    is_random: bool = False  # the same target may get other prompts


def _scheme(form: str, table_name: str, kinds: str, spread: Spread, give: _Give) -> Scheme:
    return Scheme(form, table_name, frozenset(kinds.split()), spread, give)


def _random(form: str, table_name: str, kinds: str, spread: Spread, give: _Give) -> Scheme:
    return Scheme(form, table_name, frozenset(kinds.split()), spread, give, is_random=True)


def _points_per_slice(
    target: SlicedTarget, rng: np.random.Generator, count: int, manner: SchemeOptions
) -> Sequence[Prompt]:
    return initial_points.points_per_slice(
        target, rng, count, repeats_points="repeated-points" in manner.quirks
    )


def _key_points(
    target: SlicedTarget, _: np.random.Generator, count: int, manner: SchemeOptions
) -> Sequence[Prompt]:
    repeats_points = "repeated-points" in manner.quirks
    return initial_points.key_points(
        target, count, centre=manner.centre, repeats_points=repeats_points
    )


def _centres(
    target: SlicedTarget, _: np.random.Generator, count: int, manner: SchemeOptions
) -> Sequence[Prompt]:
    return initial_points.centres_in_volume(
        target, count, centre=manner.centre, order=manner.centre_order
    )


def _centre(
    target: SlicedTarget, _: np.random.Generator, __: int, manner: SchemeOptions
) -> Sequence[Prompt]:
    return initial_points.centre_to_propagate(target, centre=manner.centre)


def _box(
    target: SlicedTarget, _: np.random.Generator, __: int, manner: SchemeOptions
) -> Sequence[Prompt]:
    return initial_boxes.box_of_volume(target, is_inclusive="inclusive-box" in manner.quirks)


SCHEMES: tuple[Scheme, ...] = (
    _random("N-pps", "N PPS", "click", "stay", _points_per_slice),
    _random(
        "N±pps",
        "N±PPS",
        "click",
        "stay",
        lambda t, rng, n, m: initial_points.points_per_slice_of_both_signs(t, rng, n),
    ),
    _scheme(
        "center-pps",
        "1 Center P",
        "click",
        "stay",
        lambda t, rng, n, m: initial_points.centre_per_slice(t),
    ),
    _scheme("box-ps", "Box PS", "box", "stay", lambda t, rng, n, m: initial_boxes.box_per_slice(t)),
    _scheme("Np-inter", "NP Inter", "click", "interpolate", _key_points),
    _scheme(
        "Nb-inter",
        "NB Inter",
        "box",
        "interpolate",
        lambda t, rng, n, m: initial_boxes.key_boxes(t, n),
    ),
    _random(
        "p-prop",
        "5P Prop",
        "click limits",
        "propagate",
        lambda t, rng, n, m: initial_points.points_to_propagate(t, rng),
    ),
    _scheme("center-prop", "P Prop, as in the text", "click limits", "propagate", _centre),
    _scheme(
        "b-prop",
        "B Prop",
        "box limits",
        "propagate",
        lambda t, rng, n, m: initial_boxes.box_to_propagate(t),
    ),
    _scheme(
        "3d-box-slices",
        "from 3D Box",
        "box",
        "extrude",
        lambda t, rng, n, m: initial_boxes.box_of_volume(t),
    ),
    _random(
        "N-ppv",
        "N PPV",
        "click",
        "stay",
        lambda t, rng, n, m: initial_points.points_in_volume(t, rng, n),
    ),
    _scheme("N-center-ppv", "N center PPV", "click", "stay", _centres),
    _scheme("3d-box", "3D Box", "box", "stay", _box),
    _scheme("centroid", "", "click", "stay", lambda t, rng, n, m: initial_points.centroid(t)),
)


def find_scheme(name: str) -> tuple[Scheme, int]:
    """Return the scheme called `name`, and the number in its name (0 if there is none); "+-" may stand for "±".

    Raises:
        InvalidInput: no scheme is called so.
    """
    written = name.replace("+-", "±")
    for scheme in SCHEMES:
        match = re.fullmatch(re.escape(scheme.form).replace("N", r"([1-9]\d{0,3})"), written)
        if match is not None:
            return scheme, int(match.group(1)) if match.groups() else 0
    raise InvalidInput(
        f"no prompting scheme is called {name!r}; there are {', '.join(s.form for s in SCHEMES)} with a number for N"
    )

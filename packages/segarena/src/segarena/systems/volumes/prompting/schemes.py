"""The prompting schemes of RadioActive by name: first-round prompts, and how they spread over slices."""

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
    """Options of the schemes; see the functions of `initial_points` and `initial_boxes`."""

    centre: initial_points.SliceCentre = "box"
    centre_order: initial_points.CentreOrder = "plane"
    quirks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SchemeRequest:
    """Arguments of a scheme: the target, the random generator, the number in the scheme's name, and the options."""

    target: SlicedTarget
    rng: np.random.Generator
    count: int
    options: SchemeOptions

    @property
    def repeats_points(self) -> bool:
        """Whether points are repeated if there are fewer pixels or slices than points."""
        return "repeated-points" in self.options.quirks


_PromptFunction: TypeAlias = Callable[[SchemeRequest], Sequence[Prompt]]


@dataclass(frozen=True, slots=True)
class Scheme:
    """A rule for the prompts that start a dialogue."""

    form: str  # its name, with N for a number
    table_name: str  # its name in RadioActive's tables
    kinds: frozenset[str]  # the kinds of its prompts
    spread: Spread  # how its prompts spread over the other slices
    function: _PromptFunction
    is_random: bool = False  # whether the prompts of a target may differ from call to call

    def make_prompts(
        self,
        target: SlicedTarget,
        rng: np.random.Generator,
        count: int,
        options: SchemeOptions,
    ) -> Sequence[Prompt]:
        """Return the prompts for a target, empty for an empty target; `count` is the number in the scheme's name."""
        return self.function(SchemeRequest(target, rng, count, options))


def _points_per_slice(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_points.points_per_slice(
        request.target, request.rng, request.count, repeats_points=request.repeats_points
    )


def _points_of_both_signs(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_points.points_per_slice_of_both_signs(request.target, request.rng, request.count)


def _centre_per_slice(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_points.centre_per_slice(request.target)


def _box_per_slice(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_boxes.box_per_slice(request.target)


def _key_points(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_points.key_points(
        request.target,
        request.count,
        centre=request.options.centre,
        repeats_points=request.repeats_points,
    )


def _key_boxes(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_boxes.key_boxes(request.target, request.count)


def _points_to_propagate(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_points.points_to_propagate(request.target, request.rng)


def _centre_to_propagate(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_points.centre_to_propagate(request.target, centre=request.options.centre)


def _box_to_propagate(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_boxes.box_to_propagate(request.target)


def _box_to_extrude(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_boxes.box_of_volume(request.target)


def _points_in_volume(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_points.points_in_volume(request.target, request.rng, request.count)


def _centres_in_volume(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_points.centres_in_volume(
        request.target,
        request.count,
        centre=request.options.centre,
        order=request.options.centre_order,
    )


def _box_of_volume(request: SchemeRequest) -> Sequence[Prompt]:
    is_inclusive = "inclusive-box" in request.options.quirks
    return initial_boxes.box_of_volume(request.target, is_inclusive=is_inclusive)


def _centroid(request: SchemeRequest) -> Sequence[Prompt]:
    return initial_points.centroid(request.target)


_CLICK = frozenset({"click"})
_BOX = frozenset({"box"})
_CLICK_AND_LIMITS = frozenset({"click", "limits"})
_BOX_AND_LIMITS = frozenset({"box", "limits"})

SCHEMES: tuple[Scheme, ...] = (
    Scheme("N-pps", "N PPS", _CLICK, "stay", _points_per_slice, is_random=True),
    Scheme("N±pps", "N±PPS", _CLICK, "stay", _points_of_both_signs, is_random=True),
    Scheme("center-pps", "1 Center P", _CLICK, "stay", _centre_per_slice),
    Scheme("box-ps", "Box PS", _BOX, "stay", _box_per_slice),
    Scheme("Np-inter", "NP Inter", _CLICK, "interpolate", _key_points),
    Scheme("Nb-inter", "NB Inter", _BOX, "interpolate", _key_boxes),
    Scheme(
        "p-prop", "5P Prop", _CLICK_AND_LIMITS, "propagate", _points_to_propagate, is_random=True
    ),
    Scheme(
        "center-prop",
        "P Prop, as in the text",
        _CLICK_AND_LIMITS,
        "propagate",
        _centre_to_propagate,
    ),
    Scheme("b-prop", "B Prop", _BOX_AND_LIMITS, "propagate", _box_to_propagate),
    Scheme("3d-box-slices", "from 3D Box", _BOX, "extrude", _box_to_extrude),
    Scheme("N-ppv", "N PPV", _CLICK, "stay", _points_in_volume, is_random=True),
    Scheme("N-center-ppv", "N center PPV", _CLICK, "stay", _centres_in_volume),
    Scheme("3d-box", "3D Box", _BOX, "stay", _box_of_volume),
    Scheme("centroid", "", _CLICK, "stay", _centroid),
)


def find_scheme(name: str) -> tuple[Scheme, int]:
    """Return the scheme called `name`, and the number in its name (0 if there is none); "+-" is accepted for "±".

    Raises:
        InvalidInput: there is no scheme with this name.
    """
    written = name.replace("+-", "±")
    for scheme in SCHEMES:
        pattern = re.escape(scheme.form).replace("N", r"([1-9]\d{0,3})")
        match = re.fullmatch(pattern, written)
        if match is not None:
            number = int(match.group(1)) if match.groups() else 0
            return scheme, number
    forms = ", ".join(scheme.form for scheme in SCHEMES)
    raise InvalidInput(
        f"there is no prompting scheme {name!r}; expected one of {forms}, with a number for N"
    )

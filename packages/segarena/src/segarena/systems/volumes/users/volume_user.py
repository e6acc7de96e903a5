"""The simulated user of RadioActive: first points, boxes or limits, then clicks, scribbles or lassos on errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from segarena.comparison import Comparison
from segarena.dialogue import Lift
from segarena.errors import InvalidInput
from segarena.options import Protocol
from segarena.prompts import Box, Prompt
from segarena.registry import user
from segarena.roles import Turn
from segarena.samples import Sample, Shape, Target
from segarena.systems.volumes.prompting import corrective_prompts
from segarena.systems.volumes.prompting.initial_boxes import add_edge_noise, shift_box
from segarena.systems.volumes.prompting.initial_points import CentreOrder, SliceCentre
from segarena.systems.volumes.prompting.published_code_deviations import resolve_quirks
from segarena.systems.volumes.prompting.schemes import SchemeOptions, find_scheme
from segarena.systems.volumes.prompting.scribble_outline import ScribbleOptions, ScribblePlane
from segarena.systems.volumes.prompting.scribbles import draw_scribble, pick_scribble_point
from segarena.systems.volumes.prompting.sliced_target import SlicedTarget, require_volume_comparison

Refinement = Literal["none", "1pps", "1ppv", "scribble", "scribble-point", "lasso", "largest-error"]

_REFINE_KINDS: dict[Refinement, frozenset[str]] = {
    "none": frozenset(),
    # "scribble" includes clicks, which are given when no scribble can be drawn.
    "scribble": frozenset({"scribble", "click"}),
    "lasso": frozenset({"lasso"}),
}
"""Prompt types of each kind of correction; kinds that are not listed use clicks."""


@user("volume")
class VolumeUser:
    """Prompt a volume as in RadioActive: an initial prompting scheme, then corrections of one kind.

    The dialogue ends if there is no error, if no correction is possible, or immediately if the
    target is empty. Slices are planes along the first axis.

    Source: RadioActive, section 2 and its published code. Random choices follow the published
    rules, but not the published streams of random numbers.

    Args:
        prompts: the scheme of the first round; see `segarena.systems.volumes.prompting.schemes`.
        refine: the kind of corrections in later rounds; "none" ends after the first round.
        keeps_prompts: keep earlier prompts when slices are predicted again (marked "*" in the
            paper's tables).
        protocol: "careful", or "published" for all quirks.
        quirks: names of individual deviations to follow; see
            `segarena.systems.volumes.prompting.published_code_deviations`.
        centre: definition of the centre of a slice's largest component: "box" or "mean".
        center_ppv: the order of points on the centre line: "plane", "sam-med3d" or "segvol".
        edge_noise_px: maximum random shift of each edge of initial boxes, in pixels.
        shift_px: maximum random shift of whole initial boxes along each axis, in pixels.
        plane: the plane of scribbles on surplus voxels.
        length: share of the outline that a scribble follows.
        length_mm: length of a scribble in mm, instead of `length`.
        distance_px: distance of a scribble from the object in pixels.
        distance_mm: this distance in mm, instead of `distance_px`.

    Raises:
        InvalidInput: a scheme or quirk is unknown, or a number is out of range.
    """

    def __init__(
        self,
        *,
        prompts: str = "3b-inter",
        refine: Refinement = "none",
        keeps_prompts: bool = True,
        protocol: Protocol = "careful",
        quirks: Sequence[str] = (),
        centre: SliceCentre = "box",
        center_ppv: CentreOrder = "plane",
        edge_noise_px: int = 0,
        shift_px: int = 0,
        plane: ScribblePlane = "most-errors",
        length: float = 0.6,
        length_mm: float | None = None,
        distance_px: int = 2,
        distance_mm: float | None = None,
    ) -> None:
        scheme, _ = find_scheme(prompts)
        self._quirks = resolve_quirks(protocol, quirks)
        _check_not_negative(
            edge_noise_px=edge_noise_px,
            shift_px=shift_px,
            length=length,
            distance_px=distance_px,
        )
        _check_not_negative(length_mm=length_mm or 0, distance_mm=distance_mm or 0)
        self._prompts = prompts
        self._refine = refine
        self._edge_noise_px = edge_noise_px
        self._shift_px = shift_px
        self._scheme_options = SchemeOptions(
            centre=centre, centre_order=center_ppv, quirks=self._quirks
        )
        scribble_quirks = self._quirks
        if refine != "scribble-point":
            # The published code transposes the line only for 3D models, which receive one point of
            # it.
            scribble_quirks = self._quirks - {"sideways-line"}
        self._scribble_options = ScribbleOptions(
            plane="coronal" if "coronal-only" in self._quirks else plane,
            length=length,
            length_mm=length_mm,
            distance_px=distance_px,
            distance_mm=distance_mm,
            quirks=scribble_quirks,
        )
        self.prompt_kinds = scheme.kinds | _REFINE_KINDS.get(refine, frozenset({"click"}))
        self.lift = Lift(spread=scheme.spread, keeps_prompts=keeps_prompts, protocol=protocol)
        has_random_start = scheme.is_random or edge_noise_px or shift_px
        if not has_random_start and refine in ("none", "lasso"):
            self.repeats = _repeat_once

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Return the initial prompts in the first round, then corrections; None if there is nothing to prompt."""
        comparison = require_volume_comparison(turn)
        if turn.round == 1:
            return self._first_prompts(turn, SlicedTarget.of(comparison)) or None
        if self._refine == "none" or corrective_prompts.is_solved(comparison):
            return None
        return self._correct(turn, comparison) or None

    def _first_prompts(self, turn: Turn, target: SlicedTarget) -> Sequence[Prompt]:
        scheme, count = find_scheme(self._prompts)
        prompts = scheme.make_prompts(target, turn.rng, count, self._scheme_options)
        return [self._perturb(prompt, target.shape, turn.rng) for prompt in prompts]

    def _perturb(
        self,
        prompt: Prompt,
        shape: Shape,
        rng: np.random.Generator,
    ) -> Prompt:
        """Return a box with edge noise and shift applied; other prompts unchanged."""
        if not isinstance(prompt, Box):
            return prompt
        box = prompt
        if self._edge_noise_px:
            is_clipped = "clipped-noise" in self._quirks
            box = add_edge_noise(box, shape, rng, self._edge_noise_px, is_clipped=is_clipped)
        if self._shift_px:
            box = shift_box(box, shape, rng, self._shift_px)
        return box

    def _correct(self, turn: Turn, comparison: Comparison) -> Sequence[Prompt]:
        rng = turn.rng
        uses_patch = (
            self._refine in ("1ppv", "scribble-point") and "first-click-patch" in self._quirks
        )
        if uses_patch and turn.dialogue.clicks:
            first_click = turn.dialogue.clicks[0]
            comparison = corrective_prompts.restrict_to_patch(comparison, first_click.position)
        match self._refine:
            case "1pps":
                slices = corrective_prompts.prompted_slices(turn.dialogue)
                return corrective_prompts.click_wrong_pixels(
                    comparison, slices, rng, one_fraction="one-fraction" in self._quirks
                )
            case "1ppv":
                return corrective_prompts.click_wrong_voxel(comparison, rng)
            case "lasso":
                return corrective_prompts.lasso_largest_error(comparison)
            case "largest-error":
                return corrective_prompts.click_largest_error(comparison, rng)
            case "scribble":
                return draw_scribble(comparison, rng, self._scribble_options)
            case _:
                scribble = draw_scribble(comparison, rng, self._scribble_options)
                return pick_scribble_point(scribble, rng)


def _repeat_once(sample: Sample, target: Target) -> int:
    """Return 1, because repeating the same dialogue adds no information."""
    return 1


def _check_not_negative(**values: float) -> None:
    for name, value in values.items():
        if not value >= 0:
            raise InvalidInput(f"{name}: expected 0 or more, got {value}")

"""Simulated users of challenges on radiology volumes: CVPR 2025 (interactive 3D) and autoPET."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from segarena.comparison import Comparison
from segarena.dialogue import Lift
from segarena.errors import InvalidInput
from segarena.prompts import Box, Click, Limits, Prompt, Scribble
from segarena.registry import user
from segarena.roles import Turn
from segarena.systems.volumes.prompting.corrective_prompts import click_largest_error, is_solved
from segarena.systems.volumes.prompting.initial_boxes import enlarge_box
from segarena.systems.volumes.prompting.initial_points import points_in_volume, slice_limits
from segarena.systems.volumes.prompting.scribbles import middle_line
from segarena.systems.volumes.prompting.sliced_target import SlicedTarget, require_volume_comparison

MiddleSlice = Literal["slice", "voxel"]
AutopetPrompts = Literal["clicks", "scribbles"]

# The challenge gives enlargements for an image of this side length.
_REFERENCE_SIDE_PX = 256


@user("cvpr2025")
@dataclass(kw_only=True, eq=False)
class CvprUser:
    """Give a box on the middle slice with slice limits, then one click per round at the centre of the largest error.

    The box is the bounding box of the slice's foreground, enlarged on all sides by the same random
    number of pixels, 0 to `most_px` for an image of side 256 and proportional for other sizes
    (rounded down along each axis), and clipped to the image. The clicks are described in
    `segarena.systems.volumes.prompting.corrective_prompts.click_largest_error`.

    Source: CVPR 2025 challenge "Foundation models for interactive 3D biomedical image
    segmentation". The maximum of a published box is its last pixel; here it is the pixel after it.
    The published generator is reset for every click.

    Args:
        box: False gives only clicks, from the first round on, as the script does for cases without
            a box.
        most_px: the maximum enlargement of the box in pixels, for an image of side 256.
        middle: how the slice with the box is chosen. "slice": the middle foreground slice, the
            later one if there are two; "voxel": the slice of the middle foreground voxel in raster
            order, as in an earlier version of the script.

    Raises:
        InvalidInput: `most_px` is negative.
    """

    box: bool = True
    most_px: int = 5
    middle: MiddleSlice = "slice"

    def __post_init__(self) -> None:
        if self.most_px < 0:
            raise InvalidInput(f"most_px: expected 0 or more, got {self.most_px}")
        if self.box:
            self.prompt_kinds = frozenset({"box", "limits", "click"})
            self.lift = Lift(spread="propagate")
        else:
            self.prompt_kinds = frozenset({"click"})
            self.lift = Lift(spread="stay")

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Return box and limits, then one click per round; None if there is no error or the target is empty."""
        comparison = require_volume_comparison(turn)
        if turn.round > 1 or not self.box:
            return click_largest_error(comparison, turn.rng) or None
        target = SlicedTarget.of(comparison)
        return self._first_prompts(turn, target) if target.slices else None

    def _first_prompts(self, turn: Turn, target: SlicedTarget) -> tuple[Box, Limits]:
        if self.middle == "slice":
            # The final script of the challenge uses the middle slice; earlier versions used the
            # middle voxel.
            plane = target.slices[len(target.slices) // 2]
        else:
            plane = _slice_of_middle_voxel(target)
        # The same random number for all edges, scaled with the size of the scan, as in the script.
        enlargement_px = int(turn.rng.integers(self.most_px + 1))
        in_plane = [enlargement_px * size // _REFERENCE_SIDE_PX for size in target.shape[1:]]
        # The box stays in its slice.
        margins = (0, *in_plane)
        box = enlarge_box(target.box(plane), target.shape, margins)
        return box, slice_limits(target)


@user("autopet")
class AutopetUser:
    """Give pairs of clicks that ignore the predictions (autoPET IV), or scribbles on errors (autoPET V).

    Source: autoPET IV and V, as described on their pages. Neither the challenge's click files nor
    its own scribble generator is used. The challenge's first step without any prompt is not
    reproduced: a dialogue begins with a prompt.

    Args:
        give: "clicks": one on a random voxel of the target, and one on a random background pixel 3
            to 5 pixels outside the foreground of a random foreground slice. "scribbles": one along
            the centre of the largest missing component and one along the centre of the largest
            surplus component, if they exist.
    """

    def __init__(self, *, give: AutopetPrompts = "scribbles") -> None:
        self._give = give
        self.prompt_kinds = frozenset({"click" if give == "clicks" else "scribble"})
        self.lift = Lift(spread="stay")

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Return the prompts of this round.

        The result is None for "clicks" if the target is empty, and for "scribbles" if there is no
        error.
        """
        comparison = require_volume_comparison(turn)
        if self._give == "clicks":
            return _click_pair(turn, SlicedTarget.of(comparison)) or None
        return None if is_solved(comparison) else _scribbles(comparison)


def _click_pair(turn: Turn, target: SlicedTarget) -> tuple[Click, ...]:
    """Return a click on the target and a click on the background near it.

    The second is omitted if the slice chosen for it has no background near the target.
    """
    if not target.slices:
        return ()
    clicks = points_in_volume(target, turn.rng, 1)
    slice_index = turn.rng.integers(len(target.slices))
    plane = target.slices[slice_index]
    ring = target.ring(plane)
    if not len(ring):
        return clicks
    pixel_index = turn.rng.integers(len(ring))
    row, column = ring[pixel_index].tolist()
    beside = Click((plane, row, column), is_positive=False)
    return (*clicks, beside)


def _scribbles(comparison: Comparison) -> tuple[Scribble, ...]:
    scribbles: list[Scribble] = []
    missing = middle_line(comparison.missing_planes, comparison.window)
    if missing:
        scribbles.append(Scribble(missing, is_positive=True))
    surplus = middle_line(comparison.surplus_planes, comparison.window)
    if surplus:
        scribbles.append(Scribble(surplus, is_positive=False))
    return tuple(scribbles)


def _slice_of_middle_voxel(target: SlicedTarget) -> int:
    remaining = sum(target.areas.values()) // 2
    for plane, area in target.areas.items():
        if remaining < area:
            return plane
        remaining -= area
    raise InvalidInput("an empty target has no middle")

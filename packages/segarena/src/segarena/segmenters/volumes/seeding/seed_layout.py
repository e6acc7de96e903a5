"""Window of a scan that a round changes, and the seeds in it from all prompts so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import (
    Window,
    intersect_windows,
    is_empty,
    join_windows,
    window_start,
)
from segarena.dialogue import Dialogue
from segarena.errors import PluginInvalid, SegmenterError
from segarena.prompts import Box, Click, Limits, MaskPrompt, Prompt, Scribble
from segarena.samples import Mask, Sample, VolumeSample
from segarena.segmenters.drawing.prompt_pixel_marks import INSIDE, OUTSIDE
from segarena.segmenters.volumes.lifting.slice_prompts import limits_window
from segarena.segmenters.volumes.seeding.seed_marks import (
    Seeds,
    drawn_points,
    grow_by_mm,
    prompt_window,
)
from segarena.segmenters.volumes.seeding.voxel_blocks import Blocks

VOLUME_KINDS = frozenset({"click", "box", "limits", "scribble", "lasso", "mask"})
"""Prompt kinds that can be converted to seeds."""

_CORRECTION_REACH = 2.5
"""Reach of a correction, as a multiple of the distance from its prompts to the previous mask's border."""

_SURE_SHARE = 0.5
"""Radius around a correcting prompt in which its mark is fixed, as a share of that distance."""

_DEPTHS = 4
"""Approximate number of points of a long line for which the distance is measured."""


@dataclass(kw_only=True, eq=False)
class SeedingOptions:
    """Options of seeding: the reach of prompts and the size of a window.

    Args:
        reach_mm: maximum extent of an object beyond its first clicks, scribbles, lassos and masks,
            and maximum reach of a correction.
        least_mm: minimum reach of a correction.
        radius_mm: radius of the ball around a click or line that always takes its mark.
        most_blocks: maximum number of blocks in a window; blocks are as close to cubes as the voxels
            allow.

    Raises:
        PluginInvalid: a length is negative, or `most_blocks` is below 1.
    """

    reach_mm: float = 40.0
    least_mm: float = 6.0
    radius_mm: float = 2.0
    most_blocks: int = 60_000

    def __post_init__(self) -> None:
        if not min(self.reach_mm, self.least_mm, self.radius_mm) >= 0 or self.most_blocks < 1:
            raise PluginInvalid(
                f"expected lengths of at least 0 mm and at least 1 block, got {self}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class SeededBlocks:
    """Input of a solver: `blocks` of a window, their `marks`, and the mask `before`, kept outside the window."""

    blocks: Blocks
    marks: NDArray[np.int8]
    before: Mask


def require_volume(sample: Sample, segmenter: str) -> VolumeSample:
    """Return the sample if it is a volume.

    Raises:
        SegmenterError: the sample is not a volume, or its spacing is not positive.
    """
    if not isinstance(sample, VolumeSample):
        raise SegmenterError(f"{segmenter} accepts only volumes, got a {type(sample).__name__}")
    if not all(edge > 0 for edge in sample.spacing_mm):
        raise SegmenterError(
            f"scan {sample.id}: spacing must be above 0 mm, got {sample.spacing_mm}"
        )
    return sample


def plan_round(
    sample: VolumeSample,
    dialogue: Dialogue,
    previous: Mask,
    reach: SeedingOptions,
) -> SeededBlocks | None:
    """Return the blocks and seeds of this round; None if there is nothing to solve.

    Clicks and lines after a non-empty prediction correct it locally, up to 2.5 times their distance
    to the border of the previous mask. The rest of the mask stays unchanged. A round with only
    limits crops the previous mask. Any other round starts over with all prompts so far, provided
    that at least one of them is positive.
    """
    last_round = chain(*dialogue.rounds[-1:])
    newest = [prompt for prompt in last_round if not isinstance(prompt, Limits)]
    if previous.any():
        if not newest:
            return None
        if all(isinstance(prompt, (Click, Scribble)) for prompt in newest):
            return _correction(sample, dialogue, newest, previous, reach)
    # Without a positive prompt, nothing can be inside.
    if not any(_is_positive(prompt) for prompt in dialogue.prompts):
        return None
    return _beginning(sample, dialogue.prompts, reach)


def _is_positive(prompt: Prompt) -> bool:
    if isinstance(prompt, MaskPrompt):
        return bool(prompt.mask.any())
    return not isinstance(prompt, Limits) and getattr(prompt, "is_positive", True)


def _beginning(
    sample: VolumeSample,
    prompts: Sequence[Prompt],
    reach: SeedingOptions,
) -> SeededBlocks | None:
    masks: list[MaskPrompt] = []
    for prompt in prompts:
        # A newer mask replaces an older one.
        if isinstance(prompt, MaskPrompt) and prompt.mask.any():
            masks = [prompt]
    boxes = [prompt for prompt in prompts if isinstance(prompt, Box)]
    window: Window = (slice(0, 0),) * 3
    for prompt in prompts:
        extent = prompt_window(prompt)
        if extent is not None and (not isinstance(prompt, MaskPrompt) or prompt in masks):
            margins = _reach_of(prompt, extent, sample, reach)
            window = join_windows(
                window, grow_by_mm(extent, margins, sample.spacing_mm, sample.shape)
            )
    window = intersect_windows(window, limits_window(prompts, sample.shape))
    if is_empty(window):
        return None
    blocks = Blocks.over(sample, window, reach.most_blocks)
    seeds = Seeds(blocks)
    for mask in masks:
        seeds.draw_mask(mask.mask)
    for box in boxes:
        seeds.draw_box(box)
    seeds.draw_faces()
    seeds.draw_points(prompts, reach.radius_mm)
    return SeededBlocks(blocks, seeds.marks, np.zeros(sample.shape, dtype=np.bool_))


def _reach_of(
    prompt: Prompt,
    extent: Window,
    sample: VolumeSample,
    reach: SeedingOptions,
) -> Sequence[float]:
    """Return how far, in mm, the object may extend beyond a prompt along each axis.

    For a box of a single slice, this is its longer edge across slices, and half of it within the
    slice. A box of the volume and a negative prompt have no reach beyond the margin of one voxel.
    """
    if isinstance(prompt, Box):
        edges = [
            (s.stop - s.start) * edge for s, edge in zip(extent, sample.spacing_mm, strict=True)
        ]
        flat = [s.stop - s.start == 1 for s in extent]
        if any(flat):
            return [max(edges) / (1 if is_flat else 2) for is_flat in flat]
        return (0.0,) * 3
    return ((reach.reach_mm if _is_positive(prompt) else 0.0),) * 3


def _correction(
    sample: VolumeSample,
    dialogue: Dialogue,
    newest: Sequence[Prompt],
    previous: Mask,
    reach: SeedingOptions,
) -> SeededBlocks:
    """Return the window around the newest prompts; blocks that are too far away keep their previous side."""
    from scipy import ndimage

    whole = tuple(slice(0, length) for length in sample.shape)
    voxels = Blocks(sample, whole, (1, 1, 1))
    drawn = [prompt for prompt in newest if isinstance(prompt, (Click, Scribble))]
    points = np.concatenate([drawn_points(prompt, voxels) for prompt in drawn])
    depth_mm = _depth_mm(points, previous, sample, reach.reach_mm)
    far_mm = min(max(_CORRECTION_REACH * depth_mm, reach.least_mm), reach.reach_mm)
    lows = np.rint(points.min(0)).astype(int).tolist()
    highs = np.rint(points.max(0)).astype(int).tolist()
    extent = tuple(slice(low, high + 1) for low, high in zip(lows, highs, strict=True))
    blocks = Blocks.over(
        sample,
        grow_by_mm(extent, (far_mm,) * 3, sample.spacing_mm, sample.shape),
        reach.most_blocks,
    )
    seeds = Seeds(blocks)
    here = np.ones(blocks.shape, dtype=np.bool_)
    # The distance transform measures to the nearest zero, so the prompted blocks are the zeros.
    here[tuple(blocks.at(points).T)] = False
    is_far = ndimage.distance_transform_edt(here, sampling=blocks.spacing_mm) > far_mm
    # A block counts as inside if most of its voxels were inside.
    was_inside = blocks.means(previous) > 0.5
    for prompt in dialogue.prompts:
        if isinstance(prompt, Box):
            seeds.draw_box(prompt)
    seeds.marks[is_far] = np.where(was_inside, INSIDE, OUTSIDE)[is_far]
    seeds.draw_points(dialogue.prompts, reach.radius_mm)
    seeds.draw_points(newest, max(reach.radius_mm, _SURE_SHARE * depth_mm))
    return SeededBlocks(blocks, seeds.marks, previous)


def _depth_mm(
    points: NDArray[np.float64],
    previous: Mask,
    sample: VolumeSample,
    most_mm: float,
) -> float:
    """Return the largest distance from the points to the previous mask's border, at most `most_mm`."""
    from scipy import ndimage

    depths: list[float] = []
    positions = np.unique(np.rint(points).astype(int), axis=0)
    # A long scribble has many positions, so only every n-th is measured.
    every = max(1, len(positions) // _DEPTHS)
    for position in positions[::every].tolist():
        extent = tuple(slice(index, index + 1) for index in position)
        window = grow_by_mm(extent, (most_mm,) * 3, sample.spacing_mm, sample.shape)
        crop = previous[window]
        # The distance to the border is the distance to the nearest voxel on the other side.
        alike = crop if previous[tuple(position)] else ~crop
        if alike.all():
            depths.append(most_mm)
            continue
        distances = ndimage.distance_transform_edt(alike, sampling=sample.spacing_mm)
        centre = tuple(np.subtract(position, window_start(window)).tolist())
        depths.append(min(most_mm, float(np.asarray(distances)[centre])))
    return max(depths)

"""Lines in drawing order from what is left of them: pixels without order or time.

What was drawn is thinned. Its pixels fall into stretches between ends and crossings; at a crossing a line goes on
straight, so that a curl that crosses itself is one line. Which end came first cannot be known.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.lines import Points
from segarena.arrays.thinning import thin
from segarena.samples import Mask

_SIDES = ((-1, 0), (0, -1), (0, 1), (1, 0))
_CORNERS = ((-1, -1), (-1, 1), (1, -1), (1, 1))
_SPUR = 3
"""Stretches of so few pixels with a loose end are what thinning leaves, not what was drawn."""
_BRIDGE = 5
"""Stretches between two crossings of so few pixels are one crossing."""
_LOOK = 5
_STRAIGHT = 0.5
"""Two stretches are one line where the cosine between their ways out of a crossing is less."""

Segment: TypeAlias = list[int]
SegmentEnd: TypeAlias = tuple[int, bool]
"""A stretch, and whether it is meant from its last pixel."""


def trace_strokes(ink: Mask, smooth_px: float = 1.0) -> list[Points]:
    """Return the lines in `ink`, bool (H, W), each (n, 2) as (row, column); no ink gives none.

    Args:
        ink: lines of any width.
        smooth_px: standard deviation of the Gaussian by which the steps between pixels are smoothed.
    """
    pixels = np.argwhere(thin(ink))
    near = _neighbours(pixels)
    stretches, crossings = _without_bridges(_without_spurs(_stretches(near), near), near)
    lines = _joined(stretches, crossings, pixels)
    lines += [[at] for at, around in enumerate(near) if not around]
    return [smooth_line(pixels[line].astype(np.float64), smooth_px) for line in lines]


def smooth_line(line: Points, sigma_px: float) -> Points:
    """Return a line whose places are means of those around, its ends where they were; closed lines stay closed."""
    reach = round(3 * sigma_px)
    if len(line) <= reach + 1 or not reach:
        return line
    weights = np.exp(-0.5 * np.square(np.arange(-reach, reach + 1) / sigma_px))
    if len(line) > 4 * reach and np.abs(line[0] - line[-1]).max() <= 1:
        padded = np.concatenate([line[-reach - 1 : -1], line, line[1 : reach + 1]])
    else:
        before = 2 * line[0] - line[reach:0:-1]
        after = 2 * line[-1] - line[-2 : -reach - 2 : -1]
        padded = np.concatenate([before, line, after])
    weights /= weights.sum()
    axes = [np.convolve(padded[:, axis], weights, "valid") for axis in (0, 1)]
    return np.stack(axes, axis=1).astype(np.float64)


def resample_line(line: Points, step: float) -> Points:
    """Return places along a line about `step` apart, its ends among them; at least both ends unless it is a point."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    if len(line) < 2 or along[-1] == 0:
        return line[:1]
    places = np.linspace(0, along[-1], max(1, round(along[-1] / step)) + 1)
    return np.stack([np.interp(places, along, line[:, axis]) for axis in (0, 1)], axis=1)


def _neighbours(pixels: NDArray[np.int64]) -> list[list[int]]:
    """Return of each pixel those beside it; one across a corner only where no way leads along the sides."""
    number = {(row, column): at for at, (row, column) in enumerate(pixels.tolist())}
    found: list[list[int]] = []
    for row, column in number:
        beside = [
            number[row + down, column + right]
            for down, right in _SIDES
            if (row + down, column + right) in number
        ]
        beside += [
            number[row + down, column + right]
            for down, right in _CORNERS
            if (row + down, column + right) in number
            and (row + down, column) not in number
            and (row, column + right) not in number
        ]
        found.append(beside)
    return found


def _stretches(near: list[list[int]]) -> list[Segment]:
    """Return the ways between pixels that have not two neighbours, then the loops that have no such pixel."""
    used: set[tuple[int, int]] = set()
    found: list[Segment] = []
    ends_first = sorted(range(len(near)), key=lambda at: len(near[at]) == 2)
    for start in ends_first:
        for after in near[start]:
            if (start, after) in used:
                continue
            way = [start, after]
            while len(near[way[-1]]) == 2 and way[-1] != start:
                way.append(next(at for at in near[way[-1]] if at != way[-2]))
            for one, other in pairwise(way):
                used |= {(one, other), (other, one)}
            found.append(way)
    return found


def _without_spurs(stretches: list[Segment], near: list[list[int]]) -> list[Segment]:
    def is_spur(way: Segment) -> bool:
        return len(way) <= _SPUR and (len(near[way[0]]) == 1) != (len(near[way[-1]]) == 1)

    return [way for way in stretches if not is_spur(way)] or stretches


def _without_bridges(
    stretches: list[Segment], near: list[list[int]]
) -> tuple[list[Segment], dict[int, int]]:
    """Return stretches without the short ones between two crossings, and which crossings are one without them.

    Thinning makes of two lines that cross two forks with a bridge between, which is of both lines.
    """

    def is_bridge(way: Segment) -> bool:
        return (
            len(way) <= _BRIDGE and way[0] != way[-1] and len(near[way[0]]) > 2 < len(near[way[-1]])
        )

    crossings = {way[end]: way[end] for way in stretches for end in (0, -1)}

    def crossing(at: int) -> int:
        while crossings[at] != at:
            at = crossings[at]
        return at

    for way in stretches:
        if is_bridge(way):
            crossings[crossing(way[-1])] = crossing(way[0])
    kept = [way for way in stretches if not is_bridge(way)] or stretches
    return kept, {at: crossing(at) for at in crossings}


def _joined(
    stretches: list[Segment], crossings: dict[int, int], pixels: NDArray[np.int64]
) -> list[list[int]]:
    """Return lines of stretches that go on straight into each other."""
    onward = _links(stretches, crossings, pixels)
    lines: list[list[int]] = []
    done: set[int] = set()
    loose = [
        (at, is_end)
        for at in range(len(stretches))
        for is_end in (False, True)
        if (at, is_end) not in onward
    ]
    for at, enters_at_end in [*loose, *((at, False) for at in range(len(stretches)))]:
        line: list[int] = []
        while at not in done:
            done.add(at)
            way = stretches[at][::-1] if enters_at_end else stretches[at]
            line += way[1:] if line and line[-1] == way[0] else way
            at, enters_at_end = onward.get((at, not enters_at_end), (at, enters_at_end))
        if line:
            lines.append(line)
    return lines


def _links(
    stretches: list[Segment], crossings: dict[int, int], pixels: NDArray[np.int64]
) -> dict[SegmentEnd, SegmentEnd]:
    """Return which end of a stretch goes on into which end of another, the straightest first."""
    meeting: defaultdict[int, list[SegmentEnd]] = defaultdict(list)
    for at, way in enumerate(stretches):
        meeting[crossings[way[0]]].append((at, False))
        meeting[crossings[way[-1]]].append((at, True))
    links: dict[SegmentEnd, SegmentEnd] = {}
    for ends in meeting.values():
        ways = {end: _way_out(stretches[end[0]], pixels, from_end=end[1]) for end in ends}
        pairs = sorted(
            (float(ways[one] @ ways[other]), one, other) for one, other in combinations(ends, 2)
        )
        for cosine, one, other in pairs:
            is_free = one not in links and other not in links
            if is_free and (cosine < _STRAIGHT or len(ends) == 2) and one[0] != other[0]:
                links[one], links[other] = other, one
    return links


def _way_out(way: Segment, pixels: NDArray[np.int64], *, from_end: bool) -> NDArray[np.float64]:
    """Return in which direction a stretch leaves one of its ends."""
    ordered = way[::-1] if from_end else way
    step = (pixels[ordered[min(_LOOK, len(ordered) - 1)]] - pixels[ordered[0]]).astype(np.float64)
    return step / max(float(np.hypot(*step)), 1e-9)

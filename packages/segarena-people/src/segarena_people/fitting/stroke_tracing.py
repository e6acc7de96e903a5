"""Stroke tracing: lines in drawing order, recovered from rasterized strokes without order or time.

The ink is thinned to one pixel. Its pixels form segments between end points and crossings. At a
crossing a line continues straight on, so that a loop that crosses itself remains one line. The
direction of a line cannot be recovered.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.polylines import Points
from segarena.arrays.thinning import thin
from segarena.samples import Mask

_SIDE_STEPS = ((-1, 0), (0, -1), (0, 1), (1, 0))
_CORNER_STEPS = ((-1, -1), (-1, 1), (1, -1), (1, 1))
# Segments of up to this many pixels with one free end are artefacts of thinning (spurs).
_LONGEST_SPUR = 3
# Two crossings joined by a segment of up to this many pixels are one crossing.
_LONGEST_BRIDGE = 5
# Length, in pixels from the crossing, over which the direction of a segment is measured.
_DIRECTION_PIXELS = 5
# Two segments continue each other if the cosine between their directions away from the crossing is
# below this.
_LARGEST_COSINE = 0.5

Segment: TypeAlias = list[int]
"""Indices of the pixels of a path, in order."""
SegmentEnd: TypeAlias = tuple[int, bool]
"""One end of a segment: index of the segment, and True for its last pixel or False for its first."""


def trace_strokes(ink: Mask, smooth_px: float = 1.0) -> list[Points]:
    """Trace the lines in `ink`, bool (H, W), each returned as (n, 2) of (row, column); [] without ink.

    Args:
        ink: mask of lines of any width.
        smooth_px: standard deviation of the Gaussian that smooths the staircase of pixels.
    """
    pixels = np.argwhere(thin(ink))
    neighbours = _neighbours(pixels)
    segments = _remove_spurs(_find_segments(neighbours), neighbours)
    segments, crossings = _merge_bridges(segments, neighbours)
    lines = _join_segments(segments, crossings, pixels)
    for pixel, beside in enumerate(neighbours):
        if not beside:
            lines.append([pixel])
    return [smooth_line(pixels[line].astype(np.float64), smooth_px) for line in lines]


def smooth_line(line: Points, sigma_px: float) -> Points:
    """Smooth a line with a Gaussian; open lines keep their end points, and closed lines stay closed.

    Lines too short for the Gaussian are returned unchanged.
    """
    reach = round(3 * sigma_px)
    if len(line) <= reach + 1 or not reach:
        return line
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * np.square(offsets / sigma_px))
    # The end points are the same pixel or neighbours, so the line is closed.
    ends_meet = np.abs(line[0] - line[-1]).max() <= 1
    is_closed = len(line) > 4 * reach and ends_meet
    if is_closed:
        padded = np.concatenate([line[-reach - 1 : -1], line, line[1 : reach + 1]])
    else:
        # Point reflection at both ends keeps the end points fixed.
        before = 2 * line[0] - line[reach:0:-1]
        after = 2 * line[-1] - line[-2 : -reach - 2 : -1]
        padded = np.concatenate([before, line, after])
    weights /= weights.sum()
    rows = np.convolve(padded[:, 0], weights, "valid")
    columns = np.convolve(padded[:, 1], weights, "valid")
    return np.stack([rows, columns], axis=1).astype(np.float64)


def resample_line(line: Points, step: float) -> Points:
    """Return points along a line about `step` apart, including both end points; a dot gives one point."""
    steps = np.diff(line, axis=0)
    # Diagonal steps are longer than straight ones, so measure distance instead of counting pixels.
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*steps.T))])
    length = along[-1]
    if len(line) < 2 or length == 0:
        return line[:1]
    positions = np.linspace(0, length, max(1, round(length / step)) + 1)
    rows = np.interp(positions, along, line[:, 0])
    columns = np.interp(positions, along, line[:, 1])
    return np.stack([rows, columns], axis=1)


def _neighbours(pixels: NDArray[np.int64]) -> list[list[int]]:
    """Return the neighbours of each pixel; diagonal neighbours only if no path of straight steps connects them."""
    index_of = {(row, column): index for index, (row, column) in enumerate(pixels.tolist())}
    neighbours: list[list[int]] = []
    for row, column in index_of:
        # A diagonal neighbour next to a path of straight steps would make a corner look like a
        # fork.
        beside: list[int] = []
        for down, right in _SIDE_STEPS:
            if (row + down, column + right) in index_of:
                beside.append(index_of[row + down, column + right])
        for down, right in _CORNER_STEPS:
            has_side_path = (row + down, column) in index_of or (row, column + right) in index_of
            if (row + down, column + right) in index_of and not has_side_path:
                beside.append(index_of[row + down, column + right])
        neighbours.append(beside)
    return neighbours


def _find_segments(neighbours: list[list[int]]) -> list[Segment]:
    """Return the paths between end points and crossings, followed by closed loops that have neither."""
    used: set[tuple[int, int]] = set()
    segments: list[Segment] = []
    # Visit pixels with two neighbours last: by then, only closed loops are left.
    starts = sorted(range(len(neighbours)), key=lambda pixel: len(neighbours[pixel]) == 2)
    for start in starts:
        for second in neighbours[start]:
            if (start, second) in used:
                continue
            segment = _follow(start, second, neighbours)
            for one, other in pairwise(segment):
                used |= {(one, other), (other, one)}
            segments.append(segment)
    return segments


def _follow(
    start: int,
    second: int,
    neighbours: list[list[int]],
) -> Segment:
    """Follow a path from `start` through `second` to the next end or crossing, or back to `start`."""
    segment = [start, second]
    while len(neighbours[segment[-1]]) == 2 and segment[-1] != start:
        one, other = neighbours[segment[-1]]
        segment.append(other if one == segment[-2] else one)
    return segment


def _remove_spurs(segments: list[Segment], neighbours: list[list[int]]) -> list[Segment]:
    kept: list[Segment] = []
    for segment in segments:
        starts_loose = len(neighbours[segment[0]]) == 1
        ends_loose = len(neighbours[segment[-1]]) == 1
        # An isolated short line has two free ends and is kept.
        if len(segment) > _LONGEST_SPUR or starts_loose == ends_loose:
            kept.append(segment)
    return kept or segments


def _merge_bridges(
    segments: list[Segment], neighbours: list[list[int]]
) -> tuple[list[Segment], dict[int, int]]:
    """Merge crossings joined by a bridge; return all segments but bridges, and the merged crossing of each end pixel.

    Thinning turns two crossing lines into two forks connected by a short bridge that belongs to
    both lines.
    """

    def is_bridge(segment: Segment) -> bool:
        first = segment[0]
        last = segment[-1]
        joins_forks = len(neighbours[first]) > 2 and len(neighbours[last]) > 2
        return len(segment) <= _LONGEST_BRIDGE and first != last and joins_forks

    # A union-find forest: each pixel points towards the representative pixel of its crossing.
    parents: dict[int, int] = {}
    for segment in segments:
        parents[segment[0]] = segment[0]
        parents[segment[-1]] = segment[-1]

    def crossing_of(pixel: int) -> int:
        while parents[pixel] != pixel:
            pixel = parents[pixel]
        return pixel

    for segment in segments:
        if is_bridge(segment):
            parents[crossing_of(segment[-1])] = crossing_of(segment[0])
    others = [segment for segment in segments if not is_bridge(segment)]
    return others or segments, {pixel: crossing_of(pixel) for pixel in parents}


def _join_segments(
    segments: list[Segment],
    crossings: dict[int, int],
    pixels: NDArray[np.int64],
) -> list[list[int]]:
    """Build lines by joining segments that continue each other."""
    continuations = _link_ends(segments, crossings, pixels)
    numbers = range(len(segments))
    ends: list[SegmentEnd] = []
    for number in numbers:
        ends += [(number, False), (number, True)]
    loose_ends = [end for end in ends if end not in continuations]
    loops = [(number, False) for number in numbers]
    lines: list[list[int]] = []
    done: set[int] = set()
    for number, enters_at_end in [*loose_ends, *loops]:
        line: list[int] = []
        while number not in done:
            done.add(number)
            segment = segments[number][::-1] if enters_at_end else segments[number]
            shares_pixel = bool(line) and line[-1] == segment[0]
            line += segment[1:] if shares_pixel else segment
            exit_end = (number, not enters_at_end)
            number, enters_at_end = continuations.get(exit_end, (number, enters_at_end))
        if line:
            lines.append(line)
    return lines


def _link_ends(
    segments: list[Segment],
    crossings: dict[int, int],
    pixels: NDArray[np.int64],
) -> dict[SegmentEnd, SegmentEnd]:
    """Map each segment end at a crossing to the end that continues it; the straightest pairs are linked first."""
    ends_at: defaultdict[int, list[SegmentEnd]] = defaultdict(list)
    for number, segment in enumerate(segments):
        ends_at[crossings[segment[0]]].append((number, False))
        ends_at[crossings[segment[-1]]].append((number, True))
    links: dict[SegmentEnd, SegmentEnd] = {}
    for ends in ends_at.values():
        directions: dict[SegmentEnd, NDArray[np.float64]] = {}
        for end in ends:
            directions[end] = _direction_out(segments[end[0]], pixels, from_end=end[1])
        pairs: list[tuple[float, SegmentEnd, SegmentEnd]] = []
        for one, other in combinations(ends, 2):
            cosine = float(directions[one] @ directions[other])
            pairs.append((cosine, one, other))
        # Both directions point away from the crossing, so the smallest cosine marks the straightest
        # pair.
        for cosine, one, other in sorted(pairs):
            is_free = one not in links and other not in links
            # If only two ends meet, they belong together however sharp the turn.
            is_straight = cosine < _LARGEST_COSINE or len(ends) == 2
            if is_free and is_straight and one[0] != other[0]:
                links[one] = other
                links[other] = one
    return links


def _direction_out(
    segment: Segment,
    pixels: NDArray[np.int64],
    *,
    from_end: bool,
) -> NDArray[np.float64]:
    """Return the unit vector along which a segment leaves one of its ends."""
    ordered = segment[::-1] if from_end else segment
    inner = ordered[min(_DIRECTION_PIXELS, len(ordered) - 1)]
    # Measure a few pixels away: a single pixel step has only eight possible directions.
    step = (pixels[inner] - pixels[ordered[0]]).astype(np.float64)
    return step / max(float(np.hypot(*step)), 1e-9)

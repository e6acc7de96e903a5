"""Batch of drawing agents on one surface: their positions, network inputs and trails, step by step."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.users.stroke_model.drawing_surface import (
    RIM_CELLS,
    SHAPE_FEATURES,
    ComplexPoints,
    DrawingSurface,
    FloatArray,
    as_xy,
)

Indices: TypeAlias = NDArray[np.intp]

START_DIRECTIONS = 24
"""Number of direction classes in which a line may start."""
PLAN_FIELDS = ("ink", "pieces")
"""Plan of an agent, as logarithms: total line length divided by the goal's size, and number of lines."""
PLAN_INK = PLAN_FIELDS.index("ink")
PLAN_PIECES = PLAN_FIELDS.index("pieces")

# The shipped networks were trained with these probe distances and angles, so changes require a new
# fit.
_PROBE_DISTANCES = np.array([[1.0], [2.5], [5.0]])
_AHEAD_ANGLES = np.radians([0, 25, -25, 60, -60, 100, -100, 150, -150])
_AHEAD_PROBES = (_PROBE_DISTANCES * np.exp(1j * _AHEAD_ANGLES)).ravel().astype(np.complex64)
"""Points that an agent probes while drawing, in strides relative to its position and course."""
_AROUND_ANGLES = np.arange(12) * math.pi / 6
_AROUND_PROBES = (_PROBE_DISTANCES * np.exp(1j * _AROUND_ANGLES)).ravel().astype(np.complex64)
"""Points that an agent probes before it chooses a course, in strides."""
_NEARBY_OFFSETS = 3 * np.array([1, 1j, -1, -1j], np.complex64)
"""Offsets at which a start point is checked for nearby ink, in cells."""

_INK_DELAY = 5
"""Number of steps after which an agent perceives its own line as ink."""
_TURN_MEMORY = np.array([0.5, 0.8, 0.93, 0.0], np.float32)
"""Decay factors of the remembered turns, from short to long memory; 0 remembers only the last turn."""
_PEN_OFFSETS = np.arange(-2, 3)
_PEN_SIGMA_CELLS = 1.3
_PEN_SQUARED_RADII = np.square(_PEN_OFFSETS)[:, None] + np.square(_PEN_OFFSETS)
_PEN = np.exp(-0.5 * _PEN_SQUARED_RADII / _PEN_SIGMA_CELLS**2).astype(np.float32).ravel()
"""Weights with which one point of a line inks the cells around it."""
_MOST_PIECES_LEFT = 6
_MOST_INK_IN_PART = 3
_MOST_TRAIL_POINTS = 40
"""Maximum number of trail points compared with start points; longer trails are subsampled."""

# Columns of the geometric step inputs: complex numbers, from `_AXIS` on in the agent's own frame.
_COURSE, _COURSE_SQUARED, _AXIS, _TO_CENTRE, _TO_START, _INK_BIAS = range(6)

# Columns of the step inputs that follow the probed depths and the probed ink.
_TURNS = slice(0, 4)
_PROGRESS = slice(4, 8)
_LOG_STEPS = 8
_LINE_LENGTH = 9
_GEOMETRY = slice(10, 22)
_POSITION_XY = slice(22, 24)
_TRAIL_BOX = slice(24, 28)
_POSITION_AND_BOX = slice(22, 28)
_CONTEXT = slice(28, None)
_STEP_INPUTS = 2 * len(_AHEAD_PROBES) + 28

# Columns of the progress features.
_SHARE_LEFT, _LOG_STEPS_LEFT, _PIECES_DONE, _PIECES_LEFT = range(4)


class DrawingAgents:
    """Agents that draw on one surface at the same time.

    Args:
        surface: surface to draw on.
        habits: weight of each fitted person in each agent, (agents, people).
        plans: see `PLAN_FIELDS`, (agents, 2).
        most: capacity of each agent's trail, in points.
    """

    def __init__(
        self,
        surface: DrawingSurface,
        habits: FloatArray,
        plans: FloatArray,
        most: int,
    ) -> None:
        count = len(habits)
        self.surface = surface
        self.lines = np.zeros(count, np.float32)
        self.trail: ComplexPoints = np.zeros((count, most), np.complex64)
        self.length = np.zeros(count, np.intp)
        self._starts: list[list[int]] = [[] for _ in range(count)]
        steps_per_size = surface.size / surface.stride
        planned_steps = np.exp(plans[:, PLAN_INK]) * steps_per_size
        self._steps_left = np.rint(planned_steps).astype(np.intp)
        self._steps_planned = np.maximum(self._steps_left, 1).astype(np.float32)
        planned_pieces = np.exp(plans[:, PLAN_PIECES])
        self._pieces_planned = planned_pieces.astype(np.float32)
        shape = np.broadcast_to(surface.shape, (count, len(SHAPE_FEATURES)))
        self._context = np.concatenate([plans, shape, habits], axis=1, dtype=np.float32)
        self._position: ComplexPoints = np.zeros(count, np.complex64)
        self._course: ComplexPoints = np.zeros(count, np.complex64)
        self._line_start: ComplexPoints = np.zeros(count, np.complex64)
        self._first_point = np.zeros(count, np.intp)
        self._turns = np.zeros((count, len(_TURN_MEMORY)), np.float32)
        self._position_sum: ComplexPoints = np.zeros(count, np.complex64)
        empty_box = np.array([[np.inf, np.inf, -np.inf, -np.inf]], np.float32)
        self._trail_box = np.repeat(empty_box, count, axis=0)
        # A flat array, so that one index addresses a cell of any agent's ink map.
        self._depths = surface.depths.ravel()
        self._width = surface.depths.shape[1]
        self._ink = np.zeros(count * surface.depths.size, np.float32)
        self._cells_per_px = np.float32(1 / surface.cell)
        origin = RIM_CELLS + 0.5 / surface.cell
        self._cell_origin = np.complex64(origin * (1 + 1j))
        pen_rows = _PEN_OFFSETS[:, None] * self._width
        self._pen_cells = (pen_rows + _PEN_OFFSETS).ravel()

    def is_finished(self, agents: Indices) -> NDArray[np.bool_]:
        """Return which agents have drawn their planned length or filled their trail."""
        is_drawn = self._steps_left[agents] <= 0
        last_index = self.trail.shape[1] - 1
        is_full = self.length[agents] >= last_index
        return is_drawn | is_full

    def lines_of(self, agent: int) -> list[ComplexPoints]:
        """Return the lines of one agent, (n,) points each, in drawing order."""
        end = int(self.length[agent])
        cuts = [*self._starts[agent], end]
        trail = self.trail[agent]
        return [trail[start:stop] for start, stop in pairwise(cuts)]

    def step_inputs(self, agents: Indices) -> FloatArray:
        """Return the inputs of the step network for drawing agents, (n, inputs)."""
        surface = self.surface
        position = self._position[agents]
        reach = _AHEAD_PROBES * np.complex64(surface.stride / surface.cell)
        course = self._course[agents][:, None]
        probes = self._to_cells(position)[:, None] + course * reach
        cells = self._flat_cells(probes)
        points_in_line = self.length[agents] - self._first_point[agents]
        steps = points_in_line.astype(np.float32)
        input_count = _STEP_INPUTS + self._context.shape[1]
        inputs = np.empty((len(agents), input_count), np.float32)
        probe_count = len(_AHEAD_PROBES)
        inputs[:, :probe_count] = self._depths[cells]
        inputs[:, probe_count : 2 * probe_count] = self._read_ink(agents, cells)
        # Filling views of `inputs` avoids the copies of a concatenation, in the loop that takes
        # most of the time.
        rest = inputs[:, 2 * probe_count :]
        rest[:, _TURNS] = self._turns[agents]
        rest[:, _PROGRESS] = self._progress(agents)
        rest[:, _LOG_STEPS] = np.log1p(steps)
        rest[:, _LINE_LENGTH] = steps * np.float32(surface.stride / surface.size)
        rest[:, _GEOMETRY] = self._own_frame_geometry(agents).view(np.float32)
        rest[:, _POSITION_XY] = as_xy(position)
        rest[:, _TRAIL_BOX] = self._trail_box[agents]
        corners = rest[:, _POSITION_AND_BOX].reshape(-1, 3, 2)
        corners -= surface.corner
        corners /= surface.extent
        rest[:, _CONTEXT] = self._context[agents]
        return inputs

    def course_inputs(self, agents: Indices) -> FloatArray:
        """Return the inputs of the course network for agents that start a line, (n, inputs)."""
        surface = self.surface
        position = self._position[agents]
        reach = _AROUND_PROBES * np.complex64(surface.stride / surface.cell)
        probes = self._to_cells(position)[:, None] + reach
        cells = self._flat_cells(probes)
        elongation = float(surface.shape[SHAPE_FEATURES.index("elongation")])
        axis = np.full(len(agents), surface.axis**2 * elongation, np.complex64)
        offset = (position - np.complex64(surface.centre)) / np.float32(surface.size)
        inputs = [
            self._depths[cells],
            self._read_ink(agents, cells),
            self._progress(agents),
            as_xy(offset),
            as_xy(axis),
            self._to_box_shares(position),
            self._context[agents],
        ]
        return np.concatenate(inputs, axis=1, dtype=np.float32)

    def start_inputs(self, agents: Indices, points: ComplexPoints) -> FloatArray:
        """Return the inputs of the start network, (n, m, inputs), for candidate start `points`, (n, m)."""
        surface = self.surface
        size = surface.size
        centre_cells = self._to_cells(points)
        cells = self._flat_cells(centre_cells)
        nearby_ink: list[FloatArray] = []
        for offset in _NEARBY_OFFSETS:
            nearby_cells = self._flat_cells(centre_cells + offset)
            nearby_ink.append(self._read_ink(agents, nearby_cells))
        has_lines = (self.lines[agents] > 0).astype(np.float32)[:, None]
        in_box = np.clip(self._to_box_shares(points) * 2 - 1, -2, 2)
        from_centre = (points - surface.centre) / size
        along_axis = from_centre * np.conj(surface.axis)
        last_end = self._position[agents][:, None]
        from_last_end = (points - last_end) / size * has_lines
        point_count = np.maximum(self.length[agents], 1)
        mean_position = self._position_sum[agents] / point_count
        ink_bias = (mean_position - surface.centre) / size
        # The scalar product is negative for points on the side with less ink.
        alignment = (from_centre * np.conj(ink_bias)[:, None]).real
        balance = alignment * has_lines
        part = self._parts_at(points)
        ink_in_part, nearest_ink = self._ink_near(agents, points, part)
        # The order is that of the trained network's input columns, so it must not change.
        own = [
            self._depths[cells],
            *np.moveaxis(in_box, -1, 0),
            *np.moveaxis(np.abs(in_box), -1, 0),
            np.abs(from_centre),
            np.abs(along_axis.real),
            np.abs(along_axis.imag),
            self._read_ink(agents, cells),
            np.maximum.reduce(nearby_ink),
            np.abs(from_last_end),
            from_last_end.real,
            from_last_end.imag,
            balance,
            surface.shares[part] * (part > 0),
            ink_in_part,
            (part > 0) * has_lines,
            nearest_ink,
        ]
        lines = self.lines[agents][:, None]
        progress = self._progress(agents)
        common = np.concatenate([progress, lines, self._context[agents]], axis=1)
        common_rows = np.broadcast_to(common[:, None], (*points.shape, common.shape[1]))
        own_columns = np.stack(own, axis=-1)
        return np.concatenate([own_columns, common_rows], axis=-1, dtype=np.float32)

    def put_down(self, agents: Indices, points: ComplexPoints) -> None:
        """Put agents down at `points`, (n,), where they start a line."""
        self._position[agents] = points
        self._line_start[agents] = points
        self._turns[agents] = 0
        self._first_point[agents] = self.length[agents]
        for agent in agents.tolist():
            self._starts[agent].append(int(self.length[agent]))
        self._append_points(agents)

    def set_course(self, agents: Indices, angles: FloatArray) -> None:
        """Set the course of agents in radians: 0 points right, a quarter circle points down."""
        self._course[agents] = np.exp(1j * angles)

    def step(self, agents: Indices, turns: FloatArray) -> None:
        """Turn agents by `turns` in radians and move them by one stride, clipped to the surface."""
        rotation = np.exp(1j * turns)
        course = self._course[agents] * rotation
        stride = np.float32(self.surface.stride)
        moved = self._position[agents] + course * stride
        points = self.surface.clip(moved)
        self.move(agents, points, course, turns)

    def move(
        self,
        agents: Indices,
        points: ComplexPoints,
        course: ComplexPoints,
        turns: FloatArray,
    ) -> None:
        """Record a step of agents to `points` (n,); `course` is their direction after turning by `turns`."""
        self._position[agents] = points
        self._course[agents] = course
        remembered = self._turns[agents] * _TURN_MEMORY
        self._turns[agents] = remembered + turns[:, None] * (1 - _TURN_MEMORY)
        self._steps_left[agents] -= 1
        self._append_points(agents)

    def lift(self, agents: Indices) -> None:
        """End the current line of agents, and ink the points that `_INK_DELAY` has held back."""
        for delay in range(_INK_DELAY, 0, -1):
            point = self.length[agents] - delay
            # A short line has fewer points than the delay holds back.
            is_in_line = point >= self._first_point[agents]
            inking = agents[is_in_line]
            self._add_ink(inking, self.trail[inking, point[is_in_line]])
        self.lines[agents] += 1

    def _own_frame_geometry(self, agents: Indices) -> ComplexPoints:
        """Return the inputs about course, goal axis, goal centre, line start and ink of each agent, (n, 6).

        They are in the agent's own frame, except the course and its square.
        """
        surface = self.surface
        position = self._position[agents]
        course = self._course[agents]
        to_own_frame = course.conj()
        centre = np.complex64(surface.centre)
        counts = np.maximum(self.length[agents], 1).astype(np.float32)
        elongation = np.float32(surface.shape[SHAPE_FEATURES.index("elongation")])
        geometry = np.empty((len(agents), 6), np.complex64)
        geometry[:, _COURSE] = course
        geometry[:, _COURSE_SQUARED] = course * course
        axis = np.complex64(surface.axis) * to_own_frame
        # Squared, because the axis and its opposite are equivalent.
        geometry[:, _AXIS] = axis * axis * elongation
        geometry[:, _TO_CENTRE] = centre - position
        geometry[:, _TO_START] = self._line_start[agents] - position
        geometry[:, _INK_BIAS] = self._position_sum[agents] / counts - centre
        geometry[:, _TO_CENTRE:] *= (to_own_frame * np.float32(1 / surface.size))[:, None]
        return geometry

    def _ink_near(
        self,
        agents: Indices,
        points: ComplexPoints,
        part: NDArray[np.int32],
    ) -> tuple[FloatArray, FloatArray]:
        """Return the ink in the goal parts of points (n, m), and the distance to the nearest ink.

        Both are relative to the goal's size, and 0 for agents that have not drawn yet.
        """
        surface = self.surface
        ink_in_part = np.zeros(points.shape, np.float32)
        nearest = np.zeros(points.shape, np.float32)
        for row, agent in enumerate(agents.tolist()):
            trail = self.trail[agent, : self.length[agent]]
            if not len(trail):
                continue
            trail_parts = self._parts_at(trail)
            steps_by_part = np.bincount(trail_parts, minlength=len(surface.shares))
            length = steps_by_part[part[row]] * (surface.stride / surface.size)
            ink_in_part[row] = np.minimum(length, _MOST_INK_IN_PART)
            step = 1 + len(trail) // _MOST_TRAIL_POINTS
            offsets = points[row][:, None] - trail[::step]
            distances = np.abs(offsets)
            nearest[row] = distances.min(axis=1) / surface.size
        return ink_in_part, nearest

    def _parts_at(self, points: ComplexPoints) -> NDArray[np.int32]:
        # Points are never negative, so truncating after adding one half rounds them.
        rows = (points.imag + 0.5).astype(np.intp)
        columns = (points.real + 0.5).astype(np.intp)
        return self.surface.part_of[rows, columns]

    def _progress(self, agents: Indices) -> FloatArray:
        """Return the progress of each agent in its plan, (n, 4).

        The columns are the share of steps left, the logarithm of their number, the share of lines done,
        and the number of lines left.
        """
        steps_left = self._steps_left[agents]
        lines = self.lines[agents]
        pieces = self._pieces_planned[agents]
        progress = np.empty((len(agents), 4), np.float32)
        progress[:, _SHARE_LEFT] = steps_left / self._steps_planned[agents]
        progress[:, _LOG_STEPS_LEFT] = np.log1p(np.maximum(steps_left, 0))
        progress[:, _PIECES_DONE] = lines / pieces
        progress[:, _PIECES_LEFT] = np.minimum(pieces - lines, _MOST_PIECES_LEFT)
        return progress

    def _append_points(self, agents: Indices) -> None:
        position = self._position[agents]
        length = self.length[agents]
        self.trail[agents, length] = position
        self.length[agents] = length + 1
        self._position_sum[agents] += position
        box = self._trail_box[agents]
        xy = as_xy(position)
        np.minimum(box[:, :2], xy, out=box[:, :2])
        np.maximum(box[:, 2:], xy, out=box[:, 2:])
        self._trail_box[agents] = box
        delayed = length - _INK_DELAY
        is_visible = delayed >= self._first_point[agents]
        if is_visible.any():
            inking = agents[is_visible]
            self._add_ink(inking, self.trail[inking, delayed[is_visible]])

    def _to_cells(self, points: ComplexPoints) -> ComplexPoints:
        return points * self._cells_per_px + self._cell_origin

    def _to_box_shares(self, points: ComplexPoints) -> FloatArray:
        """Return points relative to the goal's box, (..., 2), as shares of its width and height."""
        return (as_xy(points) - self.surface.corner) / self.surface.extent

    def _flat_cells(self, cell_points: ComplexPoints) -> Indices:
        """Return the flat indices of the cells that contain the points, which are in units of cells."""
        rows = cell_points.imag.astype(np.intp)
        columns = cell_points.real.astype(np.intp)
        return rows * self._width + columns

    def _read_ink(self, agents: Indices, cells: Indices) -> FloatArray:
        # Each agent has its own ink map, and the maps are stored one after the other.
        first_cells = agents * len(self._depths)
        trailing_axes = [1] * (cells.ndim - 1)
        return self._ink[first_cells.reshape(-1, *trailing_axes) + cells]

    def _add_ink(self, agents: Indices, points: ComplexPoints) -> None:
        first_cells = agents * len(self._depths)
        cells = first_cells + self._flat_cells(self._to_cells(points))
        inked = cells[:, None] + self._pen_cells
        self._ink[inked] = np.maximum(self._ink[inked], _PEN)

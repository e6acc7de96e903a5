from __future__ import annotations

import cv2
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from segarena_people.fitting.stroke_tracing import resample_line, smooth_line, trace_strokes


def drawn(*lines, shape=(60, 80), width=1):
    picture = np.zeros(shape, np.uint8)
    for line in lines:
        cv2.polylines(picture, [np.array(line, np.int32)[:, ::-1]], False, 1, width)
    return picture.astype(np.bool_)


def length(line):
    return np.hypot(*np.diff(line, axis=0).T).sum()


def test_a_bent_line_is_one_line_from_end_to_end():
    (line,) = trace_strokes(drawn([(10, 10), (40, 30), (20, 70)]))
    ends = sorted([line[0].round().tolist(), line[-1].round().tolist()])
    assert ends == [[10, 10], [20, 70]]


def test_lines_that_cross_stay_straight():
    lines = trace_strokes(drawn([(10, 10), (50, 70)], [(50, 10), (10, 70)]))
    assert len(lines) == 2
    for line in lines:
        # Pixels of a straight line are a little longer than it; a line that bends at the crossing has other ends.
        assert length(line) < 1.1 * np.hypot(*(line[-1] - line[0]))


def test_a_curl_that_crosses_itself_is_one_line():
    loop = [(50, 10), (30, 40), (15, 50), (8, 40), (15, 30), (30, 40), (50, 70)]
    curl = np.array(loop)
    assert len(trace_strokes(drawn(curl))) == 1


def test_a_ring_is_one_closed_line():
    angles = np.linspace(0, 2 * np.pi, 90)
    (ring,) = trace_strokes(
        drawn(np.stack([30 + 20 * np.sin(angles), 40 + 20 * np.cos(angles)], axis=1).round())
    )
    assert np.abs(ring[0] - ring[-1]).max() <= 1.5
    assert 110 < length(ring) < 145


def test_wide_lines_are_traced_in_the_middle():
    (line,) = trace_strokes(drawn([(30, 10), (30, 70)], width=5))
    assert np.abs(line[:, 0] - 30).max() < 1


@given(st.integers(1, 12), st.integers(1, 12), st.binary(min_size=144, max_size=144))
@settings(max_examples=40, deadline=None)
def test_any_ink_is_traced_without_leaving_it_far(height, width, bits):
    ink = np.frombuffer(bits, np.uint8)[: height * width].reshape(height, width) % 3 == 0
    lines = trace_strokes(ink)
    assert bool(lines) == bool(ink.any())
    for line in lines:
        assert (line > -2).all()
        assert (line < [height + 1, width + 1]).all()


def test_places_at_steps_keep_both_ends():
    line = np.array([(0.0, 0.0), (0.0, 10.0)])
    assert resample_line(line, 2.5)[:, 1].tolist() == [0, 2.5, 5, 7.5, 10]
    assert resample_line(line, 100).tolist() == line.tolist()
    assert resample_line(line[:1], 1).tolist() == [[0, 0]]


def test_smoothing_keeps_a_straight_line_where_it_is():
    line = np.stack([np.arange(20.0), np.arange(20.0)], axis=1)
    assert np.allclose(smooth_line(line, 1.0), line)

from __future__ import annotations

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.prompts import Click, Scribble
from segarena.systems.videos.measures.jaccard_contour import JaccardContour
from segarena.systems.videos.robot.frame_choice import (
    check_candidates,
    first_frame,
    frame_quality,
    rank_frames,
    scribbled_frames,
)

# Worst first: 1, 4, 3, 0, 2.
QUALITY = np.array([0.6, 0.1, 0.9, 0.5, 0.3])


def asked(rounds, **options):
    used = []
    for _ in range(rounds):
        used.append(rank_frames(QUALITY, used, **options)[0])
    return used


def test_quality_is_the_mean_over_objects():
    values = JaccardContour(np.array([[0.2, 1.0], [0.4, 0.0]]), np.array([[1.0, 1.0], [0.0, 0.5]]))
    assert frame_quality(values, "jaccard").tolist() == pytest.approx([0.3, 0.5])
    assert frame_quality(values, "contour").tolist() == pytest.approx([0.5, 0.75])
    assert frame_quality(values).tolist() == pytest.approx([0.4, 0.625])
    with pytest.raises(InvalidInput, match="at least one object"):
        frame_quality(JaccardContour(np.empty((0, 3)), np.empty((0, 3))))


def test_the_worst_frame_not_used_yet_comes_first():
    assert rank_frames(QUALITY) == (1, 4, 3, 0, 2)
    assert rank_frames(QUALITY, [1, 3, 3]) == (4, 0, 2, 1, 3)
    assert rank_frames(QUALITY, [1, 3, 3], reuse="published") == (4, 0, 2)


def test_when_all_were_used_they_have_their_turn_again_or_as_published_the_worst_one_for_ever():
    assert asked(8) == [1, 4, 3, 0, 2, 1, 4, 3]
    assert asked(8, reuse="published") == [1, 4, 3, 0, 2, 1, 1, 1]


def test_candidates_are_the_only_frames_considered():
    assert asked(5, candidates=[2, 0, 2]) == [0, 2, 0, 2, 0]
    assert asked(5, candidates=[2, 0], reuse="published") == [0, 2, 0, 0, 0]
    assert rank_frames(QUALITY, [0, 2], [0, 2, 4]) == (4, 0, 2)
    for nothing in (None, [], np.array([], dtype=int)):
        assert rank_frames(QUALITY, candidates=nothing) == (1, 4, 3, 0, 2)


def test_equally_bad_frames_come_in_order_however_many_there_are():
    assert rank_frames(np.full(100, 0.5)) == tuple(range(100))
    for reuse in ("in-turn", "published"):
        equal = np.tile([0.5, 0.2], 50)
        assert rank_frames(equal, reuse=reuse) == (*range(1, 100, 2), *range(0, 100, 2))
        assert rank_frames(equal, range(100), [7, 5, 4, 2], reuse=reuse) == (5, 7, 2, 4)


def test_candidates_are_checked_before_anything_is_chosen():
    assert check_candidates(np.array([3, 1, 3]), 5) == (1, 3)
    with pytest.raises(InvalidInput, match="candidates: expected frame indices 0 to 4, got -1, 99"):
        rank_frames(QUALITY, candidates=[1, 99, -1])
    with pytest.raises(InvalidInput, match=r"candidates: expected frame indices, got \[1, 2.0\]"):
        rank_frames(QUALITY, candidates=[1, 2.0])
    with pytest.raises(InvalidInput, match="at least one frame"):
        rank_frames(np.array([]))


def test_frames_drawn_in_are_read_from_the_scribbles_of_each_round():
    def line(*frames):
        return Scribble(tuple((float(frame), 0.0, 0.0) for frame in frames))

    assert scribbled_frames(
        [[line(3), line(3, 3)], [], [line(1), line(0)], [line(3)], [Click((4, 0, 0))]]
    ) == (
        3,
        0,
        1,
        3,
    )


def test_the_first_frame_shows_most_objects_then_most_of_them():
    target = np.zeros((5, 4, 6), dtype=np.uint8)
    target[0] = 1
    target[2, 0, :3] = 1, 2, 2
    target[3, 0, :4] = 1, 1, 2, 2
    target[4, 1, :4] = 2, 2, 2, 1
    assert first_frame(target) == 3
    assert first_frame(np.zeros((3, 2, 2), dtype=np.uint8)) == 0

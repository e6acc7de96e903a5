import numpy as np
import pytest

from segarena.errors import InvalidMask, InvalidPrompt
from segarena.prompts import Box
from segarena_people.measures.box_features import BOX_FEATURES, box_features, size_class
from segarena_people.measures.goal_mask_geometry import GoalShape

GOAL = np.zeros((30, 40), bool)
GOAL[5:15, 10:30] = True


def test_each_edge_by_itself_outwards_in_units_of_the_side_it_moves_along():
    for edge, (start, stop) in {
        "top": ((3, 10), (15, 30)),
        "left": ((5, 6), (15, 30)),
        "bottom": ((5, 10), (17, 30)),
        "right": ((5, 10), (15, 34)),
    }.items():
        found = dict(zip(BOX_FEATURES, box_features(Box(start, stop), GOAL).tolist(), strict=True))
        assert found == dict.fromkeys(BOX_FEATURES, 0.0) | {edge: 0.2}


def test_a_box_that_cuts_is_negative_and_the_exact_one_zero():
    assert box_features(Box((6, 12), (14, 28)), GOAL) == pytest.approx([-0.1, -0.1, -0.1, -0.1])
    assert not box_features(Box((5, 10), (15, 30)), GoalShape(GOAL)).any()


def test_in_a_plane_of_a_volume_the_plane_does_not_count():
    assert not box_features(Box((7, 5, 10), (8, 15, 30)), GOAL).any()


@pytest.mark.parametrize(
    ("area", "said"),
    [((1, 1), "1-2"), ((15, 17), "8-16"), ((16, 16), "16-32"), ((64, 63), "32-64")],
)
def test_sizes_are_octaves_of_the_root_of_the_area(area, said):
    goal = np.zeros((70, 70), bool)
    goal[: area[0], : area[1]] = True
    assert size_class(goal) == said


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(InvalidPrompt, match="two axes"):
        box_features(Box((1,), (2,)), GOAL)
    with pytest.raises(InvalidMask, match="at least one pixel"):
        box_features(Box((1, 1), (2, 2)), np.zeros((3, 3), bool))

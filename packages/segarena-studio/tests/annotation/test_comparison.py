"""Comparison of two drawings agrees with their measured agreement."""

import pytest
from annotation_fixtures import box, scene, text_of

from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.measures.agreement import compare_orders, order_agreement, same_regions
from segarena.systems.scenes.measures.drawings import drawing_of_scene, region_ious
from segarena_studio.annotation.comparison import compare_drawings

SHAPE = (90, 120)


def compared(one, other):
    return compare_drawings(text_of(one), text_of(other), SHAPE)


def test_matched_and_unmatched_regions_and_names_are_listed():
    one = scene(box(10, 10, 50, 50), box(60, 10, 100, 50), box(0, 60, 30, 90), names=("dog", "cat"))
    other = scene(box(60, 10, 100, 40), box(10, 10, 50, 50), names=("fox", " Dog"))
    found = compared(one, other)
    assert [(match.one, match.other, match.iou) for match in found.matches] == [
        ("r1", "r2", 1.0),
        ("r2", "r1", 0.75),
    ]
    assert [match.has_same_name for match in found.matches] == [True, False]
    assert [(region.id, region.nearest) for region in found.only_one] == [("r3", "")]
    assert found.only_other == ()


def test_an_unmatched_region_has_its_nearest_one():
    found = compared(scene(box(10, 10, 50, 50)), scene(box(10, 10, 28, 50)))
    (alone,) = found.only_one
    assert (alone.id, alone.nearest, alone.iou) == ("r1", "r1", pytest.approx(0.45))
    assert found.only_other[0].iou == alone.iou


def test_opposite_depth_orders_are_listed_as_the_first_drawing_has_them():
    left, right, below = box(10, 10, 60, 60), box(40, 10, 100, 60), box(10, 40, 100, 80)
    found = compared(scene(left, right, below), scene(right, left, below))
    assert [(order.front, order.behind) for order in found.orders] == [("r1", "r2")]
    assert found.order_pairs == 3


@pytest.mark.parametrize("other", [scene(), scene(box(10, 10, 50, 50))])
def test_empty_drawings_match_nothing(other):
    found = compared(scene(), other)
    assert (found.matches, found.only_one, found.orders) == ((), (), ())
    assert len(found.only_other) == len(other["regions"])


def test_differences_in_order_are_those_that_agreement_counts():
    for demo in demo_scenes(images=3, seed=2):
        first, *others = [drawing_of_scene(drawing.scene) for drawing in demo.drawings]
        for other in others:
            same = same_regions(region_ious(first, other))
            orders = compare_orders(first, other, same)
            agree = len([pair for pair in orders if pair.is_same])
            assert (agree, len(orders)) == order_agreement(first, other, same)

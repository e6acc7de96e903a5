import json
import math
from itertools import combinations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.errors import InvalidMask
from segarena.systems.scenes.edges.edge_matching import match_edges, match_radius_px
from segarena.systems.scenes.measures.agreement import (
    ImageAgreement,
    measure_agreement,
    name_agreement,
    order_agreement,
    region_support,
    same_regions,
)
from segarena.systems.scenes.measures.agreement_summary import BINS, summarise_agreement
from segarena.systems.scenes.measures.drawings import (
    drawing_of_labels,
    drawing_of_scene,
    region_ious,
)
from segarena.systems.scenes.model.scene import ImageRecord, Region, make_scene


def labels_of(seed, shape=(40, 50), regions=6):
    """Regions around random places, each pixel belonging to the nearest."""
    rng = np.random.default_rng(seed)
    places = rng.random((regions, 2)) * shape
    grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    return np.argmin(((grid[:, :, None] - places) ** 2).sum(axis=-1), axis=-1) + 1


def box(top, left, bottom, right):
    return [(top, left), (top, right), (bottom, right), (bottom, left)]


def scene_of(boxes, names=None, annotator="a", shape=(40, 50)):
    names = names or [f"region {k}" for k in range(len(boxes))]
    drawn = [
        (Region(id=str(k), name=name), [box(*one)])
        for k, (one, name) in enumerate(zip(boxes, names, strict=True))
    ]
    return make_scene(ImageRecord(id="image", shape=shape), drawn, annotator=annotator)


def slow_matching(ious, least, is_strict):
    """Return the largest number of pairs, from all matchings."""
    pairs = [
        p for p, v in np.ndenumerate(ious) if (v > least if is_strict else v >= least) and v > 0
    ]
    for size in range(min(ious.shape), 0, -1):
        for chosen in combinations(pairs, size):
            if len({a for a, _ in chosen}) == len({b for _, b in chosen}) == size:
                return size
    return 0


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_as_many_regions_as_possible_are_the_same(seed, is_strict):
    rng = np.random.default_rng(seed)
    ious = rng.choice([0.0, 0.4, 0.5, 0.6, 0.9], size=rng.integers(1, 4, 2))
    same = same_regions(ious, is_strict=is_strict)
    assert len(same) == slow_matching(ious, 0.5, is_strict)
    assert len({a for a, _ in same}) == len({b for _, b in same}) == len(same)


def test_of_equally_many_the_closer_ones_are_the_same():
    assert same_regions(np.array([[0.6, 0.9], [0.8, 0.7]])) == [(0, 1), (1, 0)]


def test_ious_of_label_maps_and_of_their_scenes_are_the_same():
    one = drawing_of_scene(scene_of([(0, 0, 20, 25), (20, 0, 40, 50)]))
    other = drawing_of_labels(np.repeat([1, 2], 20)[:, None].repeat(50, axis=1))
    np.testing.assert_allclose(region_ious(one, other), [[0.5, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(region_ious(other, one), region_ious(one, other).T)


def test_region_f_counts_matched_regions_of_both():
    halves = np.repeat([1, 2], 20)[:, None].repeat(50, axis=1)
    thirds = halves.copy()
    thirds[:20, 30:] = 3
    # The upper half and its larger part have IoU 0.6; the lower halves are equal; one region is left over.
    found = measure_agreement(
        [drawing_of_labels(halves), drawing_of_labels(thirds)], with_edges=False
    )
    assert found.pairs[0].regions == pytest.approx(2 * 2 / 5)
    assert math.isnan(found.pairs[0].edges)


def test_exactly_half_counts_unless_it_is_strict():
    whole, halves = np.ones((10, 10), int), np.repeat([1, 2], 50).reshape(10, 10)
    drawings = [drawing_of_labels(whole), drawing_of_labels(halves)]
    values = [
        measure_agreement(drawings, is_strict=strict).pairs[0].regions for strict in (False, True)
    ]
    assert values == [pytest.approx(2 / 3), 0.0]


def test_hidden_parts_count_for_regions():
    # The same two boxes, the other way round in depth: equal full extents, different visible parts.
    one = drawing_of_scene(scene_of([(5, 5, 30, 30), (10, 10, 35, 45)]))
    other = drawing_of_scene(scene_of([(10, 10, 35, 45), (5, 5, 30, 30)], annotator="b"))
    found = measure_agreement([one, other]).pairs[0]
    assert found.regions == 1.0
    assert (found.order_same, found.order_pairs) == (0, 1)


def test_depth_order_agrees_on_matched_regions_that_overlap():
    one = drawing_of_scene(scene_of([(0, 0, 20, 20), (10, 0, 40, 20), (0, 30, 10, 50)]))
    same = [(0, 0), (1, 1), (2, 2)]
    assert order_agreement(one, one, same) == (1, 1)
    assert order_agreement(one, drawing_of_labels(labels_of(0)), same) == (0, 0)


def test_names_agree_apart_from_spaces_and_case_where_both_have_one():
    boxes = [(0, 0, 20, 20), (20, 0, 40, 20), (0, 30, 10, 50)]
    one = drawing_of_scene(scene_of(boxes, ["Dog ", "grass", ""]))
    other = drawing_of_scene(scene_of(boxes, ["dog", "lawn", "sky"]))
    assert name_agreement(one, other, [(0, 0), (1, 1), (2, 2)]) == (1, 2)


def test_edges_of_pairs_and_of_one_against_the_rest():
    drawings = [drawing_of_labels(labels_of(seed), annotator=str(seed)) for seed in range(3)]
    found = measure_agreement(drawings, with_regions=False)
    radius_px = match_radius_px((40, 50))
    edges = [drawing.edges for drawing in drawings]
    for pair, (a, b) in zip(found.pairs, combinations(range(3), 2), strict=True):
        count = len(match_edges(edges[a], edges[b], radius_px=radius_px))
        p, r = count / edges[a].sum(), count / edges[b].sum()
        assert pair.edges == pytest.approx(2 * p * r / (p + r))
    matches = [match_edges(edges[0], edges[k], radius_px=radius_px) for k in (1, 2)]
    assert found.humans[0].recall == pytest.approx(
        sum(map(len, matches)) / (edges[1].sum() + edges[2].sum())
    )
    union = set(matches[0].prediction) | set(matches[1].prediction)
    assert found.humans[0].precision == pytest.approx(len(union) / edges[0].sum())


def test_nothing_drawn_twice_agrees_and_once_does_not():
    nothing, something = (
        drawing_of_scene(scene_of([])),
        drawing_of_scene(scene_of([(5, 5, 30, 30)])),
    )
    pairs = measure_agreement([nothing, nothing, something]).pairs
    assert [pair.regions for pair in pairs] == [1.0, 0.0, 0.0]
    assert [pair.edges for pair in pairs] == [1.0, 0.0, 0.0]


def test_one_annotator_agrees_with_nobody():
    alone = measure_agreement([drawing_of_labels(labels_of(0))])
    assert alone.pairs == alone.humans == ()
    summary = summarise_agreement([alone])
    assert summary.regions.n == 0
    assert math.isnan(summary.regions.mean)


def test_support_is_the_mean_iou_with_the_same_region_of_the_others():
    boxes = [(0, 0, 20, 20), (20, 0, 40, 20)]
    one = drawing_of_scene(scene_of(boxes))
    other = drawing_of_scene(scene_of([(0, 0, 20, 16)]))
    np.testing.assert_allclose(region_support([one, other, one], 0), [0.9, 0.5])
    assert np.isnan(region_support([one], 0)).all()


def test_records_come_back_as_they_went():
    found = measure_agreement([drawing_of_scene(scene_of([(5, 5, 30, 30)])) for _ in range(2)])
    assert (
        msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(found))), ImageAgreement) == found
    )


def test_drawings_of_other_size_are_refused():
    with pytest.raises(InvalidMask, match="same size"):
        measure_agreement(
            [drawing_of_labels(np.ones((3, 4), int)), drawing_of_labels(np.ones((4, 3), int))]
        )


def test_the_summary_takes_medians_over_pairs_and_means_over_annotators():
    images = [
        measure_agreement([drawing_of_labels(labels_of(10 * k + j)) for j in range(3)])
        for k in range(4)
    ]
    summary = summarise_agreement(images, repeats=100)
    assert summary.pairs == 12
    assert summary.edges.mean == pytest.approx(
        np.median([p.edges for i in images for p in i.pairs])
    )
    assert summary.edges.low <= summary.edges.mean <= summary.edges.high
    p = np.mean([h.precision for i in images for h in i.humans])
    r = np.mean([h.recall for i in images for h in i.humans])
    assert summary.human_f.mean == pytest.approx(2 * p * r / (p + r))
    assert summary.edge_histogram.sum() == summary.region_histogram.sum() == 12
    assert len(summary.edge_histogram) == BINS
    assert summary.order.n == 0
    again = summarise_agreement(images, repeats=100)
    assert again.edges == summary.edges

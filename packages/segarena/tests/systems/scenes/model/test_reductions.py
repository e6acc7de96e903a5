import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.arrays.label_edges import label_edges
from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.model import reductions
from segarena.systems.scenes.model.rasters import rasterise
from segarena.systems.scenes.model.scene import ImageRecord, Region, make_scene

SHAPE = (24, 30)


def box(top, left, bottom, right):
    return [(top, left), (top, right), (bottom, right), (bottom, left)]


def scene_of(*drawn):
    regions = [
        (Region(id=str(k), name=name), [points]) for k, (name, points) in enumerate(drawn, 1)
    ]
    return make_scene(ImageRecord(id="1", shape=SHAPE), regions)


def test_visible_edges_lie_between_two_labels_and_are_one_pixel_wide():
    rasters = rasterise(scene_of(("cat", box(5, 5, 15, 15)), ("wall", box(0, 10, 24, 30))))
    edges = reductions.visible_edges(rasters)
    assert edges.any()
    for row, column in np.argwhere(edges):
        assert len(np.unique(rasters.owner[row : row + 2, column : column + 2])) > 1
    assert not (edges[:-1, :-1] & edges[1:, :-1] & edges[:-1, 1:] & edges[1:, 1:]).any()


def test_a_region_in_front_owns_its_edge_and_regions_side_by_side_share_theirs():
    scene = scene_of(
        ("cat", box(5, 5, 15, 12)),  # in front of sky and ground
        ("sky", box(0, 0, 10, 30)),
        ("ground", box(10, 0, 24, 30)),
    )
    rasters = rasterise(scene)
    owners = reductions.figure_ground(rasters)
    assert set(np.unique(owners)) == {reductions.SHARED_EDGE, 0, 1}
    assert (owners[9, 18:] == reductions.SHARED_EDGE).all()
    around = np.zeros(SHAPE, dtype=bool)
    around[4:16, 4:13] = True
    assert (
        owners[around & (owners != 0) & ~np.isin(np.arange(24), [8, 9, 10])[:, None]] == 1
    ).all()


def test_edges_towards_nothing_belong_to_the_region():
    owners = reductions.figure_ground(rasterise(scene_of(("cat", box(5, 5, 15, 12)))))
    assert set(np.unique(owners)) == {0, 1}


def figure_ground_slowly(rasters, edges):
    """Return the owners pixel by pixel: two frontmost labels of the block, and a nearby overlap of 2 x 2."""
    owners = np.zeros(rasters.shape, dtype=int)
    for row, column in np.argwhere(edges):
        block = rasters.owner[row : row + 2, column : column + 2]
        labels = sorted(set(block.ravel().tolist()) - {0})
        owners[row, column] = labels[0]
        if len(labels) > 1:
            both = rasters.amodal(labels[0] - 1) & rasters.amodal(labels[1] - 1)
            found = False
            for r in range(rasters.shape[0] - 1):
                for c in range(rasters.shape[1] - 1):
                    if both[r : r + 2, c : c + 2].all():
                        found |= any(
                            max(abs(y - row), abs(x - column)) <= 2
                            for y in (r, r + 1)
                            for x in (c, c + 1)
                        )
            owners[row, column] = labels[0] if found else reductions.SHARED_EDGE
    return owners


boxes = st.tuples(
    st.integers(0, 20), st.integers(0, 24), st.integers(3, 14), st.integers(3, 14)
).map(lambda n: box(n[0], n[1], min(n[0] + n[2], SHAPE[0]), min(n[1] + n[3], SHAPE[1])))


@given(st.lists(boxes, min_size=1, max_size=4))
def test_owners_and_hidden_edges_are_those_of_a_slow_reference(drawn):
    rasters = rasterise(scene_of(*(("x", points) for points in drawn)))
    edges = reductions.visible_edges(rasters)
    np.testing.assert_array_equal(
        reductions.figure_ground(rasters), figure_ground_slowly(rasters, edges)
    )
    hidden = reductions.hidden_edges(rasters)
    for row, column in np.argwhere(hidden):
        behind = [
            place
            for place in range(len(drawn))
            if label_edges(rasters.amodal(place))[row, column]
            and 0 < rasters.owner[row, column] <= place
        ]
        assert behind


def test_hidden_edges_are_where_an_outline_goes_on_behind_something():
    rasters = rasterise(scene_of(("cat", box(5, 5, 15, 15)), ("wall", box(0, 10, 24, 28))))
    hidden = reductions.hidden_edges(rasters)
    assert hidden[6:14, 9].all() or hidden[6:14, 10].all()
    assert not hidden[:, 15:].any()
    assert not hidden[:4].any()
    assert not reductions.hidden_edges(rasterise(scene_of(("cat", box(5, 5, 15, 15))))).any()


def test_a_border_where_regions_merely_meet_is_not_hidden():
    # The ground goes on behind the cat, and meets the sky, which comes before it, along row 12.
    drawn = ("cat", box(15, 5, 20, 10)), ("sky", box(0, 0, 12, 28)), ("ground", box(12, 0, 24, 28))
    assert not reductions.hidden_edges(rasterise(scene_of(*drawn))).any()


def test_shared_sides_are_exact():
    scene = scene_of(("a", box(0, 0, 10, 10)), ("b", box(0, 10, 10, 20)))
    ((edge, regions),) = scene.shared_edges().items()
    assert {scene.vertices[index] for index in edge} == {(0, 10), (10, 10)}
    assert regions == ("1", "2")


def test_semantic_labels_join_regions_of_one_name_and_leave_out_what_has_no_class():
    scene = scene_of(
        (" Cat", box(0, 0, 5, 5)),
        ("cat", box(5, 5, 10, 10)),
        ("dog", box(0, 10, 5, 15)),
        ("", box(0, 15, 5, 20)),
    )
    assert reductions.vocabulary([scene]) == {"cat": 1, "dog": 2}
    labels = reductions.semantic_labels(scene, rasterise(scene), {"cat": 7})
    assert (labels[:5, :5] == 7).all()
    assert (labels[5:10, 5:10] == 7).all()
    assert labels.sum() == 2 * 25 * 7


def test_boxes_of_full_and_visible_parts():
    scene = scene_of(
        ("cat", box(5, 5, 15, 15)), ("mat", box(5, 10, 15, 20)), ("fly", box(6, 6, 8, 8))
    )
    found = reductions.region_boxes(scene, rasterise(scene))
    assert found[1].amodal == (5, 10, 15, 20)
    assert found[1].visible == (5, 15, 15, 20)
    assert found[2].visible is None


@pytest.mark.parametrize("rule", ["pixel-centre", "coco"])
def test_generated_sky_and_ground_share_their_edge_whatever_the_rule_of_pixels(rule):
    from dataclasses import replace

    scene = replace(demo_scenes(images=1)[0].drawings[2].scene, fill_rule=rule)
    rasters = rasterise(scene)
    owners = reductions.figure_ground(rasters)
    sky, ground = (
        next(k for k, r in enumerate(scene.regions) if r.name == name) for name in ("sky", "ground")
    )
    labels = rasters.owner
    between = (labels[:-1] == sky + 1) & (labels[1:] == ground + 1) & (owners[:-1] != 0)
    assert between.sum() > 20
    assert (owners[:-1][between] == reductions.SHARED_EDGE).mean() > 0.9

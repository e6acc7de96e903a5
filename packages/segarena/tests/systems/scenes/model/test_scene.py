import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.arrays.coco_rle import Rle
from segarena.errors import InvalidInput, InvalidMask
from segarena.systems.scenes.model.polygons import contains_points
from segarena.systems.scenes.model.rasters import rasterise
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, make_scene

SHAPE = (8, 12)
IMAGE = ImageRecord(id="1", shape=SHAPE, file_name="1.jpg")


def box(top, left, bottom, right):
    return [(top, left), (top, right), (bottom, right), (bottom, left)]


def two(**facts):
    """Return a scene of a cat in front of grass; the two share the side from (2, 4) to (6, 4)."""
    drawn = [
        (Region(id="a", name="cat", is_stuff=False), [[(2, 4), (2, 8), (6, 8), (6, 4)]]),
        (Region(id="b", name="grass", is_stuff=True), [[(2, 4), (6, 4), (6, 1), (2, 1)]]),
        (Region(id="c", name="wall"), [box(0, 6, 8, 12)]),
    ]
    return make_scene(IMAGE, drawn, **facts)


boxes = st.tuples(st.integers(0, 6), st.integers(0, 10), st.integers(1, 8), st.integers(1, 12)).map(
    lambda n: box(min(n[0], n[2] - 1), min(n[1], n[3] - 1), n[2], n[3])
)


@given(st.lists(boxes, min_size=1, max_size=5))
def test_visible_is_what_no_region_in_front_covers_pixel_by_pixel(drawn):
    scene = make_scene(IMAGE, [(Region(id=str(k)), [points]) for k, points in enumerate(drawn)])
    rasters = rasterise(scene)
    centres = np.indices(SHAPE).reshape(2, -1).T + 0.5
    covers = [
        contains_points(np.array(points, dtype=float), centres).reshape(SHAPE) for points in drawn
    ]
    for row in range(SHAPE[0]):
        for column in range(SHAPE[1]):
            above = [place for place, covered in enumerate(covers) if covered[row, column]]
            assert rasters.owner[row, column] == (above[0] + 1 if above else 0)
    for place, covered in enumerate(covers):
        in_front = np.any(covers[:place], axis=0) if place else np.zeros(SHAPE, bool)
        assert np.array_equal(rasters.amodal(place), covered)
        assert np.array_equal(rasters.visible(place), covered & ~in_front)
        assert np.array_equal(rasters.hidden(place), covered & in_front)
    shared = rasters.overlap_px()
    for one in range(len(drawn)):
        for other in range(len(drawn)):
            assert shared[one, other] == (rasters.amodal(one) & rasters.amodal(other)).sum()
        assert rasters.regions[one].area_px == shared[one, one]


def test_occlusion_is_the_hidden_share():
    rasters = rasterise(two())
    assert [r.area_px for r in rasters.regions] == [16, 12, 48]
    assert [r.occlusion for r in rasters.regions] == [0, 0, 8 / 48]


def test_a_shared_side_is_one_side_of_both_and_moves_for_both():
    scene = two()
    assert list(scene.shared_edges().values()) == [("a", "b")]
    (edge,) = scene.shared_edges()
    assert {scene.vertices[index] for index in edge} == {(2, 4), (6, 4)}
    moved = scene.with_vertex_at(edge[0], (2.0, 5.0))
    assert (2, 5) in map(tuple, moved.polygons(moved.region("a"))[0].tolist())
    assert (2, 5) in map(tuple, moved.polygons(moved.region("b"))[0].tolist())
    assert len(moved.shared_edges()) == 1
    assert scene.vertices[edge[0]] != (2, 5)


def test_derived_scenes_leave_the_first_as_it_was():
    scene = two()
    assert scene.renamed("a", "dog").region("a").name == "dog"
    assert [r.id for r in scene.moved("c", 0).regions] == ["c", "a", "b"]
    assert [r.id for r in scene.reordered(["b", "c", "a"]).regions] == ["b", "c", "a"]
    assert [r.id for r in scene.without("b").regions] == ["a", "c"]
    larger = scene.with_region(Region(id="d"), [[(2, 4), (2, 8), (0, 6)]], place=1)
    assert [r.id for r in larger.regions] == ["a", "d", "b", "c"]
    assert ("a", "d") in larger.shared_edges().values()
    assert rasterise(scene.redrawn("a", [box(0, 0, 1, 1)])).regions[0].area_px == 1
    assert scene == two()


def test_stated_masks_are_kept_until_the_order_or_a_polygon_changes():
    whole = Rle.of(np.ones(SHAPE, dtype=bool))
    scene = two()
    scene = scene.replaced(Region(id="c", rings=scene.region("c").rings, visible_mask=whole))
    assert scene.renamed("a", "dog").region("c").visible_mask == whole
    assert scene.moved("c", 0).region("c").visible_mask is None


def test_stated_visibility_is_taken_where_there_is_no_order():
    seen = np.zeros(SHAPE, dtype=bool)
    seen[0, 6:] = True
    scene = two(has_depth=False)
    hidden = Region(id="c", rings=scene.region("c").rings, visible_mask=Rle.of(seen))
    rasters = rasterise(scene.replaced(hidden))
    np.testing.assert_array_equal(rasters.visible(2), seen)
    assert rasters.regions[0].visible_px == 16
    assert rasterise(scene.replaced(hidden), visibility="order").regions[2].visible_px == 40


def test_regions_drawn_as_masks_have_the_extent_of_the_mask():
    mask = np.zeros(SHAPE, dtype=bool)
    mask[1:3, 2:5] = True
    scene = Scene(
        image=IMAGE,
        regions=(Region(id="a", mask=Rle.of(mask)), Region(id="b", hidden_mask=Rle.of(mask))),
    )
    np.testing.assert_array_equal(rasterise(scene).amodal(0), mask)
    assert rasterise(scene).regions[1].occlusion == 1
    assert rasterise(scene, visibility="stated").regions[1].occlusion == 1


def test_masks_of_another_size_are_refused_with_image_and_region():
    scene = Scene(image=IMAGE, regions=(Region(id="7", mask=Rle.of(np.ones((3, 3), dtype=bool))),))
    with pytest.raises(
        InvalidMask,
        match="image 1, region 7: expected a mask of the image's size 8 x 12, got 3 x 3",
    ):
        rasterise(scene)
    scene = Scene(image=IMAGE, regions=(Region(id="7", mask=Rle(SHAPE, "5")),))
    with pytest.raises(InvalidMask, match="image 1, region 7: run lengths"):
        rasterise(scene)


def test_an_empty_scene_and_an_empty_region_cover_nothing():
    assert not rasterise(Scene(image=IMAGE)).owner.any()
    rasters = rasterise(Scene(image=IMAGE, regions=(Region(id="a"),)))
    assert rasters.regions[0].area_px == rasters.regions[0].occlusion == 0


def test_impossible_scenes_are_refused():
    with pytest.raises(InvalidInput, match="distinct"):
        Scene(image=IMAGE, regions=(Region(id="a"), Region(id="a")))
    with pytest.raises(InvalidInput, match="do not exist"):
        Scene(image=IMAGE, regions=(Region(id="a", rings=((0, 1, 2),)),))
    for shape in ((0, 5), (1 << 20, 1 << 20)):
        with pytest.raises(
            InvalidInput, match=r"image x: expected at (least one pixel|most 89,478,485 pixels)"
        ):
            ImageRecord(id="x", shape=shape)
    with pytest.raises(InvalidInput, match="every region id once"):
        two().reordered(["a"])
    with pytest.raises(InvalidInput, match="got 'z'"):
        two().region("z")

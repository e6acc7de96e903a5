import json

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.files.images import read_image
from segarena.systems.scenes.demo.demo_files import write_demo
from segarena.systems.scenes.demo.scene_generator import Sloppiness, demo_scenes, draw_annotation
from segarena.systems.scenes.files import read_scenes
from segarena.systems.scenes.model import polygons
from segarena.systems.scenes.model.rasters import rasterise


@pytest.fixture(scope="module")
def demo():
    return demo_scenes()


@pytest.mark.long
def test_the_same_options_give_the_same_scenes(demo):
    again = demo_scenes()
    assert [d.scene for one in again for d in one.drawings] == [
        d.scene for one in demo for d in one.drawings
    ]
    np.testing.assert_array_equal(again[0].truth.photo, demo[0].truth.photo)
    assert demo_scenes(images=1, seed=1)[0].truth.shapes != demo[0].truth.shapes


def test_boxes_have_exactly_the_pixels_of_the_truth_and_ellipses_nearly(demo):
    for one in demo:
        rasters = rasterise(one.truth.scene)
        for place, shape in enumerate(one.truth.shapes):
            drawn, true = rasters.amodal(place), one.truth.masks[place]
            if shape.kind == "box":
                np.testing.assert_array_equal(drawn, true)
                assert polygons.area(shape.outline()) == true.sum()
            assert (drawn & true).sum() / (drawn | true).sum() > 0.97
            assert rasters.regions[place].occlusion == pytest.approx(
                one.truth.occlusion[place], abs=0.02
            )


def test_the_truth_says_of_itself_what_a_slow_look_at_its_pixels_says(demo):
    for one in demo:
        masks = one.truth.masks
        for place, mask in enumerate(masks):
            front = np.any(masks[:place], axis=0) if place else np.zeros_like(mask)
            np.testing.assert_array_equal(one.truth.visible[place], mask & ~front)
            assert one.truth.occlusion[place] == pytest.approx((mask & front).sum() / mask.sum())
        pairs = [
            (a, b)
            for a in range(len(masks))
            for b in range(a + 1, len(masks))
            if (masks[a] & masks[b]).any()
        ]
        assert list(one.truth.pairs) == pairs
        for component, layers in zip(one.truth.components, one.truth.layers, strict=True):
            assert layers == max(longest(place, pairs) for place in component)
            assert all({a, b} <= set(component) or not {a, b} & set(component) for a, b in pairs)
        assert sorted(p for component in one.truth.components for p in component) == list(
            range(len(masks))
        )


def longest(place, pairs):
    """Return the number of regions in the longest chain of occluders that ends with this one."""
    return 1 + max((longest(front, pairs) for front, behind in pairs if behind == place), default=0)


def test_annotators_err_as_stated(demo):
    for one in demo:
        exact, steady, _, forgetful, confused = one.drawings
        assert exact.scene.vertices == one.truth.scene.vertices
        assert (exact.missing, exact.swapped, exact.renamed, steady.missing) == ((), (), (), ())
        kept = {region.id for region in forgetful.scene.regions}
        assert kept | set(forgetful.missing) == {region.id for region in one.truth.scene.regions}
        assert not kept & set(forgetful.missing)
        for region in confused.scene.regions:
            same = region.name == one.truth.scene.region(region.id).name
            assert same == (region.id not in confused.renamed)
    assert any(one.drawings[3].missing for one in demo)
    assert any(one.drawings[4].swapped for one in demo)
    assert any(one.drawings[4].renamed for one in demo)


def test_noise_has_the_stated_size_and_shared_vertices_stay_shared(demo):
    truth = demo[0].truth
    shaken = draw_annotation(
        truth, Sloppiness(annotator="x", vertex_noise_px=2.0), np.random.default_rng(0)
    ).scene
    moved = np.subtract(shaken.vertices, truth.scene.vertices)
    inside = (np.array(truth.scene.vertices) > 8) & (
        np.array(truth.scene.vertices) < np.array(truth.scene.shape) - 8
    )
    assert moved[inside].std() == pytest.approx(2.0, rel=0.15)
    assert shaken.shared_edges() == truth.scene.shared_edges()
    assert np.min(shaken.vertices) >= 0
    edge = np.array(truth.scene.vertices) == 0
    assert (np.array(shaken.vertices)[edge] == 0).all()


def test_files_hold_the_photographs_the_drawings_and_the_truth(demo, tmp_path):
    files = write_demo(demo[:2], tmp_path)
    assert len(files) == 5
    np.testing.assert_array_equal(
        read_image(tmp_path / "images" / "scene-1.png"), demo[0].truth.photo
    )
    drawn = read_scenes(tmp_path / "scenes.json")
    assert drawn.defects == ()
    assert [scene.annotator for scene in drawn.scenes[:5]] == [
        "exact",
        "steady",
        "shaky",
        "forgetful",
        "confused",
    ]
    true = read_scenes(tmp_path / "true_scenes.json")
    assert [len(scene.regions) for scene in true.scenes] == [
        len(one.truth.shapes) for one in demo[:2]
    ]
    told = json.loads((tmp_path / "truth.json").read_text())
    assert told[0]["layers"] == list(demo[0].truth.layers)
    assert told[1]["overlap_px"] == demo[1].truth.overlap_px.tolist()


def test_impossible_demos_are_refused():
    for options in ({"images": 0}, {"shape": (20, 20)}):
        with pytest.raises(InvalidInput, match="expected at least 1 image"):
            demo_scenes(**options)

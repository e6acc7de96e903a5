import json
import math

import msgspec
import numpy as np
import pytest

from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.measures.annotation_statistics import (
    AnnotationRecord,
    measure_annotation,
    summarise_annotations,
)
from segarena.systems.scenes.measures.drawings import drawing_of_labels, drawing_of_scene
from segarena.systems.scenes.model.scene import ImageRecord, Region, make_scene


def box(top, left, bottom, right):
    return [(top, left), (top, right), (bottom, right), (bottom, left)]


def two_boxes():
    # The front box hides a quarter of the other: 10 x 10 of 20 x 20 pixels.
    regions = [
        (Region(id="front", name=" Dog", is_stuff=False), [box(10, 10, 30, 30)]),
        (Region(id="back", name="dog", is_stuff=True), [box(20, 20, 40, 40)]),
    ]
    return drawing_of_scene(make_scene(ImageRecord(id="one", shape=(50, 100)), regions))


def test_two_boxes_have_the_numbers_of_their_geometry():
    summary = summarise_annotations([measure_annotation(two_boxes())])
    assert (summary.images, summary.annotations, summary.regions) == (1, 1, 2)
    assert summary.covered == pytest.approx(700 / 5000)
    assert summary.occluded == 0.5
    assert summary.occlusion == pytest.approx(0.125)
    assert summary.occlusion_of_occluded == pytest.approx(0.25)
    assert summary.points_per_region == 4
    assert summary.names == {"dog": 2}
    assert (summary.things, summary.stuff) == (1, 1)
    assert summary.components == ((2, 2),)


def test_visible_parts_are_less_convex_than_full_extents():
    summary = summarise_annotations([measure_annotation(two_boxes())])
    assert summary.amodal.convexity == summary.polygon.convexity == 1.0
    # 300 pixels of an L in a hull of 400 less the corner triangle of 50.
    assert summary.modal.convexity == pytest.approx((1 + 300 / 350) / 2)
    assert summary.polygon.simplicity == pytest.approx(math.sqrt(math.pi) / 2)


def test_amodal_edges_are_visible_and_hidden_ones():
    record = measure_annotation(two_boxes())
    # The hidden corner has two sides of ten pixels inside the front box, one pixel wide.
    assert record.hidden_edge_px == pytest.approx(20, abs=2)
    summary = summarise_annotations([record])
    assert summary.modal.edge_density == pytest.approx(record.edge_px / 5000)
    assert summary.amodal.edge_density == pytest.approx(
        (record.edge_px + record.hidden_edge_px) / 5000
    )


def test_generated_scenes_give_the_numbers_they_were_made_of():
    for scene in demo_scenes(images=3, seed=4):
        truth = scene.truth
        record = measure_annotation(drawing_of_scene(truth.scene))
        masks = np.stack([shape.covers(truth.scene.shape) for shape in truth.shapes])
        seen = masks & (np.cumsum(masks, axis=0) == 1)
        assert record.covered_px == pytest.approx(
            masks.any(axis=0).sum(), rel=2e-3
        )  # ellipses are polygons
        hidden = 1 - seen.sum(axis=(1, 2)) / masks.sum(axis=(1, 2))
        boxes = [k for k, shape in enumerate(truth.shapes) if shape.kind == "box"]
        for k in boxes:
            assert record.regions[k].area_px == masks[k].sum()
        np.testing.assert_allclose(
            [region.occlusion for region in record.regions], hidden, atol=0.02
        )
        assert [region.name for region in record.regions] == [shape.name for shape in truth.shapes]


def test_every_value_of_a_label_map_is_a_region_and_covers_its_pixels():
    labels = np.repeat([3, 3, 7, 7], 25).reshape(10, 10)
    record = measure_annotation(drawing_of_labels(labels, image="x"))
    assert [region.area_px for region in record.regions] == [50, 50]
    assert (record.covered_px, record.edge_px) == (100, 10)
    summary = summarise_annotations([record])
    assert summary.occluded == 0.0
    assert summary.amodal == summary.modal
    assert math.isnan(summary.polygon.convexity)
    assert summary.names == {}


def test_nothing_drawn_and_no_annotation_have_no_means():
    empty = drawing_of_scene(make_scene(ImageRecord(id="e", shape=(5, 5)), []))
    summary = summarise_annotations([measure_annotation(empty)])
    assert (summary.regions, summary.covered) == (0, 0.0)
    assert math.isnan(summary.occlusion)
    assert math.isnan(summarise_annotations([]).regions_per_annotation)


def test_records_come_back_as_they_went():
    record = measure_annotation(two_boxes())
    assert (
        msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(record))), AnnotationRecord)
        == record
    )

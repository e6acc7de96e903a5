"""Tables 1 and 3 measured on a few scenes, compared with the commands."""

import json

import pytest

from segarena.published.table_types import MeasurementRequest
from segarena.systems.scenes.demo.demo_files import write_demo
from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.measures.annotation_statistics import (
    measure_annotation,
    summarise_annotations,
)
from segarena.systems.scenes.measures.multi_annotator_images import find_images
from segarena.systems.scenes.paper_tables.shape_edge_measurements import (
    STAND_IN_DATASET,
    measure_humans,
    measure_shapes,
)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes")
    write_demo(demo_scenes(images=2, shape=(120, 160)), folder)
    return folder


def asked(out, **folders):
    return MeasurementRequest(folders=folders, inputs={}, models=("people",), out=out, limit=2)


@pytest.mark.long
def test_shapes_are_the_means_over_all_regions_of_all_annotators(scenes, tmp_path):
    found = measure_shapes(asked(tmp_path, **{"amodal BSDS": scenes / "scenes.json"}))
    images = find_images(scenes / "scenes.json")
    summary = summarise_annotations(
        [measure_annotation(drawing) for image in images for drawing in image.drawings()]
    )
    assert found["amodal", "amodal BSDS", "", "simplicity"].mean == pytest.approx(
        summary.amodal.simplicity
    )
    assert found["modal", "amodal BSDS", "", "convexity"].mean == pytest.approx(
        summary.modal.convexity
    )
    assert found["modal", "amodal BSDS", "", "density"].mean == pytest.approx(
        summary.modal.edge_density
    )


def test_people_are_held_against_each_other_and_the_work_resumes(scenes, tmp_path):
    first = measure_humans(asked(tmp_path, **{"amodal BSDS": scenes / "scenes.json"}))
    assert {name for *_, name in first} == {"precision", "recall", "f"}
    ledger = next(tmp_path.rglob("images.jsonl"))
    done = len(ledger.read_text("utf-8").splitlines())
    assert measure_humans(asked(tmp_path, **{"amodal BSDS": scenes / "scenes.json"})) == first
    assert len(ledger.read_text("utf-8").splitlines()) == done
    assert json.loads(ledger.read_text("utf-8").splitlines()[0])


def test_without_data_generated_scenes_stand_in_and_are_called_so(tmp_path):
    found = measure_shapes(
        MeasurementRequest(folders={}, inputs={}, models=(), out=tmp_path, limit=1)
    )
    assert {dataset for _, dataset, _, _ in found} == {STAND_IN_DATASET}

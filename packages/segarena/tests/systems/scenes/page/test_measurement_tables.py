import math

import numpy as np
import pytest

from segarena.systems.scenes.edges.edge_counts import EdgeCounts
from segarena.systems.scenes.edges.edge_summary import summarise_edges
from segarena.systems.scenes.measures.agreement import measure_agreement
from segarena.systems.scenes.measures.agreement_summary import summarise_agreement
from segarena.systems.scenes.measures.annotation_statistics import (
    measure_annotation,
    summarise_annotations,
)
from segarena.systems.scenes.measures.drawings import drawing_of_labels, drawing_of_scene
from segarena.systems.scenes.page.measurement_tables import (
    agreement_sheet,
    edges_sheet,
    statistics_sheets,
)


def numbers(drawing):
    sheet = statistics_sheets(summarise_annotations([measure_annotation(drawing)]), "centres")[0]
    return {name: value if isinstance(value, int) else value.text for name, value in sheet.rows}


def test_what_nobody_annotated_is_no_zero(demo_set):
    labels = np.repeat([[1, 2]], 8, axis=0).repeat(8, axis=1)
    found = numbers(drawing_of_labels(labels))
    hidden = [found[name] for name in found if "hidden" in name]
    assert set(hidden) == {"not annotated"}
    assert (found["regions"], found["things"], found["stuff"]) == (
        2,
        "not annotated",
        "not annotated",
    )
    assert "not annotated" not in numbers(drawing_of_scene(demo_set.scenes[0])).values()


def test_recall_at_half_precision_is_a_dash_where_the_curve_does_not_pass_it():
    table = {
        "target_matched": 3.0,
        "target": 4.0,
        "prediction_matched": 3.0,
        "prediction": 3.0,
        "thresholds": 0.5,
    }
    counts = EdgeCounts(**{name: np.array([value]) for name, value in table.items()})
    summary = summarise_edges([counts])
    assert math.isnan(summary.r50)
    assert edges_sheet(summary, "first").notes[0].endswith("R50 –")


@pytest.mark.parametrize(
    ("scenes", "caption", "counted"),
    [
        (
            1,
            "Agreement on 1 image with 2 annotations, 1 pair of annotations.",
            "pair of annotations",
        ),
        (
            2,
            "Agreement on 2 images with 4 annotations, 2 pairs of annotations.",
            "pairs of annotations",
        ),
    ],
)
def test_the_table_of_agreement_says_what_it_counts(demo_set, scenes, caption, counted):
    drawing = drawing_of_scene(demo_set.scenes[0])
    compared = [measure_agreement((drawing, drawing))] * scenes
    sheet = agreement_sheet(summarise_agreement(compared))
    assert sheet.caption == caption
    assert sheet.rows[0][2:] == (scenes, counted)
    units = {str(row[0]): str(row[3]) for row in sheet.rows}
    assert units["one annotator against the rest, F"] == "annotations"

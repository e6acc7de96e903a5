import json

import numpy as np
import pytest
from PIL import Image

from segarena.errors import InvalidInput
from segarena.prompts import Click
from segarena_people.collection import Collection
from segarena_people.import_format import ImportInputs, find_format
from segarena_people.prompt_import import import_prompts

POINTS = {
    "2008_007574": [
        {"y": 4.2, "x": 6.7, "rank": 1, "cls": 4},
        {"y": 9.9, "x": 30.0, "rank": 2, "cls": 4},
        {"y": 1.0, "x": 1.0, "rank": 1, "cls": 7},
    ],
    "2010_001896": [{"y": 2.0, "x": 3.0, "rank": 1, "cls": 12}],
}


def brought(folder, text=None):
    (folder / "points.json").write_text(json.dumps(POINTS) if text is None else text)
    classes = np.zeros((12, 20), np.uint8)
    classes[2:9, 3:12] = 4
    (folder / "masks").mkdir()
    Image.fromarray(classes).save(folder / "masks" / "2008_007574.png")
    beside = ImportInputs(masks=folder / "masks")
    told = import_prompts(
        find_format("voc-points"), folder / "points.json", folder / "out", beside=beside
    )
    return told, Collection.open(folder / "out"), classes


def test_points_on_classes_with_pixels_are_clicks_about_them(tmp_path):
    told, given, classes = brought(tmp_path)
    assert (told.prompts, told.units, told.left_out, told.findings) == (2, 1, (), ())
    assert [one.prompt for one in given] == [Click((4, 6)), Click((9, 19))]
    assert [one.row.points[0].x for one in given] == [6.7, 30.0]
    assert all(np.array_equal(one.goal, classes == 4) for one in given)
    assert [(one.row.label, one.row.place) for one in given] == [("boat", 1), ("boat", 2)]
    assert given.people == ()


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(POINTS)[:90],
        "[]",
        json.dumps(POINTS).replace('"cls": 4', '"cls": 21'),
        json.dumps(POINTS).replace("6.7", "NaN"),
        json.dumps(POINTS).replace('"x"', '"z"'),
        '{"a": ' * 5000,
    ],
)
def test_what_is_not_such_a_file_is_refused(tmp_path, text):
    with pytest.raises(InvalidInput, match="expected images with points x, y, cls, rank"):
        brought(tmp_path, text)


def test_names_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "points.json").write_bytes(b'{"\xda": []}')
    with pytest.raises(InvalidInput, match="expected images with points"):
        find_format("voc-points").open(tmp_path / "points.json", ImportInputs(masks=tmp_path))

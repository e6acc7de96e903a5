import json

import numpy as np
import pytest
from PIL import Image

from segarena.errors import DatasetError, InvalidInput
from segarena_people.collection import Collection
from segarena_people.import_format import ImportInputs, find_format
from segarena_people.prompt_import import import_prompts

SHAPE = (21, 41)


def line(number, *path, start=0, end=0):
    return {
        "path": [list(point) for point in path],
        "object_id": number,
        "start_time": start,
        "end_time": end,
    }


LINES = (
    line(1, (0.2, 0.4), (0.2, 0.5), (0.2, 0.6), start=2000, end=2600),
    line(0, (0.9, 0.9), start=3000, end=3100),
    line(1, (0.1, 0.2), (0.3, 0.2), start=1000, end=1400),
)


def published(root, sets=("001",), frames=3, drawn=LINES):
    labels = np.zeros(SHAPE, np.uint8)
    labels[2:14, 3:16], labels[15:20, 20:30], labels[0] = 1, 2, 255
    folder = root / "DAVIS" / "Annotations" / "480p" / "dogs-jump"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(frames):
        Image.fromarray(labels).save(folder / f"{number:05d}.png")
    scribbles = root / "DAVIS" / "Scribbles" / "dogs-jump"
    scribbles.mkdir(parents=True, exist_ok=True)
    for name in sets:
        data = {"sequence": "dogs-jump", "annotated_frame": 1, "scribbles": [[], list(drawn), []]}
        (scribbles / f"{name}.json").write_text(json.dumps(data))
    return root / "DAVIS", labels


def brought(source, out, **beside):
    told = import_prompts(
        find_format("davis-scribbles"), source, out, beside=ImportInputs(**beside)
    )
    return told, Collection.open(out)


def test_lines_of_an_object_are_one_prompt_in_its_frame(tmp_path):
    source, labels = published(tmp_path, ("001", "002"))
    told, given = brought(source, tmp_path / "out")
    assert (told.prompts, told.people, told.left_out, told.findings) == (4, 2, (), ())
    background, first = given.only(person="001")
    assert (first.row.sample, first.row.plane, first.row.object_id, first.group) == (
        "dogs-jump",
        1,
        1,
        "dogs-jump",
    )
    assert np.array_equal(first.goal, labels == 1)
    assert np.array_equal(background.goal, (labels == 1) | (labels == 2))
    assert not background.prompt.is_positive
    points = [np.asarray(prompt.points) for prompt in first.prompts]
    # The wire's 1 is the last pixel, 20 rows and 40 columns on.
    assert np.allclose(points[0], [(1, 4, 4), (1, 4, 12)])
    assert np.allclose(points[1], [(1, 8, 8), (1, 10, 8), (1, 12, 8)])


def test_seconds_are_those_of_the_lines(tmp_path):
    source, _ = published(tmp_path)
    _, given = brought(source, tmp_path / "out")
    (first,) = given.only(is_positive=True)
    assert [point.time_ms for point in first.row.points] == [0, 400, 1000, 1300, 1600]
    assert first.row.answer_ms == 2600


def test_masks_are_found_beside_the_folder_of_scribbles_or_named(tmp_path):
    source, _ = published(tmp_path)
    with pytest.raises(InvalidInput, match="expected --masks with a folder for each video"):
        brought(source / "Scribbles", tmp_path / "out")
    _, given = brought(
        source / "Scribbles", tmp_path / "out", masks=source / "Annotations" / "480p"
    )
    assert len(given) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data["scribbles"].pop(), "expected 2 masks of dogs-jump"),
        (lambda data: data.update(sequence="../dogs-jump"), "leads out of it"),
        (lambda data: data["scribbles"][1][0]["path"].append([2.0, 0.5]), "x and y from 0 to 1"),
        (lambda data: data["scribbles"][1][0].pop("path"), "expected 'path'"),
    ],
)
def test_a_file_that_cannot_be_used_costs_only_itself(tmp_path, change, told):
    source, _ = published(tmp_path, ("001", "002"))
    path = source / "Scribbles" / "dogs-jump" / "001.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    found, given = brought(source, tmp_path / "out")
    assert len(found.left_out) == 1
    assert told in found.left_out[0]
    assert given.people == ("002",)


def test_what_holds_no_scribbles_is_refused(tmp_path):
    with pytest.raises(DatasetError, match=r"expected scribble files VIDEO/001\.json"):
        find_format("davis-scribbles").open(tmp_path, ImportInputs(masks=tmp_path))

"""Your own prompts: tables of points, and strokes as pictures."""

import numpy as np
import pytest
from PIL import Image

from segarena.errors import DatasetError, InvalidInput
from segarena.prompts import Box, Click, Scribble
from segarena.samples import ImageSample, Target
from segarena_people.collection import Collection
from segarena_people.import_format import ImportInputs, find_format
from segarena_people.prompt_import import import_prompts
from segarena_people.target_masks import TargetMasks

CAT = np.zeros((12, 20), bool)
DOG = np.zeros((12, 20), bool)
CAT[2:8, 3:12], DOG[4:11, 9:17] = True, True
HEAD = "prompt,image,person,kind,x,y,time_ms,stroke,positive"
ROWS = (
    "1,cat,anna,scribble,4.5,3.5,0,0,1",
    "1,cat,anna,scribble,8.5,3.5,16,0,1",
    "2,dog,ben,click,12.2,7.9,,,",
    "1,cat,anna,scribble,5.5,6.5,40,1,1",
    "3,dog,ben,box,9.0,4.0,,,",
    "3,dog,ben,box,16.9,10.5,,,",
    "4,dog,,,1.5,1.5,,,0",
)


def masks(folder):
    folder.mkdir()
    for name, mask in (("cat", CAT), ("dog", DOG)):
        Image.fromarray(mask).save(folder / f"{name}.png")
    return folder


class Pictures:
    """The same as a dataset."""

    name = "pictures"
    fingerprint = "1"
    sample_ids = ("cat", "dog")

    def load(self, sample_id):
        targets = {
            "cat": (Target(id="a", mask=CAT),),
            "dog": (Target(id="a", mask=CAT), Target(id="b", mask=DOG)),
        }
        return ImageSample(
            id=sample_id, image=np.zeros((12, 20, 3), np.uint8), targets=targets[sample_id]
        )

    def check(self):
        return ()


def brought(name, source, folder, **beside):
    if beside:
        beside = ImportInputs(**beside)
    else:
        beside = ImportInputs(masks=masks(folder / "masks"))
    told = import_prompts(find_format(name), source, folder / "out", beside=beside)
    return told, Collection.open(folder / "out")


def table(folder, rows=ROWS, head=HEAD):
    (folder / "points.csv").write_text("\n".join((head, *rows, "")))
    return folder / "points.csv"


def test_a_table_of_points_comes_back_prompt_by_prompt(tmp_path):
    told, given = brought("csv", table(tmp_path), tmp_path)
    assert (told.prompts, told.people, told.left_out, told.findings) == (4, 2, (), ())
    assert [one.row.id for one in given] == ["1", "2", "3", "4"]
    assert given[0].prompts == (Scribble(((3.0, 4.0), (3.0, 8.0))), Scribble(((6.0, 5.0),)))
    assert [point.time_ms for point in given[0].row.points] == [0, 16, 40]
    assert given[1].prompt == Click((7, 12))
    assert given[2].prompt == Box((4, 9), (11, 17))
    assert (given[3].row.person, given[3].prompt.is_positive) == ("", False)
    assert np.array_equal(given[0].goal, CAT)
    assert np.array_equal(given[1].goal, DOG)


def test_a_dataset_may_have_the_objects(tmp_path):
    source = table(
        tmp_path, [f"{row},{'b' if 'dog' in row else ''}" for row in ROWS], f"{HEAD},target"
    )
    _, given = brought("csv", source, tmp_path, targets=TargetMasks(Pictures()))
    assert np.array_equal(given[0].goal, CAT)
    assert np.array_equal(given[1].goal, DOG)
    (tmp_path / "out").rename(tmp_path / "first")
    told, _ = brought("csv", table(tmp_path), tmp_path, targets=TargetMasks(Pictures()))
    assert "sample dog: expected target None, found a, b" in told.left_out[0]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("9,cat,anna,scribble,wide,3.5,0,0,1", "prompt 9: Expected `float`"),
        ("9,cat,anna,wink,1.5,3.5,0,0,1", "prompt 9: Invalid enum value 'wink'"),
        ("9,cat,anna,click,nan,3.5,0,0,1", "prompt 9: expected only finite numbers"),
        ("9,bird,anna,click,1.5,3.5,0,0,1", "bird.png: expected an image file"),
        ("9,../masks/cat,anna,click,1.5,3.5,0,0,1", "leads out of it"),
        ("9,,anna,click,1.5,3.5,0,0,1", ".png: expected an image file"),
    ],
)
def test_a_prompt_that_cannot_be_read_costs_only_itself(tmp_path, row, told):
    found, given = brought("csv", table(tmp_path, (*ROWS, row)), tmp_path)
    assert len(found.left_out) == 1
    assert told in found.left_out[0]
    assert len(given) == 4


def test_a_table_without_places_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="missing: y"):
        brought("csv", table(tmp_path, (), "prompt,image,x"), tmp_path)
    with pytest.raises(InvalidInput, match="expected --masks"):
        brought("csv", table(tmp_path), tmp_path, masks=None)


def strokes(folder):
    for person in ("anna", "ben"):
        (folder / person).mkdir(parents=True)
        drawn = np.zeros((12, 20), np.uint8)
        drawn[5, 4 : 10 if person == "anna" else 8] = 200
        Image.fromarray(drawn).save(folder / person / "cat.png")
    return folder


def test_strokes_as_pictures_come_back(tmp_path):
    told, given = brought("rasters", strokes(tmp_path / "strokes"), tmp_path)
    assert (told.prompts, told.people, told.left_out, told.findings) == (2, 2, (), ())
    assert [(one.row.person, one.ink().sum()) for one in given] == [("anna", 6), ("ben", 4)]
    assert np.array_equal(given[1].goal, CAT)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (
            lambda path: Image.new("L", (20, 12)).save(path),
            "expected a stroke, found only pixels of value 0",
        ),
        (
            lambda path: Image.new("L", (19, 12), 9).save(path),
            "expected the size of its mask, 20 x 12",
        ),
        (lambda path: path.write_bytes(path.read_bytes()[:50]), "expected a readable image file"),
        (lambda path: path.rename(path.with_name("bird.png")), "bird.png: expected an image file"),
    ],
)
def test_a_picture_that_cannot_be_used_costs_only_itself(tmp_path, damage, told):
    folder = strokes(tmp_path / "strokes")
    damage(folder / "anna" / "cat.png")
    found, given = brought("rasters", folder, tmp_path)
    assert len(found.left_out) == 1
    assert told in found.left_out[0]
    assert given.people == ("ben",)


def test_a_folder_without_pictures_is_refused(tmp_path):
    with pytest.raises(DatasetError, match=r"expected images PERSON/IMAGE\.png"):
        find_format("rasters").open(tmp_path, ImportInputs(masks=tmp_path))

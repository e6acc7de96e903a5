import numpy as np
import pytest
from PIL import Image

from segarena.errors import DatasetError
from segarena.prompts import Click
from segarena_people.collection import Collection
from segarena_people.import_format import ImportInputs, find_format
from segarena_people.prompt_import import import_prompts

TARGET = np.zeros((12, 20), bool)
TARGET[2:9, 3:12] = True
ANSWERS = [np.zeros((12, 20), bool) for _ in range(4)]
ANSWERS[0][2:9, 3:16] = True  # too much on the right
ANSWERS[1][2:9, 3:12] = True  # exact
ANSWERS[3][2:5, 3:12] = True


def ragged(path, arrays):
    """Write arrays of different lengths as NumPy does: pickled."""
    held = np.empty(len(arrays), dtype=object)
    for place, array in enumerate(arrays):
        held[place] = np.asarray(array)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, held, allow_pickle=True)


def published(root, people=("st1",), pictures=1):
    """Write dialogues of four steps: a click, one next to the object, the first click again, and a second try."""
    for person in people:
        folder = root / "Prompting Results" / "Bus" / person
        for number in range(pictures):
            green = [[(5, 4)], [(5, 4)], [(5, 4), (9, 6)], [(6, 6)]]
            red = [np.zeros((0, 2)), [(14, 5)], [(14, 5)], np.zeros((0, 2))]
            ragged(folder / "points" / f"{number}_green.npy", green)
            ragged(folder / "points" / f"{number}_red.npy", red)
            (folder / "eachround").mkdir(exist_ok=True)
            np.save(folder / "eachround" / f"{number}_.npy", np.array([0, 0, 0, 1]))
            (folder / "masks").mkdir(exist_ok=True)
            for step, answer in enumerate(ANSWERS):
                Image.fromarray(answer).save(folder / "masks" / f"{number}_{step}_mask.png")
    ragged(root / "Image datasets" / "Bus" / "labels.npy", [TARGET.astype(np.uint8)] * pictures)
    return root


def brought(root):
    beside = ImportInputs(masks=root / "Image datasets")
    told = import_prompts(
        find_format("pointprompt"), root / "Prompting Results", root / "out", beside=beside
    )
    return told, Collection.open(root / "out")


def test_a_dialogue_comes_back_click_by_click(tmp_path):
    told, given = brought(published(tmp_path))
    assert (told.prompts, told.people, told.left_out, told.findings) == (4, 1, (), ())
    assert [one.prompt for one in given] == [
        Click((4, 5)),
        Click((5, 14), False),
        Click((6, 9)),
        Click((6, 6)),
    ]
    assert [one.row.place for one in given] == [1, 2, 3, 4]
    assert [one.row.goal for one in given] == ["object", "surplus", "object", "object"]
    assert [one.row.round for one in given] == [1, 2, 2, 1]
    assert np.array_equal(given[1].goal, ANSWERS[0] & ~TARGET)
    assert np.array_equal(given[1].previous, ANSWERS[0])
    assert np.array_equal(given[2].goal, TARGET)  # nothing was missing any more
    assert given[3].previous is None
    assert given[0].row.label == "Bus"


def test_people_and_pictures_are_told_apart(tmp_path):
    told, given = brought(published(tmp_path, ("st1", "st2"), 2))
    assert (told.prompts, told.units) == (16, 4)
    assert given.people == ("Bus-st1", "Bus-st2")
    assert given.groups == ("pointprompt/Bus/0", "pointprompt/Bus/1")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (
            lambda folder: (folder / "points" / "0_red.npy").unlink(),
            "0_red.npy: expected a file of arrays",
        ),
        (
            lambda folder: (folder / "points" / "0_red.npy").write_bytes(b"\x93NUMPY\x01"),
            "expected arrays in a .npy",
        ),
        (
            lambda folder: ragged(folder / "points" / "0_red.npy", [[(1, 1)]]),
            "the same number of files of green and of red",
        ),
        (
            lambda folder: ragged(folder / "points" / "0_green.npy", [[(np.nan, 1)]] * 4),
            "expected points (x, y)",
        ),
        (
            lambda folder: ragged(folder / "points" / "0_green.npy", [[(99, 1)]] * 4),
            "expected points (x, y)",
        ),
        (
            lambda folder: np.save(folder / "eachround" / "0_.npy", np.zeros(3)),
            "one number for each of 4 steps",
        ),
        (
            lambda folder: np.save(folder / "eachround" / "0_.npy", np.full(4, np.nan)),
            "expected finite numbers of tries",
        ),
        (
            lambda folder: (folder / "masks" / "0_0_mask.png").unlink(),
            "0_0_mask.png: expected an image file",
        ),
        (
            lambda folder: Image.new("1", (5, 5)).save(folder / "masks" / "0_0_mask.png"),
            "size of its picture",
        ),
    ],
)
def test_a_dialogue_that_cannot_be_used_costs_only_itself(tmp_path, damage, told):
    published(tmp_path, ("st1", "st2"))
    damage(tmp_path / "Prompting Results" / "Bus" / "st1")
    found, given = brought(tmp_path)
    assert len(found.left_out) == 1
    assert told in found.left_out[0]
    assert given.people == ("Bus-st2",)


def test_what_holds_no_dialogues_is_refused(tmp_path):
    with pytest.raises(DatasetError, match="expected folders SET/PERSON/points"):
        find_format("pointprompt").open(tmp_path, ImportInputs(masks=tmp_path))


def test_a_step_without_a_try_costs_its_picture_only(tmp_path):
    root = published(tmp_path, pictures=2)
    ragged(root / "Prompting Results" / "Bus" / "st1" / "eachround" / "0_.npy", [[0], [], [0], [1]])
    told, given = brought(root)
    assert {one.row.sample for one in given} == {"Bus/1"}
    assert "one number for each of 4 steps" in told.left_out[0]

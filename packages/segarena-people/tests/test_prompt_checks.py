import numpy as np
from collection_factory import collection, save
from msgspec.structs import replace

from segarena_people.collection import Collection
from segarena_people.prompt_checks import check_collection
from segarena_people.prompt_table import read_prompt_table, write_prompt_table


def told(folder):
    return [
        (finding.is_error, finding.message) for finding in check_collection(Collection.open(folder))
    ]


def test_a_collection_whose_masks_are_right_has_nothing_odd(tmp_path):
    assert told(collection(tmp_path / "lines")) == []
    assert told(collection(tmp_path / "rasters", as_raster=True)) == []


def test_masks_that_cannot_be_used_and_that_show_nothing_are_errors(tmp_path):
    folder = collection(tmp_path, as_raster=True)
    (folder / "goals" / "0.png").unlink()
    save(folder / "goals" / "1.png", np.zeros((48, 64), bool))
    save(folder / "rasters" / "2-p1.png", np.zeros((48, 64), bool))
    (broken, blank) = told(folder)
    assert broken[0]
    assert broken[1].startswith("1 masks that cannot be used, such as")
    assert "0.png: expected an image file here" in broken[1]
    assert blank == (True, "3 prompts with an empty goal or stroke, such as 1-p1")


def test_prompts_that_leave_their_goal_to_a_dataset_are_a_note(tmp_path):
    collection(tmp_path)
    rows = [replace(row, goal_mask="") for row in read_prompt_table(tmp_path / "prompts.parquet")]
    write_prompt_table(rows, tmp_path / "prompts.parquet")
    assert told(tmp_path) == [
        (
            False,
            "8 prompts about whole objects, whose masks are in a dataset and not in this folder",
        )
    ]

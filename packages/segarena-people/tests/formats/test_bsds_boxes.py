"""Boxes around regions of BSDS500, in the compact and the original form, generated here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

from segarena.errors import InvalidInput
from segarena.prompts import Box
from segarena_people.collection import Collection
from segarena_people.fitting.training_data import read_boxes
from segarena_people.import_format import find_format
from segarena_people.prompt_import import import_prompts


def outlined(top, left, bottom, right, *, extra=False):
    """A photograph of 40 x 60 with an object on a background, and optionally another small object."""
    labels = np.ones((40, 60), dtype=np.uint8)
    labels[top:bottom, left:right] = 2
    if extra:
        labels[2:5, 2:5] = 3
    return labels


PEOPLE = [
    outlined(10, 10, 30, 40),
    outlined(9, 10, 31, 42),
    outlined(12, 8, 30, 40),
    outlined(30, 50, 35, 55),
]


def written(folder, people, *, is_compact=True):
    folder.mkdir()
    if is_compact:
        np.savez(folder / "2018.npz", labels=np.stack(people))
    else:
        cells = np.empty((1, len(people)), dtype=object)
        for place, labels in enumerate(people):
            cells[0, place] = {"Segmentation": labels.astype(np.uint16), "Boundaries": labels > 1}
        savemat(folder / "2018.mat", {"groundTruth": cells})
    return folder


@pytest.mark.parametrize("is_compact", [True, False])
def test_boxes_are_those_of_the_regions_that_match(tmp_path, is_compact):
    source = written(tmp_path / "val", PEOPLE, is_compact=is_compact)
    import_prompts(find_format("bsds-boxes"), source, tmp_path / "out")
    found = Collection.open(tmp_path / "out")
    # The first has the median number of regions; the thing of the fourth is another one.
    assert [given.prompt for given in found] == [Box((9, 10), (31, 42)), Box((12, 8), (30, 40))]
    assert all((given.goal == (PEOPLE[0] == 2)).all() for given in found)
    assert {given.group for given in found} == {"2018"}
    assert found.people == ()
    offsets = read_boxes(found)
    assert offsets.offsets_px.tolist() == [[1, 0, 1, 2], [-2, 2, 0, 0]]
    assert offsets.sides_px.tolist() == [[20, 30]] * 2


def test_regions_that_are_too_large_or_along_two_sides_are_no_goals(tmp_path):
    source = written(tmp_path / "val", [outlined(10, 10, 30, 40)] * 3)
    import_prompts(find_format("bsds-boxes"), source, tmp_path / "out")
    assert {given.row.target for given in Collection.open(tmp_path / "out")} == {"region-2"}


def test_a_folder_without_segmentations_is_refused(tmp_path):
    (tmp_path / "val").mkdir()
    with pytest.raises(Exception, match=r"ID\.npz"):
        import_prompts(find_format("bsds-boxes"), tmp_path / "val", tmp_path / "out")


def test_a_collection_without_boxes_fits_nothing(tmp_path):
    import_prompts(find_format("bsds-boxes"), written(tmp_path / "val", PEOPLE), tmp_path / "out")
    with pytest.raises(InvalidInput, match="expected boxes"):
        read_boxes(Collection.open(tmp_path / "out").only(kind="click"))

import sys
from pathlib import Path

import numpy as np
import pytest

from segarena.errors import DatasetError, InvalidInput
from segarena.prompts import Box
from segarena_people.collection import Collection
from segarena_people.import_format import ImportInputs, find_format
from segarena_people.prompt_import import import_prompts

sys.path.insert(0, str(Path(__file__).parent))
from test_open_images import HEAD, masks

BOXES = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"
CLICKED = (
    "aaaa,xclick,/m/04yx4,1,0.3,0.6,0.2,0.8,0,0,0,0,0",
    "aaaa,xclick,/m/04yx4,1,0.112500,0.587500,0.210000,0.790000,0,0,0,0,0",
    "aaaa,activemil,/m/01g317,1,0.1,0.6,0.2,0.8,0,0,0,0,0",
    "bbbb,xclick,/m/04yx4,1,nan,0.6,0.2,0.8,0,0,0,0,0",
)
MASKED = (
    "a_m04yx4_1.png,aaaa,/m/04yx4,1,0.1125003,0.5875,0.21,0.79,0.8,",
    "a_m01g317_2.png,aaaa,/m/01g317,2,0.1,0.6,0.2,0.8,0.8,",
    "b_m04yx4_3.png,bbbb,/m/04yx4,3,0.1,0.6,0.2,0.8,0.8,",
)


def brought(folder, has_masks=True):
    (folder / "boxes.csv").write_text("\n".join((BOXES, *CLICKED, "")))
    mask = masks(folder / "masks")
    if has_masks:
        path = folder / "masks" / "train-annotations-object-segmentation.csv"
        path.write_text("\n".join((HEAD, *MASKED, "")))
    beside = ImportInputs(masks=folder / "masks")
    told = import_prompts(
        find_format("extreme-clicks"), folder / "boxes.csv", folder / "out", beside=beside
    )
    return told, Collection.open(folder / "out"), mask


def test_boxes_that_people_clicked_find_their_masks(tmp_path):
    told, (given,), mask = brought(tmp_path)
    assert (told.prompts, told.left_out, told.findings) == (1, (), ())
    assert given.prompt == Box((2, 2), (8, 12))
    first, last = given.row.points
    assert (first.x, first.y, last.x, last.y) == pytest.approx((2.25, 2.1, 11.75, 7.9))
    assert np.array_equal(given.goal, mask)


def test_the_table_of_masks_must_lie_beside_them(tmp_path):
    with pytest.raises(DatasetError, match="annotations-object-segmentation"):
        brought(tmp_path, has_masks=False)


def test_what_is_missing_is_named(tmp_path):
    (tmp_path / "boxes.csv").write_text("ImageID,Source\n")
    with pytest.raises(InvalidInput, match="missing: LabelName, XMin, XMax, YMin, YMax"):
        find_format("extreme-clicks").open(tmp_path / "boxes.csv", ImportInputs(masks=tmp_path))
    (tmp_path / "boxes.csv").write_text(BOXES + "\n")
    with pytest.raises(InvalidInput, match="found no PNG"):
        find_format("extreme-clicks").open(tmp_path / "boxes.csv", ImportInputs(masks=tmp_path))

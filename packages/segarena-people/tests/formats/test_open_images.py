import numpy as np
import pytest
from PIL import Image

from segarena.errors import InvalidInput
from segarena.prompts import Click
from segarena_people.collection import Collection
from segarena_people.import_format import ImportInputs, find_format
from segarena_people.prompt_import import import_prompts

HEAD = "MaskPath,ImageID,LabelName,BoxID,BoxXMin,BoxXMax,BoxYMin,BoxYMax,PredictedIoU,Clicks"
ROWS = (
    "a_m04yx4_1.png,aaaa,/m/04yx4,1,0.1,0.6,0.2,0.8,0.86864,0.25000 0.50000 1;0.99000 0.10000 0",
    "a_m01g317_2.png,aaaa,/m/01g317,2,0.1,0.6,0.2,0.8,,0.5 0.5 1",
    "b_m04yx4_3.png,bbbb,/m/04yx4,3,0.1,0.6,0.2,0.8,,",
    "c_m04yx4_4.png,cccc,/m/04yx4,4,0.1,0.6,0.2,0.8,,0.5 0.5 1",
)


def masks(folder):
    """Write masks of all rows except the last, as in the unpacked archives."""
    mask = np.zeros((10, 20), bool)
    mask[2:8, 2:12] = True
    for name in ("a_m04yx4_1", "a_m01g317_2", "b_m04yx4_3"):
        (folder / name[0]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(mask).save(folder / name[0] / f"{name}.png")
    return mask


def brought(folder, rows=ROWS, head=HEAD):
    (folder / "table.csv").write_text("\n".join((head, *rows, "")))
    mask = masks(folder / "masks")
    beside = ImportInputs(masks=folder / "masks")
    told = import_prompts(
        find_format("open-images"), folder / "table.csv", folder / "out", beside=beside
    )
    return told, Collection.open(folder / "out"), mask


def test_corrective_clicks_come_back_in_order(tmp_path):
    told, given, mask = brought(tmp_path)
    assert (told.prompts, told.units, told.left_out, told.findings) == (3, 3, (), ())
    assert [one.prompt for one in given] == [Click((5, 5)), Click((1, 19), False), Click((5, 10))]
    assert [one.row.place for one in given] == [1, 2, 1]
    assert {one.row.round for one in given} == {2}
    assert given.groups == ("open-images/aaaa",)
    assert all(np.array_equal(one.goal, mask) for one in given)


@pytest.mark.parametrize(
    "clicks", ["0.5 0.5", "0.5 0.5 2", "nan 0.5 1", "1.5 0.5 1", "x y 1", "0.5,0.5,1"]
)
def test_clicks_that_are_none_cost_their_mask(tmp_path, clicks):
    told, given, _ = brought(tmp_path, (ROWS[0], f'{ROWS[1].removesuffix("0.5 0.5 1")}"{clicks}"'))
    assert len(told.left_out) == 1
    assert "a_m01g317_2.png: expected clicks as 'x y 0' or 'x y 1'" in told.left_out[0]
    assert len(given) == 2


def test_a_mask_that_promises_too_much_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setenv("SEGARENA_MAX_PIXELS", "100")
    with pytest.raises(InvalidInput, match="expected at most 100"):
        brought(tmp_path, ROWS[:1])


@pytest.mark.parametrize(
    ("rows", "head", "told"),
    [
        (ROWS, HEAD.replace("Clicks", "Taps"), "missing: Clicks"),
        ((*ROWS, 'a,"b'), HEAD, "expected a CSV table"),
        ((), HEAD, "no usable prompt"),
    ],
)
def test_what_is_not_such_a_table_is_refused(tmp_path, rows, head, told):
    with pytest.raises(InvalidInput, match=told):
        brought(tmp_path, rows, head)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "table.csv").write_bytes(b"\xff\xfe\x00" * 50)
    (tmp_path / "masks").mkdir()
    with pytest.raises(InvalidInput, match="expected"):
        find_format("open-images").open(
            tmp_path / "table.csv", ImportInputs(masks=tmp_path / "masks")
        )

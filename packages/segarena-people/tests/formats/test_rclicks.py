import numpy as np
import pytest
from PIL import Image

from segarena.errors import InvalidInput
from segarena.prompts import Click
from segarena.samples import ImageSample, Target
from segarena_people.collection import Collection
from segarena_people.import_format import ImportInputs, find_format
from segarena_people.prompt_import import import_prompts
from segarena_people.target_masks import TargetMasks

SHAPE = (12, 16)
HEAD = "dataset,image_stem,object_stem,model_type,click_type,full_stem,device,x,y,w,h"
ROWS = (
    "GrabCut,one,,,first,one,pc,3,4,16,12",
    "GrabCut,one,,,first,one,mobile,30,5,16,12",
    "GrabCut,two,b,sam,fn,two_______b_sam_fn,pc,9,6,16,12",
    "GrabCut,two,b,sam,fp,two_______b_sam_fp,mobile,1,2,16,12",
)


def square(top, left):
    mask = np.zeros(SHAPE, bool)
    mask[top : top + 6, left : left + 6] = True
    return mask


class Pictures:
    """Image "one" has one object, "two" has two."""

    name = "pictures"
    fingerprint = "1"
    sample_ids = ("one", "two")

    def load(self, sample_id):
        if sample_id == "one":
            masks = {"a": square(2, 2)}
        else:
            masks = {"a": square(2, 2), "b": square(3, 8)}
        targets = tuple(Target(id=name, mask=mask) for name, mask in masks.items())
        return ImageSample(id=sample_id, image=np.zeros((*SHAPE, 3), np.uint8), targets=targets)

    def check(self):
        return ()


def brought(folder, rows=ROWS, head=HEAD, previous=True, targets=True):
    (folder / "clicks.csv").write_text("\n".join((head, *rows, "")))
    (folder / "previous").mkdir(exist_ok=True)
    for kind in ("fn", "fp"):
        mask = Image.fromarray(np.where(square(2, 6), 255, 0).astype(np.uint8))
        mask.save(folder / "previous" / f"two_______b_sam_{kind}.png")
    beside = ImportInputs(
        previous=folder / "previous" if previous else None,
        targets=TargetMasks(Pictures()) if targets else None,
    )
    told = import_prompts(
        find_format("rclicks"), folder / "clicks.csv", folder / "out", beside=beside
    )
    return told, Collection.open(folder / "out")


def test_clicks_come_back_with_what_they_correct(tmp_path):
    told, given = brought(tmp_path)
    assert (told.prompts, told.people, told.units, told.left_out) == (4, 0, 3, ())
    assert [one.prompt for one in given] == [
        Click((4, 3)),
        Click((5, 15)),
        Click((6, 9)),
        Click((2, 1), False),
    ]
    assert [one.row.goal for one in given] == ["object", "object", "missing", "surplus"]
    assert [one.row.device for one in given] == ["pc", "mobile", "pc", "mobile"]
    assert [one.row.round for one in given] == [1, 1, 2, 2]
    assert np.array_equal(given[0].goal, square(2, 2))
    assert np.array_equal(given[2].goal, square(3, 8) & ~square(2, 6))
    assert np.array_equal(given[3].goal, square(2, 6) & ~square(3, 8))
    assert np.array_equal(given[3].previous, square(2, 6))
    assert given.groups == ("GrabCut/one", "GrabCut/two")
    assert [one.row.target for one in given] == ["a", "a", "b", "b"]
    shown = Collection.open(tmp_path / "out", Pictures())
    assert np.array_equal(shown[0].target, square(2, 2))
    assert np.array_equal(shown[3].target, square(3, 8))


def test_a_table_that_says_who_clicked_keeps_it(tmp_path):
    _, given = brought(tmp_path, [f"{row},p{i}" for i, row in enumerate(ROWS)], f"{HEAD},person")
    assert given.people == ("p0", "p1", "p2", "p3")


def test_later_rounds_need_their_previous_masks(tmp_path):
    told, given = brought(tmp_path, previous=False)
    assert len(given) == 2
    assert len(told.left_out) == 2
    assert "expected --previous-masks" in told.left_out[0]


@pytest.mark.parametrize(
    ("rows", "head", "targets", "told"),
    [
        (ROWS, HEAD, False, "expected --dataset"),
        (ROWS, HEAD.replace("full_stem", "stem"), True, "full_stem are missing"),
        ((ROWS[0].replace(",3,4,", ",nan,4,"),), HEAD, True, "cannot be read as a clicks table"),
        (
            (ROWS[0].replace("one", "elsewhere"),),
            HEAD,
            True,
            "no row of the table refers to an image",
        ),
        ((ROWS[0].replace("pc", "toaster"),), HEAD, True, "device other than"),
        ((ROWS[0].replace("16,12", "8,12"),), HEAD, True, "of size"),
    ],
)
def test_what_cannot_be_used_is_told(tmp_path, rows, head, targets, told):
    with pytest.raises(InvalidInput, match=told):
        brought(tmp_path, rows, head, targets=targets)

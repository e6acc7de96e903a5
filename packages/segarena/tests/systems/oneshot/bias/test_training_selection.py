from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.systems.oneshot.bias.training_selection import (
    measure_training_shares,
    select_training_images,
    training_share,
)
from segarena.systems.oneshot.pairs.image_sources import ClassMask


def test_the_share_of_what_stands_out():
    salient = np.array([[0.9, 0.5, 0.4], [0.1, 0.0, 0.0]], np.float32)
    training = np.array([[True, False, True], [False, True, False]])
    assert training_share(salient, training) == 0.5
    assert training_share(salient, training, is_soft=True) == pytest.approx(1.3 / 1.9)
    assert training_share(salient, training, threshold=0.4) == pytest.approx(2 / 3)
    assert training_share(np.zeros((2, 3), np.float32), training) is None
    assert training_share(np.full((2, 3), 0.4, np.float32), training) is None
    assert training_share(np.full((2, 3), 0.4, np.float32), training, is_soft=True) == 0.5


@given(
    st.lists(st.one_of(st.none(), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1, max_size=30)
)
def test_images_from_the_median_on_stay_and_so_do_those_without_share(shares):
    table = pl.DataFrame(
        {"image": [str(n) for n in range(len(shares))], "share": shares},
        schema_overrides={"share": pl.Float64},
    )
    kept = select_training_images(table)["kept"].to_list()
    known = [share for share in shares if share is not None]
    for share, stays in zip(shares, kept, strict=True):
        assert stays == (share is None or share >= np.median(known))
    assert sum(kept) >= len(shares) / 2


class Halves:
    """Images whose left half shows class a and whose right half shows class b, if listed."""

    def __init__(self, items):
        self._items = items

    def items(self):
        return self._items

    def image(self, image):
        return np.zeros((4, 6, 3), np.uint8)

    def mask(self, label, image):
        mask = np.zeros((4, 6), bool)
        mask[:, :3] = label == "a"
        mask[:, 3:] = label == "b"
        return ClassMask(mask=mask)


def test_training_images_are_measured_by_the_classes_of_their_fold(tmp_path):
    source = Halves([("a", "both"), ("b", "both"), ("b", "right"), ("a", "left")])
    fold_of = {"a": 0, "b": 1}.get

    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\ndef middle(image):\n    return np.tile(np.float32([0, 1, 1, 1, 0, 0]), (4, 1))\n"
    )
    saliency = f"{file}:middle"
    first = measure_training_shares(source, fold_of, 0, saliency, tmp_path)  # trains on b
    assert dict(first.iter_rows()) == pytest.approx({"both": 1 / 3, "right": 1 / 3})
    second = measure_training_shares(
        source, fold_of, 1, saliency, tmp_path, images=["both", "right"]
    )
    assert dict(second.iter_rows()) == pytest.approx({"both": 2 / 3})

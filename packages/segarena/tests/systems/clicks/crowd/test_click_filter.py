from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.ndimage import distance_transform_edt

from segarena.errors import InvalidInput
from segarena.systems.clicks.crowd.click_filter import filter_valid


def mask_of(_stem):
    mask = np.zeros((300, 400), dtype=bool)  # diagonal 500: one radius is 5 px
    mask[100:200, 100:200] = True
    return mask


def batch(name, positions):
    return pl.DataFrame(
        {
            "full_stem": [f"s{i}" for i in range(len(positions))],
            "batch": name,
            "y": [y for y, _ in positions],
            "x": [x for _, x in positions],
            "w": 400,
            "h": 300,
        }
    )


def test_a_batch_needs_seven_of_ten_inside():
    inside = (150, 150)
    near = (150, 203)
    good = batch("good", [inside] * 7 + [near] * 3)
    bad = batch("bad", [inside] * 6 + [near] * 4)
    result = filter_valid(pl.concat([bad, good]), mask_of)
    assert result.kept["batch"].to_list() == ["good"] * 10
    assert result.dropped["batch"].to_list() == ["bad"] * 10
    assert set(result.dropped["reason"]) == {"batch"}
    assert (result.batches, result.dropped_batches) == (2, 1)
    assert (
        str(result)
        == "kept 10 of 20 clicks; dropped 10 in 1 of 2 batches, and 0 clicks too far from their objects"
    )


def test_a_click_counts_up_to_one_radius_away():
    positions = [(150, 150)] * 7 + [(150, 204), (150, 205), (-1, 150)]
    result = filter_valid(batch("b", positions), mask_of)
    assert result.kept["x"].to_list() == [150] * 7 + [204]
    assert result.dropped.select("x", "reason").rows() == [(205, "far"), (150, "far")]


def test_nearness_equals_the_distance_transform():
    mask = np.random.default_rng(1).random((300, 400)) > 0.997
    distance = distance_transform_edt(~mask)
    rng = np.random.default_rng(2)
    positions = list(
        zip(rng.integers(0, 300, 200).tolist(), rng.integers(0, 400, 200).tolist(), strict=True)
    )
    result = filter_valid(batch("b", positions), lambda _: mask, required_share=0)
    kept = set(result.kept.select("y", "x").rows())
    assert kept == {p for p in positions if distance[p] <= 5}
    assert 0 < len(kept) < 200


def test_other_columns_and_the_order_stay():
    table = batch("b", [(150, 150), (0, 0), (160, 160), (170, 170), (180, 180)]).with_columns(
        note=pl.lit("n")
    )
    result = filter_valid(table, mask_of)
    assert result.kept.columns == table.columns
    assert result.kept["full_stem"].to_list() == ["s0", "s2", "s3", "s4"]


def test_what_cannot_be_judged_is_refused():
    with pytest.raises(InvalidInput, match="'batch'"):
        filter_valid(batch("b", [(1, 1)]).drop("batch"), mask_of)
    with pytest.raises(InvalidInput, match=r"size \(300, 400\)"):
        filter_valid(batch("b", [(1, 1)]), lambda _: np.ones((3, 3), dtype=bool))

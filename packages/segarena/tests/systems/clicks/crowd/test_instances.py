from __future__ import annotations

import cv2
import numpy as np
import polars as pl
import pytest

from segarena.errors import DatasetMissing, SampleInvalid
from segarena.systems.clicks.crowd.instances import (
    ClickedInstances,
    group_clicks,
    place_clicks,
    read_previous_mask,
)


def clicks(rows):
    """(dataset, full_stem, click_type, x, y, w, h) to a table."""
    return pl.DataFrame(
        [
            {
                "dataset": dataset,
                "image_stem": stem.split("_")[0],
                "object_stem": "",
                "model_type": "",
                "click_type": click_type,
                "full_stem": stem,
                "device": "pc",
                "x": x,
                "y": y,
                "w": w,
                "h": h,
            }
            for dataset, stem, click_type, x, y, w, h in rows
        ]
    )


def published_position(x, y, w, h, max_side):
    """Clip, then scale, one click at a time."""
    x, y = min(max(x, 0), w - 1), min(max(y, 0), h - 1)
    if max_side is None:
        return y, x, h, w
    if h > w:
        new_h = min(h, max_side)
        new_w = int(w / h * new_h + 0.5)
    else:
        new_w = min(w, max_side)
        new_h = int(h / w * new_w + 0.5)
    return int(y * new_h / h), int(x * new_w / w), new_h, new_w


def test_clicks_are_clipped_and_scaled_as_published():
    rng = np.random.default_rng(0)
    rows = []
    for i in range(400):
        w, h = (int(n) for n in rng.integers(1, 5000, 2))
        dataset = ("TETRIS", "COCO")[i % 2]
        rows.append(
            (
                dataset,
                f"s{i}",
                "first",
                int(rng.integers(-5, w + 5)),
                int(rng.integers(-5, h + 5)),
                w,
                h,
            )
        )
    placed = place_clicks(clicks(rows)).select("row", "column", "height", "width").rows()
    expected = [published_position(*row[3:], 2048 if row[0] == "TETRIS" else None) for row in rows]
    assert placed == expected


def test_the_size_of_the_first_row_of_an_instance_counts():
    table = clicks([("COCO", "a", "first", 50, 3, 10, 10), ("COCO", "a", "first", 50, 3, 99, 99)])
    assert place_clicks(table)["column"].to_list() == [9, 9]


def test_instances_come_in_order_of_first_appearance_with_their_clicks():
    table = clicks(
        [
            ("COCO", "b", "first", 1, 2, 10, 10),
            ("COCO", "a", "first", 3, 4, 10, 10),
            ("COCO", "b", "first", 5, 6, 10, 10),
            ("DAVIS", "b", "first", 7, 8, 10, 10),
        ]
    )
    grouped = group_clicks(place_clicks(table))
    assert grouped.select("dataset", "full_stem").rows() == [
        ("COCO", "b"),
        ("COCO", "a"),
        ("DAVIS", "b"),
    ]
    assert grouped["row"].to_list() == [[2, 6], [4], [8]]


@pytest.fixture
def folder(tmp_path):
    previous = np.zeros((6, 8), dtype=np.uint8)
    previous[:, :4] = 51
    cv2.imwrite(str(tmp_path / "a_ritm_fn.png"), previous)
    (tmp_path / "broken.png").write_text("no image")
    return tmp_path


def test_previous_masks_are_read_as_shares(folder):
    mask = read_previous_mask(folder, "a_ritm_fn", (6, 8))
    assert mask.dtype == np.float32
    np.testing.assert_allclose(mask[:, :4], 0.2, rtol=1e-6)
    assert not mask[:, 4:].any()
    with pytest.raises(DatasetMissing, match=r"b\.png"):
        read_previous_mask(folder, "b", (6, 8))
    with pytest.raises(SampleInvalid, match=r"\(6, 9\), got \(6, 8\)"):
        read_previous_mask(folder, "a_ritm_fn", (6, 9))
    with pytest.raises(SampleInvalid, match="an unreadable file"):
        read_previous_mask(folder, "broken", (6, 8))


def test_instances_load_image_target_and_previous_mask(folder):
    asked = []

    def load(dataset, image_stem, object_stem):
        asked.append((dataset, image_stem, object_stem))
        target = np.zeros((6, 8), dtype=bool)
        target[2:4] = True
        return np.full((6, 8, 3), 9, dtype=np.uint8), target

    table = clicks([("COCO", "a", "first", 9, 0, 8, 6), ("COCO", "a_ritm_fn", "fn", 1, 2, 8, 6)])
    instances = ClickedInstances(table, load, previous_masks={"COCO": folder})
    assert len(instances) == 2
    assert asked == []
    first, later = instances
    assert asked == [("COCO", "a", ""), ("COCO", "a", "")]
    np.testing.assert_array_equal(first.positions, [[0, 7]])
    np.testing.assert_array_equal(first.error, first.target)
    assert later.model_type == ""
    np.testing.assert_allclose(later.error[2, [0, 5]], [0.8, 1.0])
    assert [i.full_stem for i in instances[-1:]] == ["a_ritm_fn"]
    with pytest.raises(DatasetMissing, match="expected a folder of previous masks"):
        ClickedInstances(table, load)[1]


def test_a_target_of_another_size_is_refused():
    table = clicks([("COCO", "a", "first", 0, 0, 8, 6)])
    instances = ClickedInstances(
        table, lambda *_: (np.zeros((5, 8, 3), np.uint8), np.zeros((5, 8), bool))
    )
    with pytest.raises(SampleInvalid, match=r"size \(6, 8\)"):
        instances[0]

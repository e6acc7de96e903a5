from __future__ import annotations

import polars as pl
import pytest

from segarena.errors import InvalidInput
from segarena.systems.clicks.crowd.clicks_table import (
    CLICK_COLUMNS,
    DISPLAY_MODES,
    check_clicks,
    count_clicks,
    read_clicks,
    read_display_modes,
    write_clicks,
)

ROW = {
    "dataset": "COCO",
    "image_stem": "21077",
    "object_stem": "",
    "model_type": "",
    "click_type": "first",
    "full_stem": "21077",
    "device": "pc",
    "x": 5,
    "y": 7,
    "w": 20,
    "h": 10,
}


def clicks(*changes):
    return pl.DataFrame([{**ROW, **change} for change in changes])


def test_a_table_comes_back_as_it_was_written(tmp_path):
    table = clicks(
        {}, {"object_stem": "65280", "full_stem": "b", "x": -1}, {"device": "mobile", "y": 99}
    ).with_columns(batch=pl.lit("b1"))
    write_clicks(table, tmp_path / "clicks.csv")
    back = read_clicks(tmp_path / "clicks.csv")
    assert back.columns == [*CLICK_COLUMNS, "batch"]
    assert back.equals(table.select(back.columns).cast(dict.fromkeys("xywh", pl.Int32)))
    assert back["object_stem"].to_list() == ["", "65280", ""]


def test_columns_may_stand_in_any_order_and_names_may_look_like_numbers(tmp_path):
    table = clicks({"image_stem": "007", "full_stem": "007"}).select(reversed(CLICK_COLUMNS))
    table.write_csv(tmp_path / "clicks.csv")
    assert read_clicks(tmp_path / "clicks.csv")["image_stem"].to_list() == ["007"]


def test_the_published_stem_cutting_cuts_too_much_and_the_column_does_not(tmp_path):
    stems = [
        "my_simple_photo",
        "person7_mivos_fn",
        "a_______3_ritm_fp_pc_4",
        "plain",
        "x_sam_ritm_fn_pc_1",
    ]
    table = clicks(*({"full_stem": stem, "image_stem": "right"} for stem in stems))
    write_clicks(table, tmp_path / "clicks.csv")

    def published(stem):
        for mark in ("_ritm", "_sam", "_simple", "_mivos", "_______"):
            stem = stem.split(mark)[0]
        return stem

    cut = read_clicks(tmp_path / "clicks.csv", stems="published")["image_stem"].to_list()
    assert cut == [published(stem) for stem in stems] == ["my", "person7", "a", "plain", "x"]
    assert set(read_clicks(tmp_path / "clicks.csv")["image_stem"]) == {"right"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"click_type": "second"},
            r"1 rows with a click_type other than first, fn, fp: \{'second': 1\}",
        ),
        ({"device": "tv"}, "1 rows with a device"),
        ({"w": 0}, "1 rows with w or h below 1"),
        ({"full_stem": ""}, "1 rows with an empty"),
        ({"object_stem": "9"}, "1 instances whose rows differ in image"),
    ],
)
def test_rows_that_cannot_be_used_are_refused_and_counted(tmp_path, change, message):
    write_clicks(clicks({}, {}, change), tmp_path / "clicks.csv")
    with pytest.raises(InvalidInput, match=message):
        read_clicks(tmp_path / "clicks.csv")


def test_files_that_are_no_clicks_tables_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="expected a clicks table"):
        read_clicks(tmp_path / "none.csv")
    (tmp_path / "empty.csv").touch()
    with pytest.raises(InvalidInput, match="cannot be read as a clicks table: empty"):
        read_clicks(tmp_path / "empty.csv")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(InvalidInput, match="dataset, image_stem"):
        read_clicks(tmp_path / "a.csv")
    clicks({}).with_columns(x=pl.lit("1.5")).write_csv(tmp_path / "b.csv")
    with pytest.raises(InvalidInput, match="cannot be read as a clicks table"):
        read_clicks(tmp_path / "b.csv")
    clicks({}).with_columns(x=pl.lit(None, dtype=pl.Int32)).write_csv(tmp_path / "c.csv")
    with pytest.raises(InvalidInput, match="1 empty cells"):
        read_clicks(tmp_path / "c.csv")


def test_the_report_counts_what_is_odd():
    other = {"full_stem": "b", "image_stem": "b"}
    table = clicks(
        {},
        {},
        {"x": 20},
        {"x": -1, "y": 10},
        {**other, "x": 1},
        {**other, "w": 30},
        {**other, "w": 30},
    )
    report = check_clicks(table, expected=["21077", "c", "b", "d", "c"])
    assert (report.rows, report.instances) == (7, 2)
    assert report.duplicates == 2
    assert report.outside == 2
    assert report.changing_sizes == 1
    assert report.without_clicks == ("c", "d")
    assert not any(finding.is_error for finding in report.findings)
    assert "2 instances without clicks: c, d" in [finding.message for finding in report.findings]


def test_a_clean_table_has_no_findings():
    report = check_clicks(clicks({}, {"x": 6}))
    assert report.findings == ()
    assert (report.unknown_click_types, report.unknown_devices) == ({}, {})


def test_counts_are_laid_out_as_in_the_paper():
    table = clicks(
        {"dataset": "Mine"},
        {"dataset": "TETRIS"},
        {"dataset": "TETRIS", "click_type": "fn"},
        {"dataset": "TETRIS", "click_type": "fp"},
        {"dataset": "GrabCut"},
    )
    assert count_clicks(table).rows() == [
        ("GrabCut", 1, 0, 1),
        ("TETRIS", 1, 2, 3),
        ("Mine", 1, 0, 1),
        ("all", 3, 2, 5),
    ]


def test_display_modes_come_apart_in_the_papers_order(tmp_path):
    table = clicks(
        {"dataset": "Shifted_CutOut"},
        {"dataset": "Text_Description"},
        {"dataset": "Shifted_CutOut"},
    )
    write_clicks(table, tmp_path / "previews.csv")
    modes = read_display_modes(tmp_path / "previews.csv")
    assert {mode: part.height for mode, part in modes.items()} == {
        "Text_Description": 1,
        "Shifted_CutOut": 2,
    }
    assert list(modes) == [mode for mode in DISPLAY_MODES if mode in modes]
    write_clicks(clicks({}), tmp_path / "clicks.csv")
    with pytest.raises(InvalidInput, match="'COCO'"):
        read_display_modes(tmp_path / "clicks.csv")

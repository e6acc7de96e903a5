import sys
from pathlib import Path

import msgspec
import polars as pl
import pytest
from repository import ROOT

from segarena.errors import InvalidInput
from segarena_people.prompt_checks import check_prompts
from segarena_people.prompt_table import (
    PROMPT_COLUMNS,
    build_prompt_frame,
    read_prompt_frame,
    read_prompt_table,
    write_prompt_table,
)
from segarena_people.prompts import PersonPrompt

sys.path.insert(0, str(Path(__file__).parent))
from test_prompts import given, points

PROMPTS = [
    given(id="a"),
    given("box", points((1.0, 2.0), (5.0, 6.5)), id="b", sample="other", plane=3),
    given("scribble", (), id="c", purpose="training"),
]


def test_what_is_written_is_read(tmp_path):
    write_prompt_table(PROMPTS, tmp_path / "prompts.parquet")
    assert read_prompt_table(tmp_path / "prompts.parquet") == PROMPTS


def test_points_are_a_list_that_any_reader_of_parquet_has(tmp_path):
    write_prompt_table(PROMPTS, tmp_path / "prompts.parquet")
    frame = pl.read_parquet(tmp_path / "prompts.parquet")
    found = frame.explode("points").unnest("points").filter(pl.col("id") == "b")
    assert found.select("x", "y", "screen_x", "time_ms").rows() == [
        (1.0, 2.0, 2.0, 0.0),
        (5.0, 6.5, 10.0, 10.0),
    ]


@pytest.mark.long
def test_a_table_without_rows_has_all_columns(tmp_path):
    write_prompt_table([], tmp_path / "prompts.parquet")
    assert read_prompt_frame(tmp_path / "prompts.parquet").schema == pl.Schema(PROMPT_COLUMNS)
    assert read_prompt_table(tmp_path / "prompts.parquet") == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda frame: frame.drop("person"), "the column 'person' is missing"),
        (
            lambda frame: frame.with_columns(batch=pl.lit("x")),
            "column 'batch' to be Int32, got String",
        ),
        (lambda frame: frame.with_columns(kind=pl.lit("wink")), "Invalid enum value 'wink'"),
    ],
)
def test_other_tables_are_refused_in_one_line(tmp_path, change, told):
    change(build_prompt_frame(PROMPTS)).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InvalidInput, match=told):
        read_prompt_table(tmp_path / "other.parquet")


@pytest.mark.long
def test_what_is_no_table_is_told(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(InvalidInput, match="Parquet"):
        read_prompt_table(tmp_path / "x.parquet")
    with pytest.raises(InvalidInput, match="no such file"):
        read_prompt_table(tmp_path / "none.parquet")


def findings(*prompts, **columns):
    frame = build_prompt_frame(prompts).with_columns(**columns)
    return [(finding.is_error, finding.message) for finding in check_prompts(frame)]


def test_a_good_table_has_nothing_odd():
    assert findings(*PROMPTS[:2]) == []


def test_everything_that_cannot_be_is_an_error():
    backwards = tuple(reversed(points((1.0, 1.0), (2.0, 2.0))))
    far = points((1.0, 1.0), (60.0, 2.0))
    nowhere = points((float("nan"), 1.0))
    cases = {
        "points with an earlier time than the point before": given("scribble", backwards),
        "points farther outside the picture than its width or height": given("scribble", far),
        "points that are not finite": given(drawn=nowhere),
        "prompts with fewer points than their kind needs": given(
            "lasso", points((1.0, 1.0), (2.0, 1.0))
        ),
        "rows in a batch with an empty person": given(person=""),
        "prompts with both points and a raster": given("scribble", raster="a.png"),
        "clicks or boxes with a raster, which only lines may have": given(drawn=(), raster="a.png"),
        "rows with a width or height below 1": given(width=0),
    }
    for told, prompt in cases.items():
        assert (True, f"1 {told}") in findings(prompt), told
    assert any(
        "negative or not finite" in message
        for _, message in findings(given(answer_ms=float("inf")))
    )
    assert any(
        "a kind other than click" in message
        for _, message in findings(given(), kind=pl.lit("wink"))
    )


def test_what_is_not_known_of_prompts_from_elsewhere_is_no_error():
    unknown = dict.fromkeys(("person", "display_mode", "device", "declared_device", "pointer"), "")
    assert findings(given("scribble", (), raster="a.png", batch=0, **unknown)) == []


def test_an_image_that_a_person_saw_twice_is_an_error_and_ids_are_unique():
    twice = [given(id="a"), given(id="b", target="u")]
    assert findings(*twice) == [(True, "1 images that a person saw more than once")]
    assert findings(twice[0], given(id="b", plane=1)) == []
    assert findings(given(id="a", batch=0), given(id="b", batch=0)) == []
    assert findings(given(sample="x"), given()) == [(True, "1 rows with a duplicate id")]


def test_oddities_of_hands_and_screens_are_noted():
    odd = given(
        device="mobile", extra_presses=1, early_presses=2, page_scale=1.5, image_scale=0.4, device_pixel_ratio=1.1,
        scrolls=3, reloads=1, fate="far",
    )  # fmt: skip
    notes = findings(odd)
    assert len(notes) == 9
    assert not any(is_error for is_error, _ in notes)


def test_every_field_of_a_prompt_is_documented():
    page = (ROOT / "docs" / "people.md").read_text(encoding="utf-8")
    assert [name for name in PROMPT_COLUMNS if f"| `{name}`" not in page] == []
    fields = [field.name for field in msgspec.structs.fields(PersonPrompt)]
    assert fields == list(PROMPT_COLUMNS)

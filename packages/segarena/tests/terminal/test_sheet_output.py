import csv
from pathlib import Path

import pytest

from segarena.errors import InvalidInput, StoreError
from segarena.reports.cells import Value
from segarena.reports.sheets import Sheet
from segarena.terminal.sheet_output import check_table_path, show_sheet, write_sheet

SHEET = Sheet(
    name="heights",
    caption="Heights.",
    head=("Name", "Height, m", "Of"),
    rows=(
        ("[bold]a & b", Value(mean=1.5, low=1.25, high=1.75, decimals=2), 7),
        ("c", Value(mean=float("nan")), 12),
    ),
    notes=("Brackets hold intervals.",),
)


def test_a_sheet_is_shown_with_caption_intervals_and_notes(capsys):
    show_sheet(SHEET)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "Heights",
        "Name                 Height, m  Of",
        "[bold]a & b  1.50 [1.25, 1.75]   7",
        "c                            –  12",
        "Brackets hold intervals.",
    ]


def test_csv_has_the_ends_of_intervals_in_columns(tmp_path):
    write_sheet(SHEET, tmp_path / "new" / "heights.csv")
    with (tmp_path / "new" / "heights.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {
        "Name": "[bold]a & b", "Height, m": "1.5", "Height, m low": "1.25", "Height, m high": "1.75", "Of": "7",
    }  # fmt: skip
    assert rows[1]["Height, m"] == ""


def test_latex_escapes_names(tmp_path):
    write_sheet(SHEET, tmp_path / "heights.tex")
    assert r"[bold]a \& b & 1.50" in (tmp_path / "heights.tex").read_text(encoding="utf-8")


def test_another_ending_is_refused_before_any_work():
    with pytest.raises(InvalidInput, match=r"ending in \.csv or \.tex"):
        check_table_path(Path("x.txt"))


def test_a_place_that_cannot_be_written_to_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        write_sheet(SHEET, tmp_path / "file" / "heights.csv")

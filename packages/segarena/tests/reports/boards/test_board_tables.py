"""A board as tables for other programs."""

import csv
import io
import json

import numpy as np
import pytest

from segarena.reports.boards.board import board_of
from segarena.reports.boards.board_tables import (
    board_csv,
    board_targets_sheet,
    board_tex,
    run_sheet,
    sample_sheet,
    standing_sheet,
)
from segarena.reports.boards.json_export import board_json
from segarena.reports.boards.statistic_rankings import PanelKey

MAIN = PanelKey("photos", "centre", "", "NoC@90")


@pytest.fixture
def board(make_entry):
    values = [2.0, 4.0] * 6
    return board_of(
        [
            make_entry(
                values, segmenter="good", name="=1+1", participant="@Ada & Co_", at="2026-01-01"
            ),
            make_entry(
                [9.0, *values[1:]], segmenter="worse", name="plain\n\ud800name", at="2026-01-02"
            ),
        ]
    )


def test_csv_holds_the_rows_and_nothing_that_a_spreadsheet_would_compute(board):
    rows = list(csv.DictReader(io.StringIO(board_csv(board))))
    assert [(row["rank"], row["rank low"], row["rank high"], row["NoC@90"]) for row in rows] == [
        ("1", "1", "2", "3"),
        ("2", "1", "2", "3.58333"),
    ]
    assert [(row["run"], row["participant"]) for row in rows] == [
        ("'=1+1", "'@Ada & Co_"),
        ("plain ?name", "worse"),
    ]


def test_latex_escapes_names(board):
    text = board_tex(board)
    assert r"@Ada \& Co\_" in text
    assert r"\begin{tabular}" in text


def test_json_is_json_without_nan_and_says_what_the_board_says(board):
    told = json.loads(board_json(board), parse_constant=lambda name: pytest.fail(name))
    panel = next(one for one in told["panels"] if one["key"] == list(MAIN))
    assert panel["mean"] == [mean.mean for mean in board.panels[MAIN].means[:1]] + [3.58333333]
    assert [entry["name"] for entry in told["entries"]] == ["=1+1", "plain ?name"]
    board_json(board).encode()


def test_bits_of_who_is_better_are_those_of_the_panel(make_entry, rng):
    import base64

    base = rng.normal(5, 1, 24)
    board = board_of([make_entry(base + k, segmenter=f"s{k}") for k in range(11)])
    (panel,) = (one for one in json.loads(board_json(board))["panels"] if one["key"] == list(MAIN))
    rows = [
        np.unpackbits(np.frombuffer(base64.b64decode(row), np.uint8))[:11] for row in panel["ahead"]
    ]
    np.testing.assert_array_equal(np.array(rows, dtype=bool), board.panels[MAIN].ahead)
    assert board.panels[MAIN].ahead.sum() == 55


def test_targets_come_hardest_first_with_mean_and_best_of_all_runs(board):
    sheet = board_targets_sheet(
        board, MAIN, {"photo-0": "samples/0001.html"}, {("photo-0", "disc-0"): "dialogue-1"}
    )
    first = sheet.rows[0]
    assert first[0].address == "samples/0001.html#dialogue-1"
    assert (first[0].text, first[1].text, first[2], first[3].mean, first[4].mean, first[5]) == (
        "disc-0",
        "photo-0",
        "disc",
        5.5,
        2.0,
        2,
    )
    means = [row[3].mean for row in sheet.rows]
    assert means == sorted(means, reverse=True)


def test_a_sample_has_the_value_of_every_run_for_each_target(board):
    sheet = sample_sheet(board, MAIN, "photo-0")
    assert sheet.keys == ["rank", "run", "participant", "disc-0", "disc-1"]
    assert [[cell.mean for cell in row[3:]] for row in sheet.rows] == [[2.0, 4.0], [9.0, 4.0]]


def test_a_run_stands_beside_the_best_of_the_others_at_each_target(make_entry, rng):
    values = rng.integers(1, 6, (4, 12)).astype(float)
    values[2, 3] = np.nan
    board = board_of(
        [make_entry(one, segmenter=name) for one, name in zip(values, "abcd", strict=True)]
    )
    for entry in range(4):
        rows = run_sheet(board, MAIN, entry, {}).rows
        told = {(row[1].text, row[0].text): (row[3].mean, row[4].mean, row[5]) for row in rows}
        expected = {}
        for column in range(12):
            others = [
                one
                for number, one in enumerate(values[:, column])
                if number != entry and not np.isnan(one)
            ]
            own = values[entry, column]
            if not np.isnan(own):
                place = 1 + sum(other < own for other in others)
                expected[f"photo-{column // 2}", f"disc-{column % 2}"] = (
                    own,
                    min(others),
                    f"{place} of {1 + len(others)}",
                )
        assert told == expected
        behind = [row[3].mean - row[4].mean for row in rows]
        assert behind == sorted(behind, reverse=True)


def test_a_run_alone_stands_beside_nobody(make_entry):
    board = board_of([make_entry([2.0, 4.0], segmenter="a")])
    assert [(row[3].mean, row[5]) for row in run_sheet(board, MAIN, 0, {}).rows] == [
        (2.0, "1 of 1"),
        (4.0, "1 of 1"),
    ]


def test_where_a_run_stands_is_what_the_rankings_say(board):
    for entry in range(2):
        told = {row[0]: (row[2].mean, row[3], row[4]) for row in standing_sheet(board, entry).rows}
        for statistic in ("NoC@90", "AuC"):
            row = next(
                one for one in board.rows(MAIN._replace(statistic=statistic)) if one.entry == entry
            )
            assert told[statistic] == (row.mean.mean, f"{row.place} of 2", "1 to 2")

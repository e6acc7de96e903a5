"""Tables of dialogues, compared with the written records."""

import pytest

from segarena.engine.run_folder import RunFolder
from segarena_studio.viewer import dialogue_table as tables
from segarena_studio.viewer.dialogue_table import DialogueTable
from segarena_studio.viewer.table_query import TableQuery

ALL = TableQuery()


def opened(tmp_path, runs, samples=("a", "b", "c")):
    return DialogueTable(
        samples,
        {name: RunFolder.open(path) for name, path in runs.items()},
        tmp_path / "table.parquet",
    )


@pytest.fixture
def two(make_run, make_dialogue, tmp_path):
    """Two runs: one lacks a dialogue, failed in one and could not use a sample."""
    first = [
        make_dialogue("b", "t1", "centre", [0.2, 0.9]),
        make_dialogue("a", "t1", "centre", [0.5, 0.7, 0.8], label="cat"),
        make_dialogue("c", "", "", [], failure="cannot be read"),
    ]
    second = [make_dialogue("a", "t1", "centre", [0.1, 0.3], failure="out of memory"), first[0]]
    return opened(tmp_path, {"one": make_run(first, "one"), "two": make_run(second, "two")})


@pytest.mark.long
def test_each_dialogue_is_a_row_with_what_came_of_it_in_the_order_of_the_samples(two):
    rows = two.rows(ALL, 0, 10)
    told = [
        (row["place"], row["sample"], row["rounds.1"], row["iou.1"], row["iou.2"], row["failure.2"])
        for row in rows
    ]
    assert told == [
        (0, "a", 3, 0.8, 0.3, "out of memory"),
        (1, "b", 2, 0.9, 0.9, None),
        (2, "c", 0, None, None, None),
    ]
    assert rows[0]["label"] == "cat"
    assert rows[0]["attributes"] == "size: small"
    assert rows[2]["failure.1"] == "cannot be read"
    assert [round(row["spread"], 6) if row["spread"] is not None else None for row in rows] == [
        0.5,
        0.0,
        None,
    ]


def test_rows_come_in_pages_and_are_found_again(two):
    question = TableQuery.of("", ["iou.1>0"], "-iou.1")
    assert two.count(question) == 2
    assert [row["sample"] for row in two.rows(question, 1, 5)] == ["a"]
    assert two.place_of(question, ("a", "t1", "centre", 0)) == 1
    assert two.place_of(question, ("c", "", "", 0)) is None
    assert two.rows(question, 7, 5) == []


def test_records_read_in_stretches_make_the_same_table(make_run, make_ramps, tmp_path, monkeypatch):
    path = make_run(make_ramps(samples=5))
    whole = tables.read_dialogues(RunFolder.open(path))
    monkeypatch.setattr(tables, "STRETCH", 2)
    assert tables.read_dialogues(RunFolder.open(path)).equals(whole)


def test_prompts_and_masks_are_not_read(make_run, make_ramps, tmp_path, monkeypatch):
    folder = RunFolder.open(make_run(make_ramps()))
    asked = []
    read = RunFolder.read
    monkeypatch.setattr(
        RunFolder,
        "read",
        lambda self, name, *more, **how: (
            asked.append((name, how)) or read(self, name, *more, **how)
        ),
    )
    DialogueTable(folder.samples, {"run": folder}, tmp_path / "table.parquet")
    assert {name for name, _ in asked} == {"records", "timings"}
    assert all("prompts" in how["without"] for name, how in asked if name == "records")


def test_samples_alone_have_one_column(tmp_path):
    table = opened(tmp_path, {}, samples=["b", "a"])
    assert [column.name for column in table.columns] == ["sample"]
    assert [row["sample"] for row in table.rows(ALL, 0, 9)] == ["b", "a"]
    assert table.place_of(ALL, ("a", "", "", 0)) == 1

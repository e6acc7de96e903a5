from __future__ import annotations

import polars as pl
import pytest

from segarena.systems.oneshot.building.cache import CHUNK, run_stage

ITEMS = [("cat", f"{number}") for number in range(2 * CHUNK + 3)]


class Counter:
    """Counts what it computes; stops at an item as an interrupted program does."""

    def __init__(self, stop_at=None):
        self.seen, self.stop_at = [], stop_at

    def __call__(self, label, image):
        if image == self.stop_at:
            raise KeyboardInterrupt
        self.seen.append((label, image))
        return {"value": float(image) / 3}


def run(folder, compute, items=ITEMS, told=None, **parameters):
    return run_stage(
        folder, "measure", items, compute, columns={"value": pl.Float64}, parameters=parameters,
        on_progress=lambda *state: told.append(state) if told is not None else None,
    )  # fmt: skip


def test_a_stage_gives_one_row_per_item_in_order(tmp_path):
    told = []
    table = run(tmp_path, Counter(), told=told)
    assert list(table.select("class", "image").iter_rows()) == ITEMS
    assert table["value"].to_list() == [float(image) / 3 for _, image in ITEMS]
    assert told == [("measure", CHUNK, 103), ("measure", 2 * CHUNK, 103), ("measure", 103, 103)]


def test_a_finished_stage_is_read(tmp_path):
    run(tmp_path, Counter(), side=1)
    again = Counter()
    assert run(tmp_path, again, side=1).height == len(ITEMS)
    assert again.seen == []


@pytest.mark.parametrize("change", [{"side": 2}, {"items": ITEMS[:-1]}])
def test_other_parameters_or_items_are_computed_anew(tmp_path, change):
    run(tmp_path, Counter(), side=1)
    again = Counter()
    items = change.get("items", ITEMS)
    assert run(tmp_path, again, items, side=change.get("side", 1)).height == len(items)
    assert len(again.seen) == len(items)


def test_an_interrupted_stage_goes_on_and_gives_the_same_bytes(tmp_path):
    run(tmp_path / "whole", Counter())
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", Counter(stop_at=str(CHUNK + 5)))
    assert not (tmp_path / "cut" / "measure.parquet").exists()
    rest = Counter()
    run(tmp_path / "cut", rest)
    assert rest.seen == ITEMS[CHUNK:]
    files = [tmp_path / name / "measure.parquet" for name in ("whole", "cut")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sorted(path.name for path in (tmp_path / "cut").iterdir()) == ["measure.json", "measure.parquet"]


def test_parts_of_other_parameters_are_thrown_away(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Counter(stop_at=str(CHUNK + 5)), side=1)
    again = Counter()
    run(tmp_path, again, side=2)
    assert len(again.seen) == len(ITEMS)


def test_no_items_give_an_empty_table(tmp_path):
    assert run(tmp_path, Counter(), []).schema == {"class": pl.String, "image": pl.String, "value": pl.Float64}

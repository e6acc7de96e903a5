from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import polars as pl
import pytest

from segarena.errors import InvalidInput, RunConflict
from segarena.systems.oneshot.tier_building.stage_cache import make_stage_job, run_stage
from segarena.work.executors import make_executor
from segarena.work.sharing.shared_ledger import open_ledger

ITEMS = [(label, f"{number}") for number in range(20) for label in ("cat", "dog")]


class Counter:
    """Counts its computations; stops at an image like an interrupted program."""

    def __init__(self, stop_at=None):
        self.seen, self.stop_at = [], stop_at

    def __call__(self, label, image):
        if image == self.stop_at:
            raise KeyboardInterrupt
        self.seen.append((label, image))
        return {"value": (float(image) + len(label)) / 3}


def run(folder, compute, items=ITEMS, told=None, share=False, **parameters):
    return run_stage(
        folder, "measure", items, make_stage_job(lambda: compute), columns={"value": pl.Float64}, parameters=parameters,
        executor=make_executor(0), share=share,
        on_progress=lambda state: told.append((state.stage, state.done, state.units)) if told is not None else None,
    )  # fmt: skip


def test_a_stage_gives_one_row_per_item_in_order(tmp_path):
    told = []
    table = run(tmp_path, Counter(), told=told)
    assert list(table.select("class", "image").iter_rows()) == ITEMS
    assert table["value"].to_list() == [(float(image) + 3) / 3 for _, image in ITEMS]
    assert told == [("measure", done, 20) for done in range(21)]


def test_a_finished_stage_is_read(tmp_path):
    run(tmp_path, Counter(), side=1)
    again = Counter()
    assert run(tmp_path, again, side=1).height == len(ITEMS)
    assert again.seen == []


@pytest.mark.parametrize("name", ["measure.parquet", "measure.json"])
def test_a_damaged_stage_is_computed_anew(tmp_path, name):
    whole = run(tmp_path, Counter())
    file = tmp_path / name
    data = bytearray(file.read_bytes())
    for place in range(0, len(data), 9):
        data[place] ^= 1
    file.write_bytes(data)
    again = Counter()
    assert run(tmp_path, again).equals(whole)
    assert len(again.seen) == len(ITEMS)


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
        run(tmp_path / "cut", Counter(stop_at=str(12)))
    assert not (tmp_path / "cut" / "measure.parquet").exists()
    rest = Counter()
    run(tmp_path / "cut", rest)
    assert rest.seen == ITEMS[24:]
    files = [tmp_path / name / "measure.parquet" for name in ("whole", "cut")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sorted(path.name for path in (tmp_path / "cut").iterdir()) == [
        "measure.json",
        "measure.parquet",
    ]


def test_results_of_other_parameters_are_thrown_away(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Counter(stop_at=str(12)), side=1)
    again = Counter()
    run(tmp_path, again, side=2)
    assert len(again.seen) == len(ITEMS)


def test_no_items_give_an_empty_table(tmp_path):
    assert run(tmp_path, Counter(), []).schema == {
        "class": pl.String,
        "image": pl.String,
        "value": pl.Float64,
    }


def test_an_item_that_fails_is_said_once_the_others_are_done(tmp_path):
    def fails(label, image):
        if image == "3":
            raise InvalidInput(f"nothing to see in {image}")
        return {"value": 1.0}

    with pytest.raises(
        InvalidInput, match=r"3: nothing to see in 3 \(1 of 20 images fail; the others are done\)"
    ):
        run(tmp_path, fails)
    rest = Counter()
    run(tmp_path, rest)
    assert rest.seen == ITEMS[6:8]


def test_a_stage_is_shared_and_nothing_computed_twice(tmp_path):
    whole = run(tmp_path / "alone", Counter())
    each = [Counter(), Counter(), Counter()]
    with ThreadPoolExecutor(3) as threads:
        tables = list(
            threads.map(lambda counter: run(tmp_path / "shared", counter, share=True), each)
        )
    assert all(table.equals(whole) for table in tables)
    assert sorted(chain.from_iterable(counter.seen for counter in each)) == sorted(ITEMS)
    for name in ("measure.parquet", "measure.json"):
        assert (tmp_path / "shared" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
    assert len(list((tmp_path / "shared").iterdir())) == 2


def test_while_a_stage_is_shared_nobody_makes_another_of_its_name(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Counter(stop_at="3"), side=1)
    (ledger,) = tmp_path.glob("*.jsonl")
    digest = json.loads(ledger.read_text().splitlines()[0])["identity"]
    with (
        open_ledger(ledger, digest, share=True),
        pytest.raises(RunConflict, match=r"is shared by .*; add --share to join"),
    ):
        run(tmp_path, Counter(), side=2, share=True)
    assert run(tmp_path, Counter(), side=2).height == len(ITEMS)

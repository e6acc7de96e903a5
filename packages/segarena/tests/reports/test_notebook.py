"""Representation of runs, tables, forecasts and lists of plug-ins in notebooks."""

import re

import pytest

import segarena
from segarena.errors import InvalidInput
from segarena.registry import plugins_by_name
from segarena.reports.sheets import Sheet

pytestmark = pytest.mark.usefixtures("quick_workers")

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def pair(make_run, make_dialogue):
    def one(name, lift):
        dialogues = [
            make_dialogue(f"photo-{i}", "disc-0", "centre", [0.1 * i + lift]) for i in range(6)
        ]
        return segarena.RunFolder.open(make_run(dialogues, name, segmenter={"name": name}))

    return one("plain", 0.0), one("lifted", 0.25)


def test_a_run_shows_its_summary(pair):
    plain, _ = pair
    sheet = plain.summary()
    assert sheet.caption == (
        "plain reaches IoU 0.9 on none of 6 targets in 6 photographs within 4 clicks."
    )
    assert sheet.rows[0][sheet.keys.index("IoU@1")].mean == pytest.approx(0.25)
    html = plain._repr_html_()
    assert "<td" in html
    assert "0.250" in html
    assert "small of plain, 6 of 6 photographs" in repr(plain)


def test_runs_are_compared_target_by_target(pair):
    plain, lifted = pair
    sheet = plain.compare(lifted)
    cell = sheet.rows[0][sheet.keys.index("IoU@1")]
    assert (cell.mean, cell.low, cell.high) == pytest.approx((0.25, 0.25, 0.25))
    assert cell.p_value == 2 / 64
    assert sheet.rows[0][sheet.keys.index("difference")] == "lifted − plain"


def test_names_stay_text(make_run, make_dialogue):
    run = make_run(
        [make_dialogue("photo-0", "disc-0", HOSTILE, [0.5])], segmenter={"name": HOSTILE}
    )
    html = (
        segarena.RunFolder.open(run)._repr_html_()
        + Sheet(name="x", caption=HOSTILE, head=(), rows=())._repr_html_()
    )
    assert HOSTILE not in html
    assert "&lt;script&gt;" in html


def test_plug_ins_and_forecasts_are_tables():
    html = plugins_by_name("segmenter")._repr_html_()
    shown = set(re.findall(r"<tr><td>([^<]*)</td>", html))
    assert shown == set(plugins_by_name("segmenter"))
    cost = segarena.forecast(
        "clicks", segmenter="nothing", dataset="demo", limit=1, rounds=1, timed=1
    )
    assert f"<td>targets</td><td>{cost.targets}</td>" in cost._repr_html_()


def test_one_number_and_a_data_frame(pair, make_run, make_dialogue):
    plain, _ = pair
    sheet = plain.summary()
    assert sheet["IoU@1"] == pytest.approx(0.25)
    assert sheet["user"] == "centre"
    frame = sheet.to_polars()
    assert frame["IoU@1"].to_list() == pytest.approx([0.25])
    assert frame["IoU@1 low"][0] <= frame["IoU@1"][0] <= frame["IoU@1 high"][0]
    with pytest.raises(InvalidInput, match=r"no column 'IoU@2'; did you mean 'IoU@1'"):
        sheet["IoU@2"]
    two_users = [make_dialogue("photo-0", "disc-0", user, [0.5]) for user in ("centre", "uniform")]
    run = segarena.RunFolder.open(
        make_run(two_users, "two", users=[{"name": "centre"}, {"name": "uniform"}])
    )
    with pytest.raises(InvalidInput, match="has 2 rows; to_polars"):
        run.summary()["IoU@1"]
    assert run.summary().to_polars()["user"].to_list() == ["centre", "uniform"]


def test_a_table_prints_as_short_text(pair):
    plain, _ = pair
    lines = str(plain.summary()).splitlines()
    assert lines[0].startswith("plain reaches IoU 0.9 on none of 6 targets")
    assert lines[2].split()[:2] == ["plain", "centre"]
    assert len(lines) == 3


def test_completion_offers_what_a_reader_needs(pair):
    plain, _ = pair
    offered = dir(plain)
    assert {"summary", "records", "compare", "config"} <= set(offered)
    assert not {"lock", "gather", "writer", "discard", "heal"} & set(offered)
    assert all(hasattr(plain, name) for name in offered)

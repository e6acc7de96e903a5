"""People next to simulated users in reports, with made-up seconds that are counted by hand."""

import math

import numpy as np
import pytest

import segarena
from segarena.records.parquet_tables import parquet_bytes, table_frame
from segarena.records.prompts import read_prompts
from segarena.records.row_types import PersonRound
from segarena.reports.chart_series import area_statistic
from segarena.reports.pages import page_of
from segarena.reports.people_section import (
    human_rounds_of,
    participants_sheet,
    people_parts,
    simulation_gap_sheet,
)
from segarena.reports.recorded_run import read_runs
from segarena.reports.report import report_html
from segarena.reports.run_statistics import target_values

ROUNDS = 3


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Records of people in a run with simulated users, one of which is relabelled as two people."""
    folder = segarena.evaluate(
        "clicks",
        segmenter="image-blind",
        dataset="demo",
        users=["human=centre", "uniform"],
        limit=3,
        rounds=ROUNDS,
        out=tmp_path_factory.mktemp("people") / "run",
    )
    rows = [
        PersonRound(
            **{name: row[name] for name in ("sample", "target", "user", "repeat", "round")},
            person="aa" if place % 2 else "bb",
            user_s=2.0 * row["round"] + 0.5 * (place // ROUNDS),
            away_s=1.0,
            pointer="mouse+pen" if place == 0 else "touch",
            note="",
        )
        for place, row in enumerate(folder.records().filter(user="human").iter_rows(named=True))
    ]
    (folder.path / "people").mkdir()
    (folder.path / "people" / "000000.parquet").write_bytes(
        parquet_bytes(table_frame("people", rows))
    )
    folder.people = lambda: table_frame("people", rows)
    (run,) = read_runs([folder.path])
    run.folder.people = folder.people
    return human_rounds_of(run)


def names_of(asked):
    return [statistic.name for statistic in asked.run.summary]


@pytest.mark.long
def test_people_are_counted_with_their_seconds(asked):
    rows = participants_sheet([asked]).rows
    seconds = asked.rounds["user_s"].to_numpy()
    assert [row[:3] for row in rows] == [
        ("person 1", "human", asked.run.label),
        ("person 2", "human", asked.run.label),
    ]
    assert sum(row[4] for row in rows) == len(seconds)
    assert rows[0][5].mean == pytest.approx(asked.rounds.filter(person="bb")["user_s"].mean())
    assert rows[0][5].low < rows[0][5].mean < rows[0][5].high
    assert rows[0][8] == "mouse, pen, touch"
    assert sum(row[7].mean for row in rows) == pytest.approx(seconds.sum())


def test_simulated_users_are_held_against_people_target_by_target(asked):
    ((simulated, people, _, *cells, apart, clicks),) = simulation_gap_sheet([asked]).rows
    records = asked.run.folder.records()
    pairs = records.filter(round=1).pivot("user", index=["sample", "target"], values="iou")
    place = names_of(asked).index("IoU@1")

    assert (simulated, people) == ("uniform", "human")
    assert cells[place].mean == pytest.approx((pairs["uniform"] - pairs["human"]).mean())
    areas = [
        target_values(asked.run, user, area_statistic(asked.run)) for user in (simulated, people)
    ]
    assert apart.mean == pytest.approx(
        np.mean([abs(areas[0][key] - areas[1][key]) for key in areas[0]])
    )
    firsts = records.filter(round=1).pivot("user", index=["sample", "target"], values="prompts")
    shapes = dict(asked.run.folder.masks().unique("sample").select("sample", "shape").rows())
    distances = []
    for row in firsts.iter_rows(named=True):
        (one,), (other,) = (read_prompts(row[user]) for user in ("uniform", "human"))
        distances.append(
            100 * math.dist(one.position, other.position) / math.hypot(*shapes[row["sample"]])
        )
    assert clicks.mean == pytest.approx(np.mean(distances))


def test_seconds_run_on_over_the_rounds_of_a_dialogue(asked):
    dialogue = asked.run.finished("human")[0]
    first = asked.seconds_of(dialogue)[0]  # the next take 2 and 4 s more than the first
    assert asked.seconds_of(dialogue).tolist() == [first, 2 * first + 2, 3 * first + 6]
    assert asked.pace_s("human") == asked.rounds["user_s"].median()


@pytest.mark.long
def test_reports_have_the_section_only_where_people_were_asked(asked, tmp_path):
    html = report_html(page_of([asked.run]))
    assert 'id="people"' in html
    assert "against real seconds" in html
    segarena.evaluate("clicks", segmenter="image-blind", limit=1, rounds=1, out=tmp_path / "run")
    assert people_parts(page_of(read_runs([tmp_path / "run"]))) == []

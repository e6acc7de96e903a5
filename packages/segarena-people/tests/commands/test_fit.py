"""`segarena people fit`: from a folder of people's prompts to the file for a user."""

from __future__ import annotations

from collection_factory import collection
from msgspec.structs import replace

from segarena.registry import build
from segarena.users.habits.habit_files import read_habits
from segarena.users.habits.time_habits import TimeHabits
from segarena_people.prompt_table import read_prompt_table, write_prompt_table


def test_boxes_of_people_become_habits_of_a_user(segarena, tmp_path):
    given = collection(tmp_path / "given", kind="box", objects=12)
    done = segarena("people", "fit", "boxes", "--with", given, "--out", tmp_path / "boxes.toml")
    assert done.exit_code == 0, done.stderr
    assert "24 boxes in 1 size class" in done.stdout
    build("user", f"box-drawer(fitted={str(tmp_path / 'boxes.toml')!r})")
    first = (tmp_path / "boxes.toml").read_bytes()
    segarena("people", "fit", "boxes", "--with", given, "--out", tmp_path / "boxes.toml")
    assert (tmp_path / "boxes.toml").read_bytes() == first


def test_times_of_people_become_a_pace_of_reports(segarena, tmp_path):
    given = collection(tmp_path / "given", objects=12)
    rows = read_prompt_table(given / "prompts.parquet")
    later = [
        replace(row, points=tuple(replace(p, time_ms=p.time_ms + 2000) for p in row.points))
        for row in rows
    ]
    write_prompt_table(later, given / "prompts.parquet")
    done = segarena("people", "fit", "time", "--with", given, "--out", tmp_path / "seconds.toml")
    assert done.exit_code == 0, done.stderr
    assert "24 prompts, median 2.11 s" in done.stdout
    assert read_habits(tmp_path / "seconds.toml", TimeHabits).source == "24 prompts of given"


def test_a_table_of_something_else_is_refused_in_a_line(segarena, tmp_path):
    given = collection(tmp_path / "given", kind="click")
    done = segarena("people", "fit", "boxes", "--with", given, "--out", tmp_path / "boxes.toml")
    assert done.exit_code != 0
    assert "expected boxes of people, got prompts of click" in done.stderr
    assert not (tmp_path / "boxes.toml").exists()

import json
from pathlib import Path

import people_users
import pytest
from msgspec.structs import replace
from people_users import Aimer, Boxer, write_people

from segarena.errors import InvalidInput
from segarena.users.habits.habit_files import SHIPPED_HABITS
from segarena_people.collection import Collection
from segarena_people.comparison.report_page import verdicts, write_comparison
from segarena_people.comparison.result_sheets import separation_sheet
from segarena_people.comparison.simulated_user_checks import named_plugin
from segarena_people.comparison.user_comparison import PEOPLE, compare_users
from segarena_people.comparison.user_replies import ReplyCollector
from segarena_people.prompt_table import read_prompt_table, write_prompt_table

pytest.importorskip("sklearn")
USERS_FILE = Path(people_users.__file__)


@pytest.fixture(scope="module", autouse=True)
def fewer_trees():
    """Make the classifier fast, because these tests only check which samples are compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("segarena.statistics.classifier_test._TREES", 10)
        patch.setattr("segarena.statistics.classifier_test._MOST_SPLITS", 1)
        yield


@pytest.fixture(scope="module")
def two_people(tmp_path_factory):
    """Two people who click alike, compared with a user that does the same, one that never misses, and a silent one."""
    folder = write_people(
        tmp_path_factory.mktemp("people") / "clicks", {"anna": Aimer(), "ben": Aimer()}, images=40
    )
    users = [
        f"{USERS_FILE}:Aimer",
        "centre",
        f"mute={USERS_FILE}:Mute",
        f"broken={USERS_FILE}:Broken",
    ]
    return folder, compare_users(users, folder)


def of(found, name):
    return next(user for user in found.scopes[0].users if user.user == name)


@pytest.mark.long
def test_a_user_who_is_the_one_that_made_the_people_passes(two_people):
    _, found = two_people
    aimer = of(found, "Aimer")
    assert 0.3 < aimer.apart < 0.65
    assert aimer.n == 40
    assert 0.3 < found.scopes[0].pairs[0].auc.value < 0.7
    assert [row[-1] for row in separation_sheet(found.scopes).rows] == [
        "", "passes", "distinguishable", "no answers", "no answers",
    ]  # fmt: skip


def test_a_user_who_never_misses_is_told_apart_by_how_deep_it_clicks(two_people):
    _, found = two_people
    centre = of(found, "centre")
    assert centre.apart > 0.9
    assert centre.features[0].name in ("depth", "offset")
    assert centre.tests["energy distance"].p_value < 0.01


def test_silence_and_errors_are_counted_and_said(two_people):
    _, found = two_people
    mute = of(found, "mute")
    broken = of(found, "broken")
    assert (mute.asked, mute.answered, mute.silent, mute.refused) == (80, 0, 80, 0)
    assert (broken.refused, broken.why) == (80, "ValueError: no hands")
    assert "raised an error for every question (ValueError: no hands)" in verdicts(found)[3]


def test_users_give_the_same_whenever_they_are_asked_and_other_things_for_another_person(
    two_people,
):
    folder, found = two_people
    asker = ReplyCollector(Aimer(), name="Aimer")
    backwards = [asker.ask(given).prompts for given in reversed(Collection.open(folder))]
    assert backwards[::-1] == [one.prompts for one in found.measured["Aimer"]]
    assert len({one.prompts for one in found.measured["Aimer"]}) > 60


def test_the_page_has_everybody_and_needs_nothing_else(two_people, tmp_path):
    _, found = two_people
    written = write_comparison(found, tmp_path / "page", command="segarena people compare <b>")
    page = written.html.read_text(encoding="utf-8")
    assert all(
        name in page
        for name in ("anna", "ben", "Aimer", "centre", "Which one was drawn by a person")
    )
    assert "&lt;b&gt;" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    told = json.loads(written.json.read_text(encoding="utf-8"))
    assert told["scopes"][0]["users"][1]["each"][0]["n"] == 40
    assert "told-apart.csv" in [path.name for path in written.tables]


@pytest.mark.long
def test_work_that_is_done_is_not_done_again(tmp_path):
    folder = write_people(tmp_path / "boxes", {"anna": Boxer()}, images=12)
    told = []
    for _ in range(2):
        stages = {}
        compare_users(
            [f"{USERS_FILE}:Boxer"], folder, kept=tmp_path / "done",
            on_progress=lambda state, stages=stages: stages.update({state.stage: (state.resumed, state.units)}),
        )  # fmt: skip
        told.append(stages)
    assert {stage: resumed for stage, (resumed, _) in told[0].items()} == {
        PEOPLE: 0,
        "Boxer": 0,
        "tests": 0,
    }
    assert all(resumed == units for resumed, units in told[1].values())


@pytest.mark.long
def test_labels_are_held_apart_where_there_are_several(tmp_path):
    folder = write_people(
        tmp_path / "labels", {"anna": Boxer()}, images=24, labels=("leaf", "cell")
    )
    found = compare_users([f"{USERS_FILE}:Boxer"], folder)
    assert [one.scope.label for one in found.scopes] == ["", "leaf", "cell"]
    assert [one.answers for one in found.scopes] == [24, 12, 12]


def test_a_user_of_another_kind_is_refused_with_those_who_fit(tmp_path):
    folder = write_people(tmp_path / "boxes", {"anna": Boxer()}, images=12)
    with pytest.raises(
        InvalidInput,
        match=r"scribble-robot gives scribble, people gave box; suitable users: .*cvpr2025",
    ):
        compare_users(["scribble-robot"], folder)


def test_too_few_answers_are_refused_with_how_many_there_are(tmp_path):
    folder = write_people(tmp_path / "boxes", {"anna": Boxer()}, images=4)
    with pytest.raises(InvalidInput, match="at least 10 answers by people, got 4"):
        compare_users(["cvpr2025"], folder)


def test_tables_call_a_user_as_short_as_they_can():
    assert named_plugin("a/b.py:Hand(ink=2)")[0] == "Hand(ink=2)"
    assert named_plugin("left=a/b.py:Hand")[0] == "left"
    assert named_plugin("centre")[0] == "centre"


@pytest.mark.long
def test_what_cannot_be_compared_is_counted_and_said(tmp_path):
    folder = write_people(tmp_path / "boxes", {"anna": Boxer()}, images=14)
    table = folder / "prompts.parquet"
    rows = read_prompt_table(table)
    first = replace(rows[0], round=2)
    second = replace(rows[1], fate="far")
    third = replace(rows[2], kind="lasso")
    write_prompt_table([first, second, third, *rows[3:]], table)
    found = compare_users([f"{USERS_FILE}:Boxer"], folder)
    assert found.scopes[0].answers == 11
    assert found.notes == (
        "1 answers of later rounds whose previous mask is unknown were left out.",
        "1 answers that their study excluded were left out.",
        "1 answers of the kind lasso, which cannot be compared, were left out.",
    )


def test_a_person_is_no_simulated_user(tmp_path):
    folder = write_people(tmp_path / "clicks", {"anna": Aimer()}, images=12)
    with pytest.raises(InvalidInput, match="expected a simulated user, got the human user human"):
        compare_users(["human"], folder)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("strokes.csv", "segarena people import csv .*strokes.csv -o strokes"),
        ("study.zip", "segarena people import study .*study.zip -o study"),
        ("drawn", "segarena people import rasters .*drawn --masks MASKS"),
        ("empty", "segarena people formats lists what can be imported"),
        ("nowhere", "no such folder or table"),
    ],
)
def test_what_is_no_collection_is_told_how_to_become_one(tmp_path, name, told):
    for folder in ("drawn/anna", "empty"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("strokes.csv", "study.zip", "drawn/anna/1.png"):
        (tmp_path / file).write_bytes(b"")
    with pytest.raises(InvalidInput, match=told):
        compare_users(["centre"], tmp_path / name)


def test_answers_with_one_id_are_refused(tmp_path):
    folder = write_people(tmp_path / "clicks", {"anna": Aimer()}, images=12)
    rows = read_prompt_table(folder / "prompts.parquet")
    write_prompt_table([*rows[:-1], replace(rows[-1], id=rows[0].id)], folder / "prompts.parquet")
    with pytest.raises(InvalidInput, match="'anna-0' 2 times"):
        compare_users([f"{USERS_FILE}:Aimer"], folder)


@pytest.mark.long
def test_other_groups_are_tested_anew(tmp_path):
    folder = write_people(tmp_path / "clicks", {"anna": Aimer()}, images=12)
    first = compare_users([f"{USERS_FILE}:Aimer"], folder, kept=tmp_path / "done")
    rows = [
        replace(row, group=str(number // 2))
        for number, row in enumerate(read_prompt_table(folder / "prompts.parquet"))
    ]
    write_prompt_table(rows, folder / "prompts.parquet")
    again = compare_users([f"{USERS_FILE}:Aimer"], folder, kept=tmp_path / "done")
    assert again.scopes == compare_users([f"{USERS_FILE}:Aimer"], folder).scopes != first.scopes


@pytest.mark.long
def test_a_user_whose_file_was_fitted_anew_is_asked_again(tmp_path):
    folder = write_people(tmp_path / "boxes", {"anna": Boxer()}, images=12)
    file = tmp_path / "boxes.toml"
    user = f"box-drawer(fitted={str(tmp_path / 'boxes.toml')!r})"
    shipped = (SHIPPED_HABITS / "boxes-drag.toml").read_text(encoding="utf-8")
    file.write_text(shipped, encoding="utf-8")
    first = compare_users([user], folder, kept=tmp_path / "done")
    file.write_text(
        shipped.replace("between_people = 0.3", "between_people = 3.0"), encoding="utf-8"
    )
    again = compare_users([user], folder, kept=tmp_path / "done")
    name = again.users[0]
    assert [one.prompts for one in first.measured[name]] != [
        one.prompts for one in again.measured[name]
    ]


@pytest.mark.long
def test_the_page_shows_seconds_where_they_are_known(tmp_path):
    folder = write_people(tmp_path / "clicks", {"anna": Aimer()}, images=12)
    untimed = write_comparison(compare_users(["centre"], folder), tmp_path / "untimed")
    assert not (tmp_path / "untimed" / "seconds.csv").exists()
    assert 'id="seconds"' not in untimed.html.read_text(encoding="utf-8")
    rows = read_prompt_table(folder / "prompts.parquet")
    timed = [
        replace(row, points=tuple(replace(point, time_ms=1500.0) for point in row.points))
        for row in rows
    ]
    write_prompt_table(timed, folder / "prompts.parquet")
    written = write_comparison(compare_users(["centre"], folder), tmp_path / "timed")
    lines = (tmp_path / "timed" / "seconds.csv").read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith("first clicks,1.5,")
    assert 'id="seconds"' in written.html.read_text(encoding="utf-8")

"""Boards on a server: their content and visibility, without hidden data."""

import re
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from segarena import evaluate
from segarena.reports.boards.extracts import extract_of, extract_text, read_extract
from segarena_server.challenges import integrity_audit
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Challenge as ChallengeRow
from segarena_server.db.orm_models import Run, Turn
from segarena_server.dialogue_status import DialogueStatus
from segarena_server.runs import phase_leaderboard

SOON = datetime.now(UTC) + timedelta(days=1)
PHASES = (
    Phase(
        name="shown",
        shows="board",
        decimals=1,
        runs_at_once=9,
        seed=5,
        unlimited_ranked_runs=True,
        ladder=False,
    ),
    Phase(name="own", shows="own", runs_at_once=9, closes=SOON),
    Phase(name="blind", shows="prompts", runs_at_once=9),
)


@pytest.fixture(scope="module")
def scene(served, tmp_path_factory):
    """A challenge with runs of two people in each phase, two of them by the same person."""
    told = ChallengeDescription(
        slug="c", title="C", benchmark="clicks", dataset="demo", phases=PHASES, is_public=False
    )
    make_challenge(served.site, told, lambda *_: None)
    extracts = {}
    for name in ("graph", "watershed"):
        run = evaluate(
            "clicks",
            segmenter=name,
            dataset="demo",
            rounds=2,
            limit=2,
            out=tmp_path_factory.mktemp("r") / "x",
        )
        extracts[name] = extract_text(extract_of(run.path))
    api, runs = {}, {}
    for person, segmenter in (("ann", "graph"), ("ben", "watershed")):
        api[person] = served.api(served.token(person))
        for phase in ("shown", "own", "blind"):
            told = {
                "id": str(uuid.uuid4()),
                "name": f"{segmenter} of {person}",
                "segmenter": segmenter,
            }
            answer = api[person].post(f"/challenges/c/phases/{phase}/runs", json=told)
            assert answer.status_code == 201, answer.text
            runs[person, phase] = told["id"]
            with served.site.database.writing() as session:
                run = session.get_one(Run, told["id"])
                run.state, run.ended_at, run.extract = (
                    "over",
                    served.site.now(),
                    extracts[segmenter],
                )
    return api, runs


@pytest.fixture(scope="module")
def visitors(served, scene):
    """A viewer and an organiser; the server limits how many people can register."""
    organiser = served.person("An Organiser", "organiser", ["c"])
    return served.person("Another Viewer", "viewer"), organiser


@pytest.mark.long
def test_the_board_has_each_run_and_whose_it_is(served, scene):
    page = served.person("A Viewer", "viewer").get("/challenges/c/shown/board")
    assert page.status_code == 200
    assert "ann" in page.text
    assert "ben" in page.text


def test_the_board_names_no_sample_no_target_and_no_dataset(served, scene):
    page = served.person("B Viewer", "viewer").get("/challenges/c/shown/board").text
    page += served.person("C Viewer", "viewer").get("/challenges/c/shown/board.csv").text
    assert not re.search(r"astronaut|camera|demo|pagoda", page)


def test_its_figures_have_no_more_decimals_than_the_phase_says(served, scene):
    table = served.person("D Viewer", "viewer").get("/challenges/c/shown/board.csv").text
    numbers = re.findall(r"(?<![\w@.])\d+\.\d+(?![\w])", table)
    assert numbers
    assert {float(number) for number in numbers} == {round(float(number), 1) for number in numbers}


@pytest.mark.parametrize(("phase", "is_shown"), [("shown", True), ("own", False), ("blind", False)])
def test_a_board_is_shown_where_the_phase_says(served, scene, phase, is_shown):
    viewer = served.person(f"Viewer of {phase}", "viewer")
    assert (viewer.get(f"/challenges/c/{phase}/board.csv").status_code == 200) == is_shown
    organiser = served.person(f"Organiser of {phase}", "organiser", ["c"])
    assert organiser.get(f"/challenges/c/{phase}/board.csv").status_code == 200


@pytest.mark.parametrize(("phase", "is_shown"), [("shown", True), ("own", True), ("blind", False)])
def test_scores_are_shown_where_the_phase_says(scene, phase, is_shown):
    api, runs = scene
    told = api["ann"].get(f"/runs/{runs['ann', phase]}/scores").json()
    assert (told["scores"] is not None) == is_shown
    assert (told["board"] is not None) == (phase == "shown")
    if phase == "shown":
        places = {
            name: api[name].get(f"/runs/{runs[name, phase]}/scores").json()
            for name in ("ann", "ben")
        }
        assert {told["place"] for told in places.values()} <= {1, 2}
        assert {told["of"] for told in places.values()} == {2}


def test_a_private_challenge_sounds_to_nobody_like_one_that_is_not_there(served, scene):
    client = served.client()
    there, nowhere = client.get("/challenges/c"), client.get("/challenges/nowhere")
    assert (there.status_code, there.headers["location"]) == (
        nowhere.status_code,
        nowhere.headers["location"],
    )


def test_the_address_of_a_phase_leads_to_its_section(served, scene):
    viewer = served.person("Phase Viewer", "viewer")
    answer = viewer.get("/challenges/c/shown")
    assert (answer.status_code, answer.headers["location"]) == (303, "/challenges/c#phase-shown")
    assert 'id="phase-shown"' in viewer.get("/challenges/c").text
    assert viewer.get("/challenges/c/nowhere").status_code == 404
    assert served.client().get("/challenges/c/shown").status_code == (
        served.client().get("/challenges/nowhere/shown").status_code
    )


def test_files_of_a_board_say_the_same(served, scene):
    viewer = served.person("E Viewer", "viewer")
    told = viewer.get("/challenges/c/shown/board.json").json()
    assert {entry["participant"] for entry in told["entries"]} == {"ann", "ben"}
    assert viewer.get("/challenges/c/shown/board.tex").text.count("graph of ann") == 1
    assert viewer.get("/challenges/c/own/board.json").status_code == 404


def test_values_of_single_targets_are_rounded_for_all_but_the_organiser(served, scene):
    for sees_all in (False, True):
        columns = (
            board_now(served, sees_all=sees_all).board.entries[0].extract.values["centre"].values()
        )
        known = [value for column in columns for value in column if value is not None]
        assert (known == [round(value, 1) for value in known]) != sees_all


def board_now(served, phase="shown", **given):
    with served.site.database.reading() as session:
        challenge = session.scalars(select(ChallengeRow).where(ChallengeRow.slug == "c")).one()
        found = next(one for one in PHASES if one.name == phase)
        return phase_leaderboard.board_cache(served.site).of(
            session, challenge, found, served.site.now(), **{"sees_all": False, **given}
        )


def changed(served, run, **values):
    with served.site.database.writing() as session:
        found = session.get_one(Run, run)
        before = {name: getattr(found, name) for name in values}
        for name, value in values.items():
            setattr(found, name, value)
    return before


def test_a_board_is_made_once_until_a_run_ends_at_whichever_server(served, scene):
    _, runs = scene
    first = board_now(served)
    assert board_now(served) is first
    assert board_now(served, sees_all=True) is not first
    before = changed(served, runs["ben", "shown"], ended_at=served.site.now() + 1)
    again = board_now(served)
    assert again is not first
    changed(served, runs["ben", "shown"], **before)


@pytest.mark.long
def test_each_run_is_read_once_and_ranked_once_for_all_visitors(
    served, scene, visitors, monkeypatch
):
    _, runs = scene
    read = counted(monkeypatch, phase_leaderboard, "read_extract")
    late = counted(monkeypatch, phase_leaderboard, "_late_dialogues")
    ranked = counted(monkeypatch, phase_leaderboard, "board_of")
    audited = counted(monkeypatch, integrity_audit, "read_extract")
    monkeypatch.setitem(
        served.site.things, phase_leaderboard.BoardCache, phase_leaderboard.BoardCache()
    )
    viewer, organiser = visitors

    def open_pages():
        texts = [one.get("/challenges/c/shown/board").text for one in (viewer, organiser)]
        viewer.get("/challenges/c/shown/board.csv")
        viewer.get(f"/challenges/c/shown/board/runs/{runs['ann', 'shown']}")
        work = [len(calls) for calls in (read, ranked, audited)]
        for calls in (read, late, ranked, audited):
            calls.clear()
        return texts, work

    texts, work = open_pages()
    assert work == [2, 1, 0]
    assert texts[0] != texts[1]
    assert open_pages()[1] == [0, 0, 0]
    before = changed(served, runs["ben", "shown"], ended_at=served.site.now() + 1)
    board_now(served)
    assert late[0][1] == [runs["ben", "shown"]]
    assert open_pages()[1] == [1, 1, 0]
    changed(served, runs["ben", "shown"], **before)


def counted(monkeypatch, module, name):
    """Return a list that receives the arguments of each call of a function."""
    calls = []
    real = getattr(module, name)
    monkeypatch.setattr(
        module, name, lambda *given, **more: calls.append(given) or real(*given, **more)
    )
    return calls


def test_requests_at_the_same_time_share_a_board(served, scene, monkeypatch):
    made = []
    real = phase_leaderboard.board_of
    monkeypatch.setattr(
        phase_leaderboard,
        "board_of",
        lambda *given, **more: made.append(1) or time.sleep(0.2) or real(*given, **more),
    )
    monkeypatch.setitem(
        served.site.things, phase_leaderboard.BoardCache, phase_leaderboard.BoardCache()
    )
    with ThreadPoolExecutor(4) as pool:
        found = [task.result() for task in [pool.submit(board_now, served) for _ in range(4)]]
    assert len(made) == 1
    assert len({id(one) for one in found}) == 1


@pytest.mark.long
def test_a_board_that_could_not_be_made_is_made_again(served, scene, monkeypatch):
    monkeypatch.setitem(
        served.site.things, phase_leaderboard.BoardCache, phase_leaderboard.BoardCache()
    )
    with monkeypatch.context() as patch:
        patch.setattr(phase_leaderboard, "board_of", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            board_now(served)
    assert len(board_now(served).runs) == 2


@pytest.mark.long
def test_only_programs_on_the_organisers_machine_are_marked_as_isolated(served, scene, visitors):
    """A participant's run.json may claim a sandbox, which the server has not seen."""
    _, runs = scene
    with served.site.database.reading() as session:
        extract = read_extract(session.get_one(Run, runs["ann", "shown"]).extract)
    claimed = replace(extract, segmenter=replace(extract.segmenter, isolation="sandbox"))
    before = changed(served, runs["ann", "shown"], extract=extract_text(claimed))
    before |= changed(served, runs["ann", "shown"], ended_at=served.site.now() + 5)
    viewer, organiser = visitors
    marked = []
    for kind in ("dialogue", "worker"):
        before = changed(served, runs["ann", "shown"], kind=kind) | before
        entries = viewer.get("/challenges/c/shown/board.json").json()["entries"]
        marked.append({entry["participant"]: entry["isolation"] for entry in entries})
    assert marked == [{"ann": "", "ben": ""}, {"ann": "sandbox", "ben": ""}]
    assert "isolated: the organiser" in organiser.get(f"/runs/{runs['ann', 'shown']}").text
    assert "not isolated: the answers" in organiser.get(f"/runs/{runs['ben', 'shown']}").text
    changed(served, runs["ann", "shown"], **before)


def test_a_run_that_leaves_something_out_has_no_place(served, scene):
    api, runs = scene
    with served.site.database.reading() as session:
        extract = read_extract(session.get_one(Run, runs["ann", "shown"]).extract)
    worse = replace(extract, failures=dict.fromkeys(extract.failures, 2), done=1)
    before = changed(served, runs["ann", "shown"], extract=extract_text(worse))
    changed(served, runs["ann", "shown"], ended_at=served.site.now() + 2)
    page = served.person("F Viewer", "viewer").get("/challenges/c/shown/board").text
    assert "no rank: 1 of 2 samples, 2 dialogues failed" in page
    told = api["ann"].get(f"/runs/{runs['ann', 'shown']}/scores").json()
    assert (told["place"], told["of"]) == (None, None)
    assert api["ben"].get(f"/runs/{runs['ben', 'shown']}/scores").json()["of"] == 1
    changed(served, runs["ann", "shown"], **before)
    changed(served, runs["ann", "shown"], ended_at=served.site.now())


def test_a_dialogue_that_was_late_before_its_first_answer_counts_as_left_out(served, scene):
    _, runs = scene
    plain = DialogueStatus(
        number=0,
        target="t",
        user="u",
        repeat=0,
        rounds=0,
        replayed=0,
        values={},
        seconds=9.0,
        is_over=True,
        is_late=True,
        failure="",
    )
    judged = (plain, replace(plain, number=1, rounds=2))
    with served.site.database.writing() as session:
        turn = Turn(
            run_id=runs["ben", "shown"],
            place=0,
            number=0,
            sha256="",
            request=b"",
            state="done",
            judged=judged,
        )
        turn.received_at = 0.0
        session.add(turn)
    changed(served, runs["ben", "shown"], ended_at=served.site.now() + 3)
    shown = board_now(served)
    unranked = dict(zip(shown.runs, (entry.unranked for entry in shown.board.entries), strict=True))
    assert unranked[runs["ben", "shown"]] == "1 dialogue without an answer in time"
    with served.site.database.writing() as session:
        session.delete(session.get_one(Turn, (runs["ben", "shown"], 0, 0)))
    changed(served, runs["ben", "shown"], ended_at=served.site.now() + 4)


@pytest.mark.parametrize(("role", "is_control"), [("organiser", True), ("participant", False)])
def test_only_an_organiser_adds_a_control_to_a_board(served, scene, role, is_control):
    """A participant who calls a segmenter like a control stays a participant."""
    api = served.api(served.token(f"control of {role}", role))
    told = {"id": str(uuid.uuid4()), "name": "nothing", "segmenter": "image-blind"}
    assert api.post("/challenges/c/phases/own/runs", json=told).status_code == 201
    _, runs = scene
    with served.site.database.reading() as session:
        extract = session.get_one(Run, runs["ann", "own"]).extract
    changed(served, told["id"], state="over", ended_at=served.site.now(), extract=extract)
    shown = board_now(served, "own", sees_all=True)
    entry = shown.board.entries[shown.runs.index(told["id"])]
    assert entry.extract.ignores_image == is_control
    assert shown.board.participants[shown.runs.index(told["id"])] == (
        "" if is_control else f"control of {role}"
    )


@pytest.mark.long
def test_of_runs_that_were_chosen_the_last_choice_counts(served, scene):
    phase = {
        "name": "chosen",
        "shows": "board",
        "runs_at_once": 9,
        "unlimited_ranked_runs": True,
        "ladder": False,
    }
    told = ChallengeDescription(
        slug="d", title="D", benchmark="clicks", dataset="demo", phases=(Phase(**phase),)
    )
    make_challenge(served.site, told)
    person = served.person("Chooser")
    key = re.search(r'name="key" value="(\w+)"', person.get("/").text)[1]
    token = re.search(r"sat_[\w-]+", person.post("/tokens", data={"label": "x", "key": key}).text)[
        0
    ]
    with served.site.database.reading() as session:
        extract = session.scalars(select(Run.extract).where(Run.extract != "")).first()
    runs = [str(uuid.uuid4()) for _ in range(3)]
    for number, run in enumerate(runs):
        begun = {"id": run, "name": f"run {number}", "segmenter": "x"}
        assert (
            served.api(token).post("/challenges/d/phases/chosen/runs", json=begun).status_code
            == 201
        )
        changed(served, run, state="over", ended_at=100.0 + number, extract=extract)
    for run in (runs[0], runs[1], runs[0]):
        assert person.post(f"/runs/{run}/choose", data={"key": key}).status_code == 303
    told = served.person("G Viewer", "viewer").get("/challenges/d/chosen/board.json").json()
    assert [entry["name"] for entry in told["entries"] if entry["chosen"]] == ["run 0"]
    assert "Select this run again" in person.get(f"/runs/{runs[0]}").text
    changed(served, runs[2], state="open")
    assert person.post(f"/runs/{runs[2]}/choose", data={"key": key}).status_code == 409
    assert "Select this run" not in person.get(f"/runs/{runs[2]}").text


def test_a_run_whose_last_reply_is_kept_back_is_on_no_board_yet(served, scene, monkeypatch):
    api, runs = scene
    monkeypatch.setattr(
        phase_leaderboard, "runs_with_delayed_reply", lambda *_: {runs["ben", "shown"]}
    )
    assert api["ann"].get(f"/runs/{runs['ann', 'shown']}/scores").json()["of"] == 1
    organiser = served.person("Sees All", "organiser", ["c"])
    assert "watershed of ben" in organiser.get("/challenges/c/shown/board").text


def test_a_page_of_a_run_has_figures_of_as_many_decimals_as_the_phase_says(served, scene):
    text = served.pages_of(scene[1]["ann", "shown"]).get(f"/runs/{scene[1]['ann', 'shown']}").text
    table = text[text.index('id="scores"') :].partition("</table>")[0]
    figures = re.findall(r"\d+\.\d+", table)
    assert figures
    assert {len(figure.partition(".")[2]) for figure in figures} == {1}

"""Pages of runs: every round for those with access, and nothing hidden for participants of a test phase."""

import json
import re
import time
import uuid

import pytest
from sqlalchemy import select
from viewer_contents import viewer_contents

import segarena
from segarena.client.challenge_run_record import read_participation
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Run, RunSample, Turn
from segarena_server.runs import run_views, sample_view_builder

PHASES = (
    Phase(name="final", seed=3, runs_at_once=9, shows="prompts"),
    Phase(name="try", kind="practice", shows="board", decimals=1),
)


@pytest.fixture(scope="module")
def scene(working, tmp_path_factory):
    """One run in a test phase, and one in a practice phase; yields people by name and runs by phase."""
    told = ChallengeDescription(
        practice_may_reveal_test=True,
        slug="c",
        title="C",
        benchmark="clicks(rounds=3)",
        dataset="sample-squares(count=2)",
        phases=PHASES,
    )
    make_challenge(working.site, told, lambda *_: None)
    people = {
        "ann": working.person("ann"),
        "ben": working.person("ben"),
        "eva": working.person("eva", "organiser", ["c"]),
    }
    key = re.search(r'name="key" value="(\w+)"', people["ann"].get("/").text)[1]
    token = re.search(
        r"sat_[\w-]+", people["ann"].post("/tokens", data={"label": "x", "key": key}).text
    )[0]
    runs = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEGARENA_TOKEN", token)
        for phase in ("final", "try"):
            out = tmp_path_factory.mktemp("mine") / phase
            address = f"{working.address}/challenges/c/{phase}"
            segarena.evaluate(challenge=address, segmenter="image-blind", out=out)
            runs[phase] = read_participation(out).run
    for run in runs.values():
        wait_until_over(working, run)
    return people, runs


def wait_until_over(working, run):
    for _ in range(1200):
        with working.site.database.reading() as session:
            if session.get_one(Run, run).state == "over":
                return
        time.sleep(0.05)
    raise AssertionError(run)


def drawn(client, path):
    """Return a page once its pictures are rendered."""
    for _ in range(1200):
        text = client.get(path).text
        if "data-again" not in text:
            return text
        time.sleep(0.05)
    raise AssertionError(text)


def outlines(text, layer):
    """Return the outlines of a layer in all viewers of a page; "target", or the number of a run from 0."""
    found = []
    for content in viewer_contents(text):
        for plane in content["planes"]:
            for name, places in plane["layers"].items():
                if name.partition(".")[0] == layer:
                    found += [data for objects in places for data in objects.values() if data]
    return found


def hidden_in(working, run):
    """Return the name of the first sample, which participants never see."""
    with working.site.database.reading() as session:
        return session.get_one(RunSample, (run, 0)).sample


@pytest.mark.long
def test_a_run_lists_its_samples(working, scene):
    people, runs = scene
    page = people["ann"].get(f"/runs/{runs['final']}").text
    hidden = hidden_in(working, runs["final"])
    assert [f"/runs/{runs['final']}/samples/{number}" in page for number in (1, 2, 3)] == [
        True,
        True,
        False,
    ]
    assert f">{hidden}<" not in page
    assert f">{hidden}<" in people["eva"].get(f"/runs/{runs['final']}").text


@pytest.mark.long
def test_a_participant_of_a_test_sees_prompts_answers_and_seconds_and_nothing_else(working, scene):
    people, runs = scene
    hidden = hidden_in(working, runs["final"])
    own = drawn(people["ann"], f"/runs/{runs['final']}/samples/1")
    organisers = drawn(people["eva"], f"/runs/{runs['final']}/samples/1")
    truth = set(outlines(organisers, "target"))
    assert truth
    assert len(outlines(own, "0")) >= 2
    assert re.findall(r"click (?:off )?\(\d+, \d+\)", own) == re.findall(
        r"click (?:off )?\(\d+, \d+\)", organisers
    )
    answers = set(outlines(own, "0"))
    assert not outlines(own, "target")
    assert not [outline for outline in truth - answers if outline in own]
    assert not re.search(r"IoU|iou|spark|0\.\d{3}", own)
    assert f": {hidden}</h1>" in organisers
    assert hidden not in re.sub(r"Sample \d of \d", "", own)
    assert re.search(r"IoU \d\.\d{3}", organisers)
    assert "Evaluated in" in organisers
    assert "Evaluated in" not in own


def test_in_a_practice_the_truth_is_open_and_values_are_rounded(scene):
    people, runs = scene
    own = drawn(people["ann"], f"/runs/{runs['try']}/samples/2")
    assert outlines(own, "target")
    values = re.findall(r"IoU (\d\.\d{3})", own)
    assert values
    assert all(value.endswith("00") for value in values)


def test_the_charge_of_a_turn_is_that_of_its_rounds(working, scene):
    people, runs = scene
    with working.site.database.reading() as session:
        charged = session.get_one(Turn, (runs["final"], 0, 1)).charged_s
    page = drawn(people["ann"], f"/runs/{runs['final']}/samples/1")
    assert f"{charged:.2f} s" in page


@pytest.mark.parametrize(
    "path",
    ["samples/0", "samples/3", "samples/99999999999999999999", "samples/1?page=0", "?page=x"],
)
def test_pages_that_there_are_not_are_not_found(scene, path):
    people, runs = scene
    assert people["ann"].get(f"/runs/{runs['final']}/{path}".replace("/?", "?")).status_code == 404


def test_nobody_else_sees_pictures_that_lie_ready(scene):
    people, runs = scene
    drawn(people["ann"], f"/runs/{runs['final']}/samples/1")
    assert people["ben"].get(f"/runs/{runs['final']}/samples/1").status_code == 404


def test_pictures_for_a_participant_have_nothing_of_a_reply_that_is_held_back(
    working, scene, monkeypatch
):
    with working.site.database.reading() as session:
        run = session.get_one(Run, scene[1]["final"])
        turns = session.scalars(
            select(Turn).where(Turn.run_id == run.id, Turn.place == 0).order_by(Turn.number)
        ).all()
        monkeypatch.setattr(
            sample_view_builder, "delayed_turns", lambda *_: {(run.id, 0): turns[-1]}
        )
        eyes = run_views.Visibility.of(PHASES[0], is_organiser=False)
        view = sample_view_builder.SampleViewBuilder(
            session, working.site, run, session.get_one(RunSample, (run.id, 0)), eyes, 1
        )
    assert len(view._rendering().exchanged.turns) == len(turns) - 1


def test_what_cannot_be_drawn_is_said_without_its_reason(working, scene, monkeypatch):
    people, runs = scene
    with working.site.database.reading() as session:
        place = session.get_one(RunSample, (runs["final"], 1))
    path = working.site.folder.samples.path(place.sha256)
    content = path.read_bytes()
    path.write_bytes(b"damaged")
    try:
        page = drawn(people["ann"], f"/runs/{runs['final']}/samples/2")
    finally:
        path.write_bytes(content)
    assert "cannot be rendered" in page
    assert str(path) not in page
    assert "click" not in page.lower().replace("clicks", "")
    assert "Every turn" in page


def test_a_run_of_thousands_of_samples_is_paged(working, scene):
    people, runs = scene
    with working.site.database.writing() as session:
        old = session.get_one(Run, runs["final"])
        facts = {
            name: getattr(old, name)
            for name in ("challenge_id", "phase", "person_id", "segmenter", "note", "pool")
        }
        run = Run(id=str(uuid.uuid4()), name="long", made_at=0.0, **facts)
        session.add(run)
        session.flush()
        session.add_all(
            RunSample(
                run_id=run.id,
                number=number,
                key=f"{run.id}{number}"[-40:],
                sample="s",
                sha256="",
                bytes=0,
            )
            for number in range(1005)
        )
        name = run.id
    first, last = (people["ann"].get(f"/runs/{name}?page={page}").text for page in (1, 11))
    assert first.count(f"/runs/{name}/samples/") == sample_view_builder.SAMPLES_PER_PAGE
    assert "page 1 of 11" in first
    assert last.count(f"/runs/{name}/samples/") == 5
    assert (
        "There are no turns about this sample yet"
        in people["ann"].get(f"/runs/{name}/samples/1005").text
    )


@pytest.mark.long
def test_samples_of_a_board_are_open_where_the_truth_is(scene):
    people, _ = scene
    page = drawn(people["ben"], "/challenges/c/try/board/samples/1")
    assert outlines(page, "target")
    assert outlines(page, "0")
    assert "image-blind" not in page.split("<h1>")[0]
    assert re.search(
        r'href="/challenges/c/try/board/samples/1[#"]',
        people["ben"].get("/challenges/c/try/board").text,
    )
    for name, status in (("ben", 404), ("eva", 200)):
        assert people[name].get("/challenges/c/final/board/samples/1").status_code == status
    assert outlines(drawn(people["eva"], "/challenges/c/final/board/samples/1"), "target")
    assert "board/samples" not in people["ben"].get("/challenges/c/final/board").text


def test_names_of_the_dataset_are_nowhere_on_the_page_of_a_sample(working, scene):
    people, runs = scene
    with working.site.database.reading() as session:
        place = session.scalars(select(RunSample).where(RunSample.run_id == runs["try"])).first()
    page = drawn(people["ben"], "/challenges/c/try/board/samples/1")
    contents = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert contents
    for content in map(json.loads, contents):
        sample_name, target_name, _, _ = content["key"]
        assert sample_name == ""
        assert target_name.startswith("target-")
    assert f'"{place.sample}"' not in page


def test_a_run_of_a_board_has_a_page(scene):
    people, runs = scene
    assert (
        "Every statistic" in people["ben"].get(f"/challenges/c/try/board/runs/{runs['try']}").text
    )
    assert people["ben"].get(f"/challenges/c/final/board/runs/{runs['final']}").status_code == 404
    assert people["ben"].get(f"/challenges/c/try/board/runs/{runs['final']}").status_code == 404
    own = f'href="/runs/{runs["final"]}"'
    assert own in people["eva"].get(f"/challenges/c/final/board/runs/{runs['final']}").text


def test_a_run_that_did_not_fail_is_not_evaluated_again(working, scene):
    people, runs = scene
    key = re.search(r'name="key" value="(\w+)"', people["eva"].get("/").text)[1]
    answer = people["eva"].post(f"/organise/runs/{runs['final']}/again", data={"key": key})
    assert answer.status_code == 409
    with working.site.database.reading() as session:
        assert session.get_one(Run, runs["final"]).state == "over"


def test_the_pages_give_a_complete_command_for_each_open_phase(scene):
    ann = scene[0]["ann"]
    page = ann.get("/challenges/c").text
    assert page.index("/challenges/c/try</pre>") < page.index("/challenges/c/final</pre>")
    key = re.search(r'name="key" value="(\w+)"', page)[1]
    tokens = ann.post("/tokens", data={"label": "y", "key": key}).text
    assert "/challenges/c/try -s my_model.py:MyModel" in tokens


def test_a_run_that_ended_without_answers_says_so(working, scene):
    people, runs = scene
    with working.site.database.writing() as session:
        old = session.get_one(Run, runs["try"])
        names = ("challenge_id", "phase", "person_id", "segmenter", "note", "pool")
        facts = {name: getattr(old, name) for name in names}
        run = Run(id=str(uuid.uuid4()), name="empty", made_at=0.0, state="over", **facts)
        session.add(run)
        session.flush()
        row = RunSample(run_id=run.id, number=0, key=run.id, sample="s", sha256="", bytes=0)
        session.add(row)
        number = run.id
    page = people["ann"].get(f"/runs/{number}").text
    assert "This run has no scores" in page
    assert "<td>unanswered</td>" in page

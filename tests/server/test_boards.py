"""Boards of a server: what stands on them, who sees them when, and that they tell nothing of what is hidden."""

import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from segarena import evaluate
from segarena.challenges.description import Challenge, Phase
from segarena.reports.boards.extracts import extract_of, extract_text
from segarena.server.organising import make_challenge
from segarena.server.tables import Run

SOON = datetime.now(UTC) + timedelta(days=1)
PHASES = (
    Phase(name="shown", shows="board", decimals=1, runs_at_once=9, seed=5),
    Phase(name="own", shows="own", runs_at_once=9, closes=SOON),
    Phase(name="blind", shows="prompts", runs_at_once=9),
)


@pytest.fixture(scope="module")
def scene(served, tmp_path_factory):
    """A challenge with a run of each of two people in each phase, two of them by the same person."""
    told = Challenge(slug="c", title="C", benchmark="clicks", dataset="demo", phases=PHASES, is_public=False)
    make_challenge(served.site, told, lambda *_: None)
    extracts = {}
    for name in ("graph", "watershed"):
        run = evaluate(
            "clicks", segmenter=name, dataset="demo", rounds=2, limit=2, out=tmp_path_factory.mktemp("r") / "x"
        )
        extracts[name] = extract_text(extract_of(run.path))
    api, runs = {}, {}
    for person, segmenter in (("ann", "graph"), ("ben", "watershed")):
        api[person] = served.api(served.token(person))
        for phase in ("shown", "own", "blind"):
            told = {"id": str(uuid.uuid4()), "name": f"{segmenter} of {person}", "segmenter": segmenter}
            answer = api[person].post(f"/challenges/c/phases/{phase}/runs", json=told)
            assert answer.status_code == 201, answer.text
            runs[person, phase] = told["id"]
            with served.site.database.writing() as session:
                run = session.get_one(Run, told["id"])
                run.state, run.ended_at, run.extract = "over", served.site.now(), extracts[segmenter]
    return api, runs


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
    organiser = served.person(f"Organiser of {phase}", "organiser")
    assert organiser.get(f"/challenges/c/{phase}/board.csv").status_code == 200


@pytest.mark.parametrize(("phase", "is_shown"), [("shown", True), ("own", True), ("blind", False)])
def test_scores_are_shown_where_the_phase_says(scene, phase, is_shown):
    api, runs = scene
    told = api["ann"].get(f"/runs/{runs['ann', phase]}/scores").json()
    assert (told["scores"] is not None) == is_shown
    assert (told["board"] is not None) == (phase == "shown")
    if phase == "shown":
        places = {name: api[name].get(f"/runs/{runs[name, phase]}/scores").json() for name in ("ann", "ben")}
        assert {told["place"] for told in places.values()} <= {1, 2}
        assert {told["of"] for told in places.values()} == {2}


def test_a_private_challenge_sounds_to_nobody_like_one_that_is_not_there(served, scene):
    client = served.client()
    there, nowhere = client.get("/challenges/c"), client.get("/challenges/nowhere")
    assert (there.status_code, there.headers["location"]) == (nowhere.status_code, nowhere.headers["location"])

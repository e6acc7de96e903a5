"""The integrity audit: runs are made in this process and stored as on a server."""

import re
import time

import numpy as np
import pytest
from sqlalchemy import select

from segarena.dialogue import Dialogue
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.reports.boards.extracts import extract_of, extract_text
from segarena_server.challenges.challenge_management import existing_challenge, make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.duplicate_detection import similarity_of
from segarena_server.challenges.integrity_audit import audit_challenge, audit_sheet
from segarena_server.challenges.rehearsal import Rehearsal
from segarena_server.db.orm_models import Person, Run, RunFinding, RunSample, Turn
from segarena_server.jobs.job_queue import AUDIT_RUN, find_job
from segarena_server.runs.run_repository import close_run

CLICKS = "clicks(rounds=3)"


class Everything:
    """Predicts the whole image, or its left half."""

    def __init__(self, share=1.0):
        self.share = share

    def encode(self, sample):
        return np.indices(sample.shape)[1] < self.share * sample.shape[1]

    def predict(self, encoded, dialogues):
        return [encoded] * len(dialogues)


@pytest.fixture(scope="module")
def scene(working):
    """A challenge and four audited runs: two equal ones, a different one, and one of a practice phase."""
    phases = (Phase(name="final", seed=3), Phase(name="practice", kind="practice", seed=4))
    described = ChallengeDescription(
        practice_may_reveal_test=True,
        slug="c",
        title="C",
        benchmark=CLICKS,
        dataset="demo",
        phases=phases,
    )
    make_challenge(working.site, described)
    for person, segmenter, phase in (
        ("anna", 1.0, "final"),
        ("bela", 1.0, "final"),
        ("caro", 0.5, "final"),
        ("anna", 1.0, "practice"),
    ):
        hold(working.site, described, person, phase, Everything(segmenter))
        working.site.hurry()
        wait(working.site, f"{person}-{phase}")
    return working


class Remembering:
    """Answers by `watershed`; once `is_over`, with all prompts of the previous run from the start."""

    prompt_kinds = frozenset({"click"})

    def __init__(self):
        self.segmenter = build("segmenter", PluginSpec.of("watershed"))
        self.is_over = False
        self.known = {}

    def encode(self, sample):
        return sample.image.tobytes(), self.segmenter.encode(sample)

    def predict(self, encoded, dialogues):
        image, features = encoded
        if self.is_over:
            dialogues = [self.with_memory(image, dialogue) for dialogue in dialogues]
        else:
            for dialogue in dialogues:
                self.known[image, dialogue.rounds[0]] = dialogue.prompts
        return self.segmenter.predict(features, dialogues)

    def with_memory(self, image, dialogue):
        first, *later = dialogue.rounds
        known = self.known.get((image, first), ())
        return Dialogue(((*known, *first), *later), dialogue.previous, dialogue.lift)


def hold(site, described, name, phase, segmenter, samples=1):
    """Complete a run on the first samples as over the network, and end it."""
    rehearsal = Rehearsal(described, phase, segmenter)
    names = rehearsal.evaluator.samples(phase)[:samples]
    folder, places = rehearsal.rehearse(names, site.folder.runs / f"{name}-{phase}")
    extract = extract_text(extract_of(folder.path))
    facts = {
        "run_id": folder.path.name,
        "sha256": "0",
        "request": b"",
        "state": "done",
        "received_at": 0.0,
    }
    with site.database.writing() as session:
        person = session.scalar(select(Person).where(Person.name == name))
        if person is None:
            about = {"password": "-", "role": "participant", "state": "confirmed", "made_at": 0.0}
            person = Person(name=name, folded=name, **about)
            session.add(person)
            session.flush()
        about = {
            "segmenter": "x",
            "note": "",
            "pool": "demo",
            "state": "closing",
            "made_at": 1.0,
            "name": "mine",
        }
        challenge = existing_challenge(site, described.slug).id
        run = Run(
            id=folder.path.name, challenge_id=challenge, phase=phase, person_id=person.id, **about
        )
        session.add(run)
        session.flush()
        for place, sample in enumerate(names):
            key = f"k-{run.id}-{place}"
            session.add(
                RunSample(run_id=run.id, number=place, key=key, sample=sample, sha256="0", bytes=1)
            )
        session.flush()
        for place, rehearsed in enumerate(places):
            for turn, given in enumerate(rehearsed.given):
                session.add(Turn(place=place, number=turn, given=given, **facts))
        close_run(session, run.id, site.now(), extract=extract, fault="")


def wait(site, run_id, *states):
    for _ in range(2400):
        with site.database.reading() as session:
            job = find_job(session, AUDIT_RUN, run_id)
        if job.state in (states or ("done",)):
            return job
        time.sleep(0.05)
    raise AssertionError(job.failure)


def audited(site):
    with site.database.reading() as session:
        return {one.run.id: one for one in audit_challenge(session, existing_challenge(site, "c"))}


@pytest.mark.long
def test_what_prompts_gave_away_is_kept_when_a_run_ends(scene):
    found = audited(scene.site)
    assert list(found) == ["anna-final", "bela-final", "caro-final", "anna-practice"]
    for one in list(found.values())[:3]:
        assert one.finding.prompts == 3 * one.finding.targets > 0
        assert 0 < one.finding.blind_mean <= one.finding.blind_p95 <= one.finding.blind_highest < 1
        assert one.measure == "NoC@90"
        assert one.score is not None
    practice = found["anna-practice"].finding
    assert (practice.blind_mean, practice.blind_highest, practice.prompts) == (None, None, 0)


def test_it_is_what_the_rehearsal_says_the_prompts_give_away(scene):
    described = ChallengeDescription(
        practice_may_reveal_test=True,
        slug="c",
        title="C",
        benchmark=CLICKS,
        dataset="demo",
        phases=(Phase(name="final", seed=3),),
    )
    rehearsal = Rehearsal(described, "final", Everything())
    samples = rehearsal.evaluator.samples("final")[:1]
    leaks = rehearsal.evaluator.leaks("final", samples[0], given_to(scene.site, "anna-final"))
    expected = float(np.mean([leak.peak for leak in leaks.values()]))
    assert audited(scene.site)["anna-final"].finding.blind_mean == pytest.approx(expected)


def given_to(site, run_id):
    with site.database.reading() as session:
        return list(
            session.scalars(select(Turn.given).where(Turn.run_id == run_id).order_by(Turn.number))
        )


def test_runs_of_different_teams_that_look_like_one_are_named(scene):
    found = audited(scene.site)
    assert [one.alike and one.alike[0].id for one in found.values()] == [
        None,
        "anna-final",
        None,
        None,
    ]
    bela = found["bela-final"]
    assert bela.flags[0] == "very similar to mine of anna"
    folders = [scene.site.folder.runs / run for run in ("anna-final", "bela-final")]
    exact = similarity_of(*folders)
    assert (bela.finding.alike_share, bela.finding.alike_compared) == (exact.share, exact.compared)
    assert not any("looks like" in flag for flag in found["caro-final"].flags)


@pytest.mark.long
@pytest.mark.postgresql
def test_what_is_no_better_than_its_prompts_is_pointed_out(scene):
    found = audited(scene.site)["anna-final"]
    assert (found.iou <= found.finding.blind_mean + 0.02) == (
        "no better than its prompts alone" in found.flags
    )


def test_the_command_line_and_the_pages_say_the_same(scene):
    sheet = audit_sheet(scene.site, "c")
    assert [row[:3] for row in sheet.rows][1] == ("final", "bela", "mine")
    organiser = scene.person("Olga", "organiser", ["c"])
    table = organiser.get("/organise/challenges/c/audit").text
    page = organiser.get("/runs/bela-final").text
    bela = audited(scene.site)["bela-final"]
    for told in (
        f"{bela.finding.blind_mean:.3f}",
        f"{bela.finding.blind_p95:.3f}",
        f"{bela.finding.blind_highest:.3f}",
        "100 %",
        "mine of anna",
    ):
        assert told in table
    assert f"{bela.finding.blind_mean:.3f}" in page
    assert re.search(r"[Vv]ery similar to mine of anna", page)
    assert "100 %" in page


@pytest.mark.postgresql
def test_its_team_sees_nothing_of_it(scene):
    viewer = scene.person("Tom Own")
    with scene.site.database.writing() as session:
        run = session.get_one(Run, "bela-final")
        me = session.scalars(select(Person).where(Person.name == "Tom Own")).one()
        run.person_id = me.id
    page = viewer.get("/runs/bela-final")
    assert page.status_code == 200
    assert "Blind" not in page.text
    assert "looks like" not in page.text


@pytest.mark.long
@pytest.mark.postgresql
def test_what_could_not_be_found_is_told_and_can_be_found_again(scene):
    site = scene.site
    folder = site.folder.runs / "caro-final"
    folder.rename(site.folder.runs / "away")
    organiser = scene.person("Pia", "organiser", ["c"])
    key = re.search(r'name="key" value="([0-9a-f]{64})"', organiser.get("/organise").text)[1]
    assert organiser.post("/runs/x/audit", data={"key": key}).status_code in (404, 405)
    assert organiser.post("/organise/runs/caro-final/audit", data={"key": key}).status_code == 303
    job = wait(site, "caro-final", "dead")
    assert "caro-final" in job.failure
    with site.database.writing() as session:
        session.delete(session.get_one(RunFinding, "caro-final"))
    assert "audit failed" in organiser.get("/organise/challenges/c/audit").text
    assert "audit failed" in organiser.get("/runs/caro-final").text
    (site.folder.runs / "away").rename(folder)
    assert organiser.post("/organise/runs/caro-final/audit", data={"key": key}).status_code == 303
    wait(site, "caro-final", "done")
    assert audited(site)["caro-final"].finding is not None
    assert "audit failed" not in organiser.get("/runs/caro-final").text


@pytest.mark.long
@pytest.mark.parametrize("working", ["sqlite"], indirect=True)
def test_a_run_with_prompts_of_an_earlier_run_is_flagged_and_the_earlier_one_is_not(scene):
    """The attack of a team that begins a second run: its first answer uses all prompts of the first run."""
    site = scene.site
    phase = Phase(name="remembered", seed=3)
    described = ChallengeDescription(
        practice_may_reveal_test=True,
        slug="r",
        title="R",
        benchmark="clicks(rounds=10)",
        dataset="demo",
        phases=(phase,),
    )
    make_challenge(site, described)
    memory = Remembering()
    hold(site, described, "dora", "remembered", memory, samples=8)
    site.hurry()
    wait(site, "dora-remembered")
    memory.is_over = True
    hold(site, described, "emil", "remembered", memory, samples=8)
    site.hurry()
    wait(site, "emil-remembered")
    with site.database.reading() as session:
        found = {one.run.id: one for one in audit_challenge(session, existing_challenge(site, "r"))}
    honest = found["dora-remembered"]
    attack = found["emil-remembered"]
    assert not honest.knows_others_prompts
    assert attack.finding.knowledge_samples == 8
    assert attack.finding.knowledge_excess > 0.02
    assert attack.knowledge_p <= 0.02
    assert "shows knowledge of prompts that it did not receive" in attack.flags
    board = "/challenges/r/remembered/board"
    organiser = scene.person("Orla", "organiser", ["r"])
    assert "mine of emil</a> shows such knowledge" in organiser.get(board).text
    assert "knowledge" not in scene.person("Paul").get(board).text

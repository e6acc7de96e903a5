"""What an organiser is told before anybody wins; runs are held in this process and laid where a server has them."""

import re
import time

import numpy as np
import pytest
from sqlalchemy import select

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
    """Says that the object is everywhere, or in the left half."""

    def __init__(self, share=1.0):
        self.share = share

    def encode(self, sample):
        return np.indices(sample.shape)[1] < self.share * sample.shape[1]

    def predict(self, encoded, dialogues):
        return [encoded] * len(dialogues)


@pytest.fixture(scope="module")
def scene(working):
    """A challenge and four runs: two that are the same, one of its own, and one of a practice; all found out about."""
    phases = (Phase(name="final", seed=3), Phase(name="practice", kind="practice", seed=4))
    described = ChallengeDescription(
        slug="c", title="C", benchmark=CLICKS, dataset="demo", phases=phases
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


def hold(site, described, name, phase, segmenter):
    """Hold a run about the first sample, as if it had come over the network, and end it."""
    rehearsal = Rehearsal(described, phase, segmenter)
    samples = rehearsal.evaluator.samples(phase)[:1]
    folder, places = rehearsal.rehearse(samples, site.folder.runs / f"{name}-{phase}")
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
        challenge = existing_challenge(site, "c").id
        run = Run(
            id=folder.path.name, challenge_id=challenge, phase=phase, person_id=person.id, **about
        )
        session.add(run)
        session.flush()
        session.add(
            RunSample(
                run_id=run.id, number=0, key=f"k-{run.id}", sample=samples[0], sha256="0", bytes=1
            )
        )
        session.flush()
        session.add_all(
            Turn(place=0, number=turn, given=given, **facts)
            for turn, given in enumerate(places[0].given)
        )
        close_run(session, run.id, site.now(), extract=extract, fault="")


def wait(site, run_id, *states):
    for _ in range(400):
        with site.database.reading() as session:
            job = find_job(session, AUDIT_RUN, run_id)
        if job.state in (states or ("done",)):
            return job
        time.sleep(0.05)
    raise AssertionError(job.failure)


def audited(site):
    with site.database.reading() as session:
        return {one.run.id: one for one in audit_challenge(session, existing_challenge(site, "c"))}


def test_what_prompts_gave_away_is_kept_when_a_run_ends(scene):
    found = audited(scene.site)
    assert list(found) == ["anna-final", "bela-final", "caro-final", "anna-practice"]
    for one in list(found.values())[:3]:
        assert one.finding.prompts == 3 * one.finding.targets > 0
        assert 0 < one.finding.blind_mean <= one.finding.blind_highest < 1
        assert one.measure == "NoC@90"
        assert one.score is not None
    practice = found["anna-practice"].finding
    assert (practice.blind_mean, practice.blind_highest, practice.prompts) == (None, None, 0)


def test_it_is_what_the_rehearsal_says_the_prompts_give_away(scene):
    described = ChallengeDescription(
        slug="c", title="C", benchmark=CLICKS, dataset="demo", phases=(Phase(name="final", seed=3),)
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
    assert bela.flags[0] == "looks like mine of anna"
    folders = [scene.site.folder.runs / run for run in ("anna-final", "bela-final")]
    exact = similarity_of(*folders)
    assert (bela.finding.alike_share, bela.finding.alike_compared) == (exact.share, exact.compared)
    assert not any("looks like" in flag for flag in found["caro-final"].flags)


def test_what_is_no_better_than_its_prompts_is_pointed_out(scene):
    found = audited(scene.site)["anna-final"]
    assert (found.iou <= found.finding.blind_mean + 0.02) == (
        "no better than its prompts" in found.flags
    )


def test_the_command_line_and_the_pages_say_the_same(scene):
    sheet = audit_sheet(scene.site, "c")
    assert [row[:3] for row in sheet.rows][1] == ("final", "bela", "mine")
    organiser = scene.person("Olga", "organiser")
    table = organiser.get("/organise/challenges/c/audit").text
    page = organiser.get("/runs/bela-final").text
    bela = audited(scene.site)["bela-final"]
    for told in (
        f"{bela.finding.blind_mean:.3f}",
        f"{bela.finding.blind_highest:.3f}",
        "100 %",
        "mine of anna",
    ):
        assert told in table
    assert f"{bela.finding.blind_mean:.3f}" in page
    assert re.search(r"[Ll]ooks like mine of anna", page)
    assert "100 %" in page


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


def test_what_could_not_be_found_is_told_and_can_be_found_again(scene):
    site = scene.site
    folder = site.folder.runs / "caro-final"
    folder.rename(site.folder.runs / "away")
    organiser = scene.person("Pia", "organiser")
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

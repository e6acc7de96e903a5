"""Deleted accounts: boards keep their results, and neither boards nor run folders contain the name."""

import io
import json
import shutil
import uuid
import zipfile

import pytest
from sqlalchemy import select

from segarena.records.configuration import read_configuration
from segarena.reports.boards.extracts import extract_of, extract_text
from segarena_server.challenges.challenge_management import existing_challenge, make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.rehearsal import Rehearsal
from segarena_server.db.orm_models import Job, Person, Run, Submission
from segarena_server.jobs.job_queue import REMOVE_NAME, find_job
from segarena_server.privacy.account_deletion import delete_account
from segarena_server.privacy.personal_data import personal_data_archive
from segarena_server.runs.phase_leaderboard import BoardCache
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_server.workers.kinds.run_folder_jobs import RemoveName
from segarena_server.workers.kinds.submission_inspection import InspectSubmission

PHASE = Phase(name="final", seed=3, kind="practice", shows="board")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a site with a run."""
    site = open_site(tmp_path_factory.mktemp("made") / "site", Settings())
    described = ChallengeDescription(
        slug="c", title="C", benchmark="clicks(rounds=2)", dataset="demo", phases=(PHASE,)
    )
    make_challenge(site, described, lambda done, of: None)
    rehearsal = Rehearsal(described, "final", "image-blind")
    folder, _ = rehearsal.rehearse(
        rehearsal.evaluator.samples("final")[:1], site.folder.runs / "run-1"
    )
    with site.database.writing() as session:
        told = {"password": "-", "role": "participant", "state": "confirmed", "made_at": 0.0}
        session.add(Person(name="Zyx", folded="zyx", **told))
        session.flush()
        about = {
            "segmenter": "zyx.py:Zyx",
            "note": "zyx",
            "pool": "demo",
            "state": "over",
            "made_at": 1.0,
            "ended_at": 2.0,
        }
        extract = extract_text(extract_of(folder.path))
        session.add(
            Run(
                id="run-1",
                challenge_id=existing_challenge(site, "c").id,
                phase="final",
                person_id=1,
                name="zyx",
                extract=extract,
                **about,
            )
        )
    site.database.close()
    return site.folder.path


@pytest.fixture
def site(made, tmp_path):
    """A copy of that site for changes."""
    site = open_site(shutil.copytree(made, tmp_path / "site"), Settings())
    yield site
    site.database.close()


def send(site, person_id, content, **values):
    """Add a submission to the database."""
    with site.database.writing() as session:
        about = {
            "phase": "final",
            "kind": "worker",
            "name": "zyx",
            "segmenter": "zyx",
            "note": "zyx",
            "sent_at": 3.0,
        }
        sent = Submission(
            id=str(uuid.uuid4()), challenge_id=existing_challenge(site, "c").id, person_id=person_id,
            sha256=site.folder.sent.keep(content), bytes=len(content), **about, **values,
        )  # fmt: skip
        session.add(sent)
        return sent


def bystander(site):
    with site.database.writing() as session:
        told = {"password": "-", "role": "participant", "state": "confirmed", "made_at": 0.0}
        session.add(Person(id=2, name="Other", folded="other", **told))


@pytest.mark.long
def test_what_was_sent_is_in_the_copy_and_goes_with_the_account_unless_somebody_else_sent_the_same(
    site,
):
    bystander(site)
    own, shared = (
        send(site, 1, b"a program of zyx"),
        send(site, 1, b"the same program", state="taken", run_id="run-1"),
    )
    send(site, 2, b"the same program")
    with zipfile.ZipFile(io.BytesIO(b"".join(personal_data_archive(site, 1)))) as archive:
        assert archive.read("sent/1") + archive.read("sent/2") in (
            b"a program of zyx" + b"the same program",
            b"the same program" + b"a program of zyx",
        )
        assert len(json.loads(archive.read("account.json"))["sent"]) == 2
    with site.database.writing() as session:
        delete_account(session, site.folder, session.get_one(Person, 1), 5.0)
    assert not site.folder.sent.path(own.sha256).exists()
    assert site.folder.sent.path(shared.sha256).exists()
    with site.database.reading() as session:
        left = session.get_one(Submission, own.id)
        assert (left.state, left.name, left.segmenter, left.note) == ("dead", "run", "", "")
        assert session.get_one(Submission, shared.id).state == "taken"


def test_a_file_that_is_looked_at_while_its_account_is_deleted_begins_no_run(site):
    sent = send(site, 1, b"a program of zyx")
    with site.database.writing() as session:
        delete_account(session, site.folder, session.get_one(Person, 1), 5.0)
    with site.database.writing() as session:
        InspectSubmission().write(session, site, Job(about=sent.id), ())
        assert session.scalars(select(Run.id)).all() == ["run-1"]
        assert session.get_one(Submission, sent.id).state == "dead"


def names_on_board(site):
    with site.database.reading() as session:
        return (
            BoardCache()
            .of(session, existing_challenge(site, "c"), PHASE, 10.0, sees_all=False)
            .board.participants
        )


def test_a_result_stays_on_the_board_without_a_name(site):
    assert names_on_board(site) == ("Zyx",)
    with site.database.writing() as session:
        delete_account(session, site.folder, session.get_one(Person, 1), 5.0)
        job = find_job(session, REMOVE_NAME, "run-1")
        forget = RemoveName().task(session, site, job)
    forget(None)
    assert names_on_board(site) == ("(deleted 1)",)
    checked = read_configuration(site.folder.runs / "run-1" / "run.json")
    assert (checked.damage, checked.config.segmenter.name) == ("", "run")
    with site.database.reading() as session:
        run = session.get_one(Run, "run-1")
        assert "zyx" not in f"{run.extract}{run.name}{run.segmenter}{run.note}".lower()


def test_a_segmenter_that_everybody_has_keeps_its_name(site):
    with site.database.writing() as session:
        session.get_one(Run, "run-1").segmenter = "image-blind(seed=1)"
        delete_account(session, site.folder, session.get_one(Person, 1), 5.0)
        assert session.get_one(Run, "run-1").segmenter == "image-blind"


@pytest.mark.long
def test_a_copy_is_whole_when_a_file_is_lost(site):
    lost = send(site, 1, b"a program of zyx")
    site.folder.sent.path(lost.sha256).unlink()
    with zipfile.ZipFile(io.BytesIO(b"".join(personal_data_archive(site, 1)))) as archive:
        assert archive.testzip() is None
        assert "sent/1.missing" in archive.namelist()

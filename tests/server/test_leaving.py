"""Accounts that are deleted after runs: the board keeps the result, and neither it nor the run's folder the name."""

import pytest

from segarena.challenges.description import Challenge, Phase
from segarena.challenges.rehearsal import Rehearsal
from segarena.records.configuration import read_configuration
from segarena.reports.boards.extracts import extract_of, extract_text
from segarena.server.boards import Boards
from segarena.server.leaving import delete_account
from segarena.server.organising import find, make_challenge
from segarena.server.serving import open_site
from segarena.server.settings import Settings
from segarena.server.tables import Person, Run

PHASE = Phase(name="final", seed=3, kind="practice", shows="board")


@pytest.fixture
def site(tmp_path):
    site = open_site(tmp_path / "site", Settings())
    described = Challenge(slug="c", title="C", benchmark="clicks(rounds=2)", dataset="demo", phases=(PHASE,))
    make_challenge(site, described, lambda done, of: None)
    rehearsal = Rehearsal(described, "final", "nearest-prompt")
    folder, _ = rehearsal.hold(rehearsal.evaluator.samples("final")[:1], site.folder.runs / "run-1")
    with site.database.writing() as session:
        told = {"password": "-", "role": "participant", "state": "confirmed", "made_at": 0.0}
        session.add(Person(name="Zyx", folded="zyx", **told))
        session.flush()
        about = {"segmenter": "zyx.py", "note": "zyx", "pool": "demo", "state": "over", "made_at": 1.0, "ended_at": 2.0}
        extract = extract_text(extract_of(folder.path))
        session.add(
            Run(
                id="run-1",
                challenge_id=find(site, "c").id,
                phase="final",
                person_id=1,
                name="zyx",
                extract=extract,
                **about,
            )
        )
    yield site
    site.database.close()


def names_on_board(site):
    with site.database.reading() as session:
        return Boards().of(session, find(site, "c"), PHASE, 10.0, sees_all=False).board.participants


def test_a_result_stays_on_the_board_without_a_name(site):
    assert names_on_board(site) == ("Zyx",)
    with site.database.writing() as session:
        delete_account(session, site.folder, session.get_one(Person, 1), 5.0)
    assert names_on_board(site) == ("(deleted 1)",)
    checked = read_configuration(site.folder.runs / "run-1" / "run.json")
    assert (checked.damage, checked.config.segmenter.name) == ("", "run")
    with site.database.reading() as session:
        run = session.get_one(Run, "run-1")
        assert "zyx" not in f"{run.extract}{run.name}{run.segmenter}{run.note}".lower()

"""What an organiser is told before anybody wins; runs are held in this process and laid where a server has them."""

import numpy as np
import pytest

from segarena.challenges.description import Challenge, Phase
from segarena.challenges.rehearsal import Rehearsal
from segarena.server.auditing import alike_sheet, leaks_sheet
from segarena.server.organising import find, make_challenge
from segarena.server.serving import open_site
from segarena.server.settings import Settings
from segarena.server.tables import Person, Place, Run, Turn


class Everything:
    """Says that the object is everywhere, or in the left half."""

    def __init__(self, share=1.0):
        self.share = share

    def encode(self, sample):
        return np.indices(sample.shape)[1] < self.share * sample.shape[1]

    def predict(self, encoded, dialogues):
        return [encoded] * len(dialogues)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site with one challenge and three runs: two that are the same, and one of its own."""
    site = open_site(tmp_path_factory.mktemp("site"), Settings())
    described = Challenge(
        slug="c", title="C", benchmark="clicks(rounds=3)", dataset="demo", phases=(Phase(name="final", seed=3),)
    )
    make_challenge(site, described, lambda done, of: None)
    for number, (person, segmenter) in enumerate([("anna", 1.0), ("bela", 1.0), ("caro", 0.5)]):
        hold(site, described, person, number, Everything(segmenter))
    yield site
    site.database.close()


def hold(site, described, person, number, segmenter):
    rehearsal = Rehearsal(described, "final", segmenter)
    samples = rehearsal.evaluator.samples("final")[:1]
    folder, places = rehearsal.hold(samples, site.folder.runs / f"run-{number}")
    facts = {"run_id": folder.path.name, "sha256": "0", "request": b""}
    with site.database.writing() as session:
        who = Person(name=person, folded=person, password="-", role="participant", state="confirmed", made_at=0.0)
        session.add(who)
        session.flush()
        challenge = find(site, "c").id
        about = {"segmenter": "x", "note": "", "pool": "demo", "state": "over", "made_at": float(number)}
        session.add(
            Run(id=folder.path.name, challenge_id=challenge, phase="final", person_id=who.id, name="mine", **about)
        )
        session.flush()
        session.add(Place(run_id=folder.path.name, number=0, key=f"k{number}", sample=samples[0], sha256="0", bytes=1))
        session.flush()
        for turn, given in enumerate(places[0].given):
            session.add(Turn(place=0, number=turn, given=given, state="done", received_at=0.0, **facts))


def test_what_prompts_gave_away_is_told_by_participant(site):
    sheet = leaks_sheet(site, "c")
    assert [row[:2] for row in sheet.rows] == [("anna", "final"), ("bela", "final"), ("caro", "final")]
    for _, _, targets, prompts, mean, highest in sheet.rows:
        assert targets >= 1
        assert prompts == 3 * targets
        assert 0 < mean.mean <= highest.mean < 1


def test_runs_of_different_people_that_look_like_one_are_named(site):
    rows = alike_sheet(site, "c").rows
    assert [(row[1], row[3]) for row in rows] == [("anna", "bela")]
    assert rows[0][5].mean == 100

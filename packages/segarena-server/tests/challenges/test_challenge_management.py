"""Creating and changing a challenge: allowed changes, prepared samples, and log entries."""

from contextlib import nullcontext

import msgspec
import numpy as np
import pytest
from PIL import Image
from sqlalchemy import select

from segarena.errors import InvalidInput
from segarena_server.challenges.challenge_management import (
    change_challenge,
    existing_challenge,
    make_challenge,
)
from segarena_server.challenges.challenge_repository import description_of
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.sample_pool import preview_phases
from segarena_server.db.orm_models import AuditEvent, Person, PooledSample, Run
from segarena_server.runs.run_repository import RunRequest
from segarena_server.runs.run_repository import create_run as begin_run
from segarena_server.settings import Settings
from segarena_server.site import Site
from segarena_server.storage.data_folder import DataFolder

FINAL = Phase(name="final", samples_per_run=2)
PLAIN = ChallengeDescription(
    slug="c", title="C", benchmark="clicks(rounds=3)", dataset="demo", phases=(FINAL,)
)


@pytest.fixture
def site(database, tmp_path):
    """A site with one challenge."""
    folder = DataFolder(tmp_path / "data")
    folder.make()
    site = Site(settings=Settings(), folder=folder, database=database, secret=folder.secret())
    make_challenge(site, PLAIN)
    return site


def begin(site, phase="final"):
    """Add a run."""
    with site.database.writing() as session:
        person = Person(
            name="a b",
            folded="a b",
            password="-",
            role="participant",
            state="confirmed",
            made_at=0.0,
        )
        session.add(person)
        session.flush()
        about = {
            "segmenter": "",
            "note": "",
            "pool": "demo",
            "made_at": 0.0,
            "name": "x",
            "phase": phase,
        }
        session.add(
            Run(id="r", challenge_id=existing_challenge(site, "c").id, person_id=person.id, **about)
        )


def pooled(site):
    with site.database.reading() as session:
        return {(row.pool, row.sample) for row in session.scalars(select(PooledSample))}


def told(site):
    with site.database.reading() as session:
        return [
            event.about
            for event in session.scalars(
                select(AuditEvent).where(AuditEvent.action == "challenge changed")
            )
        ]


def changed(phases=None, **values):
    return msgspec.structs.replace(PLAIN, phases=phases or PLAIN.phases, **values)


def test_dates_and_limits_change_while_it_runs_with_a_line_in_the_log(site):
    begin(site)
    seed = description_of(existing_challenge(site, "c")).phases[0].seed
    after = changed((msgspec.structs.replace(FINAL, runs_per_day=4, shows="board"),), title="D")
    assert change_challenge(site, "c", after).rows == ()
    now = description_of(existing_challenge(site, "c"))
    assert (now.title, now.phases[0].runs_per_day, now.phases[0].shows, now.phases[0].seed) == (
        "D",
        4,
        "board",
        seed,
    )
    (line,) = told(site)
    assert "runs_per_day: – → 4" in line
    assert str(seed) not in line


def test_what_judges_changes_before_the_first_run_and_not_after(site):
    other = changed(
        (msgspec.structs.replace(FINAL, rounds=2),),
        benchmark="clicks(rounds=4)",
        dataset="demo(size=120)",
    )
    before = pooled(site)
    with pytest.raises(InvalidInput, match="no challenge"):
        change_challenge(site, "nothing", other)
    begin(site)
    with pytest.raises(InvalidInput, match=r"benchmark: stays clicks\(rounds=3\)"):
        change_challenge(site, "c", other)
    assert pooled(site) == before
    assert told(site) == []


@pytest.mark.long
def test_another_benchmark_lays_the_samples_ready_again(site):
    laid = change_challenge(site, "c", changed(benchmark="clicks(rounds=4)"))
    assert laid.samples == len(pooled(site)) > 0
    assert description_of(existing_challenge(site, "c")).benchmark == "clicks(rounds=4)"


def test_a_phase_more_needs_no_samples_that_are_there(site):
    begin(site)
    practice = Phase(name="practice", kind="practice")
    with pytest.raises(InvalidInput, match="expected samples other than those of final"):
        change_challenge(site, "c", changed((FINAL, practice)))
    two = changed((FINAL, practice), practice_may_reveal_test=True)
    assert change_challenge(site, "c", two).rows == ()
    with pytest.raises(InvalidInput, match="final has runs"):
        change_challenge(site, "c", changed((Phase(name="practice", kind="practice"),)))


@pytest.mark.long
def test_a_look_says_what_it_would_be_and_keeps_nothing(site):
    (found,) = preview_phases(Evaluator(PLAIN), PLAIN, lambda done, of: nullcontext())
    assert (found.phase, found.samples, found.rounds, found.unusable) == ("final", 2, 3, ())
    assert found.pool == len(pooled(site))
    assert found.dialogues > 0
    assert found.megabytes > 0


@pytest.mark.long
def test_of_a_first_run_and_a_change_at_once_one_waits_for_the_other(site):
    """A run that begins while the benchmark is changed uses the old or the new one, and its samples are prepared."""
    with site.database.writing() as session:
        about = {"password": "-", "role": "participant", "state": "confirmed", "made_at": 0.0}
        person = Person(name="a b", folded="a b", **about)
        session.add(person)
        session.flush()
        number = person.id
    stale = existing_challenge(site, "c")
    change_challenge(
        site,
        "c",
        changed((msgspec.structs.replace(FINAL, dataset="phantom"),), benchmark="radioactive"),
    )
    asked = RunRequest(id="8b1c7e0e-8e0b-4c73-9ac8-2d9a8c5e0a01", name="x", segmenter="", note="")
    with site.database.writing() as session:
        challenge = session.merge(stale, load=False)
        run = begin_run(
            session, challenge, description_of(stale).phases[0], number, asked, site.now()
        )
        assert run.pool == "phantom"


def test_a_relative_path_is_stored_as_an_absolute_one(site, tmp_path, monkeypatch):
    for folder, value in (("images", 90), ("masks", 255)):
        (tmp_path / "photos" / folder).mkdir(parents=True)
        pixels = np.full((20, 30), value, dtype=np.uint8)
        pixels[:5] = 0
        Image.fromarray(pixels).save(tmp_path / "photos" / folder / "a.png")
    monkeypatch.chdir(tmp_path)
    dataset = "folder(path='photos', images='images')"
    make_challenge(site, msgspec.structs.replace(PLAIN, slug="own", dataset=dataset))
    stored = description_of(existing_challenge(site, "own")).dataset
    assert stored == f"folder(path='{tmp_path}/photos', images='images')"

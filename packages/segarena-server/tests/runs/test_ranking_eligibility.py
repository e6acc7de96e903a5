"""A run is ranked if its team has received no prompts about its samples."""

import uuid
from types import SimpleNamespace

import pytest
from sqlalchemy import select

from segarena.errors import StoreError
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.auth import teams
from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.description import ChallengeDescription, Phase, challenge_text
from segarena_server.db.orm_models import Challenge, Person, PooledSample, Run, Turn
from segarena_server.http_errors import Refusal
from segarena_server.runs.run_repository import (
    RunRequest,
    close_run,
    create_run,
    next_run_unranked,
    run_samples,
)
from segarena_server.storage.compression import compress_body
from segarena_server.workers.turn_evaluation import fail_turn

SAMPLES = 6
PHASES = (
    Phase(name="test", seed=1, samples_per_run=2, runs_at_once=9),
    Phase(name="again", seed=2, samples_per_run=2, runs_at_once=9),
    Phase(name="practice", kind="practice", seed=3, samples_per_run=2, runs_at_once=9),
    Phase(name="whole", seed=4, runs_at_once=9, unlimited_ranked_runs=True),
    Phase(name="few", seed=5, samples_per_run=1, ranked_runs=2, runs_at_once=9),
    Phase(name="programs", seed=6, takes=("worker", "dialogue"), samples_per_run=6, runs_at_once=9),
    Phase(name="whole-once", seed=8, samples_per_run=6, runs_at_once=9),
    Phase(name="masks", seed=7, takes=("masks",), samples_per_run=2, runs_at_once=9),
)


class Event:
    """Two challenges with the same samples, under different names in the second, and their participants."""

    def __init__(self, database):
        self.database = database
        self.now = 1e9
        for slug, prefix in (("first", "a"), ("second", "b")):
            described = ChallengeDescription(
                slug=slug, title=slug, benchmark="clicks", dataset=slug, phases=PHASES
            )
            with database.writing() as session:
                challenge = Challenge(slug=slug, description=challenge_text(described), made_at=0.0)
                session.add(challenge)
                session.flush()
                for number in range(SAMPLES):
                    session.add(
                        PooledSample(
                            challenge_id=challenge.id,
                            pool=slug,
                            number=number,
                            sample=f"{prefix}{number}",
                            sha256=f"{number}",
                            bytes=1,
                            dialogues="[{}]",
                        )
                    )

    def person(self, name):
        with self.database.writing() as session:
            person = Person(
                name=name,
                folded=name,
                password="-",
                role="participant",
                state="confirmed",
                made_at=0.0,
            )
            session.add(person)
            session.flush()
            return person.id

    def begin(self, person, phase="test", slug="first", kind="dialogue"):
        self.now += 1
        with self.database.writing() as session:
            challenge = session.scalars(select(Challenge).where(Challenge.slug == slug)).one()
            asked = RunRequest(id=f"{uuid.uuid4()}", name="r", segmenter="", note="", kind=kind)
            found = find_phase(challenge, phase)
            return create_run(session, challenge, found, person, asked, self.now).id

    def ask(self, run_id, samples=None):
        """Open the dialogues of the samples of a run, or of the first ones."""
        self.now += 1
        with self.database.writing() as session:
            for place in run_samples(session, run_id)[:samples]:
                number = len(
                    session.scalars(
                        select(Turn).where(Turn.run_id == run_id, Turn.place == place.number)
                    ).all()
                )
                session.add(
                    Turn(
                        run_id=run_id,
                        place=place.number,
                        number=number,
                        sha256="0",
                        request=compress_body(b""),
                        state="done",
                        received_at=self.now,
                    )
                )

    def end(self, run_id):
        self.now += 1
        with self.database.writing() as session:
            session.get_one(Run, run_id).state = "closing"
            session.flush()
            close_run(session, run_id, self.now, extract="", fault="")

    def hold(self, person, phase="test", slug="first", kind="dialogue"):
        """Begin a run, request prompts for all its samples, and end it."""
        run_id = self.begin(person, phase, slug, kind)
        self.ask(run_id)
        self.end(run_id)
        return run_id

    def unranked(self, run_id):
        with self.database.reading() as session:
            return session.get_one(Run, run_id).unranked

    def join(self, person, other):
        """Let a person join the new team of another one."""
        with self.database.writing() as session:
            teams.make_team(session, session.get_one(Person, other), "Owls", self.now)
            link = teams.invite_to(session, session.get_one(Person, other), self.now)
            teams.join(session, session.get_one(Person, person), link, self.now)


@pytest.fixture
def event(database):
    return Event(database)


REPEAT = "a repeat: your team has received prompts about 2 of 2 samples before"


def test_runs_are_ranked_as_long_as_samples_are_new(event):
    ada, bela = event.person("ada"), event.person("bela")
    assert [event.unranked(event.hold(ada)) for _ in range(4)] == ["", "", "", REPEAT]
    assert event.unranked(event.hold(bela)) == ""


def test_a_sample_is_known_in_every_phase_and_challenge_whatever_its_name(event):
    ada = event.person("ada")
    for _ in range(3):
        event.hold(ada)
    assert event.unranked(event.begin(ada, "again")) == REPEAT
    assert event.unranked(event.begin(ada, "test", "second")) == REPEAT


def test_a_sample_that_nothing_was_asked_about_is_still_new(event):
    ada = event.person("ada")
    for _ in range(3):
        event.end(event.begin(ada))
    assert event.unranked(event.hold(ada)) == ""


def test_one_known_sample_makes_a_run_a_repeat(event):
    ada = event.person("ada")
    for _ in range(2):
        event.hold(ada)
    run = event.begin(ada)
    event.ask(run, 1)
    event.end(run)
    reason = "a repeat: your team has received prompts about 1 of 2 samples before"
    assert event.unranked(run) == ""
    assert event.unranked(event.begin(ada)) == reason


@pytest.mark.long
@pytest.mark.postgresql
def test_a_run_that_is_ranked_when_it_begins_can_become_a_repeat(event):
    ada, bela = event.person("ada"), event.person("bela")
    going = event.begin(ada)
    event.ask(going, 1)
    event.hold(bela)
    event.join(bela, ada)
    event.ask(going)
    assert event.unranked(going) == ""
    event.end(going)
    assert event.unranked(going) == REPEAT


def test_a_run_that_is_over_stays_ranked_when_its_team_grows(event):
    ada, bela = event.person("ada"), event.person("bela")
    runs = [event.hold(ada), event.hold(bela)]
    event.join(bela, ada)
    assert [event.unranked(run) for run in runs] == ["", ""]


def test_masks_can_be_made_until_their_run_ends(event):
    ada, bela = event.person("ada"), event.person("bela")
    fetched = event.begin(ada, "masks", kind="masks")
    event.ask(fetched)
    for _ in range(3):
        event.hold(bela, "test")
    event.join(bela, ada)
    event.end(fetched)
    assert event.unranked(fetched) == REPEAT


def test_a_sample_is_in_one_unfinished_run_of_a_team_in_all_challenges(event):
    ada = event.person("ada")
    drawn = set()
    for slug, phase in (("first", "test"), ("second", "again"), ("second", "test")):
        run = event.begin(ada, phase, slug)
        with event.database.reading() as session:
            drawn |= {place.sha256 for place in run_samples(session, run)}
    assert len(drawn) == SAMPLES
    with pytest.raises(Refusal, match="finish one first"):
        event.begin(ada)


@pytest.mark.long
def test_programs_remember_nothing_but_may_contain_what_their_team_knows(event):
    ada = event.person("ada")
    assert [event.unranked(event.hold(ada, "programs", kind="worker")) for _ in range(3)] == [
        ""
    ] * 3
    assert event.unranked(event.hold(ada)) == ""
    reason = "a repeat: your team has received prompts about 2 of 6 samples before"
    assert event.unranked(event.hold(ada, "programs", kind="worker")) == reason


def test_a_program_that_is_being_judged_stays_ranked_when_its_team_goes_on(event):
    ada = event.person("ada")
    program = event.begin(ada, "programs", kind="worker")
    event.hold(ada)
    event.ask(program)
    event.end(program)
    assert event.unranked(program) == ""


def test_a_phase_has_a_number_of_ranked_runs(event):
    ada = event.person("ada")
    assert [event.unranked(event.hold(ada, "few")) for _ in range(2)] == ["", ""]
    reason = "an extra run: your team has already started its 2 ranked runs"
    assert event.unranked(event.hold(ada, "few")) == reason


def test_a_run_that_a_fault_of_the_server_ended_is_not_counted(event):
    ada = event.person("ada")
    for _ in range(2):
        event.hold(ada, "few")
    with event.database.writing() as session:
        session.scalars(select(Run)).first().is_free = True
    assert event.unranked(event.hold(ada, "few")) == ""


@pytest.mark.parametrize(
    ("fails_at", "unranked"), [("opening", ""), ("answer", "a repeat")], ids=["opening", "answer"]
)
@pytest.mark.postgresql
def test_a_fault_of_the_server_uses_up_no_samples_unless_an_answer_may_have_caused_it(
    event, fails_at, unranked
):
    """The attack: collect prompts, then send an answer that crashes every worker, and begin again."""
    ada = event.person("ada")
    lost = event.begin(ada, "whole-once")
    event.ask(lost)
    answers = {} if fails_at == "opening" else {0: "none"}
    body = pack_turn(TurnHeader(id=f"{uuid.uuid4()}", open=[] if answers else [0]), answers)
    with event.database.writing() as session:
        turn = session.scalars(select(Turn).where(Turn.run_id == lost)).first()
        turn.request = compress_body(body)
        site = SimpleNamespace(now=lambda: event.now)
        lease = SimpleNamespace(fail_attempt=lambda *_: "dead")
        fail_turn(site, turn, lease, StoreError("the disk is broken"), session)
        run = session.get_one(Run, lost)
        assert run.is_free
        close_run(session, lost, event.now, extract="", fault="")
    later = event.hold(ada, "whole-once")
    assert event.unranked(later).startswith(unranked)
    assert bool(event.unranked(later)) == bool(unranked)
    # An organiser can decide otherwise.
    with event.database.writing() as session:
        session.get_one(Run, lost).returns_samples = True
        session.get_one(Run, later).is_free = True
        session.get_one(Run, later).returns_samples = True
    assert event.unranked(event.hold(ada, "whole-once")) == ""


@pytest.mark.long
def test_an_explicit_option_ranks_every_run(event):
    ada = event.person("ada")
    assert [event.unranked(event.hold(ada, "whole")) for _ in range(3)] == [""] * 3


def test_a_practice_ranks_every_run_and_makes_its_samples_known(event):
    ada = event.person("ada")
    assert [event.unranked(event.hold(ada, "practice")) for _ in range(2)] == ["", ""]
    ranked = [event.unranked(event.hold(ada)) for _ in range(3)]
    assert ranked == ["", "", REPEAT]


@pytest.mark.long
def test_the_next_run_is_judged_before_it_begins(event):
    ada = event.person("ada")

    def next_run():
        with event.database.reading() as session:
            challenge = session.scalars(select(Challenge).where(Challenge.slug == "first")).one()
            team_id = session.get_one(Person, ada).team_id
            phase = find_phase(challenge, "test")
            return next_run_unranked(session, challenge, phase, team_id, event.now)

    assert next_run() == ""
    for _ in range(3):
        event.hold(ada)
    assert next_run() == REPEAT
    with event.database.writing() as session:
        for challenge in session.scalars(select(Challenge)):
            challenge.state = "closed"
    assert next_run() is None

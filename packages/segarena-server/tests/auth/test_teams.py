"""Teams in the database: joining and leaving gives nobody new prompts or more runs."""

import random
import threading
from contextlib import suppress

import pytest
from sqlalchemy import func, select

from segarena.errors import InvalidInput
from segarena_server.auth import teams
from segarena_server.challenges.description import ChallengeDescription as Described
from segarena_server.challenges.description import Phase, challenge_text
from segarena_server.db.orm_models import (
    Challenge,
    Person,
    PooledSample,
    Run,
    RunSample,
    Team,
    Turn,
)
from segarena_server.http_errors import Refusal
from segarena_server.privacy.account_deletion import delete_account
from segarena_server.runs.evaluation_requests import evaluation_request
from segarena_server.runs.run_repository import (
    RunRequest,
    create_run,
    own_run,
    run_samples,
)
from segarena_server.storage.compression import compress_body
from segarena_server.storage.data_folder import DataFolder

ROUNDS = 3
"""Of one dialogue."""
SAMPLES = 4


@pytest.fixture
def event(database):
    return Event(database)


class Event:
    """A challenge with four samples, two per run; a dialogue ends after three rounds."""

    def __init__(self, database):
        self.database = database
        self.now = 1000.0
        self._runs = 0
        phase = Phase(name="final", seed=5, samples_per_run=2, runs_in_all=1000, runs_per_day=1000)
        self.phase = phase
        text = challenge_text(
            Described(slug="c", title="C", benchmark="clicks", dataset="demo", phases=(phase,))
        )
        with database.writing() as session:
            challenge = Challenge(slug="c", description=text, made_at=0.0)
            session.add(challenge)
            session.flush()
            told = {
                "challenge_id": challenge.id,
                "pool": "demo",
                "bytes": 1,
                "dialogues": "[{}]",
            }
            session.add_all(
                PooledSample(number=n, sample=f"s{n}", sha256=f"{n}", **told)
                for n in range(SAMPLES)
            )

    def person(self, name):
        with self.database.writing() as session:
            made = Person(
                name=name,
                folded=name,
                password="-",
                role="participant",
                state="confirmed",
                made_at=0.0,
            )
            session.add(made)
            session.flush()
            return made.id

    def begin(self, person_id, phase=None):
        self.now += 1
        self._runs += 1
        asked = RunRequest(
            id=f"00000000-0000-4000-8000-{self._runs:012d}", name="n", segmenter="", note=""
        )
        with self.database.writing() as session:
            challenge = session.scalars(select(Challenge)).one()
            return create_run(
                session, challenge, phase or self.phase, person_id, asked, self.now
            ).id

    def hold(self, run_id):
        """Complete all dialogues of a run and end it; repeated prompts do not count as new."""
        with self.database.writing() as session:
            run = session.get_one(Run, run_id)
            challenge = session.get_one(Challenge, run.challenge_id)
            for place in run_samples(session, run_id):
                told = {
                    "run_id": run_id,
                    "place": place.number,
                    "sha256": "0",
                    "received_at": self.now,
                }
                for number in range(ROUNDS):
                    turn = Turn(number=number, request=compress_body(b""), state="waiting", **told)
                    session.add(turn)
                    session.flush()
                    job = evaluation_request(session, challenge, run, place, up_to=number)
                    turn.given = b"round" if number >= len(job.past) else b""
                    turn.state, turn.done_at = "done", self.now
                place.state = "over"
            run.state, run.ended_at = "over", self.now

    def change(self, person_id, do, *told):
        with self.database.writing() as session:
            return do(session, session.get_one(Person, person_id), *told, self.now)

    def move(self, person_id, host_id):
        self.change(person_id, teams.join, self.change(host_id, teams.invite_to))

    def given(self):
        """Return the number of rounds of each sample that anybody received."""
        on = (Turn.run_id == RunSample.run_id) & (Turn.place == RunSample.number)
        turns = select(RunSample.sample, func.count()).join(Turn, on).where(Turn.given == b"round")
        with self.database.reading() as session:
            return dict(session.execute(turns.group_by(RunSample.sample)).all())

    def past(self, run_id):
        with self.database.reading() as session:
            return [place.past for place in run_samples(session, run_id)]


@pytest.mark.postgresql
def test_everybody_has_a_team_of_their_name_alone(event):
    ada = event.person("ada")
    with event.database.reading() as session:
        team = session.get_one(Team, teams.team_of(session, ada))
        assert (team.name, [one.name for one in teams.members_of(session, team.id)]) == (
            "ada",
            ["ada"],
        )
    with pytest.raises(InvalidInput, match="create a team first"):
        event.change(ada, teams.invite_to)
    with pytest.raises(InvalidInput, match="cannot leave"):
        event.change(ada, teams.leave)


def test_a_team_and_a_person_never_have_one_name(event):
    ada, _ = event.person("ada"), event.person("bela")
    with pytest.raises(InvalidInput, match="taken"):
        event.change(ada, teams.make_team, "BELA")
    event.change(ada, teams.make_team, "Owls")
    with pytest.raises(Exception, match=r"(?i)unique"):
        event.person("owls")


def test_an_invitation_lets_one_person_in_and_ends_when_who_made_it_leaves(event):
    ada, bela, caro = map(event.person, ("ada", "bela", "caro"))
    event.change(ada, teams.make_team, "Owls")
    text, other = event.change(ada, teams.invite_to), event.change(ada, teams.invite_to)
    event.change(bela, teams.join, text)
    with pytest.raises(InvalidInput, match="invalid or has expired"):
        event.change(caro, teams.join, text)
    event.change(ada, teams.leave)
    with pytest.raises(InvalidInput, match="invalid or has expired"):
        event.change(caro, teams.join, other)


def test_whoever_joins_brings_along_what_they_have_seen(event):
    ada, bela = event.person("ada"), event.person("bela")
    for _ in range(2):
        event.hold(event.begin(ada))
    event.change(bela, teams.make_team, "Owls")
    event.move(ada, bela)
    event.hold(event.begin(bela))
    assert event.given() == {f"s{n}": ROUNDS for n in range(SAMPLES)}


def test_runs_stay_with_the_team_and_open_to_who_began_them(event):
    ada, bela, caro = map(event.person, ("ada", "bela", "caro"))
    event.change(ada, teams.make_team, "Owls")
    event.move(bela, ada)
    run = event.begin(bela)
    event.change(bela, teams.leave)
    with event.database.reading() as session:
        assert own_run(session, run, ada).id == own_run(session, run, bela).id == run
        assert session.get_one(Team, own_run(session, run, ada).team_id).name == "Owls"
        with pytest.raises(Refusal):
            own_run(session, run, caro)


# The database has little part in it, and PostgreSQL takes twice as long.
SEEDS = [
    *(("sqlite", seed) for seed in range(4)),
    ("postgresql", 0),
    *(pytest.param("postgresql", seed, marks=pytest.mark.long) for seed in range(1, 4)),
]


@pytest.mark.long
@pytest.mark.parametrize(("database", "seed"), SEEDS, indirect=["database"])
def test_joining_and_leaving_teams_gives_nobody_a_second_dialogue(event, seed):
    """One account moves between teams of others who begin no runs, and begins runs in each."""
    rng = random.Random(seed)
    attacker = event.person("attacker")
    hosts = [event.person(f"host {n}") for n in range(3)]
    for number, host in enumerate(hosts):
        event.change(host, teams.make_team, f"team {number}")
    for number in range(16):
        way = rng.choice(["join", "leave", "make", "nothing"])
        with suppress(InvalidInput):  # they are there already
            if way == "join":
                event.move(attacker, rng.choice(hosts))
            elif way == "leave":
                event.change(attacker, teams.leave)
            elif way == "make":
                event.change(attacker, teams.make_team, f"new {number}")
        event.hold(event.begin(attacker))
    assert event.given() == {f"s{n}": ROUNDS for n in range(SAMPLES)}


@pytest.mark.long
@pytest.mark.postgresql
def test_whoever_deletes_the_account_and_comes_back_to_the_team_gets_nothing_new(event, tmp_path):
    ada, bela = event.person("ada"), event.person("bela")
    event.change(ada, teams.make_team, "Owls")
    event.move(bela, ada)
    for _ in range(2):
        event.hold(event.begin(bela))
    before = event.given()
    with event.database.writing() as session:
        delete_account(session, DataFolder(tmp_path), session.get_one(Person, bela), event.now)
    again = event.person("bela")
    event.move(again, ada)
    event.hold(event.begin(again))
    assert event.given() == before == {f"s{n}": ROUNDS for n in range(SAMPLES)}


@pytest.mark.long
def test_friends_who_stay_apart_get_no_more_than_a_dialogue_each_and_none_once_they_met(event):
    friends = [event.person(f"friend {n}") for n in range(3)]
    for friend in friends:
        for _ in range(2):
            event.hold(event.begin(friend))
    before = event.given()
    assert before == {f"s{n}": 3 * ROUNDS for n in range(SAMPLES)}
    event.change(friends[0], teams.make_team, "met")
    for friend in friends[1:]:
        event.move(friend, friends[0])
        event.change(friend, teams.leave)
    for friend in friends:
        event.hold(event.begin(friend))
    assert event.given() == before


def test_a_sample_is_in_one_unfinished_run_of_a_circle(event):
    ada, bela = event.person("ada"), event.person("bela")
    event.change(ada, teams.make_team, "Owls")
    event.move(bela, ada)
    many = Phase(name="final", seed=5, samples_per_run=2, runs_at_once=9)
    first = event.begin(ada, many)
    event.change(bela, teams.leave)
    second = event.begin(bela, many)
    with event.database.reading() as session:
        drawn = [{place.sample for place in run_samples(session, run)} for run in (first, second)]
    assert drawn[0] & drawn[1] == set()
    with pytest.raises(Refusal):
        event.begin(ada, many)


def test_what_is_replayed_in_a_run_does_not_change_while_it_goes_on(event):
    ada, bela = event.person("ada"), event.person("bela")
    event.hold(event.begin(ada))
    going = event.begin(bela)
    before = event.past(going)
    event.change(ada, teams.make_team, "Owls")
    event.move(bela, ada)
    assert event.past(going) == before == ["[]", "[]"]


def test_a_clock_that_was_set_back_loses_no_prompts(event):
    ada = event.person("ada")
    for _ in range(2):
        event.hold(event.begin(ada))
    event.now -= 3600
    for _ in range(2):
        event.hold(event.begin(ada))
    assert event.given() == {f"s{n}": ROUNDS for n in range(SAMPLES)}


def test_a_new_team_is_no_way_to_more_runs(event):
    ada, bela = event.person("ada"), event.person("bela")
    few = Phase(name="final", seed=5, samples_per_run=1, runs_in_all=2)
    for _ in range(2):
        event.hold(event.begin(ada, few))
    event.change(ada, teams.make_team, "Fresh")
    with pytest.raises(Refusal, match="2 runs"):
        event.begin(ada, few)
    event.move(bela, ada)
    with pytest.raises(Refusal, match="2 runs"):
        event.begin(bela, few)
    event.change(bela, teams.leave)
    event.hold(event.begin(bela, few))


@pytest.mark.postgresql
def test_those_who_join_at_once_are_one_circle(event):
    ada, *others = map(event.person, ("ada", "bela", "caro", "dora"))
    event.change(ada, teams.make_team, "Owls")
    links = [event.change(ada, teams.invite_to) for _ in others]
    moves = [(one, teams.join, text) for one, text in zip(others, links, strict=True)]
    threads = [threading.Thread(target=event.change, args=move) for move in moves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with event.database.reading() as session:
        assert len(set(session.scalars(select(Team.circle)))) == 1
        assert len(set(session.scalars(select(Person.team_id)))) == 1

"""The ladder on the server: a board shows only the steps of a team, whichever member began them."""

from datetime import UTC, datetime

import msgspec
import pytest
from extracts import extract, noisy
from sqlalchemy import select

from segarena_server.challenges.description import ChallengeDescription as Described
from segarena_server.challenges.description import Phase, challenge_text
from segarena_server.challenges.ladder_mechanism import MAX_SCORED_REPEATS
from segarena_server.db.orm_models import Challenge, Person, Run
from segarena_server.runs.phase_leaderboard import BoardCache
from segarena_server.runs.run_repository import close_run
from segarena_server.runs.scores import visible_scores, withheld_reason

CLOSES = datetime.fromtimestamp(1_785_000_000, UTC)
PHASES = (
    Phase(name="steps", shows="board", ladder=True, closes=CLOSES),
    Phase(name="plain", shows="board", ladder=False),
    Phase(name="blind", shows="prompts", ladder=True),
    Phase(name="practice", kind="practice"),
)


@pytest.fixture
def scene(database):
    """A challenge, with a method that ends runs."""
    described = Described(slug="c", title="C", benchmark="clicks", dataset="demo", phases=PHASES)
    with database.writing() as session:
        session.add(Challenge(slug="c", description=challenge_text(described), made_at=0.0))
        for name in ("ann", "ben"):
            session.add(
                Person(
                    name=name,
                    folded=name,
                    password="-",
                    role="participant",
                    state="confirmed",
                    made_at=0.0,
                )
            )
    now = [1_780_000_000.0]

    def hold(person, values, phase="steps", unranked=""):
        """End a run with these values; return whether it counts."""
        now[0] += 60
        with database.writing() as session:
            who = session.scalars(select(Person).where(Person.name == person)).one()
            about = {
                "segmenter": "",
                "note": "",
                "pool": "demo",
                "made_at": now[0],
                "name": f"{now[0]:.0f}",
            }
            number = f"{now[0]:.0f}"
            challenge = session.scalars(select(Challenge)).one().id
            run = Run(
                id=number,
                challenge_id=challenge,
                phase=phase,
                person_id=who.id,
                state="closing",
                unranked=unranked,
                **about,
            )
            session.add(run)
            session.flush()
            close_run(session, number, now[0], extract=extract(values), fault="")
            return session.get_one(Run, number).is_step

    return database, hold, described


def test_a_try_that_is_better_by_chance_moves_nothing(scene):
    _, hold, _ = scene
    assert hold("ann", noisy(seed=1))
    steps = [hold("ann", noisy(seed=seed)) for seed in range(2, 12)]
    assert sum(steps) <= 1
    assert hold("ann", noisy(0.1, seed=20))
    assert not hold("ann", noisy(seed=21))


def test_each_team_has_a_ladder_of_its_own_in_each_phase(scene):
    database, hold, _ = scene
    assert hold("ann", noisy(0.1))
    assert hold("ben", noisy())
    assert hold("ann", noisy(), phase="blind")
    assert hold("ann", noisy(), phase="plain")
    assert hold("ann", noisy(-0.1), phase="plain")
    with database.writing() as session:
        ann, ben = session.scalars(select(Person).order_by(Person.name))
        ben.team_id = ann.team_id
    assert not hold("ben", noisy(0.02, seed=5))


def test_the_board_has_steps_alone_also_after_the_end(scene):
    database, hold, described = scene
    hold("ann", noisy())
    hold("ann", noisy(-0.1, seed=4))
    hold("ben", noisy(0.05, seed=6))
    for at in (1_780_100_000.0, 1_790_000_000.0):
        with database.reading() as session:
            challenge = session.scalars(select(Challenge)).one()
            for sees_all in (False, True):
                board = BoardCache().of(
                    session, challenge, described.phases[0], at, sees_all=sees_all
                )
                assert sorted(board.board.participants) == ["ann", "ben"]


def test_scores_of_what_is_no_step_are_shown_when_the_phase_closes(scene):
    database, hold, described = scene
    hold("ann", noisy())
    hold("ann", noisy(-0.1, seed=4))
    steps, _, blind, _ = described.phases
    during, after = 1_780_100_000.0, 1_790_000_000.0
    with database.reading() as session:
        first, second = session.scalars(select(Run).order_by(Run.made_at))
        assert visible_scores(first, steps, during)
        assert visible_scores(second, steps, during) is None
        assert "not significantly better" in withheld_reason(second, steps, during)
        assert visible_scores(second, steps, during, sees_all=True)
        assert visible_scores(second, steps, after)
        assert withheld_reason(second, steps, after) == withheld_reason(second, blind, during) == ""


@pytest.mark.long
@pytest.mark.postgresql
def test_repeats_are_on_a_ladder_of_their_own_whose_steps_end(scene):
    """An attacker who sees the score of every repeat learns the ground truth from it, block by block."""
    database, hold, described = scene
    assert hold("ann", noisy(), phase="plain")
    assert not hold("ann", noisy(seed=5), phase="plain", unranked="a repeat")
    assert hold("ann", noisy(0.1, seed=6), phase="plain", unranked="a repeat")
    # Better than the first run, which is the ranked one, but not than the repeat that was shown.
    assert not hold("ann", noisy(0.08, seed=7), phase="plain", unranked="a repeat")
    assert hold("ann", noisy(0.02, seed=8), phase="plain")
    for seed in range(MAX_SCORED_REPEATS - 3):
        hold("ann", noisy(seed=seed), phase="plain", unranked="a repeat")
    assert not hold("ann", noisy(0.19, seed=9), phase="plain", unranked="a repeat")
    assert hold("ben", noisy(), phase="plain", unranked="a repeat")
    plain = described.phases[1]
    with database.reading() as session:
        *_, last, of_ben = session.scalars(select(Run).order_by(Run.made_at))
        assert visible_scores(last, plain, 1_780_100_000.0) is None
        assert "repeat" in withheld_reason(last, plain, 1_780_100_000.0)
        assert visible_scores(of_ben, plain, 1_780_100_000.0)


def test_a_practice_has_no_ladder(scene):
    _, hold, _ = scene
    assert hold("ann", noisy(), phase="practice")
    assert hold("ann", noisy(-0.1), phase="practice")


def test_scores_of_an_open_test_have_the_digits_of_their_interval(scene):
    database, hold, described = scene
    hold("ann", noisy())
    with database.reading() as session:
        run = session.scalars(select(Run)).one()
        steps = described.phases[0]
        fine = msgspec.structs.replace(steps, decimals=6)
        (during,) = visible_scores(run, fine, 1_780_100_000.0)
        (after,) = visible_scores(run, fine, 1_790_000_000.0)
    half_width = (after["high"] - after["low"]) / 2
    assert 0.01 < half_width < 0.1
    assert during["mean"] == round(after["mean"], 2) != after["mean"]

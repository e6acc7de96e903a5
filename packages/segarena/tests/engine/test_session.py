import numpy as np
import pytest

from segarena import Click, ImageSample, Target
from segarena.comparison import Comparison, Reference
from segarena.engine.session import Rules, Session
from segarena.errors import (
    InvalidInput,
    InvalidPrompt,
    PluginError,
    PredictionInvalid,
    ProtocolViolation,
)
from segarena.metrics.overlap import Iou
from segarena.roles import TimeBudget


class Script:
    """Gives prompts from a list, and records the turns."""

    def __init__(self, *rounds):
        self.rounds = rounds
        self.turns = []

    def next(self, turn):
        self.turns.append(turn)
        return self.rounds[turn.round - 1] if turn.round <= len(self.rounds) else None


IOU = (Iou(),)


def make_session(user, *, rounds=3, metrics=IOU, clock=None, **rules):
    mask = np.zeros((6, 8), dtype=bool)
    mask[1:4, 2:5] = True
    target = Target(id="object", mask=mask)
    sample = ImageSample(id="s", image=np.zeros((6, 8, 3), dtype=np.uint8), targets=(target,))
    return Session(
        rules=Rules(benchmark="b", dataset="d", metrics=metrics, rounds=rounds, **rules),
        sample=sample,
        target=target,
        start=Comparison.empty(Reference.of(target)),
        user=user,
        user_name="script",
        **({} if clock is None else {"clock": clock}),
    )


CLICK = (Click((2, 3)),)


def test_rounds_alternate_until_the_limit():
    session = make_session(Script(CLICK, CLICK, CLICK, CLICK), rounds=2)
    for round_ in (1, 2):
        dialogue = session.next()
        assert len(dialogue.rounds) == round_
        session.submit(session.target.mask)
    assert session.is_over
    assert session.next() is None
    assert [row.round for row in session.rows().records] == [1, 2]


def test_a_user_with_nothing_to_say_ends_the_dialogue():
    session = make_session(Script(CLICK))
    session.next()
    session.submit(session.target.mask)
    assert not session.is_over
    assert session.next() is None
    assert session.is_over


def test_stop_at_ends_as_soon_as_the_value_is_reached():
    session = make_session(Script(CLICK, CLICK, CLICK), stop_at=("iou", 1.0))
    session.next()
    values = session.submit(session.target.mask)
    assert values["iou"] == 1.0
    assert session.is_over


def test_asking_twice_or_answering_twice_is_a_violation():
    session = make_session(Script(CLICK, CLICK))
    with pytest.raises(ProtocolViolation, match=r"call next\(\) first"):
        session.submit(session.target.mask)
    session.next()
    with pytest.raises(ProtocolViolation, match="round 1 is not answered"):
        session.next()


def test_a_bad_answer_leaves_the_round_open():
    session = make_session(Script(CLICK))
    session.next()
    with pytest.raises(PredictionInvalid, match=r"expected a mask of shape \(6, 8\), got \(5, 8\)"):
        session.submit(np.zeros((5, 8), dtype=bool))
    session.submit(session.target.mask)
    assert session.answered == 1


def test_prompts_outside_the_sample_are_refused():
    session = make_session(Script((Click((6, 0)),)))
    with pytest.raises(InvalidPrompt, match=r"outside a sample of shape \(6, 8\)"):
        session.next()


def test_the_turn_shows_the_last_prediction_and_never_leaks_the_target_into_the_dialogue():
    user = Script(CLICK, CLICK)
    session = make_session(user)
    session.next()
    half = session.target.mask.copy()
    half[2:] = False
    session.submit(half)
    session.next()
    assert user.turns[0].comparison.prediction_area == 0
    assert user.turns[1].comparison.prediction_area == 3
    assert user.turns[1].dialogue.previous.mask is half
    assert not any(value is session.target.mask for value in vars(type(session.dialogue)).values())


def test_each_round_has_its_own_random_stream_whatever_was_drawn_before():
    def draws(greedy):
        user = Script(CLICK, CLICK)
        session = make_session(user)
        numbers = []
        while session.next() is not None:
            if greedy:
                user.turns[-1].rng.random(1000)
            numbers.append(user.turns[-1])
            session.submit(session.target.mask)
        return numbers[1].rng.random()

    assert draws(greedy=False) != draws(greedy=True)  # the same stream, further along
    first, second = Script(CLICK, CLICK), Script(CLICK, CLICK)
    for user in (first, second):
        session = make_session(user)
        session.next()
        session.submit(session.target.mask)
        session.next()
    assert first.turns[1].rng.random() == second.turns[1].rng.random()
    assert first.turns[0].rng.random() != first.turns[1].rng.random()


def test_the_clock_measures_from_next_to_submit():
    ticks = iter([10.0, 12.5])
    session = make_session(Script(CLICK), clock=lambda: next(ticks))
    session.next()
    session.submit(session.target.mask)
    assert session.rows().timings[0].predict_s == 2.5


def test_masks_are_kept_after_chosen_rounds_and_after_the_last():
    session = make_session(Script(CLICK, CLICK, CLICK), keep_rounds=(1,))
    for _ in range(3):
        session.next()
        session.submit(session.target.mask)
    assert [row.round for row in session.rows().masks] == [1, 3]


def test_a_failure_is_the_last_record():
    session = make_session(Script(CLICK))
    session.next()
    session.fail("out of\nmemory")
    (row,) = session.rows().records
    assert row.failure == "out of memory"
    assert row.round == 1
    assert session.is_over


def test_a_metric_that_gives_other_columns_than_it_names_is_an_error():
    class Liar:
        columns = ("a",)

        def __call__(self, comparison):
            return {"b": 1.0}

    session = make_session(Script(CLICK), metrics=(Liar(),))
    session.next()
    with pytest.raises(PluginError, match=r"declares columns \('a',\), but returned \('b',\)"):
        session.submit(session.target.mask)


@pytest.mark.parametrize("value", [None, "good", np.zeros(3)])
def test_a_metric_that_gives_no_number_is_an_error(value):
    class Vague:
        columns = ("a",)

        def __call__(self, comparison):
            return value

    session = make_session(Script(CLICK), metrics=(Vague(),))
    session.next()
    with pytest.raises(PluginError, match="metric Vague: expected a number as a, got "):
        session.submit(session.target.mask)


def test_a_user_who_gives_a_prompt_without_a_list_is_an_error():
    class Lone(Script):
        def next(self, turn):
            return Click((2, 3))

    with pytest.raises(InvalidInput, match="expected a list of prompts, or None, got Click"):
        make_session(Lone()).next()


class FakeClock:
    """A clock that advances only on request."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Slow(Script):
    """Takes two seconds for the prompts of each round."""

    def __init__(self, clock, *rounds):
        super().__init__(*rounds)
        self.clock = clock

    def next(self, turn):
        self.clock.now += 2
        return super().next(turn)


def timed_session(counts_judging, seconds=10):
    clock = FakeClock()
    budget = TimeBudget(seconds_per_object=seconds, counts_judging=counts_judging)
    return make_session(Slow(clock, *[CLICK] * 5), rounds=5, clock=clock, budget=budget), clock


def test_an_answer_after_the_budget_is_dropped_and_ends_the_dialogue():
    session, clock = timed_session(counts_judging=False)
    session.next()
    clock.now += 6
    assert session.submit(session.target.mask)["iou"] == 1.0
    session.next()
    clock.now += 4.5
    assert session.submit(session.target.mask) == {}
    assert (session.is_over, session.is_late, session.answered) == (True, True, 1)
    assert session.next() is None
    rows = session.rows()
    assert [row.round for row in rows.records] == [1]
    assert [(row.round, row.predict_s) for row in rows.timings] == [(1, 6.0), (2, 4.5)]


def test_an_answer_at_the_very_end_of_the_budget_counts():
    session, clock = timed_session(counts_judging=False)
    session.next()
    clock.now += 10
    assert session.submit(session.target.mask)["iou"] == 1.0
    assert not session.is_over


def test_judging_is_taken_off_the_budget_only_when_asked_for():
    for counts_judging, spent_s in ((False, 3.0), (True, 5.0)):
        session, clock = timed_session(counts_judging)
        session.next()
        clock.now += 3
        session.submit(session.target.mask)
        assert session.spent_s == spent_s


def test_time_spent_between_answers_can_end_the_dialogue():
    session, _ = timed_session(counts_judging=False)
    session.next()
    session.submit(session.target.mask)
    session.spend(10.5)
    assert session.next() is None
    assert session.is_over


def test_several_objects_have_as_many_times_the_budget():
    session, _ = timed_session(counts_judging=False)
    labels = session.target.mask.astype(np.uint8)
    labels[5, 7] = 2
    session.target = Target(id="objects", mask=labels)
    session.spend(20)
    assert not session.is_late
    session.spend(0.1)
    assert session.is_late


def test_who_may_be_silent_goes_on_without_prompts():
    user = Script(CLICK, (), CLICK)
    user.may_be_silent = True
    session = make_session(user)
    for _ in range(3):
        assert session.next() is not None
        session.submit(session.target.mask)
    assert [row.prompts == "[]" for row in session.rows().records] == [False, True, False]
    ends = make_session(Script(CLICK, (), CLICK))
    ends.next()
    ends.submit(ends.target.mask)
    assert ends.next() is None

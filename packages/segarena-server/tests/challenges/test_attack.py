"""An attacker with unlimited runs gets no more prompts about a sample than one dialogue has.

Answers that make the prompts of one dialogue reveal more are in `test_prompt_attacks`.
"""

from collections import Counter, defaultdict
from itertools import cycle

import numpy as np
import pytest
from blobs import SIDES

from segarena.segmenters.drawing.nearest_prompt import blind_labels
from segarena_server.challenges.evaluation_request import RunInfo
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.prompt_replay import unpack_history
from segarena_server.challenges.rehearsal import Rehearsal
from segarena_server.challenges.sample_selection import draw_samples

ROUNDS = 12


class Blind:
    """Image-blind: each pixel gets the label of the nearest known prompt."""

    prompt_kinds = frozenset({"click", "box", "scribble"})

    def encode(self, sample):
        return sample.shape

    def predict(self, shape, dialogues):
        return [self.mask(shape, dialogue) for dialogue in dialogues]

    def mask(self, shape, dialogue):
        return blind_labels(dialogue.prompts, shape)[0].astype(bool)


class Attacker(Blind):
    """Answers to receive new information each time: empty, full, halves, random, or the known labels."""

    def __init__(self, strategy, known):
        self.strategy = strategy
        self.known = known
        self.rng = np.random.default_rng(0)

    def mask(self, shape, dialogue):
        if self.strategy == "nothing":
            return np.zeros(shape, bool)
        if self.strategy == "all":
            return np.ones(shape, bool)
        if self.strategy == "halves":
            return np.indices(shape)[len(dialogue.rounds) % 2] % 16 < 8
        if self.strategy == "chance":
            return self.rng.random(shape) > 0.5
        return blind_labels([*self.known, *dialogue.prompts], shape)[0].astype(bool)


@pytest.fixture
def event(challenge):
    return challenge(f"clicks(rounds={ROUNDS})", samples_per_run=3, seed=4)


def honest_leaks(event):
    """Return the blind IoU of each sample after one image-blind dialogue by the rules."""
    rehearsal = Rehearsal(event, "final", Blind())
    names = rehearsal.evaluator.samples("final")
    run = RunInfo(id="honest", phase="final", name="blind", samples=names)
    given = [rehearsal.rehearse_sample(run, place)[0].given for place in range(len(names))]
    return {
        name: leak(rehearsal.evaluator, name, kept) for name, kept in zip(names, given, strict=True)
    }


def leak(evaluator, name, given):
    return max(found.iou for found in evaluator.leaks("final", name, given).values())


def attack(
    event, runs, ways=("known", "nothing", "all", "halves", "chance"), *, is_remembered=True
):
    """Begin this number of runs in sequence, each in a different way; return all prompts by sample."""
    kept, drawn = defaultdict(list), Counter()
    strategies = cycle(ways)
    for number in range(runs):
        attacker = Attacker(next(strategies), [])
        rehearsal = Rehearsal(event, "final", attacker)
        names = draw_samples(rehearsal.evaluator.samples("final"), event.phase("final"), runs=drawn)
        drawn.update(names)
        run = RunInfo(id=f"run {number}", phase="final", name="attacker", samples=names)
        for place, name in enumerate(names):
            past = tuple(kept[name])
            attacker.known = [
                p
                for rounds in unpack_history(past, SIDES).values()
                for each in rounds
                for p in each
            ]
            kept[name] += rehearsal.rehearse_sample(run, place, past if is_remembered else ())[
                0
            ].given
    return kept


@pytest.mark.long
def test_unlimited_runs_open_no_more_than_one_honest_dialogue(event):
    honest = honest_leaks(event)
    evaluator = Evaluator(event)
    kept = attack(event, runs=24)  # each of the eight samples nine times
    gained = [leak(evaluator, name, kept[name]) - honest[name] for name in honest]
    prompts = {name: sum(map(len, unpack_history(given, SIDES)[0])) for name, given in kept.items()}
    assert set(kept) == set(honest)
    assert max(prompts.values()) <= ROUNDS
    assert np.mean(gained) < 0  # -0.12; all prompts of these runs would bring 0.04
    assert (
        max(gained) <= 0.05
    )  # the bar; as many prompts, given to other answers, may tell a little more of one sample
    assert np.mean(list(honest.values())) > 0.6  # what one dialogue by the rules gives away already


@pytest.mark.long
def test_without_the_budget_the_attack_succeeds(event):
    """The test above can fail: prompts of a few dialogues reveal much more than those of one."""
    honest, evaluator = honest_leaks(event), Evaluator(event)
    kept = attack(event, runs=8, ways=["known"], is_remembered=False)
    gained = [leak(evaluator, name, given) - honest[name] for name, given in kept.items()]
    assert np.mean(gained) > 0.05


def test_asked_again_the_same_prompts_come_whatever_is_answered(event):
    names = ("p3",)
    first = Rehearsal(event, "final", Blind())
    run = RunInfo(id="a", phase="final", name="a", samples=names)
    told, rows = first.rehearse_sample(run, 0)
    second = Rehearsal(event, "final", Attacker("chance", []))
    again, replayed = second.rehearse_sample(
        RunInfo(id="b", phase="final", name="b", samples=names), 0, tuple(told.given)
    )
    covered = len(rows.records)
    assert [row.prompts for row in replayed.records][:covered] == [
        row.prompts for row in rows.records
    ]
    assert (
        sum(map(len, unpack_history(again.given, SIDES).get(0, [])))
        == len(replayed.records) - covered
    )
    assert [judged.replayed for judged in again.judged][:covered] == list(range(1, covered + 1))


def test_the_same_answers_again_are_the_same_run(event):
    run = RunInfo(id="a", phase="final", name="a", samples=("p3",))
    told, rows = Rehearsal(event, "final", Blind()).rehearse_sample(run, 0)
    again, replayed = Rehearsal(event, "final", Blind()).rehearse_sample(run, 0, tuple(told.given))
    assert replayed.records == rows.records
    assert again.given == []


def test_a_practice_forgets(event, challenge):
    practice = challenge(f"clicks(rounds={ROUNDS})", kind="practice")
    run = RunInfo(id="a", phase="final", name="a", samples=("p3",))
    told, rows = Rehearsal(practice, "final", Blind()).rehearse_sample(run, 0)
    again, other = Rehearsal(practice, "final", Attacker("chance", [])).rehearse_sample(
        run, 0, tuple(told.given)
    )
    assert [row.prompts for row in other.records] != [row.prompts for row in rows.records]
    assert again.given

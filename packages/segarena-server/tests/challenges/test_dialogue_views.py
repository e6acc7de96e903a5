"""Views of a sample: organisers see everything, participants nothing that is hidden."""

import msgspec
import pytest
from viewer_contents import viewer_contents

from segarena.arrays.rle import decode_rle
from segarena.engine.plan import Plan
from segarena.prompts import Box, Click, Scribble
from segarena.registry import build
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.dialogue_rendering import prompt_label
from segarena_server.challenges.dialogue_views import (
    ExchangeLog,
    PublicDialogue,
    organiser_view,
    participant_view,
)
from segarena_server.challenges.evaluation_request import EvaluationRequest, RunInfo
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.rehearsal import Rehearsal

VIDEOS = "demo-videos(size=(60, 100), frames=5)"
KINDS = {
    "photographs": ("clicks(rounds=3)", "POOL", "image-blind"),
    "several users": ("rclicks(groups=2, rounds=2)", "POOL", "watershed"),
    "a video": ("davis(rounds=2)", VIDEOS, "colour-flow"),
    "a volume": ("radioactive", "phantom(cases=1, shape=(20, 48, 48))", "watershed"),
    "an example": ("toss", "oneshot-demo(fold=0)", "superpixel-prototypes"),
}


class Held:
    """A sample of a finished run, and its messages."""

    def __init__(self, benchmark, dataset, segmenter, **phase):
        self.challenge = ChallengeDescription(
            slug="c",
            title="C",
            benchmark=benchmark,
            dataset=dataset,
            phases=(Phase(name="final", seed=11, **phase),),
        )
        rehearsal = Rehearsal(self.challenge, "final", segmenter)
        sample = rehearsal.evaluator.samples("final")[0]
        self.run = RunInfo(id="r", phase="final", name="mine", samples=(sample,))
        self.turns, self.replies = [], []
        step = rehearsal.evaluator.evaluate

        def noting(job):
            done = step(job)
            self.turns.append(job.turns[-1])
            self.replies.append(done.reply)
            return done

        rehearsal.evaluator.evaluate = noting
        _, self.rows = rehearsal.rehearse_sample(self.run, 0)
        self.pooled = rehearsal.evaluator.sample("final", sample)
        self.numbers = range(len(self.pooled.dialogues))

    @property
    def job(self):
        return EvaluationRequest(run=self.run, place=0, turns=tuple(self.turns))

    @property
    def exchanged(self):
        return ExchangeLog(
            challenge=self.challenge,
            phase="final",
            sample=self.pooled.body,
            dialogues=tuple(msgspec.convert(one, PublicDialogue) for one in self.pooled.dialogues),
            turns=tuple(
                (turn.body, reply) for turn, reply in zip(self.turns, self.replies, strict=True)
            ),
        )


@pytest.fixture(scope="module")
def held(pool):
    """Complete a sample of each kind, once."""
    made = {}

    def hold(name):
        if name not in made:
            benchmark, dataset, segmenter = KINDS[name]
            made[name] = Held(benchmark, pool if dataset == "POOL" else dataset, segmenter)
        return made[name]

    return hold


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_the_organiser_sees_each_round_with_truth_prompts_and_values(held, name):
    one = held(name)
    shown = organiser_view(Evaluator(one.challenge), one.job, one.numbers)
    assert [dialogue.number for dialogue in shown.dialogues] == list(one.numbers)
    rounds = [round_ for dialogue in shown.dialogues for round_ in dialogue.rounds]
    assert len(rounds) == len(one.rows.records) > 0
    assert all(round_.values for round_ in rounds)
    for dialogue in shown.dialogues:
        if dialogue.rounds:
            assert outlines(dialogue.viewer, "target")
    assert all(prompt for round_ in rounds for prompt in round_.prompts)


@pytest.mark.parametrize("name", KINDS)
def test_the_participant_sees_each_round_and_nothing_of_the_truth_is_opened(
    held, name, monkeypatch
):
    """Dataset, users and metrics are not loaded during rendering, so they cannot leak."""
    one = held(name)
    exchanged = one.exchanged

    def out_of_reach(*_, **__):
        raise AssertionError("this has the ground truth")

    monkeypatch.setattr(Plan, "cast", out_of_reach)
    monkeypatch.setattr(
        "segarena.engine.plan.build", out_of_reach_of(build, {"dataset", "user", "metric"})
    )
    shown = participant_view(exchanged, one.numbers)
    assert [len(dialogue.rounds) for dialogue in shown.dialogues] == [
        sum(key_of(record) == told for record in one.rows.records) for told in keys_of(one)
    ]
    for dialogue, told in zip(shown.dialogues, keys_of(one), strict=True):
        assert not dialogue.name
        assert not any(round_.values for round_ in dialogue.rounds)
        assert bool(outlines(dialogue.viewer, "0")) == any_mask(one, told)
        for content in viewer_contents(dialogue.viewer):
            (answer,) = content["dialogues"]
            assert not content["has_truth"]
            assert content["thresholds"] == answer["values"] == answer["charts"] == []
            assert not any(answer["captions"])
            for plane in content["planes"]:
                assert not {"target", "ignored"} & set(plane["layers"])
    text = msgspec.json.encode(shown).decode()
    hidden = {one.run.samples[0], *(record.target for record in one.rows.records)} - {
        "object",
        "objects",
    }  # words of the page, too
    assert not [name for name in hidden if len(name) > 3 and name in text]


def out_of_reach_of(real, kinds):
    def build(kind, spec):
        assert kind not in kinds, "this has the ground truth"
        return real(kind, spec)

    return build


def keys_of(one):
    """Return the names of the dialogues in the records, in order."""
    return list(dict.fromkeys(key_of(record) for record in one.rows.records))


def key_of(record):
    return record.target, record.user, record.repeat


def outlines(viewer, layer):
    """Return the outlines of a layer of a viewer that are not empty; all rounds of a dialogue."""
    found = []
    for content in viewer_contents(viewer):
        for plane in content["planes"]:
            for name, places in plane["layers"].items():
                if name.partition(".")[0] == layer:
                    found += [data for objects in places for data in objects.values() if data]
    return found


def any_mask(one, told):
    masks = (mask for mask in one.rows.masks if key_of(mask) == told)
    return any(decode_rle(mask.rle, tuple(mask.shape)).any() for mask in masks)


def test_the_two_see_the_same_answers(held):
    one = held("photographs")
    judged = organiser_view(Evaluator(one.challenge), one.job, one.numbers).dialogues[0]
    heard = participant_view(one.exchanged, one.numbers).dialogues[0]
    assert [round_.prompts for round_ in judged.rounds] == [
        round_.prompts for round_ in heard.rounds
    ]
    (content,) = viewer_contents(judged.viewer)
    assert len(content["dialogues"][0]["stored"]) == len(judged.rounds) == 3


def test_what_is_wanted_alone_is_drawn(held):
    one = held("several users")
    for shown in (
        organiser_view(Evaluator(one.challenge), one.job, [1]),
        participant_view(one.exchanged, [1]),
    ):
        assert [dialogue.number for dialogue in shown.dialogues] == [1]


def test_values_are_rounded_where_the_truth_is_open(held):
    one = held("photographs")
    shown = organiser_view(Evaluator(one.challenge), one.job, one.numbers, decimals=1)
    values = [round_.values["iou"] for round_ in shown.dialogues[0].rounds]
    assert values == [round(value, 1) for value in values]
    exact = (
        organiser_view(Evaluator(one.challenge), one.job, one.numbers)
        .dialogues[0]
        .rounds[0]
        .values["iou"]
    )
    assert exact == one.rows.records[0].values["iou"]


def test_a_place_that_is_not_over_is_shown_so_far(held):
    one = held("photographs")
    judged = organiser_view(
        Evaluator(one.challenge),
        EvaluationRequest(run=one.run, place=0, turns=tuple(one.turns[:2])),
        one.numbers,
    )
    assert len(judged.dialogues[0].rounds) == 1
    begun = organiser_view(
        Evaluator(one.challenge),
        EvaluationRequest(run=one.run, place=0, turns=tuple(one.turns[:1])),
        one.numbers,
    )
    assert begun.dialogues[0].rounds == []


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        (Click((3, 4)), "click (3, 4)"),
        (Click((3, 4), is_positive=False), "click off (3, 4)"),
        (Box((1, 2), (5, 6), object_id=2), "box of object 2 (1, 2) to (4, 5)"),
        (
            Scribble(((0, 1, 2), (0, 1, 3), (0, 2, 4))),
            "scribble, 3 points from (0, 1, 2) to (0, 2, 4)",
        ),
    ],
)
def test_prompts_have_words(prompt, told):
    assert prompt_label(prompt) == told

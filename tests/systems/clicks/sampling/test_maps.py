"""One map for all users of an error, and the maps of a round in batches."""

from dataclasses import replace

import numpy as np
import pytest

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue
from segarena.engine.lockstep import run_sample
from segarena.engine.plan import make_plan
from segarena.errors import InvalidInput
from segarena.prompts import Click
from segarena.roles import Turn
from segarena.samples import ImageSample, Target, VolumeSample
from segarena.systems.clicks.models.by_name import ImageMap
from segarena.systems.clicks.sampling.maps import BATCH, SharedMap
from segarena.systems.clicks.users.click_maps import MapClicker


class Counted:
    """Weighs all pixels alike and counts how often it is asked."""

    def __init__(self):
        self.alone, self.batches = 0, []

    def __call__(self, sample, target, error):
        self.alone += 1
        return np.ones(error.shape)

    def many(self, samples, targets, errors):
        self.batches.append(len(samples))
        return [np.ones(error.shape) for error in errors]


class Nothing:
    def encode(self, sample):
        return sample

    def predict(self, encoded, dialogues):
        return [np.zeros(encoded.shape, dtype=bool) for _ in dialogues]


class Squares:
    """Images with so many square objects."""

    name = "squares"
    fingerprint = "1"
    sample_ids = ("a",)

    def __init__(self, objects):
        self.objects = objects

    def load(self, sample_id):
        targets = []
        for index in range(self.objects):
            mask = np.zeros((8, 8 * self.objects), dtype=bool)
            mask[2:7, 8 * index : 8 * index + 5] = True
            targets.append(Target(id=str(index), mask=mask))
        image = np.zeros((*targets[0].mask.shape, 3), dtype=np.uint8)
        return ImageSample(id=sample_id, image=image, targets=tuple(targets))


def hold(click_map, *, objects, users, rounds):
    shared = SharedMap(click_map)
    plan = make_plan("clicks", segmenter=Nothing(), dataset=Squares(objects), rounds=rounds)
    clickers = {f"u{k}": MapClicker(shared, low=k / users, high=(k + 1) / users) for k in range(users)}
    cast = replace(plan.cast(), users=clickers)

    class NoLimit:
        def watch(self, what, **options):
            from contextlib import nullcontext

            return nullcontext()

    return run_sample(cast, "a", NoLimit())


def test_first_round_has_one_map_per_target_whoever_asks():
    click_map = Counted()
    rows = hold(click_map, objects=3, users=4, rounds=1)
    assert len(rows.records) == 12
    assert (click_map.alone, click_map.batches) == (0, [3])


def test_later_rounds_have_one_map_per_dialogue_in_bounded_batches():
    click_map = Counted()
    hold(click_map, objects=3, users=4, rounds=2)
    assert click_map.alone == 0
    assert click_map.batches == [3, BATCH, 12 - BATCH]


def test_a_map_that_fails_in_a_batch_is_asked_for_alone():
    class Broken(Counted):
        def many(self, samples, targets, errors):
            raise RuntimeError

    click_map = Broken()
    rows = hold(click_map, objects=2, users=3, rounds=1)
    assert all(row.failure is None for row in rows.records)
    assert click_map.alone == 2


def turn_on(sample, target, clicks=()):
    comparison = Comparison.empty(Reference.of(target))
    dialogue = Dialogue(rounds=tuple((click,) for click in clicks))
    return Turn(sample=sample, target=target, dialogue=dialogue, comparison=comparison, rng=np.random.default_rng(0))


def test_prepared_maps_are_those_made_alone():
    sample = Squares(1).load("a")
    values = np.random.default_rng(0).random(sample.shape)

    class Given(Counted):
        def __call__(self, sample, target, error):
            return values

        def many(self, samples, targets, errors):
            return [values] * len(samples)

    turns = [turn_on(sample, sample.targets[0]) for _ in range(2)]
    prepared, alone = SharedMap(Given()), SharedMap(Given())
    prepared.prepare(turns[:1])
    one, two = prepared.of(turns[0], True), alone.of(turns[1], True)
    assert (one.pixels == two.pixels).all()
    assert (one.weights.values == two.weights.values).all()
    assert one.weights.values == pytest.approx(values[sample.targets[0].mask])


def test_pixels_clicked_before_do_not_spoil_the_shared_weights():
    sample = Squares(1).load("a")
    turn = turn_on(sample, sample.targets[0], clicks=[Click((3, 3))])
    shared = SharedMap(Counted())
    user = MapClicker(shared)
    assert {user.next(turn)[0].position for _ in range(200)}.isdisjoint({(3, 3)})
    assert (shared.of(turn, True).weights.values == 1).all()


def test_image_maps_refuse_volumes():
    sample = VolumeSample(id="v", voxels=np.zeros((2, 3, 3)), spacing_mm=(1, 1, 1))
    with pytest.raises(InvalidInput, match="click models look at images, this is a VolumeSample"):
        ImageMap(Counted())(sample, None, None)

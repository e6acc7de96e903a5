"""One map for all users of an error, and maps of a round in batches."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue
from segarena.engine.lockstep_dialogues import run_sample
from segarena.engine.plan import make_plan
from segarena.engine.time_limit import TimeLimit
from segarena.errors import InvalidInput
from segarena.prompts import Click
from segarena.roles import Turn
from segarena.samples import ImageSample, Target, VolumeSample
from segarena.systems.clicks.models.baseline_click_models import DepthClickModel
from segarena.systems.clicks.models.click_models import ImageModelAdapter
from segarena.systems.clicks.sampling.error_weights import (
    MAP_BATCH_SIZE,
    DepthMap,
    SharedMap,
    weights_at,
)
from segarena.systems.clicks.users.map_clicker import MapClicker


class Counted:
    """Gives equal weight to all pixels and counts its calls."""

    def __init__(self):
        self.alone = 0
        self.batches = []

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
    """Return images with these numbers of square objects."""

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
    clickers = {
        f"u{k}": MapClicker(shared, low=k / users, high=(k + 1) / users) for k in range(users)
    }
    cast = replace(plan.cast(), users=clickers)

    return run_sample(cast, "a", TimeLimit(60))


def test_first_round_has_one_map_per_target_whoever_asks():
    click_map = Counted()
    rows = hold(click_map, objects=3, users=4, rounds=1)
    assert len(rows.records) == 12
    assert (click_map.alone, click_map.batches) == (0, [3])


def test_later_rounds_have_one_map_per_dialogue_in_bounded_batches():
    click_map = Counted()
    hold(click_map, objects=3, users=4, rounds=2)
    assert click_map.alone == 0
    assert click_map.batches == [3, MAP_BATCH_SIZE, 12 - MAP_BATCH_SIZE]


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
    return Turn(
        sample=sample,
        target=target,
        dialogue=dialogue,
        comparison=comparison,
        rng=np.random.default_rng(0),
    )


def test_prepared_maps_are_those_made_alone():
    sample = Squares(1).load("a")
    values = np.random.default_rng(0).random(sample.shape)

    class Given(Counted):
        def __call__(self, sample, target, error):
            return values

        def many(self, samples, targets, errors):
            return [values] * len(samples)

    turns = [turn_on(sample, sample.targets[0]) for _ in range(2)]
    prepared = SharedMap(Given())
    alone = SharedMap(Given())
    prepared.prepare(turns[:1])
    one = prepared.of(turns[0], True)
    two = alone.of(turns[1], True)
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
    with pytest.raises(InvalidInput, match="click models need an image, got a VolumeSample"):
        ImageModelAdapter(Counted())(sample, None, None)


def ragged_turn(seed, prediction_shift=3):
    """A turn on a prediction that is wrong along its outline, at specks, or all over."""
    rng = np.random.default_rng(seed)
    fields = [gaussian_filter(rng.random((60, 80)), 4) for _ in range(2)]
    target, other = (field > np.quantile(field, rng.uniform(0.2, 0.8)) for field in fields)
    predictions = [
        np.roll(target, prediction_shift, 1),
        target ^ (rng.random(target.shape) > 0.99),
        other,
    ]
    sample = ImageSample(
        id="a", image=np.zeros((*target.shape, 3), np.uint8), targets=(Target(id="0", mask=target),)
    )
    compared = Comparison(predictions[seed % 3], Reference(target))
    return replace(turn_on(sample, sample.targets[0]), comparison=compared)


@pytest.mark.parametrize(
    "click_map",
    [DepthMap(), ImageModelAdapter(DepthClickModel())],
    ids=["depth", "click model depth"],
)
@pytest.mark.parametrize("is_positive", [True, False])
def test_maps_made_of_depths_are_those_of_the_frame_to_the_last_bit(click_map, is_positive):
    for seed in range(12):
        turn = ragged_turn(seed)
        shown = turn.of_one
        error = np.greater(
            *((shown.target, shown.prediction) if is_positive else (shown.prediction, shown.target))
        )
        whole = weights_at(error, click_map(turn.sample, shown.target, error))
        quick = SharedMap(click_map).of(turn, is_positive)
        places = range(0, len(whole.pixels), 7)
        assert [quick.position(k) for k in places] == [whole.position(k) for k in places]
        assert quick.weights.values.dtype == whole.weights.values.dtype
        assert quick.weights.values.tobytes() == whole.weights.values.tobytes()


def test_a_map_of_the_frame_is_read_where_the_error_is():
    turn = ragged_turn(1)
    values = np.random.default_rng(3).random((60, 80))
    error = turn.of_one.target & ~turn.of_one.prediction
    found = SharedMap(lambda sample, target, given: values if (given == error).all() else None).of(
        turn, True
    )
    assert found.weights.values.tolist() == values[error].tolist()
    assert [found.position(k) for k in range(len(found.pixels))] == [
        tuple(each) for each in np.argwhere(error)
    ]


def test_weights_on_clicked_pixels_are_taken_away_wherever_else_was_clicked():
    error = np.zeros((5, 6), dtype=bool)
    error[1:4, [0, 5]] = True
    found = replace(weights_at(error[1:5, 0:6], np.ones((4, 6))), window=(slice(1, 5), slice(0, 6)))
    left = found.without([(1, 5), (3, 0), (0, 5), (4, 4), (2, 3)]).values
    assert left.tolist() == [1, 0, 1, 1, 0, 1]
    assert found.without([(0, 0)]) is found.weights
    assert found.weights.values.all()

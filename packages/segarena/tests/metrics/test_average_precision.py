"""Mask AP against pycocotools' figures for random instances, and against cases worked out by hand."""

from __future__ import annotations

import math
from math import nan

import numpy as np
import pytest

from segarena.errors import InvalidInput, InvalidMask
from segarena.metrics.average_precision import ImageInstances, mask_ap

NAMES = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")
# Of the same instances by COCOeval of pycocotools 2.0.11; nan where it says -1.
PYCOCOTOOLS = {
    0: [
        0.112376237624,
        0.209570957096,
        0.13902640264,
        0.0,
        0.205742574257,
        nan,
        0.15,
        0.211111111111,
        0.211111111111,
        0.0,
        0.286666666667,
        nan,
    ],
    1: [
        0.131519122608,
        0.269306930693,
        0.159597498211,
        0.222112211221,
        0.153788700299,
        nan,
        0.198055555556,
        0.431388888889,
        0.431388888889,
        0.425,
        0.475,
        nan,
    ],
    2: [
        0.111826182618,
        0.172717271727,
        0.127062706271,
        0.011111111111,
        0.336633663366,
        nan,
        0.188888888889,
        0.255555555556,
        0.255555555556,
        0.033333333333,
        0.4,
        nan,
    ],
    7: [
        0.174859866939,
        0.220755408874,
        0.220755408874,
        0.151485148515,
        0.157340876945,
        nan,
        0.205555555556,
        0.363333333333,
        0.363333333333,
        0.15,
        0.341666666667,
        nan,
    ],
}
SHAPE = (120, 150)


def blob(rng):
    reach, (row, column) = rng.uniform(5, 60), (rng.uniform(0, SHAPE[0]), rng.uniform(0, SHAPE[1]))
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    return (np.abs(rows - row) < reach * rng.uniform(0.5, 1)) & (np.abs(columns - column) < reach)


def random_instances(seed):
    """Return six images: slightly moved targets as predictions, equal scores, crowds, and images without targets."""
    rng = np.random.default_rng(seed)
    images = []
    for _ in range(6):
        targets = [mask for mask in (blob(rng) for _ in range(rng.integers(0, 7))) if mask.any()]
        predictions = []
        for mask in targets:
            predictions += [
                np.roll(mask, tuple(rng.integers(-6, 7, 2)), (0, 1))
                for _ in range(rng.integers(0, 3))
            ]
            if rng.random() < 0.3:
                predictions.append(mask.copy())
        predictions += [
            mask for mask in (blob(rng) for _ in range(rng.integers(0, 4))) if mask.any()
        ]
        images.append(
            ImageInstances(
                predictions=predictions,
                scores=np.round(rng.random(len(predictions)), 1).tolist(),
                targets=targets,
                prediction_classes=rng.integers(0, 3, len(predictions)).tolist(),
                target_classes=rng.integers(0, 3, len(targets)).tolist(),
                crowds=(rng.random(len(targets)) < 0.15).tolist(),
                target_areas=[
                    float(mask.sum()) * (0.3 if seed % 3 == 2 else 1) for mask in targets
                ],
            )
        )
    return images


@pytest.mark.parametrize("seed", PYCOCOTOOLS)
def test_random_instances_have_the_figures_of_pycocotools(seed):
    found = mask_ap(random_instances(seed))
    assert tuple(found) == NAMES
    assert list(found.values()) == pytest.approx(PYCOCOTOOLS[seed], abs=1e-11, nan_ok=True)


@pytest.fixture
def square():
    mask = np.zeros((10, 10), np.bool_)
    mask[:5, :4] = True
    return mask


def test_precision_is_read_off_recalls(square):
    other = np.roll(square, 5, axis=0)
    wrong = np.roll(square, 5, axis=1)
    image = ImageInstances(
        predictions=[square, wrong, other], scores=[0.9, 0.8, 0.7], targets=[square, other]
    )
    # precision 1 up to recall 1/2, which are 51 of 101; then 2/3
    assert mask_ap([image])["AP"] == pytest.approx((51 + 50 * 2 / 3) / 101)
    assert mask_ap([image], max_detections=(1, 2))["AP"] == pytest.approx(51 / 101)
    assert mask_ap([image])["AR1"] == 0.5


def test_second_prediction_of_a_target_is_wrong_but_in_a_crowd_it_is_not(square):
    other = np.roll(square, 5, axis=0)
    twice = {
        "predictions": [square, square, other],
        "scores": [0.9, 0.8, 0.7],
        "targets": [square, other],
    }
    assert mask_ap([ImageInstances(**twice)])["AP"] == pytest.approx((51 + 50 * 2 / 3) / 101)
    assert mask_ap([ImageInstances(**twice, crowds=[True, False])])["AP"] == 1
    large = square | np.roll(square, 4, axis=1)
    within = ImageInstances(
        predictions=[square, other], scores=[1, 0.5], targets=[large, other], crowds=[True, False]
    )  # fmt: skip
    assert (
        mask_ap([within])["AP"] == 1
    )  # of a crowd, what lies in it counts, however little of it that is


def test_targets_of_another_size_are_neither_found_nor_missed(square):
    found = mask_ap(
        [ImageInstances(predictions=[square], scores=[1], targets=[square], target_areas=[5000])]
    )
    assert (found["AP"], found["APm"]) == (1, 1)
    assert math.isnan(found["APs"])


def test_nothing_to_find_is_nan_and_nothing_found_zero(square):
    assert all(map(math.isnan, mask_ap([]).values()))
    assert math.isnan(mask_ap([ImageInstances(predictions=[square], scores=[1], targets=[])])["AP"])
    assert mask_ap([ImageInstances(predictions=[], scores=[], targets=[square])])["AP"] == 0


def test_lists_that_do_not_go_together_are_refused(square):
    with pytest.raises(InvalidInput, match="scores: expected 1"):
        mask_ap([ImageInstances(predictions=[square], scores=[], targets=[])])
    with pytest.raises(InvalidInput, match="crowds: expected 1"):
        mask_ap([ImageInstances(predictions=[], scores=[], targets=[square], crowds=[True, False])])
    with pytest.raises(InvalidMask, match="expected shape"):
        mask_ap([ImageInstances(predictions=[square], scores=[1], targets=[square[:5]])])
    with pytest.raises(InvalidInput, match="at least 1"):
        mask_ap([], max_detections=())

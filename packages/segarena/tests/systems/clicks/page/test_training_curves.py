from __future__ import annotations

import re
from xml.etree import ElementTree

from segarena.systems.clicks.page.training_curves import training_svg

HISTORY = [
    {"epoch": 1, "train_loss": 2.0, "loss": 1.5, "sim": 0.4, "cc": 0.5, "elapsed_s": 3.0},
    {"epoch": 2, "train_loss": 1.0, "loss": 0.8, "sim": 0.6, "cc": 0.7, "elapsed_s": 3.0},
]


def heights(path):
    return [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]


def test_losses_fall_and_measures_rise_in_one_picture():
    picture = ElementTree.fromstring(training_svg(HISTORY))
    curves = [heights(e.get("d")) for e in picture.iter() if "curve" in e.get("class", "")]
    assert [len(curve) for curve in curves] == [2, 2, 2, 2]
    assert [first < second for first, second in curves] == [
        True,
        True,
        False,
        False,
    ]  # downwards in a picture
    texts = [e.text for e in picture.iter() if e.tag.endswith("text")]
    assert {"training", "validation", "SIM", "CC", "KL divergence"} <= set(texts)


def test_the_panels_stand_side_by_side():
    picture = ElementTree.fromstring(training_svg(HISTORY))
    assert [chart.get("x") for chart in picture if "chart" in chart.get("class", "")] == [
        "0",
        "430",
    ]


def test_one_epoch_and_an_endless_loss_still_give_a_picture():
    for row in (
        HISTORY[0],
        {**HISTORY[0], "train_loss": float("inf")},
        {**HISTORY[0], "train_loss": 0.0, "loss": 0.0},
    ):
        assert "nan" not in training_svg([row])

"""Seven plug-ins in one module; importing it registers them."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from segarena import Benchmark, Click, ImageSample, Statistic, Target
from segarena.registry import benchmark, dataset, metric, segmenter, user
from segarena.statistics.round_statistics import RoundStatistic, statistic

Look = Literal["once", "twice"]


@segmenter("sample-disc")
class Disc:
    """A disc around each positive click."""

    prompt_kinds = frozenset({"click"})

    def __init__(self, *, radius_px=10):
        self.radius_px = radius_px

    def encode(self, sample):
        return np.indices(sample.shape)

    def predict(self, encoded, dialogues):
        return [self._discs(encoded, dialogue) for dialogue in dialogues]

    def _discs(self, grid, dialogue):
        mask = np.zeros(grid.shape[1:], dtype=bool)
        for click in dialogue.clicks:
            near = (grid[0] - click.position[0]) ** 2 + (
                grid[1] - click.position[1]
            ) ** 2 <= self.radius_px**2
            mask[near] = click.is_positive
        return mask


@user("sample-first-pixel")
class FirstPixel:
    """Clicks the first wrong pixel in reading order."""

    prompt_kinds = frozenset({"click"})

    def next(self, turn):
        wrong = turn.comparison.prediction != turn.comparison.target
        where = np.argwhere(wrong)
        if not len(where):
            return None
        row, column = map(int, where[0])
        return [Click((row, column), bool(turn.comparison.target[row, column]))]


@metric("sample-area-error")
class AreaError:
    """Predicted minus true area, in pixels."""

    columns = ("area_error_px",)

    def __call__(self, comparison):
        return comparison.prediction_area - comparison.target_area


@dataset("sample-squares")
class Squares:
    """Grey squares on black."""

    name = "sample-squares"
    fingerprint = "1"

    def __init__(self, *, count=3, side=32):
        self.sample_ids = [f"square-{index}" for index in range(count)]
        self.side = side

    def load(self, sample_id):
        offset = 4 + 2 * self.sample_ids.index(sample_id)
        mask = np.zeros((self.side, self.side), dtype=bool)
        mask[offset : offset + 12, 6:20] = True
        image = np.where(mask[:, :, None], np.uint8(200), np.uint8(10)).repeat(3, axis=2)
        return ImageSample(
            id=sample_id, image=image, targets=(Target(id="object", mask=mask, label="square"),)
        )

    def check(self):
        return []


@benchmark("sample-steps")
def steps(
    *, reach: float = 0.5, looks: Look | Sequence[Look] = "once", rounds: int = 2
) -> Benchmark:
    """Evaluate by area, after several rounds.

    Args:
        reach: how far a look goes.
        looks: how often one looks: "once" or "twice"; several are several.
        rounds: the most rounds of a dialogue.
    """
    return Benchmark(
        name="sample-steps",
        users=("first=sample-first-pixel",),
        metrics=("iou", "sample-area-error"),
        rounds=rounds,
        summary=(Statistic(name="IoU", kind="at_round", round=1),),
        dataset="sample-squares(count=2)",
        options={"reach": reach, "looks": [looks] if isinstance(looks, str) else list(looks)},
    )


@statistic("sample-setbacks")
class Setbacks(RoundStatistic):
    """Number of rounds that lowered the value."""

    decimals = 1

    def values(self, statistic, values, options):
        return (np.diff(values, axis=1) < 0).sum(axis=1).astype(np.float64)

    def definition(self, statistic, metric, rounds, options):
        return f"how many of {rounds} rounds left {metric} lower than it was"


@benchmark("sample-steady")
def steady() -> Benchmark:
    """Three clicks, with the number of those that made the mask worse."""
    return Benchmark(
        name="sample-steady",
        users=("sample-first-pixel",),
        metrics=("iou",),
        rounds=3,
        summary=(
            Statistic(name="IoU@3", kind="at_round", round=3),
            Statistic(name="Setbacks", kind="sample-setbacks", higher_is_better=False),
        ),
        dataset="sample-squares",
    )

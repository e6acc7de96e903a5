"""Synthetic crowd: simulated annotators with habits who click on errors.

With it you can try and test collection, filtering, training and evaluation without human data.

Each person has a device, a steady or unsteady hand, and a mixture of habits (`habit_maps.py`) that
varies around the crowd's mixture. A click samples one of the person's habits, a position from that
habit's map, and a jitter. On a mobile device the jitter is larger and clicks fall a little low.
Careless people click anywhere in the image; other people's clicks sometimes slip off the error.
People work in batches of 10 different images, about three batches each, and nobody sees an image
twice, as in the paper's collection.

This is a model for exercises, not a model of real people: do not report it as real behaviour.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, window_shape, window_start
from segarena.errors import InvalidInput
from segarena.samples import Mask
from segarena.systems.clicks.click_maps import ClickType
from segarena.systems.clicks.crowd.habit_maps import habit_maps
from segarena.systems.clicks.crowd.instances import Instance

if TYPE_CHECKING:
    import polars as pl

CROWD_HABITS = {"deep": 0.2, "conspicuous": 0.4, "off_edge": 0.05, "upper": 0.3, "anywhere": 0.05}
"""Mean weight of each habit in the crowd."""
JITTER_SHARE = {"pc": 0.0015, "mobile": 0.004}
"""Standard deviation of the jitter, as a share of the image diagonal."""
LOW_SHARE = {"pc": 0.0, "mobile": 0.0015}
"""Downward shift of clicks, as a share of the image diagonal."""
HABIT_CONCENTRATION = 4
"""Scale of the Dirichlet distribution of habits: the higher, the more alike people are."""
BATCH_SIZE = 10
BATCHES_PER_PERSON = 3


@dataclass(frozen=True, slots=True)
class SyntheticPerson:
    """Member of the synthetic crowd.

    Attributes:
        device: "pc" or "mobile".
        habits: weight of each habit; the weights sum to 1.
        unsteadiness: factor on the jitter.
        is_careless: whether the person clicks anywhere in the image.
    """

    device: str
    habits: dict[str, float]
    unsteadiness: float
    is_careless: bool


class _ClickJob(NamedTuple):
    """Assignment of one click to a person, a batch and an instance, each by number."""

    person: int
    batch: int
    instance: int


def collect_clicks(
    instances: Sequence[Instance],
    *,
    clicks: int = 48,
    seed: int = 0,
    mobile_share: float = 0.5,
    careless_share: float = 0.04,
    slip_share: float = 0.02,
) -> pl.DataFrame:
    """Let the crowd click, and return an unfiltered clicks table with `batch` and `person`.

    Rows are in the order of the instances. Equal arguments give equal tables.

    Args:
        instances: the errors to click; their own positions are ignored. Instances of one dataset
            and image_stem (full stem when that is empty) count as one image.
        clicks: per instance.
        seed: of all randomness.
        mobile_share: share of people with a mobile device.
        careless_share: share of people who click anywhere in the image.
        slip_share: share of the other people's clicks that the model places off the error.

    Raises:
        InvalidInput: `clicks` is below 1, or a share is outside [0, 1].
    """
    import polars as pl

    shares = (mobile_share, careless_share, slip_share)
    if clicks < 1 or not all(0 <= share <= 1 for share in shares):
        raise InvalidInput("the crowd needs clicks >= 1 and shares in [0, 1]")
    jobs_by_instance: list[list[_ClickJob]] = [[] for _ in instances]
    for job in _assign_clicks(instances, clicks, np.random.default_rng([seed, 0])):
        jobs_by_instance[job.instance].append(job)
    rows: list[dict[str, Any]] = []
    for instance, jobs in zip(instances, jobs_by_instance, strict=True):
        sampler = _ClickSampler(instance, slip_share)
        instance_key = zlib.crc32(f"{instance.dataset}/{instance.full_stem}".encode())
        for i, job in enumerate(jobs):
            # Each decision has its own random stream, so that other instances do not
            # change them.
            person_rng = np.random.default_rng([seed, 1, job.person])
            click_rng = np.random.default_rng([seed, 2, instance_key, i])
            person = _sample_person(person_rng, mobile_share, careless_share)
            row, column = sampler.sample(person, click_rng)
            rows.append(_table_row(instance, job, person, row, column))
    return pl.DataFrame(rows)


def crowd_map(image: NDArray[np.uint8], target: Mask, error: NDArray[Any]) -> NDArray[np.float32]:
    """Return the crowd's mean click map, which a perfect click model would predict.

    Careless people and slips are left out. The map is zero outside the error and sums to 1; it is
    all zero without an error.
    """
    window, maps = habit_maps(image, error)
    result = np.zeros(np.shape(error), dtype=np.float32)
    if not maps:
        return result
    weighted = [weight * maps[name] for name, weight in CROWD_HABITS.items()]
    mean = np.asarray(sum(weighted), dtype=np.float64)
    height, width = window_shape(window)
    result[window] = cv2.resize(mean, (width, height), interpolation=cv2.INTER_LINEAR)
    # Half of the people use each device, and the jitter of a device blurs the map.
    blurred = [_blur(result, share) for share in JITTER_SHARE.values()]
    is_error = np.asarray(error) >= 0.5
    result = np.where(is_error, sum(blurred), 0).astype(np.float32)
    return result / result.sum()


def later_rounds(instance: Instance, *, seed: int = 0) -> tuple[Instance, ...]:
    """Return the fn and the fp instance of a synthetic wrong mask.

    The wrong mask lacks a part of the target and has a surplus part beside it. An instance without
    missing (fn) or surplus (fp) pixels is left out. The parts depend on `seed` and the instance's
    name.
    """
    rng = np.random.default_rng([seed, 3, zlib.crc32(instance.full_stem.encode())])
    target = instance.target
    height, width = window_shape(bounding_window(target))
    growth_px = max(2, (height + width) // 6)
    background = (~target).astype(np.uint8)
    distances = cv2.distanceTransform(background, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    grown = np.asarray(distances) <= growth_px
    missing = _random_side(target, rng, share=0.3) & target
    surplus = _random_side(grown & ~target, rng, share=0.35) & grown & ~target
    previous = ((target & ~missing) | surplus).astype(np.float32)
    rounds: list[Instance] = []
    parts: tuple[tuple[ClickType, Mask], ...] = (("fn", missing), ("fp", surplus))
    for click_type, part in parts:
        if not part.any():
            continue
        later = replace(
            instance,
            full_stem=f"{instance.full_stem}_crowd_{click_type}",
            model_type="crowd",
            click_type=click_type,
            previous=previous,
        )
        rounds.append(later)
    return tuple(rounds)


class _ClickSampler:
    """Samples clicks on one instance; the habit maps are computed once."""

    def __init__(self, instance: Instance, slip_share: float) -> None:
        self._error = instance.error >= 0.5
        self._window, maps = habit_maps(instance.image, self._error)
        if not maps:
            raise InvalidInput(f"{instance.full_stem}: there is no error to click on")
        self._sums = {name: np.cumsum(weights.ravel()) for name, weights in maps.items()}
        self._size = next(iter(maps.values())).shape
        self._slip_share = slip_share
        self._diagonal = math.hypot(*self._error.shape)

    def sample(self, person: SyntheticPerson, rng: np.random.Generator) -> tuple[int, int]:
        """Return the (row, column) of one click."""
        if person.is_careless:
            position = rng.random(2) * self._error.shape
        elif rng.random() < self._slip_share:
            position = self._sample_slip(rng)
        else:
            position = self._sample_habit(person, rng)
            jitter_px = person.unsteadiness * JITTER_SHARE[person.device] * self._diagonal
            position += rng.normal(0, jitter_px, 2)
            position[0] += LOW_SHARE[person.device] * self._diagonal
        last = np.array(self._error.shape) - 1
        row, column = np.clip(position, 0, last).astype(int).tolist()
        return row, column

    def _sample_habit(
        self, person: SyntheticPerson, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        names = list(person.habits)
        probabilities = list(person.habits.values())
        habit = str(rng.choice(names, p=probabilities))
        sums = self._sums[habit]
        mass = rng.random() * sums[-1]
        cell = int(np.searchsorted(sums, mass, side="right"))
        row_column = np.array(np.unravel_index(cell, self._size), dtype=np.float64)
        # Maps may be reduced: a cell stands for several pixels, of which any may be clicked.
        relative = (row_column + rng.random(2)) / self._size
        start = np.array(window_start(self._window))
        extent = np.array(window_shape(self._window))
        return start + relative * extent

    def _sample_slip(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return a position off the error; any position if almost no pixel is off it."""
        candidates = rng.random((100, 2)) * self._error.shape
        rows, columns = candidates.astype(int).T
        first_off_error = int(np.argmin(self._error[rows, columns]))
        return candidates[first_off_error]


def _assign_clicks(
    instances: Sequence[Instance], clicks: int, rng: np.random.Generator
) -> Iterator[_ClickJob]:
    """Assign every click to a person and a batch.

    All images differ within a batch, and so do all images of a person.
    """
    images: dict[tuple[str, str], list[int]] = {}
    for i, instance in enumerate(instances):
        key = (instance.dataset, instance.image_stem or instance.full_stem)
        images.setdefault(key, []).append(i)
    person = -1
    batch = -1
    batches_of_person = BATCHES_PER_PERSON
    seen_images: set[int] = set()
    for _ in range(clicks):
        remaining = [rng.permutation(members).tolist() for members in images.values()]
        while any(remaining):
            # Starting with the images that have most instances left keeps late batches full.
            shuffled = rng.permutation(len(remaining)).tolist()
            order = sorted(shuffled, key=lambda image: -len(remaining[image]))
            chosen = [image for image in order[:BATCH_SIZE] if remaining[image]]
            batch += 1
            if batches_of_person == BATCHES_PER_PERSON or seen_images.intersection(chosen):
                person += 1
                batches_of_person = 0
                seen_images = set()
            batches_of_person += 1
            seen_images.update(chosen)
            for image in chosen:
                yield _ClickJob(person, batch, remaining[image].pop())


def _sample_person(
    rng: np.random.Generator, mobile_share: float, careless_share: float
) -> SyntheticPerson:
    concentrations = [HABIT_CONCENTRATION * weight for weight in CROWD_HABITS.values()]
    weights = rng.dirichlet(concentrations)
    weights = (weights / weights.sum()).tolist()
    # The draws below must stay in this order: they share one random stream.
    device = "mobile" if rng.random() < mobile_share else "pc"
    unsteadiness = float(rng.lognormal(0, 0.3))
    is_careless = bool(rng.random() < careless_share)
    return SyntheticPerson(
        device=device,
        habits=dict(zip(CROWD_HABITS, weights, strict=True)),
        unsteadiness=unsteadiness,
        is_careless=is_careless,
    )


def _table_row(
    instance: Instance, job: _ClickJob, person: SyntheticPerson, row: int, column: int
) -> dict[str, Any]:
    height, width = instance.target.shape
    return {
        "dataset": instance.dataset or "crowd",
        "image_stem": instance.image_stem or instance.full_stem,
        "object_stem": instance.object_stem,
        "model_type": instance.model_type,
        "click_type": instance.click_type,
        "full_stem": instance.full_stem,
        "device": person.device,
        "x": column,
        "y": row,
        "w": width,
        "h": height,
        "batch": job.batch,
        "person": job.person,
    }


def _random_side(mask: Mask, rng: np.random.Generator, *, share: float) -> Mask:
    """Return the side of a random line that holds `share` of the mask."""
    angle = rng.random() * 2 * math.pi
    if not mask.any():
        return mask
    rows = np.arange(mask.shape[0])[:, None]
    columns = np.arange(mask.shape[1])
    projection = math.sin(angle) * rows + math.cos(angle) * columns
    return projection > np.quantile(projection[mask], 1 - share)


def _blur(values: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    sigma_px = share * math.hypot(*values.shape)
    blurred = cv2.GaussianBlur(values, (0, 0), sigma_px, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(blurred, dtype=np.float32)

"""Synthetic crowd: simulated annotators with individual clicking habits.

With it you can try out collection, filtering, training and evaluation without human data.

Each person has a device, a steady or unsteady hand, and a mixture of habits (`habit_maps.py`) that
varies around the crowd's mixture. For each click, one of the person's habits is sampled, then a
position from that habit's map, then a jitter. On a mobile device the jitter is larger and clicks
land slightly too low. Careless people click anywhere in the image; other people's clicks sometimes
slip off the error. As in the paper's collection, people work in batches of up to 10 different
images, up to three batches each, and nobody sees an image twice.

The crowd is meant for experiments. It does not model real people, so do not report its clicks as
real behaviour.
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
"""Mean weight of each habit in the crowd's mixture."""
JITTER_SHARE = {"pc": 0.0015, "mobile": 0.004}
"""Standard deviation of the jitter, as a share of the image diagonal."""
LOW_SHARE = {"pc": 0.0, "mobile": 0.0015}
"""Downward shift of clicks, as a share of the image diagonal."""
HABIT_CONCENTRATION = 4
"""Concentration of the Dirichlet distribution of habits: the higher it is, the more alike people are."""
# Batches of 10 images and about three batches per person are those of the paper's collection
# (section 3.2).
BATCH_SIZE = 10
BATCHES_PER_PERSON = 3


@dataclass(frozen=True, slots=True)
class SyntheticPerson:
    """Member of the synthetic crowd.

    Attributes:
        device: "pc" or "mobile".
        habits: weight of each habit; the weights sum to 1.
        unsteadiness: factor by which the jitter is multiplied.
        is_careless: whether the person clicks anywhere in the image.
    """

    device: str
    habits: dict[str, float]
    unsteadiness: float
    is_careless: bool


class _ClickJob(NamedTuple):
    """Assignment of one click to a person, a batch and an instance, each given by its index."""

    person: int
    batch: int
    instance: int


def collect_clicks(
    instances: Sequence[Instance],
    *,
    # The published first rounds have 48 to 49 clicks per instance.
    clicks: int = 48,
    seed: int = 0,
    mobile_share: float = 0.5,
    careless_share: float = 0.04,
    slip_share: float = 0.02,
) -> pl.DataFrame:
    """Simulate the crowd's clicks, and return an unfiltered table with columns `batch` and `person`.

    Rows are in the order of the instances. Equal arguments give equal tables.

    Args:
        instances: the errors to click; clicks that they already have are ignored. Instances of one
            dataset and image_stem (full stem when that is empty) count as one image.
        clicks: number of clicks per instance.
        seed: seed of all random numbers.
        mobile_share: share of people with a mobile device.
        careless_share: share of people who click anywhere in the image.
        slip_share: share of the other people's clicks that slip off the error.

    Raises:
        InvalidInput: `clicks` is below 1, or a share is outside [0, 1].
    """
    import polars as pl

    shares = (mobile_share, careless_share, slip_share)
    if clicks < 1 or not all(0 <= share <= 1 for share in shares):
        raise InvalidInput(
            "the crowd: expected clicks >= 1 and all shares in [0, 1], "
            f"got {clicks} clicks and shares {shares}"
        )
    jobs_by_instance: list[list[_ClickJob]] = [[] for _ in instances]
    for job in _assign_clicks(instances, clicks, np.random.default_rng([seed, 0])):
        jobs_by_instance[job.instance].append(job)
    rows: list[dict[str, Any]] = []
    for instance, jobs in zip(instances, jobs_by_instance, strict=True):
        sampler = _ClickSampler(instance, slip_share)
        # crc32 instead of `hash`, which differs between processes for strings.
        instance_key = zlib.crc32(f"{instance.dataset}/{instance.full_stem}".encode())
        for i, job in enumerate(jobs):
            # Each decision has its own random stream, so that adding instances does not change the
            # clicks on others.
            person_rng = np.random.default_rng([seed, 1, job.person])
            click_rng = np.random.default_rng([seed, 2, instance_key, i])
            person = _sample_person(person_rng, mobile_share, careless_share)
            row, column = sampler.sample(person, click_rng)
            rows.append(_table_row(instance, job, person, row, column))
    return pl.DataFrame(rows)


def crowd_map(
    image: NDArray[np.uint8],
    target: Mask,
    error: NDArray[Any],
) -> NDArray[np.float32]:
    """Return the crowd's mean click map, which a perfect click model of the crowd would predict.

    Clicks of careless people and slips are excluded. The map is zero outside the error and sums to
    1; without an error it is zero everywhere.
    """
    window, maps = habit_maps(image, error)
    result = np.zeros(np.shape(error), dtype=np.float32)
    if not maps:
        return result
    weighted = [weight * maps[name] for name, weight in CROWD_HABITS.items()]
    mean = np.asarray(sum(weighted), dtype=np.float64)
    height, width = window_shape(window)
    result[window] = cv2.resize(mean, (width, height), interpolation=cv2.INTER_LINEAR)
    # Half of the people use each device; the map is blurred by the jitter of both devices.
    blurred = [_blur(result, share) for share in JITTER_SHARE.values()]
    is_error = np.asarray(error) >= 0.5
    result = np.where(is_error, sum(blurred), 0).astype(np.float32)
    return result / result.sum()


def later_rounds(instance: Instance, *, seed: int = 0) -> tuple[Instance, ...]:
    """Generate a wrong mask, and return the instances for its missing (fn) and surplus (fp) pixels.

    The wrong mask lacks a part of the target and has a surplus part next to it. An instance is
    omitted if the mask has no missing or no surplus pixels, respectively. The parts depend on
    `seed` and on the instance's name.
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
    """Sampler of clicks on one instance, which computes the habit maps once."""

    def __init__(self, instance: Instance, slip_share: float) -> None:
        self._error = instance.error >= 0.5
        self._window, maps = habit_maps(instance.image, self._error)
        if not maps:
            raise InvalidInput(
                f"{instance.full_stem}: expected an error to click on, got an empty mask"
            )
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
        # Maps may be reduced in size; each cell then stands for several pixels, and any of them may
        # be clicked.
        relative = (row_column + rng.random(2)) / self._size
        start = np.array(window_start(self._window))
        extent = np.array(window_shape(self._window))
        return start + relative * extent

    def _sample_slip(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return a position outside the error, or any position if nearly all pixels belong to the error."""
        candidates = rng.random((100, 2)) * self._error.shape
        rows, columns = candidates.astype(int).T
        first_off_error = int(np.argmin(self._error[rows, columns]))
        return candidates[first_off_error]


def _assign_clicks(
    instances: Sequence[Instance],
    clicks: int,
    rng: np.random.Generator,
) -> Iterator[_ClickJob]:
    """Assign every click to a person and a batch.

    The images within a batch all differ, and no person gets the same image twice.
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
            # Starting with the images that have the most unassigned instances keeps late batches
            # full.
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
    rng: np.random.Generator,
    mobile_share: float,
    careless_share: float,
) -> SyntheticPerson:
    concentrations = [HABIT_CONCENTRATION * weight for weight in CROWD_HABITS.values()]
    weights = rng.dirichlet(concentrations)
    weights = (weights / weights.sum()).tolist()
    # The draws below must stay in this order because they share one random stream.
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
    instance: Instance,
    job: _ClickJob,
    person: SyntheticPerson,
    row: int,
    column: int,
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


def _random_side(
    mask: Mask,
    rng: np.random.Generator,
    *,
    share: float,
) -> Mask:
    """Split the frame by a random line, and return the side that contains `share` of the mask's pixels.

    An empty mask is returned unchanged.
    """
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

"""A synthetic crowd: people with habits who click on errors.

With it, collection, filtering, training and evaluation can be tried and tested without anyone's data.

A person has a device, a steady or unsteady hand, and a mixture of habits (`habits.py`) around that
of the crowd. A click draws one of the person's habits, a position from that habit's map, and a jitter that is larger on
a mobile device, where it also falls a little low. Some people are careless and click anywhere in the image; the others'
clicks slip off the error now and then. People work in batches of 10 different images, about three batches each, and
nobody sees an image twice, as in the paper's collection.

It is a model for exercise, not of anyone: do not report it as real behaviour.
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
from segarena.systems.clicks.crowd.habit_maps import habit_maps
from segarena.systems.clicks.crowd.instances import Instance

if TYPE_CHECKING:
    import polars as pl

CROWD_HABITS = {"deep": 0.2, "conspicuous": 0.4, "off_edge": 0.05, "upper": 0.3, "anywhere": 0.05}
"""How much of each habit the crowd has on average."""
JITTER_SHARE = {"pc": 0.0015, "mobile": 0.004}
"""Standard deviation of the jitter, as a share of the image diagonal."""
LOW_SHARE = {"pc": 0.0, "mobile": 0.0015}
"""How far clicks fall low, as a share of the image diagonal."""
BATCH_SIZE = 10
BATCHES_PER_PERSON = 3


@dataclass(frozen=True, slots=True)
class SyntheticPerson:
    """One of the crowd: "pc" or "mobile", the weight of each habit, a factor on the jitter, whether careless."""

    device: str
    habits: dict[str, float]
    unsteadiness: float
    is_careless: bool


class _Turn(NamedTuple):
    """One click to be made: by whom, in which batch, on which instance."""

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
    """Return what the crowd clicks: a clicks table with `batch` and `person`, unfiltered, in order of the instances.

    Equal arguments give equal tables.

    Args:
        instances: what is shown; their own positions are not looked at. Instances of one dataset and image_stem (full
            stem when that is empty) are one image.
        clicks: per instance.
        seed: of all randomness.
        mobile_share: share of people with a mobile device.
        careless_share: share of people who click anywhere in the image.
        slip_share: share of the other people's clicks that miss the error on purpose of the model: anywhere off it.

    Raises:
        InvalidInput: no clicks asked for, or a share outside [0, 1].
    """
    import polars as pl

    if clicks < 1 or not all(
        0 <= share <= 1 for share in (mobile_share, careless_share, slip_share)
    ):
        raise InvalidInput("the crowd needs clicks >= 1 and shares in [0, 1]")
    turns: list[list[_Turn]] = [[] for _ in instances]
    for turn in _plan(instances, clicks, np.random.default_rng([seed, 0])):
        turns[turn.instance].append(turn)
    rows: list[dict[str, Any]] = []
    for instance, todo in zip(instances, turns, strict=True):
        drawer = _Drawer(instance, slip_share)
        stream = zlib.crc32(f"{instance.dataset}/{instance.full_stem}".encode())
        for i, turn in enumerate(todo):
            # Streams are named after what they decide, so that other instances change nothing here.
            person = _person(
                np.random.default_rng([seed, 1, turn.person]), mobile_share, careless_share
            )
            row, column = drawer.draw(person, np.random.default_rng([seed, 2, stream, i]))
            rows.append(_record(instance, turn, person, row, column))
    return pl.DataFrame(rows)


def crowd_map(image: NDArray[np.uint8], target: Mask, error: NDArray[Any]) -> NDArray[np.float32]:
    """Return where the crowd clicks on average: the `ClickMap` that a perfect click model would find.

    Careless people and slips are left out; the map is confined to the error and sums to 1, all zero when there is none.
    """
    window, maps = habit_maps(image, error)
    result = np.zeros(np.shape(error), dtype=np.float32)
    if not maps:
        return result
    mean = np.asarray(
        sum(weight * maps[name] for name, weight in CROWD_HABITS.items()), dtype=np.float64
    )
    size = (window[1].stop - window[1].start, window[0].stop - window[0].start)
    result[window] = cv2.resize(mean, size, interpolation=cv2.INTER_LINEAR)
    blurred = [_blurred(result, share) for share in JITTER_SHARE.values()]
    result = np.where(np.asarray(error) >= 0.5, sum(blurred), 0).astype(np.float32)
    return result / result.sum()


def later_rounds(instance: Instance, *, seed: int = 0) -> tuple[Instance, ...]:
    """Return the fn and the fp instance of a made-up wrong mask: a part is missing, another is too much.

    An instance without pixels missing or surplus is left out. The mistakes depend on `seed` and the instance's name.
    """
    rng = np.random.default_rng([seed, 3, zlib.crc32(instance.full_stem.encode())])
    target = instance.target
    box = bounding_window(target)
    reach = max(2, (box[0].stop - box[0].start + box[1].stop - box[1].start) // 6)
    away = cv2.distanceTransform((~target).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    grown = np.asarray(away) <= reach
    missing = _far_side(target, rng, share=0.3) & target
    surplus = _far_side(grown & ~target, rng, share=0.35) & grown & ~target
    previous = ((target & ~missing) | surplus).astype(np.float32)
    rounds = (
        replace(
            instance,
            full_stem=f"{instance.full_stem}_crowd_{kind}",
            model_type="crowd",
            click_type=kind,
            previous=previous,
        )
        for kind, part in (("fn", missing), ("fp", surplus))
        if part.any()
    )
    return tuple(rounds)


class _Drawer:
    """Draws clicks on one instance; looks at it once."""

    def __init__(self, instance: Instance, slip_share: float) -> None:
        self._error = instance.error >= 0.5
        self._window, maps = habit_maps(instance.image, self._error)
        if not maps:
            raise InvalidInput(f"{instance.full_stem}: there is no error to click on")
        self._sums = {name: np.cumsum(weights.ravel()) for name, weights in maps.items()}
        self._size = next(iter(maps.values())).shape
        self._slip_share = slip_share
        self._diagonal = math.hypot(*self._error.shape)

    def draw(self, person: SyntheticPerson, rng: np.random.Generator) -> tuple[int, int]:
        """Return the (row, column) of one click."""
        if person.is_careless:
            position = rng.random(2) * self._error.shape
        elif rng.random() < self._slip_share:
            position = self._slip(rng)
        else:
            position = self._aim(person, rng)
            position += rng.normal(
                0, person.unsteadiness * JITTER_SHARE[person.device] * self._diagonal, 2
            )
            position[0] += LOW_SHARE[person.device] * self._diagonal
        row, column = np.clip(position, 0, np.array(self._error.shape) - 1).astype(int).tolist()
        return row, column

    def _aim(self, person: SyntheticPerson, rng: np.random.Generator) -> NDArray[np.float64]:
        habit = str(rng.choice(list(person.habits), p=list(person.habits.values())))
        sums = self._sums[habit]
        cell = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
        inside = (
            np.array(np.unravel_index(cell, self._size), dtype=np.float64) + rng.random(2)
        ) / self._size
        start = np.array(window_start(self._window))
        return start + inside * np.array(window_shape(self._window))

    def _slip(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return a position off the error; anywhere when there is hardly any such place."""
        candidates = rng.random((100, 2)) * self._error.shape
        rows, columns = candidates.astype(int).T
        return candidates[int(np.argmin(self._error[rows, columns]))]


def _plan(instances: Sequence[Instance], clicks: int, rng: np.random.Generator) -> Iterator[_Turn]:
    """Give every click a person and a batch; within a batch, and for a person, all images differ."""
    images: dict[tuple[str, str], list[int]] = {}
    for i, instance in enumerate(instances):
        images.setdefault((instance.dataset, instance.image_stem or instance.full_stem), []).append(
            i
        )
    person = -1
    batch = -1
    done = BATCHES_PER_PERSON
    seen: set[int] = set()
    for _ in range(clicks):
        left = [rng.permutation(members).tolist() for members in images.values()]
        while any(left):
            # Taking from the images with most left keeps the last batches of a pass full.
            order = sorted(rng.permutation(len(left)).tolist(), key=lambda image: -len(left[image]))
            chosen = [image for image in order[:BATCH_SIZE] if left[image]]
            batch += 1
            if done == BATCHES_PER_PERSON or seen.intersection(chosen):
                person = person + 1
                done = 0
                seen = set()
            done += 1
            seen.update(chosen)
            for image in chosen:
                yield _Turn(person, batch, left[image].pop())


def _person(
    rng: np.random.Generator, mobile_share: float, careless_share: float
) -> SyntheticPerson:
    # The higher the factor, the more alike people are.
    weights = rng.dirichlet([4 * weight for weight in CROWD_HABITS.values()])
    return SyntheticPerson(
        device="mobile" if rng.random() < mobile_share else "pc",
        habits=dict(zip(CROWD_HABITS, (weights / weights.sum()).tolist(), strict=True)),
        unsteadiness=float(rng.lognormal(0, 0.3)),
        is_careless=bool(rng.random() < careless_share),
    )


def _record(
    instance: Instance, turn: _Turn, person: SyntheticPerson, row: int, column: int
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
        "batch": turn.batch,
        "person": turn.person,
    }


def _far_side(mask: Mask, rng: np.random.Generator, *, share: float) -> Mask:
    """Return the side of a random line that holds `share` of the mask."""
    angle = rng.random() * 2 * math.pi
    rows = np.arange(mask.shape[0])[:, None]
    columns = np.arange(mask.shape[1])
    along = math.sin(angle) * rows + math.cos(angle) * columns
    return along > np.quantile(along[mask], 1 - share) if mask.any() else mask


def _blurred(values: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    sigma = share * math.hypot(*values.shape)
    return np.asarray(
        cv2.GaussianBlur(values, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT), dtype=np.float32
    )

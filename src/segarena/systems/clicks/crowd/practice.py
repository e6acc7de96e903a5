"""Practice material for click models: many instances out of a few photographs, without anyone's masks.

Targets are unions of neighbouring superpixels, seen in random crops of random size around them; every third instance is
a first round, the others are later rounds on made-up mistakes. With the clicks of the synthetic crowd this is enough
to try a training, and not enough for anything else.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window
from segarena.errors import InvalidInput
from segarena.samples import Mask, as_image
from segarena.systems.clicks.crowd.instances import Instance, positions_of
from segarena.systems.clicks.crowd.synthetic import collect_clicks, later_rounds
from segarena.systems.clicks.crowd.validity import filter_valid

NO_CLICKS = np.zeros((0, 2), dtype=np.int64)
LEAST_CLICKS = 5


def practice_instances(
    photographs: Mapping[str, NDArray[np.uint8]], count: int, *, clicks: int = 30, seed: int = 0
) -> list[Instance]:
    """Return about `count` instances with the valid clicks of the synthetic crowd.

    Those with fewer than 5 valid clicks are left out. Equal arguments give equal instances.

    Args:
        photographs: name to uint8 (H, W, 3) RGB, at least 64 pixels each way.
        count: instances to make.
        clicks: clicks per instance before the filter.
        seed: of all randomness.

    Raises:
        InvalidInput: there are no photographs.
    """
    if not photographs:
        raise InvalidInput("practice needs at least one photograph")
    made: list[Instance] = []
    names = list(photographs)
    superpixels = {name: _superpixels(as_image(image)) for name, image in photographs.items()}
    for i in range(count):
        name = names[i % len(names)]
        rng = np.random.default_rng([seed, zlib.crc32(name.encode()), i])
        first = _first_round(f"{name}_{i}", photographs[name], superpixels[name], rng)
        rounds = (first, *later_rounds(first, seed=seed))
        made.append(rounds[(i // len(names)) % len(rounds)])
    return with_crowd_clicks(made, clicks=clicks, seed=seed)


def with_crowd_clicks(instances: list[Instance], *, clicks: int = 30, seed: int = 0) -> list[Instance]:
    """Return the instances with the valid clicks of the crowd; without those that get fewer than 5."""
    errors = {instance.full_stem: instance.error >= 0.5 for instance in instances}
    valid = filter_valid(collect_clicks(instances, clicks=clicks, seed=seed), errors.__getitem__).kept
    counts = dict(valid["full_stem"].value_counts().iter_rows())
    return [
        replace(instance, positions=positions_of(valid, instance.full_stem))
        for instance in instances
        if counts.get(instance.full_stem, 0) >= LEAST_CLICKS
    ]


def crop_around(instance: Instance, *, share: float, place: tuple[float, float] = (0.5, 0.5)) -> Instance:
    """Return the part of a first-round instance in which the target's box fills about `share` of each side.

    Args:
        instance: without clicks.
        share: 1 leaves no margin.
        place: where the box lies in the room around it, (down, across), 0 to 1.
    """
    window: list[slice] = []
    for s, length, at in zip(bounding_window(instance.target), instance.target.shape, place, strict=True):
        room = round((s.stop - s.start) * (1 / share - 1))
        start = max(0, s.start - round(room * at))
        window.append(slice(start, min(length, max(s.stop, start + room + s.stop - s.start))))
    cut = tuple(window)
    return replace(instance, image=instance.image[cut], target=instance.target[cut], positions=NO_CLICKS)


def _first_round(
    name: str, photograph: NDArray[np.uint8], superpixels: NDArray[np.int64], rng: np.random.Generator
) -> Instance:
    target = _grown_union(superpixels, rng)
    whole = Instance(full_stem=name, image=photograph, target=target, positions=NO_CLICKS, dataset="practice")
    return crop_around(whole, share=float(rng.uniform(0.3, 0.9)), place=(float(rng.random()), float(rng.random())))


def _superpixels(photograph: NDArray[np.uint8]) -> NDArray[np.int64]:
    from skimage.segmentation import slic

    return np.asarray(slic(photograph, n_segments=150, compactness=8, start_label=0), dtype=np.int64)


def _grown_union(superpixels: NDArray[np.int64], rng: np.random.Generator) -> Mask:
    """Return a superpixel with up to 11 neighbours of what is there already."""
    chosen = {int(rng.integers(superpixels.max() + 1))}
    pairs = np.concatenate(
        [
            np.stack([superpixels[:-1].ravel(), superpixels[1:].ravel()], axis=1),
            np.stack([superpixels[:, :-1].ravel(), superpixels[:, 1:].ravel()], axis=1),
        ]
    )
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    for _ in range(int(rng.integers(12))):
        inside = np.isin(pairs, list(chosen))
        border = pairs[inside.sum(axis=1) == 1]
        neighbours = border[~np.isin(border, list(chosen))]
        if len(neighbours):
            chosen.add(int(rng.choice(neighbours)))
    return np.isin(superpixels, list(chosen))

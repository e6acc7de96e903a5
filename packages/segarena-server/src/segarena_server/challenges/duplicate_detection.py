"""Near-duplicate detection: the share of masks that are equal in two runs, except for a few pixels.

With hundreds of runs of a thousand samples, comparing all masks takes too long. Only the same few
hundred masks of each run are compared, chosen by a hash of their keys. A sketch of these masks, a
few kilobytes in size, gives an upper bound on the similarity, and only runs with a high bound are
read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.rle import unpack_lengths
from segarena.engine.run_folder import RunFolder
from segarena.errors import StoreError

EQUAL_IOU = 0.99
"""Two masks with at least this IoU count as equal: one is the other with a few pixels changed."""

NEAR_SHARE = 0.5
"""Runs with at least this share of equal masks are reported; different models agree far less often."""

MAX_COMPARED_MASKS = 256
"""Maximum number of masks of a run that are compared."""

_BANDS = 16
"""Number of horizontal bands of a mask in which a sketch counts pixels."""
_KEY = ("sample", "target", "user", "repeat", "round", "object")
_SKETCH = np.dtype([("key", "<u8"), ("bands", "<i8", (_BANDS,))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """The similarity of two runs.

    Attributes:
        share: share of equal masks among those of the same rounds of the same dialogues.
        compared: number of compared masks. Pairs of empty masks carry no information and are excluded.
    """

    share: float
    compared: int

    @property
    def is_near(self) -> bool:
        """Whether the organiser should inspect these two runs."""
        return self.compared > 0 and self.share >= NEAR_SHARE


def similarity_of(one: Path, other: Path) -> Similarity:
    """Compute the similarity of two runs from at most `MAX_COMPARED_MASKS` masks that both have.

    Raises:
        RunMissing, StoreError: a run does not exist, or is damaged.
    """
    first_run = RunFolder.open(one)
    second_run = RunFolder.open(other)
    first_keys = _keys_by_hash(first_run)
    second_keys = _keys_by_hash(second_run)
    chosen = sorted(first_keys.keys() & second_keys.keys())[:MAX_COMPARED_MASKS]
    first = dict(_masks(first_run, first_keys, chosen))
    second = dict(_masks(second_run, second_keys, chosen))
    equal = 0
    compared = 0
    for key in chosen:
        mask = first[key]
        copy = second[key]
        has_pixels = bool(mask.size or copy.size)
        if mask.shape == copy.shape and has_pixels:
            compared += 1
            equal += _is_equal(mask, copy)
    return Similarity(share=equal / compared if compared else 0.0, compared=compared)


def sketch_of(folder: Path) -> bytes:
    """Return the sketch of a run: for each chosen mask, its key hash and the pixel counts of its `_BANDS` bands.

    Raises:
        RunMissing, StoreError: the run does not exist, or is damaged.
    """
    run = RunFolder.open(folder)
    keys = _keys_by_hash(run)
    chosen = sorted(keys)[:MAX_COMPARED_MASKS]
    # Empty masks carry no information.
    masks = [(key, mask) for key, mask in _masks(run, keys, chosen) if mask.size]
    sketch = np.zeros(len(masks), _SKETCH)
    for place, (key, mask) in enumerate(masks):
        edges = np.linspace(0, mask.pixels, _BANDS + 1).astype(np.int64)
        sketch[place] = (key, mask.counts(edges))
    return sketch.tobytes()


def max_similarity(sketch: bytes, other: bytes) -> float:
    """Return the largest share of equal masks that two sketches allow; 0 without common masks.

    Two equal masks differ in at most 1 % of their union, and the union is at most the smaller mask
    divided by .99. The differences of their band counts add up to at most the number of differing
    pixels.

    Raises:
        StoreError: a sketch is damaged.
    """
    one = _read_sketch(sketch)
    two = _read_sketch(other)
    _, first, second = np.intersect1d(one["key"], two["key"], return_indices=True)
    if not len(first):
        return 0.0
    bands = one["bands"][first]
    other_bands = two["bands"][second]
    difference = np.abs(bands - other_bands).sum(axis=1)
    smaller = np.minimum(bands.sum(axis=1), other_bands.sum(axis=1))
    can_be_equal = EQUAL_IOU * difference <= (1 - EQUAL_IOU) * smaller
    return float(np.mean(can_be_equal))


class _Mask(NamedTuple):
    """A run-length encoded mask, as a cumulative count of its pixels.

    Attributes:
        shape: shape of the mask.
        ends: 0, then the end of each run of equal pixels in the flat array.
        on: number of mask pixels up to each end.
    """

    shape: tuple[int, ...]
    ends: NDArray[np.int64]
    on: NDArray[np.int64]

    @property
    def pixels(self) -> int:
        """The number of pixels, inside and outside the mask."""
        return int(self.ends[-1])

    @property
    def size(self) -> int:
        """The number of pixels of the mask."""
        return int(self.on[-1])

    def counts(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of pixels of the mask between successive edges in the flat array."""
        # Between two ends, the count is constant or grows by one per pixel, so interpolation is
        # exact.
        cumulative = np.interp(edges, self.ends, self.on)
        return np.diff(np.rint(cumulative).astype(np.int64))


def _is_equal(mask: _Mask, other: _Mask) -> bool:
    # Runs alternate between off and on, so every second interval belongs to the other mask.
    intersection = int(mask.counts(other.ends)[1::2].sum())
    union = mask.size + other.size - intersection
    return intersection >= EQUAL_IOU * union


def _keys_by_hash(run: RunFolder) -> Mapping[int, tuple[Any, ...]]:
    """Return the keys of all masks of a run by their hashes, which order the masks of all runs in the same way."""
    rows = run.read("masks", _KEY).select(_KEY).iter_rows()
    return {_hash_of(key): key for key in rows}


def _hash_of(key: tuple[Any, ...]) -> int:
    text = "\0".join(map(str, key)).encode("utf-8", "replace")
    # The first 8 bytes suffice: a collision among a few million masks is unlikely, and only affects
    # one comparison.
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")


def _masks(
    run: RunFolder,
    keys: Mapping[int, tuple[Any, ...]],
    chosen: Collection[int],
) -> Iterator[tuple[int, _Mask]]:
    """Yield (hash of its key, mask) for each chosen mask, sample by sample: a large run does not fit into memory."""
    hashes = {keys[number]: number for number in chosen}
    places = {sample: place for place, sample in enumerate(run.samples)}
    columns = [*_KEY, "rle", "shape"]
    for sample in {key[0] for key in hashes}:
        rows = run.read("masks", columns, only=[places[sample]])
        for *key, rle, shape in rows.select(columns).iter_rows():
            number = hashes.get(tuple(key))
            if number is not None:
                yield number, _mask(rle, shape)


def _mask(rle: bytes, shape: Collection[int]) -> _Mask:
    lengths = unpack_lengths(rle)
    if len(lengths) % 2:
        lengths = np.append(lengths, 0)
    is_on = np.arange(len(lengths)) % 2 == 1
    on_lengths = np.where(is_on, lengths, 0)
    return _Mask(
        shape=tuple(shape),
        ends=np.concatenate(([0], np.cumsum(lengths))),
        on=np.concatenate(([0], np.cumsum(on_lengths))),
    )


def _read_sketch(sketch: bytes) -> NDArray[Any]:
    try:
        return np.frombuffer(sketch, _SKETCH)
    except ValueError as error:
        raise StoreError("the sketch of a run is damaged; repeat the audit of the run") from error

"""Runs that look like one: how many of the masks that two of them gave are equal, few pixels apart.

With hundreds of runs of a thousand samples not every mask is held against every other. Of each run the same few
hundred are looked at, chosen by their keys; a sketch of them, a few kilobytes, says how large the share can be at most;
and only runs with a large one are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.rle import lengths_in
from segarena.engine.store import RunFolder
from segarena.errors import StoreError

EQUAL_IOU = 0.99
"""Two masks that share so much are one mask with a few pixels changed."""

NEAR_SHARE = 0.5
"""Runs of which so large a share of masks is equal are pointed out: different models agree on far fewer."""

MAX_COMPARED_MASKS = 256
"""Of a run that are looked at."""

_BANDS = 16
_KEY = ("sample", "target", "user", "repeat", "round", "object")
_SKETCH = np.dtype([("key", "<u8"), ("bands", "<i8", (_BANDS,))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """How alike two runs are.

    Attributes:
        share: of the masks of the same rounds of the same dialogues that are equal, few pixels apart.
        compared: how many there were; where both are empty they say nothing and are left out.
    """

    share: float
    compared: int

    @property
    def is_near(self) -> bool:
        """Whether somebody should look at these two."""
        return self.compared > 0 and self.share >= NEAR_SHARE


def similarity_of(one: Path, other: Path) -> Similarity:
    """Return how alike two runs are, by at most `MOST_MASKS` masks that both have.

    Raises:
        RunMissing, StoreError: there is no such run, or it is damaged.
    """
    runs = [RunFolder.open(folder) for folder in (one, other)]
    keys = [_keys(run) for run in runs]
    chosen = sorted(keys[0].keys() & keys[1].keys())[:MAX_COMPARED_MASKS]
    first, second = (dict(_masks(run, keys[n], chosen)) for n, run in enumerate(runs))
    both = [(first[key], second[key]) for key in chosen if first[key].shape == second[key].shape]
    pairs = [(mask, copy) for mask, copy in both if mask.size or copy.size]
    equal = sum(_is_equal(mask, copy) for mask, copy in pairs)
    return Similarity(share=equal / len(pairs) if pairs else 0.0, compared=len(pairs))


def sketch_of(folder: Path) -> bytes:
    """Return the sketch of a run.

    Raises:
        RunMissing, StoreError: there is no such run, or it is damaged.
    """
    run = RunFolder.open(folder)
    keys = _keys(run)
    masks = [
        (key, mask)
        for key, mask in _masks(run, keys, sorted(keys)[:MAX_COMPARED_MASKS])
        if mask.size
    ]
    sketch = np.zeros(len(masks), _SKETCH)
    for place, (key, mask) in enumerate(masks):
        sketch[place] = (key, mask.counts(np.linspace(0, mask.pixels, _BANDS + 1).astype(np.int64)))
    return sketch.tobytes()


def max_similarity(sketch: bytes, other: bytes) -> float:
    """Return the largest share of equal masks that two runs can have, by their sketches; 0 when they have none.

    Two masks that are equal differ in at most 1 % of their union, and that is at most the smaller one divided by .99:
    over all bands together they cannot differ by more.

    Raises:
        StoreError: it is no sketch.
    """
    one = _read(sketch)
    two = _read(other)
    _, first, second = np.intersect1d(one["key"], two["key"], return_indices=True)
    if not len(first):
        return 0.0
    bands = one["bands"][first]
    others = two["bands"][second]
    apart = np.abs(bands - others).sum(axis=1)
    smaller = np.minimum(bands.sum(axis=1), others.sum(axis=1))
    return float(np.mean(EQUAL_IOU * apart <= (1 - EQUAL_IOU) * smaller))


class _Mask(NamedTuple):
    """A mask as its runs: where they end, and how many pixels are on up to there."""

    shape: tuple[int, ...]
    ends: NDArray[np.int64]
    on: NDArray[np.int64]

    @property
    def pixels(self) -> int:
        return int(self.ends[-1])

    @property
    def size(self) -> int:
        return int(self.on[-1])

    def counts(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many pixels are on between places of the flat array, one after the other."""
        return np.diff(np.rint(np.interp(places, self.ends, self.on)).astype(np.int64))


def _is_equal(mask: _Mask, other: _Mask) -> bool:
    both = int(mask.counts(other.ends)[1::2].sum())  # the runs of the other that are on
    return both >= EQUAL_IOU * (mask.size + other.size - both)


def _keys(run: RunFolder) -> Mapping[int, tuple[Any, ...]]:
    """Return the keys of all masks of a run, by a number that tells nothing and orders all runs alike."""
    rows = run.read("masks", _KEY).select(_KEY).iter_rows()
    return {_number(row): row for row in rows}


def _number(key: tuple[Any, ...]) -> int:
    text = "\0".join(map(str, key)).encode("utf-8", "replace")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")


def _masks(
    run: RunFolder, keys: Mapping[int, tuple[Any, ...]], chosen: Collection[int]
) -> Iterator[tuple[int, _Mask]]:
    """Yield chosen masks, sample by sample: those of a large run are never all at hand."""
    wanted = {keys[number]: number for number in chosen}
    place = {sample: index for index, sample in enumerate(run.samples)}
    for sample in {key[0] for key in wanted}:
        rows = run.read("masks", [*_KEY, "rle", "shape"], only=[place[sample]])
        for *key, rle, shape in rows.select([*_KEY, "rle", "shape"]).iter_rows():
            if (number := wanted.get(tuple(key))) is not None:
                yield number, _mask(rle, shape)


def _mask(rle: bytes, shape: Collection[int]) -> _Mask:
    lengths = lengths_in(rle)
    lengths = np.append(lengths, 0) if len(lengths) % 2 else lengths
    is_on = np.arange(len(lengths)) % 2 == 1
    ends = np.concatenate(([0], np.cumsum(lengths)))
    return _Mask(tuple(shape), ends, np.concatenate(([0], np.cumsum(np.where(is_on, lengths, 0)))))


def _read(sketch: bytes) -> NDArray[Any]:
    try:
        return np.frombuffer(sketch, _SKETCH)
    except ValueError as error:
        raise StoreError(
            "the sketch of a run is damaged; have what was found of it found again"
        ) from error

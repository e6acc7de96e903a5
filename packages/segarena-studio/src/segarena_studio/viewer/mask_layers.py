"""Masks in one plane, as run lengths: the target, what is not scored, and what each run answered after kept rounds.

A layer is named in addresses as pages ask for it: "target", "ignored", or RUN.ROUND, counted from 0 and from 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.arrays.rle import decode_rle, run_lengths
from segarena.engine.store import RunFolder
from segarena.errors import InvalidInput
from segarena.records.row_types import MaskRow
from segarena.samples import Mask, Target
from segarena.work.lru_cache import LruCache
from segarena_studio.viewer.dialogue_table import DialogueKey
from segarena_studio.viewer.planes import Plane
from segarena_studio.viewer.sample_cache import LoadedSample

MOST_LAYERS = 64
_MOST_BYTES = 2**28
_ANSWER = re.compile(r"([0-9]{1,4})\.([0-9]{1,6})")

Layer: TypeAlias = "dict[str, list[int]]"
"""Run lengths in the plane of each object that is there, by its number from 1; as `arrays.rle.run_lengths` counts."""

ObjectMasks: TypeAlias = "dict[int, Mask]"
"""The mask of each object."""


class RunAnswers:
    """What runs answered, decoded while it is looked at.

    Args:
        runs: folders of runs.
    """

    def __init__(self, runs: Sequence[RunFolder]) -> None:
        self._runs = runs
        self._decoded = LruCache[str, ObjectMasks](max_bytes=_MOST_BYTES, keeps_last=True)
        self._held_again: dict[tuple[int, DialogueKey], dict[int, list[MaskRow]]] = {}
        self._rows = lru_cache(maxsize=8)(self._read)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self._runs)

    def kept(self, run: int, key: DialogueKey) -> list[int]:
        """Return the rounds of a dialogue after which its masks were kept."""
        return sorted(set(self._rows_of(run, key)["round"].to_list()))

    def held_again(self, run: int, key: DialogueKey) -> list[int]:
        """Return the rounds that are there because the dialogue was held again."""
        return sorted(self._held_again.get((run, key), {}).keys() - set(self.kept(run, key)))

    def add(self, run: int, key: DialogueKey, masks: Mapping[int, list[MaskRow]]) -> None:
        """Take what came of holding a dialogue again; what the run kept stays what is shown."""
        self._held_again[run, key] = dict(masks)

    def after(self, run: int, key: DialogueKey, round_: int) -> ObjectMasks:
        """Return the answer after a round; no object where it was not kept.

        Raises:
            SegarenaError: the files of the run are damaged.
        """
        name = repr((run, key, round_))
        known = self._decoded.get(name)
        if known is not None:
            return known
        rows = self._rows_of(run, key).filter(round=round_)
        found = {
            row["object"]: (row["rle"], tuple(row["shape"])) for row in rows.iter_rows(named=True)
        }
        if not found:
            again = self._held_again.get((run, key), {}).get(round_, [])
            found = {mask.object: (mask.rle, mask.shape) for mask in again}
        answer = {number: decode_rle(data, shape) for number, (data, shape) in found.items()}
        self._decoded.put(name, answer, sum(mask.nbytes for mask in answer.values()))
        return answer

    def _rows_of(self, run: int, key: DialogueKey) -> pl.DataFrame:
        sample, target, user, repeat = key
        return self._rows(run, sample).filter(target=target, user=user, repeat=repeat)

    def _read(self, run: int, sample: str) -> pl.DataFrame:
        folder = self._runs[run]
        return folder.read(
            "masks", only=[folder.samples.index(sample)] if sample in folder.samples else []
        )


def encode_layers(
    looked: LoadedSample,
    plane: Plane,
    index: int,
    names: Sequence[str],
    key: DialogueKey,
    answers: RunAnswers,
) -> dict[str, Layer]:
    """Return the named layers in one plane; a mask of another shape than the sample is left out.

    Raises:
        InvalidInput: a name is none of a layer, or there are too many.
        SampleInvalid: the sample has no such target.
    """
    if len(names) > MOST_LAYERS:
        raise InvalidInput(f"layers: expected at most {MOST_LAYERS}, got {len(names)}")

    def cut(mask: NDArray[Any]) -> NDArray[Any]:
        if mask.shape == looked.sample.shape:
            return plane.cut(mask, index)
        return np.zeros(plane.size, np.bool_)

    return {
        name: {str(number): run_lengths(mask).tolist() for number, mask in masks if mask.any()}
        for name in names
        for masks in [_masks(looked, name, key, answers, cut)]
    }


def _masks(
    looked: LoadedSample,
    name: str,
    key: DialogueKey,
    answers: RunAnswers,
    cut: Callable[[NDArray[Any]], NDArray[Any]],
) -> Iterator[tuple[int, Mask]]:
    if name == "target":
        return _targets(looked.targets(key[1]), cut)
    if name == "ignored":
        ignored = [target.ignore for target in looked.targets(key[1]) if target.ignore is not None]
        return ((number, cut(mask)) for number, mask in enumerate(ignored, 1))
    found = _ANSWER.fullmatch(name)
    if found is not None and int(found[1]) < answers.runs:
        answer = answers.after(int(found[1]), key, int(found[2]))
        return ((number, cut(mask)) for number, mask in answer.items())
    raise InvalidInput(f"layer: expected target, ignored or RUN.ROUND, got {name!r}")


def _targets(
    targets: Sequence[Target], cut: Callable[[NDArray[Any]], NDArray[Any]]
) -> Iterator[tuple[int, Mask]]:
    if len(targets) == 1:
        labels = cut(targets[0].mask)
        objects = targets[0].objects
        yield from ((number, labels == number) for number in range(1, objects + 1))
        return
    yield from ((number, cut(one.mask) > 0) for number, one in enumerate(targets, 1))

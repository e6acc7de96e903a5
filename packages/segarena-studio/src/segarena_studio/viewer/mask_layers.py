"""Mask layers of one plane, as outlines: target, ignored pixels, and the answer of each run after a round.

Names of layers in addresses: "target", "ignored", or RUN.ROUND, with RUN from 0 and ROUND from 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.arrays.rle import decode_rle
from segarena.engine.run_folder import RunFolder
from segarena.errors import InvalidInput
from segarena.records.row_types import MaskRow
from segarena.reports.overlays import pixel_outline
from segarena.reports.viewer_content import Outlines
from segarena.samples import Mask, Target
from segarena.work.lru_cache import LruCache
from segarena_studio.viewer.dialogue_table import DialogueKey
from segarena_studio.viewer.planes import Plane
from segarena_studio.viewer.sample_cache import LoadedSample

MOST_LAYERS = 64
_MOST_BYTES = 2**28
_ANSWER = re.compile(r"([0-9]{1,4})\.([0-9]{1,6})")

ObjectMasks: TypeAlias = "dict[int, Mask]"
"""The mask of each object."""


class RunAnswers:
    """Decoded answers of runs.

    Args:
        runs: folders of runs.
    """

    def __init__(self, runs: Sequence[RunFolder]) -> None:
        self._runs = runs
        self._decoded = LruCache[str, ObjectMasks](max_bytes=_MOST_BYTES, min_entries=1)
        self._replayed: dict[tuple[int, DialogueKey], dict[int, list[MaskRow]]] = {}
        self._rows = lru_cache(maxsize=8)(self._read)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self._runs)

    def kept(self, run: int, key: DialogueKey) -> list[int]:
        """Return the rounds of a dialogue that have stored masks."""
        return sorted(set(self._rows_of(run, key)["round"].to_list()))

    def replayed(self, run: int, key: DialogueKey) -> list[int]:
        """Return the rounds of a dialogue whose masks come from a replay."""
        return sorted(self._replayed.get((run, key), {}).keys() - set(self.kept(run, key)))

    def add(
        self,
        run: int,
        key: DialogueKey,
        masks: Mapping[int, list[MaskRow]],
    ) -> None:
        """Add the masks of a replay; stored masks take precedence."""
        self._replayed[run, key] = dict(masks)

    def after(
        self,
        run: int,
        key: DialogueKey,
        round_: int,
    ) -> ObjectMasks:
        """Return the answer after a round; empty when no masks exist.

        Raises:
            SegarenaError: the files of the run are damaged.
        """
        name = repr((run, key, round_))
        known = self._decoded.get(name)
        if known is not None:
            return known
        rows = self._rows_of(run, key).filter(round=round_)
        encoded = {
            row["object"]: (row["rle"], tuple(row["shape"])) for row in rows.iter_rows(named=True)
        }
        if not encoded:
            masks = self._replayed.get((run, key), {}).get(round_, [])
            encoded = {mask.object: (mask.rle, mask.shape) for mask in masks}
        answer = {number: decode_rle(data, shape) for number, (data, shape) in encoded.items()}
        self._decoded.put(name, answer, sum(mask.nbytes for mask in answer.values()))
        return answer

    def _rows_of(self, run: int, key: DialogueKey) -> pl.DataFrame:
        sample, target, user, repeat = key
        return self._rows(run, sample).filter(target=target, user=user, repeat=repeat)

    def _read(self, run: int, sample: str) -> pl.DataFrame:
        folder = self._runs[run]
        only = [folder.samples.index(sample)] if sample in folder.samples else []
        return folder.read("masks", only=only)


def encode_layers(
    loaded: LoadedSample,
    plane: Plane,
    index: int,
    names: Sequence[str],
    key: DialogueKey,
    answers: RunAnswers,
) -> dict[str, Outlines]:
    """Return the named layers of one plane, with outlines in pixels.

    Masks whose shape differs from the sample's are left out.

    Raises:
        InvalidInput: a layer name is unknown, or there are too many.
        SampleInvalid: the sample has no such target.
    """
    if len(names) > MOST_LAYERS:
        raise InvalidInput(f"layers: expected at most {MOST_LAYERS}, got {len(names)}")

    def cut(mask: NDArray[Any]) -> NDArray[Any]:
        if mask.shape == loaded.sample.shape:
            return plane.cut(mask, index)
        return np.zeros(plane.size, np.bool_)

    layers: dict[str, Outlines] = {}
    for name in names:
        layer: Outlines = {}
        for number, mask in _masks(loaded, name, key, answers, cut):
            if mask.any():
                layer[str(number)] = pixel_outline(mask)
        layers[name] = layer
    return layers


def _masks(
    loaded: LoadedSample,
    name: str,
    key: DialogueKey,
    answers: RunAnswers,
    cut: Callable[[NDArray[Any]], NDArray[Any]],
) -> Iterator[tuple[int, Mask]]:
    if name == "target":
        return _targets(loaded.targets(key[1]), cut)
    if name == "ignored":
        ignored = [target.ignore for target in loaded.targets(key[1]) if target.ignore is not None]
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

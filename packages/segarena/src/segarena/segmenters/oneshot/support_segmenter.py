"""Support examples: which ones a dialogue holds, and what part of each cell of a grid their masks cover."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window
from segarena.comparison import Memory
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import SegmenterError
from segarena.prompts import check_prompt
from segarena.samples import Mask, Sample, Shape, Support, as_mask
from segarena.segmenters.drawing.marks import check_prompt_kinds

SUPPORT_PROMPT_KINDS = frozenset({"support"})
"""What one-shot segmenters understand."""

Supports: TypeAlias = tuple[Support, ...]


def supports_of(dialogue: Dialogue) -> Supports:
    """Return all support examples of a dialogue, in the order given; their masks are bool and may be empty.

    Raises:
        SegmenterError: none was given, or a prompt of another kind.
        InvalidPrompt: a mask of another shape than its image.
        InvalidMask: a mask with other values than 0 and 1.
    """
    check_prompt_kinds(dialogue.prompts, SUPPORT_PROMPT_KINDS)
    supports = tuple(_checked(prompt) for prompt in dialogue.prompts if isinstance(prompt, Support))
    if not supports:
        raise SegmenterError(
            "expected at least one support example, an image and the mask of the object in it; got none"
        )
    return supports


def encoding_of(support: Support, encode: Callable[[Sample], Any], memory: Memory) -> Any:
    """Return what a segmenter made of the support image: what it was handed, else made now and remembered."""
    if support.encoded is not None:
        return support.encoded
    return memory.remember(("encoded", id(support.sample)), lambda: encode(support.sample))


def shows_object(supports: Iterable[Support]) -> bool:
    """Tell whether the mask of any support has a pixel: where none has, nothing was asked for."""
    return any(support.mask.any() for support in supports)


def empty_prediction(shape: Shape) -> Prediction:
    """Return the answer of an empty mask, of the shape of the image."""
    return Prediction(mask=np.zeros(shape, dtype=np.bool_))


def support_key(support: Support) -> tuple[int, int]:
    """Return what is the same for equal supports within one call of `predict`: their image and their mask are."""
    return id(support.sample), id(support.mask)


class SupportSegmenter(ABC):
    """A one-shot segmenter: it answers from all supports of a dialogue, which weigh equally, whatever its rounds."""

    prompt_kinds: ClassVar[frozenset[str]] = SUPPORT_PROMPT_KINDS

    def predict(self, encoded: Any, dialogues: Iterable[Dialogue]) -> list[Prediction]:
        """Answer each dialogue; those that hold the same supports are answered once.

        Raises:
            SegmenterError, InvalidPrompt, InvalidMask: see `supports_of`; out of memory.
            PredictionInvalid: a network gave NaN or infinity.
        """
        asked = [supports_of(dialogue) for dialogue in dialogues]
        keys = [tuple(map(support_key, supports)) for supports in asked]
        distinct = dict(zip(keys, asked, strict=True))
        answers = self._answer(encoded, list(distinct.values()), Memory())
        found = dict(zip(distinct, answers, strict=True))
        return [found[key] for key in keys]

    @abstractmethod
    def _answer(
        self, encoded: Any, asked: Sequence[Supports], memory: Memory
    ) -> Sequence[Prediction]:
        """Return an answer to each of several tuples of supports, no two the same; memory lasts for one `predict`."""


def cell_coverage(
    mask: Mask, grid: tuple[int, int], extent: tuple[float, float] | None = None
) -> NDArray[np.float32]:
    """Return what share of each cell of a grid a mask covers, 0 to 1, float32 (rows, columns) of the grid.

    Exact, whatever the sizes: a pixel that lies in two cells counts in each with its part there.

    Args:
        mask: bool (H, W).
        grid: cells along each axis.
        extent: how many cells the image takes along each axis, from the first on; the rest is padding, of which
            nothing is covered. None: all of them.
    """
    rows, columns = (
        _overlaps(length, cells, taken)
        for length, cells, taken in zip(mask.shape, grid, extent or grid, strict=True)
    )
    down, across = bounding_window(as_mask(mask))
    return np.asarray(rows[:, down] @ mask[down, across] @ columns[:, across].T, np.float32)


def _checked(support: Support) -> Support:
    check_prompt(support, support.sample.shape)
    return replace(support, mask=as_mask(support.mask, name=f"mask of support {support.sample.id}"))


def _overlaps(length: int, cells: int, extent: float) -> NDArray[np.float64]:
    """Return how much of each cell each of `length` pixels covers, (cells, length), along one axis."""
    edges = np.linspace(0, extent, length + 1)
    starts = np.arange(cells)[:, None]
    overlaps = np.minimum(edges[1:], starts + 1) - np.maximum(edges[:-1], starts)
    return overlaps.clip(0)

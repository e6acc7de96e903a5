"""Base class of one-shot segmenters, access to the supports of a dialogue, and mask coverage of grid cells."""

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
from segarena.segmenters.drawing.prompt_pixel_marks import check_prompt_kinds

SUPPORT_PROMPT_KINDS = frozenset({"support"})
"""Prompt kinds of one-shot segmenters."""

Supports: TypeAlias = tuple[Support, ...]


def supports_of(dialogue: Dialogue) -> Supports:
    """Return all supports of a dialogue in the order given; their masks are bool and may be empty.

    Raises:
        SegmenterError: there is no support, or a prompt of another kind.
        InvalidPrompt: a mask differs in shape from its image.
        InvalidMask: a mask has values other than 0 and 1.
    """
    check_prompt_kinds(dialogue.prompts, SUPPORT_PROMPT_KINDS)
    supports = tuple(_checked(prompt) for prompt in dialogue.prompts if isinstance(prompt, Support))
    if not supports:
        raise SegmenterError(
            "expected at least one support example, an image and the mask of the object in it; "
            "got none"
        )
    return supports


def encoding_of(
    support: Support,
    encode: Callable[[Sample], Any],
    memory: Memory,
) -> Any:
    """Return the encoding of the support image: the one stored in the support, otherwise a new one, which is cached."""
    if support.encoded is not None:
        return support.encoded
    return memory.remember(("encoded", id(support.sample)), lambda: encode(support.sample))


def shows_object(supports: Iterable[Support]) -> bool:
    """Return whether the mask of at least one support has a pixel."""
    return any(support.mask.any() for support in supports)


def empty_prediction(shape: Shape) -> Prediction:
    """Return a prediction with an empty mask of the image's shape."""
    return Prediction(mask=np.zeros(shape, dtype=np.bool_))


def support_key(support: Support) -> tuple[int, int]:
    """Return a key for a support within one call of `predict`: equal for the same sample object and mask object."""
    # Keys are object ids, because comparing pixels is slow. Ids are unique while the objects are
    # alive.
    return id(support.sample), id(support.mask)


class SupportSegmenter(ABC):
    """Base class of one-shot segmenters; all supports of all rounds of a dialogue have equal weight."""

    prompt_kinds: ClassVar[frozenset[str]] = SUPPORT_PROMPT_KINDS

    def predict(self, encoded: Any, dialogues: Iterable[Dialogue]) -> list[Prediction]:
        """Predict each dialogue; dialogues with the same supports are predicted once.

        Raises:
            SegmenterError, InvalidPrompt, InvalidMask: see `supports_of`; or the device ran out of
                memory.
            PredictionInvalid: a network returned NaN or infinity.
        """
        requests = [supports_of(dialogue) for dialogue in dialogues]
        keys = [tuple(map(support_key, supports)) for supports in requests]
        # Dialogues about one query often have the same supports.
        distinct = dict(zip(keys, requests, strict=True))
        # A dict of distinct keys: dialogues with the same supports are predicted once.
        predictions = self._answer(encoded, list(distinct.values()), Memory())
        by_key = dict(zip(distinct, predictions, strict=True))
        return [by_key[key] for key in keys]

    @abstractmethod
    def _answer(
        self,
        encoded: Any,
        requests: Sequence[Supports],
        memory: Memory,
    ) -> Sequence[Prediction]:
        """Return one prediction for each distinct tuple of supports.

        `memory` exists for one call of `predict`.
        """


def cell_coverage(
    mask: Mask,
    grid: tuple[int, int],
    extent: tuple[float, float] | None = None,
) -> NDArray[np.float32]:
    """Return the share of each grid cell that a mask covers, 0 to 1, float32 (rows, columns).

    The result is exact for all sizes: a pixel that overlaps several cells counts in each of them
    with its overlap.

    Args:
        mask: bool (H, W).
        grid: number of cells along each axis.
        extent: size of the image in cells along each axis; the cells beyond it are padding and never
            covered. None for the whole grid.
    """
    extent = extent or grid
    rows = _overlaps(mask.shape[0], grid[0], extent[0])
    columns = _overlaps(mask.shape[1], grid[1], extent[1])
    # Only the bounding box of the mask contributes, so cropping makes the matrix products small.
    down, across = bounding_window(as_mask(mask))
    box = mask[down, across]
    coverage = rows[:, down] @ box @ columns[:, across].T
    return np.asarray(coverage, np.float32)


def _checked(support: Support) -> Support:
    check_prompt(support, support.sample.shape)
    return replace(support, mask=as_mask(support.mask, name=f"mask of support {support.sample.id}"))


def _overlaps(
    length: int,
    cells: int,
    extent: float,
) -> NDArray[np.float64]:
    """Return the share of each cell that each of `length` pixels along one axis covers.

    Returns:
        float64 (cells, length).
    """
    edges = np.linspace(0, extent, length + 1)
    starts = np.arange(cells)[:, None]
    first = np.maximum(edges[:-1], starts)
    last = np.minimum(edges[1:], starts + 1)
    return (last - first).clip(0)

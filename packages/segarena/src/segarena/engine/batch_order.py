"""In which batches the dialogues of a round are asked. A run asks all about a sample at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

BatchOrder: TypeAlias = Literal["together", "reversed", "alone", "paired"]
"""All in one batch, in this order or from last to first; each by itself; or each twice in a batch of two."""


def batch_indices(count: int, how: BatchOrder) -> Sequence[Sequence[int]]:
    """Return the places of `count` dialogues by batch; of one that is asked twice the last answer counts."""
    match how:
        case "together":
            return [range(count)]
        case "reversed":
            return [range(count)[::-1]]
        case "alone":
            return [[place] for place in range(count)]
        case "paired":
            return [[place, place] for place in range(count)]

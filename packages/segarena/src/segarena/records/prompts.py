"""Prompts as records keep them: the JSON text of a list for each round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

import msgspec
import numpy as np

from segarena.errors import StoreError
from segarena.prompts import Box, Click, Drawn, Lasso, Limits, MaskPrompt, Prompt, Scribble
from segarena.samples import Support


@dataclass(frozen=True, slots=True)
class RecordedMask:
    """What a record keeps of a mask that was given as a prompt."""

    area_px: int
    object_id: int = 1

    kind: ClassVar[str] = "mask"


@dataclass(frozen=True, slots=True)
class RecordedSupport:
    """What a record keeps of a support example: the id of its image, and how large the mask is."""

    sample: str
    area_px: int

    kind: ClassVar[str] = "support"


RecordedPrompt: TypeAlias = Drawn | RecordedMask | RecordedSupport

_KINDS: dict[str, type[RecordedPrompt]] = {
    one.kind: one for one in (Click, Box, Limits, Scribble, Lasso, RecordedMask, RecordedSupport)
}


def recorded_prompt(prompt: Prompt | RecordedPrompt) -> RecordedPrompt:
    """Return what a record keeps of `prompt`: all that is drawn, of masks and supports their size and name."""
    if isinstance(prompt, MaskPrompt):
        return RecordedMask(int(np.count_nonzero(prompt.mask)), prompt.object_id)
    if isinstance(prompt, Support):
        return RecordedSupport(prompt.sample.id, int(np.count_nonzero(prompt.mask)))
    return prompt


def prompts_text(prompts: Sequence[Prompt | RecordedPrompt]) -> str:
    """Return the prompts of one round as a record has them."""
    return msgspec.json.encode(
        [_plain(recorded_prompt(prompt)) for prompt in prompts], enc_hook=_python_number
    ).decode()


def _plain(prompt: RecordedPrompt) -> dict[str, Any]:
    return {
        "kind": prompt.kind,
        **{field.name: getattr(prompt, field.name) for field in fields(prompt)},
    }


def read_prompts(text: str) -> tuple[RecordedPrompt, ...]:
    """Return what `prompts_text` wrote.

    Raises:
        StoreError: it is no list of prompts; the field at fault is named.
    """
    try:
        found = msgspec.json.decode(text, type=list[dict[str, Any]])
        return tuple(msgspec.convert(one, _KINDS[one.pop("kind")]) for one in found)
    except KeyError as error:
        raise StoreError(
            f"prompts: expected a kind of {', '.join(_KINDS)}, got {error}; in {text[:80]}"
        ) from error
    except (msgspec.MsgspecError, TypeError, UnicodeError) as error:
        raise StoreError(f"prompts: {error}; in {text[:80]}") from error


def _python_number(number: Any) -> Any:
    """Return a number of NumPy, which a user may have left in a position, as one of Python."""
    return number.item()

"""Prompts in the records: a JSON list for each round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

import msgspec
import numpy as np

from segarena.errors import StoreError
from segarena.prompts import Box, Click, DrawnPrompt, Lasso, Limits, MaskPrompt, Prompt, Scribble
from segarena.samples import Support


@dataclass(frozen=True, slots=True)
class RecordedMask:
    """The record of a mask prompt, without its pixels."""

    area_px: int
    object_id: int = 1

    kind: ClassVar[str] = "mask"


@dataclass(frozen=True, slots=True)
class RecordedSupport:
    """The record of a support example: the id of its image, and the area of its mask."""

    sample: str
    area_px: int

    kind: ClassVar[str] = "support"


RecordedPrompt: TypeAlias = DrawnPrompt | RecordedMask | RecordedSupport

_KINDS: dict[str, type[RecordedPrompt]] = {
    one.kind: one for one in (Click, Box, Limits, Scribble, Lasso, RecordedMask, RecordedSupport)
}


def recorded_prompt(prompt: Prompt | RecordedPrompt) -> RecordedPrompt:
    """Return the recorded form of a prompt: drawn prompts completely, masks and supports as areas and names."""
    # Pixels of masks would make the records many times larger.
    if isinstance(prompt, MaskPrompt):
        return RecordedMask(int(np.count_nonzero(prompt.mask)), prompt.object_id)
    if isinstance(prompt, Support):
        return RecordedSupport(prompt.sample.id, int(np.count_nonzero(prompt.mask)))
    return prompt


def prompts_text(prompts: Sequence[Prompt | RecordedPrompt]) -> str:
    """Return the prompts of one round as JSON."""
    plain = [_plain(recorded_prompt(prompt)) for prompt in prompts]
    return msgspec.json.encode(plain, enc_hook=_python_number).decode()


def _plain(prompt: RecordedPrompt) -> dict[str, Any]:
    plain: dict[str, Any] = {"kind": prompt.kind}
    for field in fields(prompt):
        plain[field.name] = getattr(prompt, field.name)
    return plain


def read_prompts(text: str) -> tuple[RecordedPrompt, ...]:
    """Parse the JSON of `prompts_text`.

    Raises:
        StoreError: it is not a list of prompts; names the field at fault.
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
    """Return a NumPy number, which a user may have left in a position, as a Python number."""
    return number.item()

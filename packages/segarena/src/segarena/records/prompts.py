"""Recorded prompts: a JSON list for each round."""

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
    """Record of a mask prompt, without its pixels."""

    area_px: int
    object_id: int = 1

    kind: ClassVar[str] = "mask"


@dataclass(frozen=True, slots=True)
class RecordedSupport:
    """Record of a support example: the id of its image, and the area of its mask."""

    sample: str
    area_px: int

    kind: ClassVar[str] = "support"


RecordedPrompt: TypeAlias = DrawnPrompt | RecordedMask | RecordedSupport

_KINDS: dict[str, type[RecordedPrompt]] = {
    one.kind: one for one in (Click, Box, Limits, Scribble, Lasso, RecordedMask, RecordedSupport)
}

_FIELD_NAMES = {kind: tuple(field.name for field in fields(one)) for kind, one in _KINDS.items()}


def recorded_prompt(prompt: Prompt | RecordedPrompt) -> RecordedPrompt:
    """Convert a prompt to its record: drawn prompts completely, masks and supports as areas and names."""
    # Omit the pixels of masks, which would make the records many times larger.
    if isinstance(prompt, MaskPrompt):
        area_px = int(np.count_nonzero(prompt.mask))
        return RecordedMask(area_px, prompt.object_id)
    if isinstance(prompt, Support):
        area_px = int(np.count_nonzero(prompt.mask))
        return RecordedSupport(prompt.sample.id, area_px)
    return prompt


def prompts_text(prompts: Sequence[Prompt | RecordedPrompt]) -> str:
    """Return the prompts of one round as JSON."""
    plain = [_plain(recorded_prompt(prompt)) for prompt in prompts]
    return msgspec.json.encode(plain, enc_hook=_python_number).decode()


def _plain(prompt: RecordedPrompt) -> dict[str, Any]:
    plain: dict[str, Any] = {"kind": prompt.kind}
    for name in _FIELD_NAMES[prompt.kind]:
        plain[name] = getattr(prompt, name)
    return plain


def read_prompts(text: str) -> tuple[RecordedPrompt, ...]:
    """Parse the JSON of `prompts_text`.

    Raises:
        StoreError: the text is not a list of prompts; the message names the invalid field.
    """
    try:
        prompts: list[RecordedPrompt] = []
        for entry in msgspec.json.decode(text, type=list[dict[str, Any]]):
            prompt_type = _KINDS[entry.pop("kind")]
            prompts.append(msgspec.convert(entry, prompt_type))
        return tuple(prompts)
    except KeyError as error:
        raise StoreError(
            f"prompts: expected one of the kinds {', '.join(_KINDS)}, got {error}; in {text[:80]}"
        ) from error
    except (msgspec.MsgspecError, TypeError, UnicodeError, RecursionError) as error:
        raise StoreError(f"prompts: {error}; in {text[:80]}") from error


def _python_number(number: Any) -> Any:
    """Convert a NumPy number, which a user may have put into a position, to a Python number."""
    return number.item()

"""Replies: the next prompts of each dialogue, or that it is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from segarena.dialogue import Lift
from segarena.errors import InvalidInput
from segarena.files.hashes import fingerprint
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Prompt, Scribble, check_prompt
from segarena.protocol.frames import convert_field, read_frame, restore_fields, write_frame
from segarena.protocol.sample_frames import decode_sample
from segarena.readonly import without_truth
from segarena.samples import ImageSample, Shape, Support
from segarena.serialization import encode_prompt

_DRAWN: dict[str, type[Prompt]] = {one.kind: one for one in (Click, Box, Limits, Scribble, Lasso)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueReply:
    """What comes back about one dialogue.

    Attributes:
        dialogue: its number in the place, from 0.
        rounds: the prompts since the last answer, by round. All but the last are empty: a user had nothing to say, and
            the answer to such a round is the one before.
        over: no further prompts will come.
        late: the last answer came when its time was over; it was dropped, and that ended it.
        failed: why it ended too early, in words for the participant; "" when it did not.
        objects: how many objects are judged together.
        lift: how the user means prompts to be spread over slices.
        values: of the last answer, where the phase shows them.
    """

    dialogue: int
    rounds: Sequence[Sequence[Prompt]] = ()
    over: bool = False
    late: bool = False
    failed: str = ""
    objects: int = 1
    lift: Lift | None = None
    values: Mapping[str, float | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What comes back about a turn.

    Attributes:
        dialogues: those that were answered or opened.
        charged_s: what the turn was charged, all dialogues together.
    """

    dialogues: Sequence[DialogueReply] = field(default_factory=list[DialogueReply])
    charged_s: float = 0.0


class _ToldAsked(msgspec.Struct, frozen=True, kw_only=True):
    dialogue: int
    rounds: list[list[dict[str, Any]]] = []
    over: bool = False
    late: bool = False
    failed: str = ""
    objects: int = 1
    lift: Lift | None = None
    values: dict[str, float | None] | None = None


class _ToldReply(msgspec.Struct, frozen=True, kw_only=True):
    dialogues: list[_ToldAsked]
    charged_s: float = 0.0


def pack_reply(reply: Reply) -> bytes:
    """Return a reply as it travels. The same reply gives the same bytes."""
    arrays: list[Any] = []
    told = [_tell_asked(asked, arrays) for asked in reply.dialogues]
    return write_frame({"dialogues": told, "charged_s": reply.charged_s}, arrays)


def _tell_asked(asked: DialogueReply, arrays: list[Any]) -> dict[str, Any]:
    return {
        "dialogue": asked.dialogue,
        "rounds": [
            [encode_prompt(_anonymous(one), arrays, _no_handle) for one in prompts]
            for prompts in asked.rounds
        ],
        "over": asked.over,
        "late": asked.late,
        "failed": asked.failed,
        "objects": asked.objects,
        "lift": None if asked.lift is None else asdict(asked.lift),
        "values": None if asked.values is None else dict(asked.values),
    }


def _anonymous(prompt: Prompt) -> Prompt:
    """Return a prompt in which the name of a support says no more than its pixels."""
    if not isinstance(prompt, Support):
        return prompt
    image = np.ascontiguousarray(prompt.sample.image)
    name = fingerprint(repr(image.shape), image.tobytes())
    return Support(replace(without_truth(prompt.sample), id=name), prompt.mask)


def _no_handle(_encoded: Any) -> int:
    raise InvalidInput("an encoding does not travel to participants")


def unpack_reply(data: bytes, shape: Shape) -> Reply:
    """Return what `pack_reply` was given, whose prompts lie in a sample of `shape`.

    Raises:
        InvalidInput: it is no reply.
    """
    header, arrays = read_frame(data, what="reply")
    told = convert_field(header, _ToldReply, "reply")
    return Reply(
        dialogues=[_asked(each, arrays, shape) for each in told.dialogues], charged_s=told.charged_s
    )


def _asked(told: _ToldAsked, arrays: Sequence[Any], shape: Shape) -> DialogueReply:
    return DialogueReply(
        dialogue=told.dialogue,
        rounds=tuple(
            tuple(_prompt(one, arrays, shape) for one in prompts) for prompts in told.rounds
        ),
        over=told.over,
        late=told.late,
        failed=told.failed,
        objects=told.objects,
        lift=told.lift,
        values=told.values,
    )


def _prompt(told: dict[str, Any], arrays: Sequence[Any], shape: Shape) -> Prompt:
    fields = restore_fields(
        {name: value for name, value in told.items() if name != "sample"}, arrays, "prompt"
    )
    kind = fields.pop("kind", None)
    try:
        if kind == "support":
            made = _support(fields, told.get("sample"), arrays)
        else:
            made = _drawn(kind, fields)
        check_prompt(made, shape)
    except InvalidInput:
        raise
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"a prompt: {str(error)[:200]}") from error
    return made


def _support(fields: Mapping[str, Any], sample: Any, arrays: Sequence[Any]) -> Support:
    image = decode_sample(sample, arrays)
    if not isinstance(image, ImageSample):
        raise InvalidInput("a support example: expected an image")
    return Support(image, _mask(fields.get("mask")))


def _drawn(kind: Any, fields: dict[str, Any]) -> Prompt:
    if kind == "mask":
        return MaskPrompt(
            _mask(fields.get("mask")), convert_field(fields.get("object_id", 1), int, "object_id")
        )
    if not isinstance(kind, str) or kind not in _DRAWN:
        raise InvalidInput(
            f"a prompt: expected one of {', '.join(_DRAWN)}, mask, support, got {str(kind)[:40]!r}"
        )
    return convert_field(fields, _DRAWN[kind], kind)


def _mask(mask: Any) -> Any:
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise InvalidInput(
            f"a mask that is given: expected bool, got {getattr(mask, 'dtype', type(mask).__name__)}"
        )
    return mask

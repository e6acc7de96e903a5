"""Replies of a server: the next prompts of each dialogue, or its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec
import numpy as np

from segarena.dialogue import Lift
from segarena.errors import InvalidInput
from segarena.files.hashes import fingerprint
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Prompt, Scribble, check_prompt
from segarena.protocol.message_frames import convert_field, read_frame, restore_fields, write_frame
from segarena.protocol.sample_serialization import decode_sample
from segarena.readonly import without_truth
from segarena.samples import ImageSample, Shape, Support
from segarena.serialization import encode_prompt

_DRAWN: dict[str, type[Prompt]] = {one.kind: one for one in (Click, Box, Limits, Scribble, Lasso)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueReply:
    """The reply to one dialogue.

    Attributes:
        dialogue: index among the dialogues of the sample, from 0.
        rounds: the prompts since the last answer, by round. All but the last are empty, and all if the dialogue has
            ended: in those rounds the user gave no prompt, and the previous answer counts again.
        over: whether the dialogue has ended.
        late: whether the last answer exceeded the time limit, so that the server dropped it and ended the dialogue.
        failed: why the dialogue ended early, as a message for the participant; "" if it did not.
        objects: number of objects that are evaluated together.
        lift: rules for extending the user's prompts to other slices.
        values: the scores of the last answer, if the phase shows them.
    """

    dialogue: int
    rounds: Sequence[Sequence[Prompt]] = ()
    over: bool = False
    late: bool = False
    failed: str = ""
    objects: int = 1
    lift: Lift | None = None
    values: Mapping[str, float | None] | None = None


class _EncodedDialogueReply(msgspec.Struct, frozen=True, kw_only=True):
    dialogue: int
    rounds: list[list[dict[str, Any]]] = []
    over: bool = False
    late: bool = False
    failed: str = ""
    objects: int = 1
    lift: Lift | None = None
    values: dict[str, float | None] | None = None


class _EncodedReply(msgspec.Struct, frozen=True, kw_only=True):
    dialogues: list[_EncodedDialogueReply]


def pack_reply(dialogues: Iterable[DialogueReply]) -> bytes:
    """Serialize the reply to a turn as a frame: the replies to the dialogues that the turn answered or opened.

    The same reply gives the same bytes.
    """
    arrays: list[Any] = []
    encoded = [_encode_dialogue_reply(one, arrays) for one in dialogues]
    return write_frame({"dialogues": encoded}, arrays)


def _encode_dialogue_reply(reply: DialogueReply, arrays: list[Any]) -> dict[str, Any]:
    rounds: list[list[dict[str, Any]]] = []
    for prompts in reply.rounds:
        rounds.append([encode_prompt(_anonymous(one), arrays, _no_handle) for one in prompts])
    return {
        "dialogue": reply.dialogue,
        "rounds": rounds,
        "over": reply.over,
        "late": reply.late,
        "failed": reply.failed,
        "objects": reply.objects,
        "lift": None if reply.lift is None else asdict(reply.lift),
        "values": None if reply.values is None else dict(reply.values),
    }


def _anonymous(prompt: Prompt) -> Prompt:
    """Replace the name of a support example in a prompt by the hash of its pixels.

    File names of support examples could reveal the class or the answer.
    """
    if not isinstance(prompt, Support):
        return prompt
    image = np.ascontiguousarray(prompt.sample.image)
    name = fingerprint(repr(image.shape), image.tobytes())
    return Support(replace(without_truth(prompt.sample), id=name), prompt.mask)


def _no_handle(_encoded: Any) -> int:
    raise InvalidInput("an encoding cannot be sent to participants")


def unpack_reply(data: bytes, shape: Shape) -> list[DialogueReply]:
    """Parse a reply that `pack_reply` serialized; its prompts refer to a sample of `shape`.

    Raises:
        InvalidInput: the data are not a reply.
    """
    encoded, arrays = read_frame(data, _EncodedReply, what="reply")
    return [_decode_dialogue_reply(each, arrays, shape) for each in encoded.dialogues]


def _decode_dialogue_reply(
    encoded: _EncodedDialogueReply,
    arrays: Sequence[Any],
    shape: Shape,
) -> DialogueReply:
    rounds: list[tuple[Prompt, ...]] = []
    for prompts in encoded.rounds:
        rounds.append(tuple(_decode_prompt(one, arrays, shape) for one in prompts))
    return DialogueReply(
        dialogue=encoded.dialogue,
        rounds=tuple(rounds),
        over=encoded.over,
        late=encoded.late,
        failed=encoded.failed,
        objects=encoded.objects,
        lift=encoded.lift,
        values=encoded.values,
    )


def _decode_prompt(
    encoded: dict[str, Any],
    arrays: Sequence[Any],
    shape: Shape,
) -> Prompt:
    own = {name: value for name, value in encoded.items() if name != "sample"}
    fields = restore_fields(own, arrays, "prompt")
    kind = fields.pop("kind", None)
    try:
        if kind == "support":
            prompt = _decode_support(fields, encoded.get("sample"), arrays)
        else:
            prompt = _decode_drawn(kind, fields)
        check_prompt(prompt, shape)
    except InvalidInput:
        raise
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"a prompt: {str(error)[:200]}") from error
    return prompt


def _decode_support(
    fields: Mapping[str, Any],
    sample: Any,
    arrays: Sequence[Any],
) -> Support:
    image = decode_sample(sample, arrays)
    if not isinstance(image, ImageSample):
        raise InvalidInput("a support example: expected an image")
    return Support(image, _mask(fields.get("mask")))


def _decode_drawn(kind: Any, fields: dict[str, Any]) -> Prompt:
    if kind == "mask":
        object_id = convert_field(fields.get("object_id", 1), int, "object_id")
        return MaskPrompt(_mask(fields.get("mask")), object_id)
    if not isinstance(kind, str) or kind not in _DRAWN:
        raise InvalidInput(
            f"a prompt: expected one of {', '.join(_DRAWN)}, mask, support, got {str(kind)[:40]!r}"
        )
    return convert_field(fields, _DRAWN[kind], kind)


def _mask(mask: Any) -> Any:
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        dtype = getattr(mask, "dtype", type(mask).__name__)
        raise InvalidInput(f"the mask of a prompt: expected bool, got {dtype}")
    return mask

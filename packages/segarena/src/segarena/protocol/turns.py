"""Turns: what a participant answers to the prompts of the turn before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeAlias

import msgspec

from segarena.dialogue import Prediction
from segarena.errors import InvalidInput
from segarena.protocol.frames import convert_field, read_frame, write_frame
from segarena.protocol.mask_encoding import (
    MAX_OBJECTS,
    check_announced_masks,
    decode_mask,
    encode_coco_labels,
    encode_mask,
)
from segarena.samples import Shape

MAX_TURN_HEADER_BYTES = 2**20
MAX_FAILURE_LETTERS = 500

_Id: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z-]{8,64}\Z")]
_Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueAnswer:
    """The answer to one dialogue of a turn.

    Attributes:
        dialogue: its number in the place, from 0.
        prediction: mask and candidate frames; None where there is none.
        failed: why there is none.
    """

    dialogue: int
    prediction: Prediction | None = None
    failed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMessage:
    """What a participant sends.

    Attributes:
        id: made by the participant, a UUID; the same turn sent again has the same.
        client_s: what answering took by the participant's clock; advice.
        answers: to dialogues whose prompts wait for one, some or all; none in turn 0.
        open: dialogues whose first prompts are asked for. One that is not opened yet is charged nothing: whoever holds
            one after the other opens each when it is its turn, an engine all in turn 0.
        failed: why nothing can be said about this sample at all; ends all its dialogues.
        round_trip_s: what a question that needs no work takes, as the participant measured it; advice.
        silent: asks to be told of rounds in which the user had nothing to say, one by one, and answers them too;
            otherwise the answer before is taken.
    """

    id: str
    client_s: float = 0.0
    answers: Sequence[DialogueAnswer] = ()
    open: Sequence[int] = ()
    failed: str = ""
    round_trip_s: float = 0.0
    silent: bool = False


class TurnHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What can be told of a turn without reading its masks; see `Turn`."""

    id: _Id
    client_s: _Seconds = 0.0
    answers: list[dict[str, Any]] = []
    open: list[int] = []
    failed: str = ""
    round_trip_s: _Seconds = 0.0
    silent: bool = False


class _ToldAnswer(msgspec.Struct, frozen=True, kw_only=True):
    dialogue: int
    mask: dict[str, Any] | None = None
    candidates: list[int] | None = None
    failed: str = ""


def pack_turn(turn: TurnMessage) -> bytes:
    """Return a turn as it travels.

    Raises:
        InvalidMask: a mask that is none; the other side would refuse the whole turn.
    """
    arrays: list[Any] = []
    told = _tell_head(turn, [_tell_answer(answer, arrays) for answer in turn.answers])
    return write_frame(told, arrays)


def pack_coco_turn(
    turn: TurnMessage, dialogue: int, text: bytes, shape: Shape, candidates: Sequence[int] | None
) -> bytes:
    """Return a turn whose one answer stays as it came; see `segarena.protocol.coco_labels`.

    Args:
        turn: without answers.
        dialogue: that is answered.
        text: not looked at.
        shape: of the sample.
        candidates: frames.
    """
    arrays: list[Any] = []
    answer: dict[str, Any] = {"dialogue": dialogue, "mask": encode_coco_labels(text, shape, arrays)}
    told = answer if candidates is None else {**answer, "candidates": list(candidates)}
    return write_frame(_tell_head(turn, [told]), arrays)


def _tell_head(turn: TurnMessage, answers: list[dict[str, Any]]) -> dict[str, Any]:
    about = {"id": turn.id, "client_s": turn.client_s, "answers": answers, "open": list(turn.open)}
    return {
        **about,
        "failed": turn.failed,
        "round_trip_s": turn.round_trip_s,
        "silent": turn.silent,
    }


def _tell_answer(answer: DialogueAnswer, arrays: list[Any]) -> dict[str, Any]:
    if answer.prediction is None:
        return {"dialogue": answer.dialogue, "failed": answer.failed or "no answer"}
    candidates = answer.prediction.candidates
    told = {"dialogue": answer.dialogue, "mask": encode_mask(answer.prediction.mask, arrays)}
    if candidates is None:
        return told
    return {**told, "candidates": [int(each) for each in candidates]}


def _masks_of(objects: int) -> int:
    return 1 if objects == 1 else MAX_OBJECTS


def read_turn_header(data: bytes) -> TurnHeader:
    """Return what can be told of a turn without reading its masks.

    Raises:
        InvalidInput: it is no turn.
    """
    size = int.from_bytes(data[:4], "little")
    if len(data) < 12 or size > min(MAX_TURN_HEADER_BYTES, len(data) - 12):
        raise InvalidInput(
            f"turn: expected a frame with a header of at most {MAX_TURN_HEADER_BYTES} bytes"
        )
    try:
        return msgspec.json.decode(data[12 : 12 + size], type=TurnHeader)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InvalidInput(f"turn: {str(error)[:200]}") from error


def unpack_turn(data: bytes, *, shape: Shape, objects: Mapping[int, int]) -> TurnMessage:
    """Return what `pack_turn` was given.

    Args:
        data: not trusted.
        shape: of the sample.
        objects: the dialogues that wait for an answer, each with how many objects it is about. Some or all of them
            are answered, each once, and no other.

    Raises:
        InvalidInput: it is no turn, or answers something else.
    """
    most = sum(map(_masks_of, objects.values()))
    header, arrays = read_frame(
        data,
        what="turn",
        most_header=MAX_TURN_HEADER_BYTES,
        check=lambda announced: check_announced_masks(announced, shape, most),
    )
    head = convert_field(header, TurnHeader, "turn")
    turn = TurnMessage(
        id=head.id, client_s=head.client_s, round_trip_s=head.round_trip_s, silent=head.silent
    )
    if head.failed:
        return replace(turn, failed=printable_line(head.failed) or "no answer")
    told = convert_field(head.answers, list[_ToldAnswer], "answers")
    numbers = [each.dialogue for each in told]
    if len({*numbers}) < len(numbers) or not {*numbers} <= {*objects}:
        raise InvalidInput(
            f"turn: expected one answer to some of dialogues {_some(objects)}, got {_some(numbers)}"
        )
    answers = [_answer(each, arrays, shape, objects[each.dialogue]) for each in told]
    return replace(turn, answers=answers, open=head.open)


def _answer(told: _ToldAnswer, arrays: Sequence[Any], shape: Shape, objects: int) -> DialogueAnswer:
    if told.mask is None:
        return DialogueAnswer(
            dialogue=told.dialogue, failed=printable_line(told.failed) or "no answer"
        )
    candidates = None if told.candidates is None else tuple(told.candidates)
    if not all(0 <= each < shape[0] for each in candidates or ()):
        raise InvalidInput(
            f"candidates: expected frames 0 to {shape[0] - 1}, got {_some(candidates)}"
        )
    prediction = Prediction(decode_mask(told.mask, arrays, shape, objects), candidates=candidates)
    return DialogueAnswer(dialogue=told.dialogue, prediction=prediction)


def printable_line(text: str) -> str:
    """Return a stranger's text as one line of printable letters, of limited length."""
    plain = "".join(
        letter if letter.isprintable() else " " for letter in text[: 4 * MAX_FAILURE_LETTERS]
    )
    return " ".join(plain.split())[:MAX_FAILURE_LETTERS]


def _some(numbers: Any) -> str:
    few = [str(number)[:12] for number in list(numbers)[:10]]
    return f"[{', '.join(few)}{', ...' if len(numbers) > len(few) else ''}]"

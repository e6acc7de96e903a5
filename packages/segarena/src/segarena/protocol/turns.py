"""Turns of a participant: the answers to the prompts of the turn before."""

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
# A frame begins with two lengths, of the header (4 bytes) and of the body (8 bytes).
_HEADER_START = 12

_Id: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z-]{8,64}\Z")]
_Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueAnswer:
    """The answer to one dialogue of a turn.

    Attributes:
        dialogue: its index among the dialogues of the sample, from 0.
        prediction: mask and candidate frames; None if there is no answer.
        failed: the reason if there is none.
    """

    dialogue: int
    prediction: Prediction | None = None
    failed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMessage:
    """A participant's answers about one sample.

    Attributes:
        id: a UUID made by the participant. A turn that is sent again has the same one.
        client_s: the time that answering took by the participant's clock; informative.
        answers: to some or all of the dialogues whose prompts wait for one; empty in turn 0.
        open: dialogues whose first prompts the participant asks for. A dialogue that is not open is charged no time,
            so a script that runs one dialogue after the other opens each in turn, and an engine all in turn 0.
        failed: why no answer about this sample is possible at all; ends all its dialogues.
        round_trip_s: the duration of a request that needs no work, as the participant measured it; informative.
        silent: whether the participant wants to answer rounds in which the user gave no prompt, one by one.
            Otherwise the previous answer counts for them.
    """

    id: str
    client_s: float = 0.0
    answers: Sequence[DialogueAnswer] = ()
    open: Sequence[int] = ()
    failed: str = ""
    round_trip_s: float = 0.0
    silent: bool = False


class TurnHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a turn that can be read without its masks; see `TurnMessage`."""

    id: _Id
    client_s: _Seconds = 0.0
    answers: list[dict[str, Any]] = []
    open: list[int] = []
    failed: str = ""
    round_trip_s: _Seconds = 0.0
    silent: bool = False


class _EncodedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    dialogue: int
    mask: dict[str, Any] | None = None
    candidates: list[int] | None = None
    failed: str = ""


def pack_turn(turn: TurnMessage) -> bytes:
    """Return a turn as a frame.

    Raises:
        InvalidMask: an invalid mask, for which the server would reject the whole turn.
    """
    arrays: list[Any] = []
    answers = [_encode_answer(answer, arrays) for answer in turn.answers]
    return write_frame(_encode_header(turn, answers), arrays)


def pack_coco_turn(
    turn: TurnMessage, dialogue: int, text: bytes, shape: Shape, candidates: Sequence[int] | None
) -> bytes:
    """Return a turn with one answer that is kept as received; see `segarena.protocol.coco_labels`.

    Args:
        turn: without answers.
        dialogue: the index of the dialogue that it answers.
        text: the labels, not parsed here.
        shape: of the sample.
        candidates: frames.
    """
    arrays: list[Any] = []
    answer: dict[str, Any] = {"dialogue": dialogue, "mask": encode_coco_labels(text, shape, arrays)}
    if candidates is not None:
        answer["candidates"] = list(candidates)
    return write_frame(_encode_header(turn, [answer]), arrays)


def _encode_header(turn: TurnMessage, answers: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": turn.id,
        "client_s": turn.client_s,
        "answers": answers,
        "open": list(turn.open),
        "failed": turn.failed,
        "round_trip_s": turn.round_trip_s,
        "silent": turn.silent,
    }


def _encode_answer(answer: DialogueAnswer, arrays: list[Any]) -> dict[str, Any]:
    if answer.prediction is None:
        return {"dialogue": answer.dialogue, "failed": answer.failed or "no answer"}
    mask = encode_mask(answer.prediction.mask, arrays)
    encoded: dict[str, Any] = {"dialogue": answer.dialogue, "mask": mask}
    if answer.prediction.candidates is not None:
        encoded["candidates"] = [int(frame) for frame in answer.prediction.candidates]
    return encoded


def read_turn_header(data: bytes) -> TurnHeader:
    """Return the header of a turn without reading its masks.

    Raises:
        InvalidInput: not a turn.
    """
    size = int.from_bytes(data[:4], "little")
    if len(data) < _HEADER_START or size > min(MAX_TURN_HEADER_BYTES, len(data) - _HEADER_START):
        raise InvalidInput(
            f"turn: expected a frame with a header of at most {MAX_TURN_HEADER_BYTES} bytes"
        )
    try:
        return msgspec.json.decode(data[_HEADER_START : _HEADER_START + size], type=TurnHeader)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InvalidInput(f"turn: {str(error)[:200]}") from error


def unpack_turn(data: bytes, *, shape: Shape, objects: Mapping[int, int]) -> TurnMessage:
    """Return the turn that `pack_turn` packed.

    Args:
        data: untrusted.
        shape: of the sample.
        objects: the number of objects of each dialogue that waits for an answer. The turn may answer some or all of
            these dialogues, each once, and no other.

    Raises:
        InvalidInput: not a turn, or one that answers another dialogue.
    """
    max_masks = sum(_max_masks(count) for count in objects.values())
    header, arrays = read_frame(
        data,
        what="turn",
        most_header=MAX_TURN_HEADER_BYTES,
        check=lambda announced: check_announced_masks(announced, shape, max_masks),
    )
    head = convert_field(header, TurnHeader, "turn")
    turn = TurnMessage(
        id=head.id, client_s=head.client_s, round_trip_s=head.round_trip_s, silent=head.silent
    )
    if head.failed:
        return replace(turn, failed=printable_line(head.failed) or "no answer")
    encoded = convert_field(head.answers, list[_EncodedAnswer], "answers")
    numbers = [each.dialogue for each in encoded]
    has_duplicates = len({*numbers}) < len(numbers)
    if has_duplicates or not {*numbers} <= {*objects}:
        raise InvalidInput(
            f"turn: expected one answer to some of dialogues {_abbreviated(objects)}, "
            f"got {_abbreviated(numbers)}"
        )
    answers = [_decode_answer(each, arrays, shape, objects[each.dialogue]) for each in encoded]
    return replace(turn, answers=answers, open=head.open)


def _max_masks(objects: int) -> int:
    """Return the number of arrays that an answer about so many objects may have."""
    return 1 if objects == 1 else MAX_OBJECTS


def _decode_answer(
    encoded: _EncodedAnswer, arrays: Sequence[Any], shape: Shape, objects: int
) -> DialogueAnswer:
    if encoded.mask is None:
        reason = printable_line(encoded.failed) or "no answer"
        return DialogueAnswer(dialogue=encoded.dialogue, failed=reason)
    candidates = None
    if encoded.candidates is not None:
        candidates = tuple(encoded.candidates)
    if not all(0 <= frame < shape[0] for frame in candidates or ()):
        raise InvalidInput(
            f"candidates: expected frames 0 to {shape[0] - 1}, got {_abbreviated(candidates)}"
        )
    mask = decode_mask(encoded.mask, arrays, shape, objects)
    return DialogueAnswer(
        dialogue=encoded.dialogue, prediction=Prediction(mask, candidates=candidates)
    )


def printable_line(text: str) -> str:
    """Return a stranger's text as one line of printable letters of limited length."""
    # Cut before the loop: the text may be megabytes long. White space that the end removes is allowed for.
    beginning = text[: 4 * MAX_FAILURE_LETTERS]
    plain = "".join(letter if letter.isprintable() else " " for letter in beginning)
    return " ".join(plain.split())[:MAX_FAILURE_LETTERS]


def _abbreviated(numbers: Any) -> str:
    """Return the first ten numbers as text."""
    first = [str(number)[:12] for number in list(numbers)[:10]]
    if len(numbers) > len(first):
        first.append("...")
    return f"[{', '.join(first)}]"

"""JSON messages between a seat's page and the server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import msgspec
import numpy as np

from segarena.arrays.rle import unpack_lengths
from segarena.engine.human_dialogue_files import PersonPrompts, SeatInfo, Seats
from segarena.engine.sample_preview import SamplePreview
from segarena.errors import InvalidInput, StoreError
from segarena.prompts import Limits, check_prompt
from segarena.records.prompts import (
    RecordedMask,
    RecordedPrompt,
    RecordedSupport,
    prompts_text,
    read_prompts,
)
from segarena_studio.viewer.planes import Plane, list_volume_planes

_LONGEST_NOTE = 2000
_MOST_STROKE_BYTES = 2**20


class RoundMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prompts of one round, sent by the page.

    Attributes:
        id: id that the page chooses for this round.
        prompts: prompts as in records, with axes in the order of the sample; None if nothing is
            left to correct.
        active_s: seconds during which the person looked at the page and had not paused.
        pointer: pointing devices used.
        note: a note by the person.
        strokes: raw strokes.
    """

    id: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f-]{36}$")]
    prompts: list[dict[str, Any]] | None
    active_s: Annotated[float, msgspec.Meta(ge=0)]
    pointer: Annotated[
        str, msgspec.Meta(pattern=r"^(|(mouse|touch|pen|keyboard)(\+(mouse|touch|pen|keyboard))*)$")
    ] = ""
    note: Annotated[str, msgspec.Meta(max_length=_LONGEST_NOTE)] = ""
    strokes: msgspec.Raw = msgspec.Raw(b"null")


def build_person_prompts(
    came: RoundMessage,
    seat: SeatInfo,
    most_prompts: int,
    person: str,
    elapsed_s: float,
) -> PersonPrompts:
    """Validate a message and return its prompts.

    Args:
        came: the message.
        seat: the seat.
        most_prompts: maximum number of prompts per round.
        person: name of the person.
        elapsed_s: seconds since the previous prediction was visible, an upper bound of the active
            time.

    Raises:
        InvalidInput: the prompts are of a wrong kind, outside the sample, about an unknown object,
            none at all, or too many; or the raw strokes are too large.
    """
    if len(bytes(came.strokes)) > _MOST_STROKE_BYTES:
        raise InvalidInput("strokes: expected fewer points; draw fewer strokes")
    # The page measures its own time, and could claim more than has passed.
    user_s = round(min(came.active_s, elapsed_s), 3)
    prompts: str | None = None
    if came.prompts is not None:
        prompts = prompts_text(_checked(came.prompts, seat, most_prompts))
    return PersonPrompts(
        id=came.id,
        prompts=prompts,
        person=person,
        user_s=user_s,
        away_s=round(max(0.0, elapsed_s - user_s), 3),
        pointer=came.pointer,
        note=came.note.strip(),
        strokes=came.strokes,
    )


def _checked(
    came: list[dict[str, Any]],
    seat: SeatInfo,
    most: int,
) -> tuple[RecordedPrompt, ...]:
    try:
        prompts = read_prompts(msgspec.json.encode(came).decode())
    except StoreError as error:
        raise InvalidInput(str(error)) from error
    if not 0 < len(prompts) <= most:
        raise InvalidInput(f"prompts: expected 1 to {most}, got {len(prompts)}")
    for prompt in prompts:
        if isinstance(prompt, RecordedMask | RecordedSupport) or prompt.kind not in seat.kinds:
            raise InvalidInput(f"prompts: expected {' or '.join(seat.kinds)}, got {prompt.kind}")
        check_prompt(prompt, seat.shape)
        # If there are several objects, object 0 is the background.
        needs_object = isinstance(prompt, Limits) or len(seat.masks) == 1
        lowest = 1 if needs_object else 0
        if not lowest <= prompt.object_id <= len(seat.masks):
            raise InvalidInput(
                f"prompts: expected objects {lowest} to {len(seat.masks)}, got {prompt.object_id}"
            )
    return prompts


def elapsed_s(
    seats: Seats,
    name: str,
    round_: int,
) -> float:
    """Return the seconds since the question of a round became visible to the person."""
    return max(0.0, time.time() - seats.shown_at(name, round_))


def describe_seat(
    seats: Seats,
    seat: SeatInfo,
    seen: SamplePreview,
) -> dict[str, Any]:
    """Return the part of a seat that does not change, with the target as run lengths."""
    run = seats.info()
    return {
        "seat": seat.seat,
        "label": seat.label,
        "kind": seen.kind,
        "shape": seen.shape,
        "planes": [asdict(plane) for plane in _planes(seen)],
        "levels": _levels(seen),
        "kinds": seat.kinds,
        "shows": seat.shows,
        "rounds": run.rounds,
        "target": [_counts(mask) for mask in seat.masks],
        "ignore": None if seat.ignore is None else _counts(seat.ignore),
    }


def _planes(seen: SamplePreview) -> Sequence[Plane]:
    if seen.kind == "volume":
        affine = np.array(seen.affine) if seen.affine else None
        return list_volume_planes(seen.shape, seen.spacing_mm, affine)
    rows, columns = seen.shape[-2:]
    if seen.kind == "video":
        return [
            Plane(
                name="frame",
                axis=0,
                count=seen.shape[0],
                size=(rows, columns),
            )
        ]
    return [
        Plane(
            name="",
            axis=None,
            count=1,
            size=(rows, columns),
        )
    ]


def _levels(seen: SamplePreview) -> dict[str, Any] | None:
    if seen.kind != "volume":
        return None
    names = ("offset", "step", "low", "high", "modality")
    return {name: getattr(seen, name) for name in names}


def describe_state(seats: Seats, seat: SeatInfo) -> dict[str, Any]:
    """Return the state of a dialogue: prompts so far, the last prediction, and scores if people may see them."""
    given = list(seats.rounds(seat.seat))
    last = seats.last_answer(seat.seat)
    is_waiting = bool(given) and seats.answered(seat.seat, len(given)) is None
    masks = _last_masks(seats, seat.seat, len(given))
    values: dict[str, float | None] = {}
    if last is not None and seat.shows.get("scores"):
        values = dict(last.values)
    return {
        "round": len(given) + 1,
        "is_waiting": is_waiting,
        "is_answered": seats.is_answered,
        "is_over": last is not None and last.is_over,
        "failure": "" if last is None else last.failure,
        "prediction": [_counts(mask) for mask in masks],
        "values": values,
        "given": [msgspec.Raw((one.prompts or "null").encode()) for one in given],
        "predict_s": 0.0 if last is None else last.predict_s,
    }


def _last_masks(
    seats: Seats,
    name: str,
    count: int,
) -> Sequence[bytes]:
    """Return the masks of the last round that has any, among the first `count` rounds."""
    for number in range(count, 0, -1):
        answer = seats.answered(name, number)
        if answer is not None and answer.masks:
            return answer.masks
    return ()


def _counts(mask: bytes) -> list[int]:
    return unpack_lengths(mask).tolist()

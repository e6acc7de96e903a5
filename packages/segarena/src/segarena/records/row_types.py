"""A row of each table of a run folder. The columns of the tables are the fields here, in this order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from segarena.errors import StoreError


class RoundRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A round of a dialogue.

    Attributes:
        label, attributes: of the target; the attributes as `attributes_text` writes them.
        user: empty, like the target, for a sample of which no dialogue could be held.
        round: from 1; 0 for such a sample.
        effort: what the user has spent so far.
        prompts: as `segarena.records.prompts.prompts_text` writes them.
        values: of the metrics, a column each; empty where the round failed.
        failure: what went wrong, in one line; None when nothing did.
    """

    benchmark: str
    dataset: str
    sample: str
    target: str
    label: str
    attributes: str
    user: str
    repeat: int
    round: int
    effort: float
    prompts: str
    values: Mapping[str, float | None]
    failure: str | None


class RoundKey(msgspec.Struct, frozen=True, kw_only=True):
    """Which round of a run is meant."""

    sample: str
    target: str
    user: str
    repeat: int
    round: int


class Timing(RoundKey, frozen=True, kw_only=True):
    """Seconds of an answer; of an encoder pass or an encoding read, see `segarena.engine.rows`."""

    predict_s: float


class MaskRow(RoundKey, frozen=True, kw_only=True):
    """A prediction as run lengths; of a target of several objects, one for each of them."""

    object: int = 1
    rle: bytes
    shape: tuple[int, ...]


class PartValues(RoundKey, frozen=True, kw_only=True):
    """What metrics say of one object, from 1, in one frame, from 0: a column for each metric."""

    object: int
    frame: int
    values: Mapping[str, float]


class PersonRound(RoundKey, frozen=True, kw_only=True):
    """Who gave the prompts of a round, where users are people (`segarena.engine.human_queue`).

    The round after the last one answered is that in which they said that nothing is left to correct.

    Attributes:
        person: the same for all rounds of one person in a run; others in the next, and nothing else about them.
        user_s: seconds from when they saw the last answer until they gave the prompts, less `away_s`.
        away_s: seconds of that in which they had paused, or looked at something else.
        pointer: what they drew with: "mouse", "touch", "pen", "keyboard"; several with "+" between them.
        note: what they wrote about it.
    """

    person: str
    user_s: float
    away_s: float
    pointer: str
    note: str


Row: TypeAlias = RoundRecord | Timing | MaskRow | PartValues | PersonRound


def attributes_text(attributes: Mapping[str, Any]) -> str:
    """Return a target's attributes as records have them."""
    return json.dumps(dict(attributes), sort_keys=True)


def read_attributes(text: str | None) -> dict[str, Any]:
    """Return what `attributes_text` wrote; no text says nothing.

    Raises:
        StoreError: it is no JSON object.
    """
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise StoreError(f"attributes: {error}; in {(text or '')[:80]}") from error
    if not isinstance(found, dict):
        raise StoreError(f"attributes: expected an object, got {(text or '')[:80]}")
    return found

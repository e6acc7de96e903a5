"""Row types of the tables in a run folder; their fields are the columns, in this order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
import numpy as np

from segarena.errors import StoreError


class RoundRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A round of a dialogue.

    Attributes:
        label, attributes: label and attributes of the target; for attributes see `attributes_text`.
        user: name of the user; empty, like the target, for a sample without dialogues.
        round: index of the round, from 1; 0 for a sample without dialogues.
        effort: total effort of the user so far.
        prompts: JSON, see `segarena.records.prompts.prompts_text`.
        values: values of the metrics, one column each; empty for a failed round.
        failure: one-line error message; None without an error.
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
    """The columns that identify a round."""

    sample: str
    target: str
    user: str
    repeat: int
    round: int


class Timing(RoundKey, frozen=True, kw_only=True):
    """Duration in seconds of an answer, encoder pass or cache read; for the last two see `segarena.engine.rows`."""

    predict_s: float


class MaskRow(RoundKey, frozen=True, kw_only=True):
    """The predicted mask of one object, as run lengths."""

    object: int = 1
    rle: bytes
    shape: tuple[int, ...]


class PartValues(RoundKey, frozen=True, kw_only=True):
    """Metric values of one object (from 1) in one frame (from 0): a column for each metric."""

    object: int
    frame: int
    values: Mapping[str, float]


class TargetWithoutDialogue(msgspec.Struct, frozen=True, kw_only=True):
    """A target that no user of the run chose.

    The records do not mention such a target; this row lets the run count it without loading its sample again.
    """

    sample: str
    target: str


class PersonRound(RoundKey, frozen=True, kw_only=True):
    """The person and effort of a round with a human user (`segarena.engine.human_dialogue_files`).

    A round after the last answered one records that the person had nothing left to correct.

    Attributes:
        person: pseudonym, the same for all rounds of one person in a run, and different in other runs.
        user_s: seconds from the last answer until the prompts, minus `away_s`.
        away_s: seconds of pauses, and of time spent on other pages.
        pointer: input devices: "mouse", "touch", "pen", "keyboard"; several are joined by "+".
        note: comment of the person.
    """

    person: str
    user_s: float
    away_s: float
    pointer: str
    note: str


Row: TypeAlias = RoundRecord | Timing | MaskRow | PartValues | PersonRound | TargetWithoutDialogue

TABLES = ("parts", "people", "without_dialogue", "masks", "timings", "records")
"""Names of the tables in writing order: records come last, because they mark a sample as done."""

OPTIONAL_TABLES = ("parts", "people", "without_dialogue")
"""Tables that have no file if they have no rows, as in most runs."""

REQUIRED_TABLES = tuple(table for table in TABLES if table not in OPTIONAL_TABLES)
"""Tables that have a file in every piece, and in earlier versions for every finished sample."""

ROW_TYPES: Mapping[str, type[Row]] = {
    "parts": PartValues,
    "people": PersonRound,
    "without_dialogue": TargetWithoutDialogue,
    "masks": MaskRow,
    "timings": Timing,
    "records": RoundRecord,
}


def attributes_text(attributes: Mapping[str, Any]) -> str:
    """Return a target's attributes as JSON."""
    # Sorted, so that equal attributes give equal bytes.
    return json.dumps(dict(attributes), sort_keys=True, default=python_value)


def python_value(value: Any) -> Any:
    """Convert a NumPy number, which a plug-in may have returned, to a Python number, for serializers.

    Raises:
        TypeError: the value is of another type.
    """
    if not isinstance(value, np.generic):
        raise TypeError(f"expected text or a number, got {type(value).__name__}")
    return value.item()


def read_attributes(text: str | None) -> dict[str, Any]:
    """Parse the JSON of `attributes_text`; an empty string means no attributes.

    Raises:
        StoreError: the text is not a JSON object.
    """
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise StoreError(f"attributes: {error}; in {(text or '')[:80]}") from error
    if not isinstance(found, dict):
        raise StoreError(f"attributes: expected an object, got {(text or '')[:80]}")
    return found

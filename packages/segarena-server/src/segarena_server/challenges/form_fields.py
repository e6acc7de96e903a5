"""Conversion of a challenge to and from strings by field, for forms and command-line options.

All invalid fields are reported together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, get_args

import msgspec

from segarena.errors import InvalidInput
from segarena_server.challenges.datetimes import parse_datetime
from segarena_server.challenges.description import ChallengeDescription, Phase, validated_challenge
from segarena_server.challenges.phase_fields import field_text, phase_fields

MAX_PHASES = 12
"""Maximum number of phases in a form; use a file to describe a challenge with more."""

_PHASE_FIELD = re.compile(r"phases\[(\d{1,2})\]\.(\w+)")
_NOT_IN_FORMS = (
    "phases",
    *(field.name for field in phase_fields() if not field.description.in_forms),
)
"""Phases have their own fields, and seeds are secret."""
_REQUIRED = ("slug", "title", "benchmark", "dataset")

_PLAIN_WORDS = {
    "matching regex": "expected lower case letters, digits and dashes, at most 64",
    "`int": "expected a whole number",
    "`float": "expected a number",
}
"""Plain-language messages, by the part of msgspec's message that identifies them."""


class ParsedForm(NamedTuple):
    """The result of parsing a form.

    Attributes:
        challenge: the challenge; None if a field is invalid.
        faults: messages by field, named as in `read_challenge`: "phases[0].closes".
    """

    challenge: ChallengeDescription | None
    faults: Mapping[str, str]


def parse_form(
    texts: Mapping[str, str],
    *,
    zone: str = "UTC",
    seeds: Mapping[str, int] | None = None,
) -> ParsedForm:
    """Parse a challenge from the strings of a form.

    Args:
        texts: strings by field; an empty or missing one means the default. Unknown fields are
            ignored.
        zone: time zone of times without an offset from UTC.
        seeds: known seeds by phase name.
    """
    faults: dict[str, str] = {}
    values = _parse_fields(ChallengeDescription, "", texts, zone, faults)
    phase_count = _phase_count(texts)
    if phase_count > MAX_PHASES:
        faults["phases"] = (
            f"expected at most {MAX_PHASES}, got {phase_count}; describe more in a file"
        )
    phases: list[dict[str, Any]] = []
    for number in phase_numbers(texts):
        phase = _parse_fields(Phase, f"phases[{number}].", texts, zone, faults)
        seed = (seeds or {}).get(str(phase.get("name", "")))
        if seed is not None:
            phase["seed"] = seed
        phases.append(phase)
    for field in _missing_fields(values, phases):
        faults.setdefault(field, "is required")
    if faults:
        return ParsedForm(None, faults)
    try:
        challenge = msgspec.convert({**values, "phases": phases}, ChallengeDescription)
        return ParsedForm(validated_challenge(challenge), {})
    except msgspec.ValidationError as error:
        return ParsedForm(None, {"phases": str(error)})
    except InvalidInput as error:
        field, _, reason = str(error).partition(": ")
        return ParsedForm(None, {field: reason})


def form_texts(challenge: ChallengeDescription) -> dict[str, str]:
    """Return strings from which `parse_form` restores this challenge, with times in UTC and without seeds."""
    texts = dict(_field_texts(challenge, ""))
    for number, phase in enumerate(challenge.phases):
        texts.update(_field_texts(phase, f"phases[{number}]."))
    return texts


def phase_numbers(texts: Mapping[str, str]) -> range:
    """Return the indices of the phases in a form, up to the last one that has a field; at most `MAX_PHASES`."""
    return range(min(_phase_count(texts), MAX_PHASES))


def _missing_fields(
    values: Mapping[str, Any], phases: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    for field in _REQUIRED:
        if field not in values:
            yield field
    for number, phase in enumerate(phases):
        if "name" not in phase:
            yield f"phases[{number}].name"


def _phase_count(texts: Mapping[str, str]) -> int:
    last = -1
    for field in texts:
        match = _PHASE_FIELD.fullmatch(field)
        if match:
            last = max(last, int(match[1]))
    return last + 1


def _parse_fields(
    kind: type[msgspec.Struct],
    prefix: str,
    texts: Mapping[str, str],
    zone: str,
    faults: dict[str, str],
) -> dict[str, Any]:
    """Return the values of all fields with a valid text, and add messages about invalid texts to `faults`."""
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        text = texts.get(prefix + field.name, "")
        if field.name in _NOT_IN_FORMS or not text.strip():
            continue
        try:
            values[field.name] = _parse_value(text, field.type, zone)
        except (msgspec.ValidationError, InvalidInput) as error:
            faults[prefix + field.name] = _in_plain_words(str(error))
    return values


def _parse_value(
    text: str,
    kind: Any,
    zone: str,
) -> Any:
    """Parse the text of a field of a given type."""
    if _may_hold(kind, datetime):
        return parse_datetime(text, zone)
    if _may_hold(kind, tuple):
        items = re.split(r"[\s,]+", text.strip())
        return msgspec.convert(tuple(items), kind)
    # Browsers send line breaks as \r\n.
    return msgspec.convert(text.strip().replace("\r\n", "\n"), kind, strict=False)


def _may_hold(kind: Any, wanted: type) -> bool:
    """Return whether a type annotation contains a type."""
    if kind is wanted or getattr(kind, "__origin__", None) is wanted:
        return True
    return any(_may_hold(part, wanted) for part in get_args(kind))


def _field_texts(struct: msgspec.Struct, prefix: str) -> Iterator[tuple[str, str]]:
    for field in msgspec.structs.fields(struct):
        if field.name not in _NOT_IN_FORMS:
            yield prefix + field.name, field_text(getattr(struct, field.name))


def _in_plain_words(message: str) -> str:
    """Rephrase a message of msgspec for people who fill in a form."""
    for part, words in _PLAIN_WORDS.items():
        if part in message:
            bound = re.search(r"[<>]=? [\d.]+", message)
            return f"{words} {bound[0]}" if bound else words
    return f"{message[:1].lower()}{message[1:]}"

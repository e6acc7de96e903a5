"""A challenge as texts by field, as forms and options have it. Every wrong field is named, not only the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, get_args

import msgspec

from segarena.errors import InvalidInput
from segarena_server.challenges.datetimes import parse_datetime, utc_text
from segarena_server.challenges.description import ChallengeDescription, Phase, validated_challenge

MAX_PHASES = 12
"""That a form has; more are written in a file."""

_PHASE = re.compile(r"phases\[(\d{1,2})\]\.(\w+)")
_PLAIN_WORDS = {
    "matching regex": "expected lower case letters, digits and dashes, at most 64",
    "`int": "expected a whole number",
    "`float": "expected a number",
}


class ParsedForm(NamedTuple):
    """What came of texts.

    Attributes:
        challenge: None when a field is wrong.
        faults: what is wrong, by field as `read_challenge` names it: "phases[0].closes".
    """

    challenge: ChallengeDescription | None
    faults: Mapping[str, str]


def parse_form(
    texts: Mapping[str, str], *, zone: str = "UTC", seeds: Mapping[str, int] | None = None
) -> ParsedForm:
    """Return the challenge that texts describe.

    Args:
        texts: by field; an empty one, or none, leaves the field to its default. Others than fields are not looked at.
        zone: of moments that name no offset from UTC.
        seeds: by name of the phase, where it has one already.
    """
    faults: dict[str, str] = {}
    told = _read(ChallengeDescription, "", texts, zone, faults)
    told["phases"] = []
    if _phases_named(texts) > MAX_PHASES:
        faults["phases"] = (
            f"expected at most {MAX_PHASES}, got {_phases_named(texts)}; a file can hold more"
        )
    for number in phase_numbers(texts):
        phase = _read(Phase, f"phases[{number}].", texts, zone, faults)
        seed = (seeds or {}).get(str(phase.get("name", "")))
        told["phases"].append(phase if seed is None else {**phase, "seed": seed})
    for field in ("slug", "title", "benchmark", "dataset"):
        if field not in told:
            faults.setdefault(field, "is needed")
    for place, phase in enumerate(told["phases"]):
        if "name" not in phase:
            faults.setdefault(f"phases[{place}].name", "is needed")
    if faults:
        return ParsedForm(None, faults)
    try:
        return ParsedForm(validated_challenge(msgspec.convert(told, ChallengeDescription)), {})
    except msgspec.ValidationError as error:
        return ParsedForm(None, {"phases": str(error)})
    except InvalidInput as error:
        field, _, why = str(error).partition(": ")
        return ParsedForm(None, {field: why})


def form_texts(challenge: ChallengeDescription) -> dict[str, str]:
    """Return the texts that `fill` reads as this challenge, moments in UTC; seeds are left out."""
    told = dict(_written(challenge, ""))
    for number, phase in enumerate(challenge.phases):
        told |= _written(phase, f"phases[{number}].")
    return told


def phase_numbers(texts: Mapping[str, str]) -> range:
    """Return the numbers of the phases that texts have fields of, `MOST_PHASES` of them at most."""
    return range(min(_phases_named(texts), MAX_PHASES))


def _phases_named(texts: Mapping[str, str]) -> int:
    return 1 + max(
        (int(match[1]) for field in texts if (match := _PHASE.fullmatch(field))), default=-1
    )


def _read(
    kind: type[msgspec.Struct],
    where: str,
    texts: Mapping[str, str],
    zone: str,
    faults: dict[str, str],
) -> Any:
    told: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        text = texts.get(where + field.name, "")
        if field.name in ("phases", "seed") or not text.strip():
            continue
        try:
            told[field.name] = _value(text, field.type, zone)
        except (msgspec.ValidationError, InvalidInput) as error:
            faults[where + field.name] = _in_plain_words(str(error))
    return told


def _value(text: str, kind: Any, zone: str) -> Any:
    """Return what a text means in a field of a kind."""
    if _has(kind, datetime):
        return parse_datetime(text, zone)
    if _has(kind, tuple):
        return msgspec.convert(tuple(re.split(r"[\s,]+", text.strip())), kind)
    return msgspec.convert(text.strip().replace("\r\n", "\n"), kind, strict=False)


def _has(kind: Any, wanted: type) -> bool:
    """Tell whether a field may hold something of a type."""
    return (
        kind is wanted
        or getattr(kind, "__origin__", None) is wanted
        or any(_has(k, wanted) for k in get_args(kind))
    )


def _written(struct: msgspec.Struct, where: str) -> Iterator[tuple[str, str]]:
    for field in msgspec.structs.fields(struct):
        if field.name not in ("phases", "seed"):
            yield where + field.name, _text(getattr(struct, field.name))


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case datetime():
            return utc_text(value)
        case float():
            return f"{value:.12g}"
        case tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)


def _in_plain_words(message: str) -> str:
    """Return what somebody is told who fills in a form and knows no types."""
    plain = next((words for sign, words in _PLAIN_WORDS.items() if sign in message), "")
    bound = re.search(r"[<>]=? [\d.]+", message)
    told = f"{plain} {bound[0]}" if plain and bound else plain
    return told or f"{message[:1].lower()}{message[1:]}"

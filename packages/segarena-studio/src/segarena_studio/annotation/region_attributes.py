"""Attributes of regions, in addition to names, that a project asks annotators to fill in.

A lead writes one attribute per line: its name, a colon, and its kind.

    occluded: checkbox
    number plate: text
    colour: red, green, blue
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from segarena.errors import InvalidInput

AttributeKind = Literal["checkbox", "choice", "text"]

MOST_ATTRIBUTES = 30
MOST_CHOICES = 100
LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionAttribute:
    """An attribute of regions.

    Attributes:
        name: name, unique in its project.
        kind: how it is filled in.
        choices: the values of a choice, in the lead's order; empty for other kinds.
    """

    name: str
    kind: AttributeKind
    choices: tuple[str, ...] = ()


def parse_attributes(text: str) -> tuple[RegionAttribute, ...]:
    """Parse the attributes of a project, one per line; empty lines are ignored.

    Raises:
        InvalidInput: a line has no name or kind, or a choice of one value; a name or choice occurs
            twice; something is too long, or there are too many attributes or choices.
    """
    found: list[RegionAttribute] = []
    for line in text.splitlines():
        if line.strip():
            found.append(_parse_line(line))
    names = {attribute.name for attribute in found}
    if len(names) < len(found):
        raise InvalidInput("attributes: expected distinct names, got one twice")
    if len(found) > MOST_ATTRIBUTES:
        raise InvalidInput(f"attributes: expected at most {MOST_ATTRIBUTES}, got {len(found)}")
    return tuple(found)


def _parse_line(line: str) -> RegionAttribute:
    # A name may contain a colon; values may not.
    name, separator, rest = line.rpartition(":")
    name = " ".join(name.split())
    values = tuple(" ".join(value.split()) for value in rest.split(","))
    if not separator or not name or not all(values):
        raise InvalidInput(
            f"attributes: expected a line such as 'occluded: checkbox', 'plate: text' or "
            f"'colour: red, green', got {line.strip()[:60]!r}"
        )
    if max(len(text) for text in (name, *values)) > LONGEST_TEXT:
        raise InvalidInput(
            f"attributes: expected names and values of at most {LONGEST_TEXT} characters"
        )
    if values == ("checkbox",):
        return RegionAttribute(name=name, kind="checkbox")
    if values == ("text",):
        return RegionAttribute(name=name, kind="text")
    if not 2 <= len(values) <= MOST_CHOICES or len(set(values)) < len(values):
        raise InvalidInput(
            f"attributes: expected checkbox, text or 2 to {MOST_CHOICES} distinct values "
            f"for {name!r}, separated by commas"
        )
    return RegionAttribute(name=name, kind="choice", choices=values)


def format_attributes(attributes: tuple[RegionAttribute, ...]) -> str:
    """Return attributes in the form that `parse_attributes` reads."""
    lines: list[str] = []
    for attribute in attributes:
        values = ", ".join(attribute.choices) or attribute.kind
        lines.append(f"{attribute.name}: {values}")
    return "\n".join(lines)


def describe_values(values: Mapping[str, str | bool]) -> str:
    """Return the attributes of a region as text, such as "occluded, colour: red"; "" without any."""
    parts: list[str] = []
    for name, value in values.items():
        if value is True:
            parts.append(name)
        elif value:
            parts.append(f"{name}: {value}")
    return ", ".join(parts)

"""From the names of one published model definition to those of another: ordered rules, and sizes read from shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Rules = tuple[tuple[str, str], ...]


Shapes = dict[str, tuple[int, ...]]


def shapes_of(weights: Mapping[str, Any]) -> Shapes:
    """Return the shapes of tensors, by name, in the order of the file."""
    return {name: tuple(map(int, tensor.shape)) for name, tensor in weights.items()}


def rename_tensors(weights: Mapping[str, Any], rules: Rules, perceptrons: str) -> dict[str, Any]:
    """Return the tensors under new names.

    The first rule that matches at the start of a name is applied, and no other; a name that no rule matches stays.
    Perceptrons, whose names match `perceptrons` and go on with `.layers.N.`, become `.proj_in.` for their first layer,
    `.proj_out.` for their last and `.layers.N.` from 0 for those between.
    """
    layer = re.compile(rf"({perceptrons})\.layers\.(\d+)\.")
    last: dict[str, int] = {}
    for match in filter(None, map(layer.match, weights)):
        last[match[1]] = max(last.get(match[1], 0), int(match[2]))

    def in_perceptron(match: re.Match[str]) -> str:
        number = int(match[2])
        place = {0: "proj_in", last[match[1]]: "proj_out"}.get(number, f"layers.{number - 1}")
        return f"{match[1]}.{place}."

    return {
        _by_first_rule(layer.sub(in_perceptron, name, count=1), rules): tensor
        for name, tensor in weights.items()
    }


def stack_rules(stack: str, prefix: str, layers: Mapping[int, str]) -> Rules:
    """Return a rule for each numbered layer of a stack that has a name of its own elsewhere: `prefix` and that name."""
    return tuple(
        (rf"{re.escape(stack)}\.{number}\.", f"{prefix}{name}.") for number, name in layers.items()
    )


def count_numbered(shapes: Shapes, pattern: str) -> int:
    """Return how many items a numbered list has: 1 + the highest number that the pattern's group finds in names.

    Raises:
        KeyError: there is none.
    """
    numbers = [int(match.group(1)) for name in shapes if (match := re.match(pattern, name))]
    if not numbers:
        raise KeyError(pattern.replace("\\", ""))
    return 1 + max(numbers)


def _by_first_rule(name: str, rules: Rules) -> str:
    for pattern, replacement in rules:
        if match := re.match(pattern, name):
            return match.expand(replacement) + name[match.end() :]
    return name

"""Renaming of tensors from the authors' model definition to the library's, and sizes from tensor shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Rules = tuple[tuple[str, str], ...]


Shapes = dict[str, tuple[int, ...]]


def shapes_of(weights: Mapping[str, Any]) -> Shapes:
    """Return the shapes of tensors by name, in file order."""
    return {name: tuple(tensor.shape) for name, tensor in weights.items()}


def rename_tensors(
    weights: Mapping[str, Any],
    rules: Rules,
    perceptrons: str,
) -> dict[str, Any]:
    """Return the tensors under new names.

    Only the first rule that matches the start of a name is applied; names without a matching rule
    stay. For perceptrons, whose names match `perceptrons` followed by `.layers.N.`, the first layer
    becomes `.proj_in.`, the last becomes `.proj_out.`, and those between become `.layers.N.`,
    counted from 0.
    """
    layer = re.compile(rf"({perceptrons})\.layers\.(\d+)\.")
    last: dict[str, int] = {}
    for name in weights:
        match = layer.match(name)
        if match is not None:
            perceptron = match[1]
            last[perceptron] = max(last.get(perceptron, 0), int(match[2]))

    def rename_layer(match: re.Match[str]) -> str:
        perceptron = match[1]
        number = int(match[2])
        # A perceptron with a single layer has only an output layer.
        if number == last[perceptron]:
            return f"{perceptron}.proj_out."
        if number == 0:
            return f"{perceptron}.proj_in."
        return f"{perceptron}.layers.{number - 1}."

    tensors: dict[str, Any] = {}
    for name, tensor in weights.items():
        name_in_library = layer.sub(rename_layer, name, count=1)
        tensors[_apply_first_rule(name_in_library, rules)] = tensor
    return tensors


def stack_rules(
    stack: str,
    prefix: str,
    layers: Mapping[int, str],
) -> Rules:
    """Return a rule for each numbered layer of a stack; new names start with `prefix` and the layer's name."""
    return tuple(
        (rf"{re.escape(stack)}\.{number}\.", f"{prefix}{name}.") for number, name in layers.items()
    )


def count_numbered(shapes: Shapes, pattern: str) -> int:
    """Return the length of a numbered list: 1 + the highest number in the pattern's group.

    Raises:
        KeyError: no name matches.
    """
    numbers: list[int] = []
    for name in shapes:
        match = re.match(pattern, name)
        if match is not None:
            numbers.append(int(match.group(1)))
    if not numbers:
        raise KeyError(pattern.replace("\\", ""))
    return 1 + max(numbers)


def _apply_first_rule(name: str, rules: Rules) -> str:
    for pattern, replacement in rules:
        match = re.match(pattern, name)
        if match is not None:
            return match.expand(replacement) + name[match.end() :]
    return name

"""Building blocks of benchmark rules: statistics over rounds, time budgets, and a check of types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

from segarena.errors import PluginInvalid
from segarena.plugin_spec import PluginSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """A statistic over the rounds of one dialogue: "NoC@90", "IoU@5", "AuC".

    Attributes:
        name: the name shown in tables.
        kind: a registered kind of `segarena.statistics.round_statistics`: "noc", "auc", "at_round", ...
        metric: the column to read.
        threshold: value of the metric at which a dialogue is solved, for "noc", "nof", "solved" and "restricted_noc".
        round: the round of "at_round"; the last round that counts for "solved" and "restricted_noc".
        higher_is_better: whether larger values are better.
    """

    name: str
    kind: str
    metric: str = "iou"
    threshold: float = 0.9
    round: int = 1
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBudget:
    """Time budget for all predictions of one dialogue.

    Attributes:
        seconds_per_object: seconds per object of the target.
        counts_judging: whether the time for scoring and for computing prompts counts too.
    """

    seconds_per_object: float
    counts_judging: bool = False


_TYPES_OF_BENCHMARK: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "name": (str, "text"),
    "users": ((tuple, list), 'a tuple, such as ("centre",)'),
    "metrics": ((tuple, list), 'a tuple, such as ("iou",)'),
    "rounds": (int, "a whole number"),
    "summary": ((tuple, list), "a tuple of Statistic"),
    "stop_at": ((tuple, list, NoneType), "a column and a value, or None"),
    "budget": ((TimeBudget, NoneType), "a TimeBudget or None"),
    "most_prompts": (int, "a whole number"),
    "protocol": (str, "text"),
    "paper": (str, "text"),
    "options": (Mapping, "a dictionary"),
    "sample_kind": (str, "text"),
}
"""Types of the checked fields of a benchmark, and descriptions of these types for messages."""


def check_types(benchmark: Any) -> None:
    """Raise `PluginInvalid` if a field of a benchmark, or an item of a tuple in it, has a wrong type."""

    def wrong_type(name: str, expected: str, value: object) -> PluginInvalid:
        return PluginInvalid(
            f"benchmark {benchmark.name}: expected {expected} as {name}, got {type(value).__name__}"
        )

    for name, (types, expected) in _TYPES_OF_BENCHMARK.items():
        value = getattr(benchmark, name)
        if not isinstance(value, types):
            raise wrong_type(name, expected, value)
    for name in ("users", "metrics"):
        for plugin in getattr(benchmark, name):
            if not isinstance(plugin, str | PluginSpec):
                raise wrong_type(name, "names of plug-ins", plugin)
    for statistic in benchmark.summary:
        if not isinstance(statistic, Statistic):
            raise wrong_type("summary", "a tuple of Statistic", statistic)
    if benchmark.stop_at is not None and len(benchmark.stop_at) != 2:
        raise wrong_type("stop_at", "a column and a value", benchmark.stop_at)

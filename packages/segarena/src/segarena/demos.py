"""Demos: named inputs that need no download, each with the command that uses them.

Packages name their demos in the entry point group `segarena.demos`; `segarena list demos` shows all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TypeVar

ENTRY_POINTS = "segarena.demos"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDemo:
    """A set of inputs that are part of the installation or are generated.

    Commands define subclasses that add the inputs they use.

    Attributes:
        name: name in the list of demos.
        command: the command that uses the demo, as a user types it.
        summary: one line about the inputs.
    """

    name: str
    command: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDemo(NamedDemo):
    """Runs of several segmenters that one report compares.

    Attributes:
        benchmark: name of the benchmark.
        dataset: the dataset, as written for `segarena run`.
        segmenters: their names, in the order of the runs.
    """

    benchmark: str
    dataset: str
    segmenters: tuple[str, ...]


AnyDemo = TypeVar("AnyDemo", bound=NamedDemo)


def find_demos(
    kind: type[AnyDemo], on_failure: Callable[[str], object] = lambda line: None
) -> list[AnyDemo]:
    """Return the demos of a kind in all installed packages, sorted by name.

    A demo that cannot be imported is omitted, so that one broken package does not hide the others.

    Args:
        kind: `NamedDemo` for all demos, or a subclass.
        on_failure: called with one line about each entry point that cannot be loaded as a demo.
    """
    found: list[AnyDemo] = []
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            demo = entry.load()
        except Exception as error:  # importing runs the code of another package
            on_failure(f"demo {entry.value} failed to import: {type(error).__name__}: {error}")
            continue
        if not isinstance(demo, NamedDemo):
            on_failure(f"demo {entry.value}: expected a NamedDemo, got {type(demo).__name__}")
        elif isinstance(demo, kind):
            found.append(demo)
    return sorted(found, key=lambda demo: demo.name)

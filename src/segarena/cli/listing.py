"""`segarena list`: which plug-ins there are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Annotated, Any, get_type_hints

import typer
from rich.console import Console

from segarena.errors import InvalidInput
from segarena.terminal.exits import one_line_errors


def list_plugins(
    kind: Annotated[
        str | None,
        typer.Argument(help="segmenters, users, metrics, datasets, benchmarks or click-models. [default: all]"),
    ] = None,
) -> None:
    """Show the plug-ins that are installed, what each is and takes, and its options with their defaults.

    A plug-in is written NAME or NAME(option=value, ...); a file of your own works without installation:
    my_model.py:MyClass.
    """
    from segarena.options import show_options
    from segarena.registry import kinds, names
    from segarena.reports.renderers import sheet_rows
    from segarena.reports.sheets import Sheet

    with one_line_errors():
        wanted = [known for known in kinds() if kind is None or kind.rstrip("s") == known]
        if not wanted:
            raise InvalidInput(f"unknown kind {kind!r}; expected one of {', '.join(known + 's' for known in kinds())}")
        for known in wanted:
            heading, tell = _ABILITIES.get(known, ("", None))
            rows: list[tuple[str, ...]] = []
            for name, factory in names(known).items():
                what = (inspect.getdoc(factory) or "").split("\n", 1)[0]
                rows.append((name, what, *([tell(factory)] if tell else []), show_options(factory)))
            head = ("name", "what it is", *([heading] if heading else []), "options")
            Console().print(sheet_rows(Sheet(name=known, caption=f"{known}s", head=head, rows=tuple(rows))), "")


def _takes(factory: Callable[..., Any]) -> str:
    """Say what samples and prompts a segmenter takes, as its class says it: models are not loaded for a list."""
    from segarena.abilities import abilities_of_segmenter

    found = abilities_of_segmenter(_class_of(factory))
    takes = f"{_listed(found.sample_kinds)}: {_listed(found.prompt_kinds)}"
    return takes + "; SEES THE TRUTH" * found.sees_truth


def _gives(factory: Callable[..., Any]) -> str:
    """Say what prompts a user gives, built with its defaults where there are such."""
    from segarena.abilities import abilities_of_user
    from segarena.options import options_of

    plugin = _class_of(factory)
    if not any(option.is_required for option in options_of(factory)):
        with suppress(Exception):  # another package's fault must not take the list away
            plugin = factory()
    found = abilities_of_user(plugin)
    return _listed(found.prompt_kinds) + (", on several objects" if found.corrects_objects else "")


def _class_of(factory: Callable[..., Any]) -> Any:
    if inspect.isclass(factory):
        return factory
    with suppress(Exception):  # as above
        return get_type_hints(factory).get("return")
    return None


def _listed(kinds: Iterable[str] | None) -> str:
    return "any" if kinds is None else ", ".join(sorted(kinds))


_ABILITIES = {"segmenter": ("takes", _takes), "user": ("gives", _gives)}
"""Of kinds with abilities to choose by: the heading of a column, and what stands in it."""

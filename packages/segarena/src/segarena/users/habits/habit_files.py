"""Habit files: fitted habits as TOML, with the origin of the numbers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from segarena.errors import InvalidInput

HabitsT = TypeVar("HabitsT", bound=msgspec.Struct)

SHIPPED_HABITS = Path(__file__).parent


def read_habits(path: str | Path, kind: type[HabitsT]) -> HabitsT:
    """Read the habits in a file.

    Raises:
        InvalidInput: the file cannot be read, or does not contain habits of this kind.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        return msgspec.convert(tomllib.loads(text), kind)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path}: expected a file that `segarena people fit` wrote; {error}"
        ) from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise InvalidInput(f"{path}: {error}; `segarena people fit` writes such files") from error


def format_habits(habits: msgspec.Struct) -> str:
    """Format habits as the text of a habit file; equal habits give equal text."""
    return "\n".join(_table_lines(msgspec.to_builtins(habits), "")) + "\n"


def _table_lines(table: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the TOML lines of a table: plain keys first, followed by subtables and arrays of tables."""
    # In TOML, a key after the heading of a subtable would belong to that subtable.
    for key, value in table.items():
        if not _holds_tables(value):
            yield f"{key} = {json.dumps(value)}"
    for key, value in table.items():
        full_name = f"{name}.{key}" if name else key
        if isinstance(value, Mapping):
            yield from ("", f"[{full_name}]", *_table_lines(value, full_name))
        elif _holds_tables(value):
            for item in value:
                yield from ("", f"[[{full_name}]]", *_table_lines(item, full_name))


def _holds_tables(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(item, Mapping) for item in value)
    return isinstance(value, Mapping)

"""Files of fitted habits: TOML, with where the numbers come from in them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from segarena.errors import InvalidInput

HabitsT = TypeVar("Habits", bound=msgspec.Struct)

SHIPPED_HABITS = Path(__file__).parent


def read_habits(path: str | Path, kind: type[HabitsT]) -> HabitsT:
    """Return the habits in a file.

    Raises:
        InvalidInput: it cannot be read, or does not hold habits of this kind.
    """
    try:
        return msgspec.convert(tomllib.loads(Path(path).read_text(encoding="utf-8")), kind)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path}: expected a file that `segarena people fit` wrote; {error}"
        ) from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidInput(f"{path}: {error}; `segarena people fit` writes such files") from error


def format_habits(habits: msgspec.Struct) -> str:
    """Return habits as the text of a file; equal habits have equal texts."""
    return "\n".join(_lines(msgspec.to_builtins(habits), "")) + "\n"


def _lines(table: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the lines of a table: its own keys, then the tables in it and lists of such."""
    for key, value in table.items():
        if not _is_tables(value):
            yield f"{key} = {json.dumps(value)}"
    for key, value in table.items():
        inner = f"{name}.{key}" if name else key
        if isinstance(value, Mapping):
            yield from ("", f"[{inner}]", *_lines(value, inner))
        elif _is_tables(value):
            for one in value:
                yield from ("", f"[[{inner}]]", *_lines(one, inner))


def _is_tables(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(one, Mapping) for one in value)
    return isinstance(value, Mapping)

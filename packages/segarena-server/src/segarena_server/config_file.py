"""Settings from a TOML file and from options of `segarena serve`, which have the same names."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from segarena.errors import InvalidInput
from segarena.options import suggest_names
from segarena_server.settings import Limits, Settings

SETTINGS_FILE = "server.toml"
"""Name of the settings file in a data folder."""


def own_settings(data: Path) -> Path | None:
    """Return the settings file in a data folder, or None if it has none."""
    file = data / SETTINGS_FILE
    return file if file.is_file() else None


def read_settings(file: Path | None, given: Mapping[str, Any]) -> Settings:
    """Read the settings from a file; options in `given` that are not None take precedence.

    Raises:
        InvalidInput: the file is unreadable, or a setting is unknown or invalid.
    """
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8")) if file else {}
        values |= {name: value for name, value in given.items() if value is not None}
        settings = msgspec.convert(values, Settings)
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror}") from error
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise InvalidInput(f"{file or 'settings'}: {error}") from error
    if faults := settings.faults():
        raise InvalidInput("; ".join(faults))
    return settings


def settings_and_faults(
    file: Path | None, given: Mapping[str, Any]
) -> tuple[Settings | None, list[str]]:
    """Return the settings from a file and options, or None if the file is unreadable, and all errors.

    Report each unknown name and each invalid value separately, whereas `read_settings` stops at the
    first.
    """
    where = f"{file}: " if file else ""
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8")) if file else {}
    except OSError as error:
        return None, [f"{file}: {error.strerror}"]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, [f"{file}: {error}"]
    values |= {name: value for name, value in given.items() if value is not None}
    limits = values.get("limits", {})
    known: dict[str, Any] = {}
    faults = list(_read_each(Settings, values, "", known))
    if isinstance(limits, Mapping):
        found: dict[str, Any] = {}
        faults += _read_each(Limits, limits, "limits.", found)
        known["limits"] = Limits(**found)
    settings = Settings(**known)
    return settings, [*(where + fault for fault in faults), *settings.faults()]


def _read_each(
    kind: type[msgspec.Struct],
    values: Mapping[str, Any],
    where: str,
    found: dict[str, Any],
) -> Iterator[str]:
    """Put the valid values of a table into `found`, and yield one message for each invalid value."""
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in values.items():
        # The table of limits is read by a call of its own, so that its names are reported with
        # their prefix.
        if name == "limits" and kind is Settings and isinstance(value, Mapping):
            continue
        if name not in fields:
            hint = (
                suggest_names(name, fields)
                or f"expected one of {', '.join(where + field for field in fields)}"
            )
            yield f"{where}{name} is not a setting; {hint}"
            continue
        try:
            found[name] = msgspec.convert(value, fields[name])
        except msgspec.ValidationError as error:
            yield f"{where}{name}: {str(error)[:1].lower()}{str(error)[1:]}"

"""Reading settings: options of `segarena serve`, and a file in TOML with the same names."""

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
"""The settings of a server in its data folder."""


def own_settings(data: Path) -> Path | None:
    """Return the file of settings in a data folder; None when there is none."""
    return data / SETTINGS_FILE if (data / SETTINGS_FILE).is_file() else None


def read_settings(file: Path | None, given: Mapping[str, Any]) -> Settings:
    """Return the settings of a file, those that were `given` (and are not None) in place of its own.

    Raises:
        InvalidInput: the file cannot be read, or says something that is no setting; or what is set cannot be.
    """
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8")) if file else {}
        told |= {name: value for name, value in given.items() if value is not None}
        settings = msgspec.convert(told, Settings)
    except OSError as error:
        raise InvalidInput(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InvalidInput(f"{file or 'settings'}: {error}") from error
    if faults := settings.faults():
        raise InvalidInput("; ".join(faults))
    return settings


def settings_and_faults(
    file: Path | None, given: Mapping[str, Any]
) -> tuple[Settings | None, list[str]]:
    """Return the settings of a file and options, and all that is wrong with them; None when the file cannot be read.

    Each name that is no setting, and each value that cannot be one, is a fault of its own.
    """
    where = f"{file}: " if file else ""
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8")) if file else {}
    except OSError as error:
        return None, [f"{file}: {error.strerror}"]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return None, [f"{file}: {error}"]
    told |= {name: value for name, value in given.items() if value is not None}
    limits = told.get("limits", {})
    known: dict[str, Any] = {}
    faults = list(_read_each(Settings, told, "", known))
    if isinstance(limits, Mapping):
        found: dict[str, Any] = {}
        faults += _read_each(Limits, limits, "limits.", found)
        known["limits"] = Limits(**found)
    settings = Settings(**known)
    return settings, [*(where + fault for fault in faults), *settings.faults()]


def _read_each(
    kind: type[msgspec.Struct], told: Mapping[str, Any], where: str, found: dict[str, Any]
) -> Iterator[str]:
    """Put what a table says into `found`, and yield what is wrong with the rest."""
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in told.items():
        if name == "limits" and kind is Settings and isinstance(value, Mapping):
            continue
        if name not in fields:
            hint = (
                suggest_names(name, fields)
                or f"there are {', '.join(where + field for field in fields)}"
            )
            yield f"{where}{name} is no setting; {hint}"
            continue
        try:
            found[name] = msgspec.convert(value, fields[name])
        except msgspec.ValidationError as error:
            yield f"{where}{name}: {str(error)[:1].lower()}{str(error)[1:]}"

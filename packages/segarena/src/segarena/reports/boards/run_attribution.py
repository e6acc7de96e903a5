"""Who is who on a board: a CSV file that says whose each run is, what to call it, and which one its owner chose."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from segarena.errors import InvalidInput

ATTRIBUTION_COLUMNS = ("run", "participant", "name", "chosen")
_YES = ("yes", "true", "1", "x")
_NO = ("", "no", "false", "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAttribution:
    """What a line says of a run; empty where it says nothing."""

    participant: str = ""
    name: str = ""
    is_chosen: bool = False


def read_attributions(file: str | Path) -> Mapping[str, RunAttribution]:
    """Return what a CSV file with the columns `run`, `participant`, `name` and `chosen` says, by the name of the run.

    A run is called by the name of its folder, or by the end of its path, as "ada/first". The other columns may be
    missing.

    Raises:
        InvalidInput: the file cannot be read, has no column `run` or other columns, names a run twice, or says of
            `chosen` something else than yes or no.
    """
    try:
        with Path(file).open(newline="", encoding="utf-8-sig") as text:
            lines = csv.DictReader(text, restkey="more", strict=True)
            columns = set(lines.fieldnames or ())
            if "run" not in columns or columns - set(ATTRIBUTION_COLUMNS):
                got = ", ".join(sorted(columns)) or "none"
                raise InvalidInput(
                    f"{file}: expected the columns {', '.join(ATTRIBUTION_COLUMNS)}, got {got}"
                )
            found: dict[str, RunAttribution] = {}
            for line in lines:
                name = (line.get("run") or "").strip().strip("/")
                if not name or name in found or "more" in line:
                    raise InvalidInput(
                        f"{file}, line {lines.line_num}: expected a run named once, got {name!r}"
                    )
                found[name] = _named(line, f"{file}, line {lines.line_num}")
            return found
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{file}: expected a CSV file in UTF-8: {error}") from error


def attribution_of(names: Mapping[str, RunAttribution], folder: str | Path) -> RunAttribution:
    """Return what is said of a run folder, by the longest end of its path that is named; nothing where none is."""
    parts = Path(folder).absolute().parts
    ends = ("/".join(parts[start:]) for start in range(1, len(parts)))
    return next((names[end] for end in ends if end in names), RunAttribution())


def _named(line: Mapping[str, str | None], where: str) -> RunAttribution:
    chosen = (line.get("chosen") or "").strip().lower()
    if chosen not in (*_YES, *_NO):
        raise InvalidInput(f"{where}: chosen: expected yes or no, got {chosen!r}")
    participant, name = ((line.get(column) or "").strip() for column in ("participant", "name"))
    return RunAttribution(participant=participant, name=name, is_chosen=chosen in _YES)

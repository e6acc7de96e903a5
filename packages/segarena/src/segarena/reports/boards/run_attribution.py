"""Attribution of runs on a board: a CSV file with each run's participant and name, and the chosen runs."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from segarena.errors import InvalidInput

ATTRIBUTION_COLUMNS = ("run", "participant", "name", "chosen")
_YES = ("yes", "true", "1", "x")
_NO = ("", "no", "false", "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAttribution:
    """Participant and name of a run, empty if not given, and whether its participant chose it."""

    participant: str = ""
    name: str = ""
    is_chosen: bool = False


def read_attributions(file: str | Path) -> Mapping[str, RunAttribution]:
    """Read the attributions in a CSV file, by run name.

    The columns are `run`, `participant`, `name` and `chosen`; all but `run` are optional. A run is
    named by its folder or by the end of its path, such as "ada/first".

    Raises:
        InvalidInput: the file cannot be read, lacks the column `run`, has unknown columns, lists a
            run twice, or has a value of `chosen` other than yes or no.
    """
    try:
        # Spreadsheets write a byte order mark before UTF-8, which utf-8-sig skips.
        with Path(file).open(newline="", encoding="utf-8-sig") as text:
            lines = csv.DictReader(text, restkey="more", strict=True)
            _refuse_columns(file, set(lines.fieldnames or ()))
            found: dict[str, RunAttribution] = {}
            for line in lines:
                where = f"{file}, line {lines.line_num}"
                name = _cell(line, "run").strip("/")
                if "more" in line:
                    raise InvalidInput(f"{where}: expected no more cells than columns")
                if not name:
                    raise InvalidInput(
                        f"{where}: expected the name of a run in the column run, got an empty cell"
                    )
                if name in found:
                    raise InvalidInput(
                        f"{where}: run {name!r} is listed a second time; keep one line"
                    )
                found[name] = _attribution(line, where)
            return found
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{file}: expected a CSV file in UTF-8: {error}") from error


def _refuse_columns(file: str | Path, columns: Set[str]) -> None:
    """Raise `InvalidInput` if `run` is missing or a column is unknown."""
    if "run" in columns and columns <= set(ATTRIBUTION_COLUMNS):
        return
    expected = ", ".join(ATTRIBUTION_COLUMNS)
    got = ", ".join(sorted(columns)) or "none"
    raise InvalidInput(f"{file}: expected the columns {expected}, got {got}")


def _cell(line: Mapping[str, str | None], column: str) -> str:
    """Return the text of a cell without surrounding whitespace; empty for a missing cell."""
    return (line.get(column) or "").strip()


def attribution_of(names: Mapping[str, RunAttribution], folder: str | Path) -> RunAttribution:
    """Return the attribution of a run folder: the one that matches the most trailing parts of its path.

    If none matches, the attribution is empty.
    """
    parts = Path(folder).absolute().parts
    for start in range(1, len(parts)):
        end = "/".join(parts[start:])
        if end in names:
            return names[end]
    return RunAttribution()


def _attribution(line: Mapping[str, str | None], where: str) -> RunAttribution:
    chosen = _cell(line, "chosen").lower()
    if chosen not in (*_YES, *_NO):
        raise InvalidInput(f"{where}: chosen: expected yes or no, got {chosen!r}")
    return RunAttribution(
        participant=_cell(line, "participant"),
        name=_cell(line, "name"),
        is_chosen=chosen in _YES,
    )

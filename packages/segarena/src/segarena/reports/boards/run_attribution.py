"""Attribution of runs on a board: a CSV file with the participant, name and choice of each run."""

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
    """Participant and name of a run, empty if not given, and whether its participant chose it."""

    participant: str = ""
    name: str = ""
    is_chosen: bool = False


def read_attributions(file: str | Path) -> Mapping[str, RunAttribution]:
    """Return the attributions in a CSV file by the name of the run.

    The columns are `run`, `participant`, `name` and `chosen`; all but `run` are optional. The name
    of a run is that of its folder, or the end of its path, such as "ada/first".

    Raises:
        InvalidInput: the file cannot be read, lacks the column `run` or has unknown columns, names
            a run twice, or has a value of `chosen` other than yes or no.
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
    """Return the attribution of a run folder by the longest matching end of its path.

    Without a match, the attribution is empty.
    """
    parts = Path(folder).absolute().parts
    for start in range(1, len(parts)):
        end = "/".join(parts[start:])
        if end in names:
            return names[end]
    return RunAttribution()


def _named(line: Mapping[str, str | None], where: str) -> RunAttribution:
    chosen = (line.get("chosen") or "").strip().lower()
    if chosen not in (*_YES, *_NO):
        raise InvalidInput(f"{where}: chosen: expected yes or no, got {chosen!r}")
    participant = (line.get("participant") or "").strip()
    name = (line.get("name") or "").strip()
    return RunAttribution(participant=participant, name=name, is_chosen=chosen in _YES)

"""Reading of JSON files, in which invalid UTF-8 becomes a defect of the scenes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from segarena.datasets.annotations.record_parsing import read_json_file
from segarena.systems.scenes.model.defects import Defect


def read_json(path: Path) -> tuple[Any, list[Defect]]:
    """Return the value of a JSON file, and a defect if invalid UTF-8 had to be replaced.

    Raises the errors of `read_json_file`.
    """
    read = read_json_file(path)
    defects: list[Defect] = []
    if not read.is_valid_text:
        message = f"{path.name}: expected UTF-8; invalid bytes were replaced, so check the names"
        defects.append(Defect("encoding", message))
    return read.value, defects

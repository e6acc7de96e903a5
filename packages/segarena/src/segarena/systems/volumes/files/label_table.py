"""Label tables of ITK-SNAP and 3D Slicer: text files with the name of each label value."""

from __future__ import annotations

import re
from pathlib import Path

from segarena.errors import DatasetError

PATTERNS = ("*.label", "*.ctbl")
"""Names of label tables, as ITK-SNAP and 3D Slicer write them."""

# Value, red, green, blue, opacity, visibility, mesh visibility, name.
_ITK_SNAP = re.compile(r'\s*(?P<value>\d+)(?:\s+[\d.]+){6}\s+"(?P<name>[^"]*)"\s*')
# Value, name, red, green, blue, opacity.
_SLICER = re.compile(r"\s*(?P<value>\d+)\s+(?P<name>\S+)(?:\s+\d+){4}\s*")


def read_label_table(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the label values by name from the label table in a folder, without background; {} if there is none.

    Raises:
        DatasetError: the folder has several tables, or the table cannot be read or has another format.
    """
    files: list[Path] = []
    for pattern in PATTERNS:
        files += sorted(folder.glob(pattern))
    if not files:
        return {}
    if len(files) > 1:
        raise DatasetError(
            f"{folder}: expected one label table, got {files[0].name} and {files[1].name}; keep one, or set class_names"
        )
    (file,) = files
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{file}: expected a label table in UTF-8: {error}") from error
    classes: dict[str, tuple[int, ...]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _ITK_SNAP.fullmatch(line) or _SLICER.fullmatch(line)
        if found is None:
            raise DatasetError(
                f"{file}, line {number}: expected a label of ITK-SNAP or 3D Slicer, got {line[:80]!r}; "
                "repair or remove the file"
            )
        value = int(found["value"])
        name = " ".join(found["name"].split())
        if value and name:
            classes[name] = (*classes.get(name, ()), value)
    return classes

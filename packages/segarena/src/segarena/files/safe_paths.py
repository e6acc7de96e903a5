"""Names that are found inside data files: joined to their folder, and refused where they lead out of it."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from segarena.errors import DatasetError

_LONGEST = 255  # bytes of a name, on every common file system
# Names that Windows gives to devices, with any ending; and what no portable name holds.
_DEVICE = re.compile(r"(con|conin\$|conout\$|prn|aux|nul|(com|lpt)[\d¹²³]) *(\..*)?", re.IGNORECASE)
_FORBIDDEN = re.compile(r"[\\\x00-\x1f\x7f]|^[a-z]:|^\w+://", re.IGNORECASE)


def within(root: Path, name: str) -> Path:
    """Return `root / name` for a name that a data file, a list or an archive brought; it need not exist.

    Links are followed: what lies outside of `root` in the end is outside. `root` itself may be a link, and is the
    user's word.

    Args:
        root: the folder that nothing may leave.
        name: with "/" between folders.

    Raises:
        DatasetError: the name is empty or absolute, holds "..", a backslash, a control character or the name of a
            device, is longer than names are, or leads through a link out of `root`.
    """
    path = PurePosixPath(name)
    parts = path.parts
    is_odd = not parts or path.is_absolute() or ".." in parts or _FORBIDDEN.search(name)
    if is_odd or any(
        _DEVICE.fullmatch(part) or len(part.encode("utf-8", "replace")) > _LONGEST for part in parts
    ):
        raise _outside(root, name)
    try:
        joined = root / path
        if not joined.resolve().is_relative_to(root.resolve()):
            raise _outside(root, name)
    except (
        OSError,
        RuntimeError,
        ValueError,
    ) as error:  # links in a circle, names that no file system takes
        raise _outside(root, name) from error
    return joined


def _outside(root: Path, name: str) -> DatasetError:
    shown = name if len(name) <= 80 else f"{name[:77]}..."
    return DatasetError(
        f"{root}: expected names of files inside this folder, got {shown!r}, which leads out of it or is no plain "
        "name; correct the file that names it, or copy what a link points to"
    )

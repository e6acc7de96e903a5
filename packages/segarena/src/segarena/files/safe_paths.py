"""Path traversal protection: joins untrusted names to a folder and rejects those that leave it."""

from __future__ import annotations

import errno
import re
from pathlib import Path, PurePosixPath

from segarena.errors import DatasetError

_LONGEST = 255  # bytes of a name, on every common file system
# Windows device names, with any suffix, and characters that no portable file name contains.
_DEVICE = re.compile(r"(con|conin\$|conout\$|prn|aux|nul|(com|lpt)[\d¹²³]) *(\..*)?", re.IGNORECASE)
_FORBIDDEN = re.compile(r"[\\\x00-\x1f\x7f]|^[a-z]:|^\w+://", re.IGNORECASE)


def safe_join(root: Path, name: str) -> Path:
    """Return `root / name` for a name from a data file, list or archive; the path need not exist.

    Links are resolved, so a link that leads out of `root` raises an error. `root` itself may be a
    link, because the user chose it.

    Args:
        root: the folder that must contain the path.
        name: a relative path with "/" between folders.

    Raises:
        DatasetError: the name is empty or absolute, starts with a drive letter or "scheme://", contains
            "..", a backslash, a control character or a device name, is longer than file systems allow,
            leads through a link out of `root`, or through links that form a circle.
    """
    path = PurePosixPath(name)
    parts = path.parts
    if not parts or path.is_absolute() or ".." in parts or _FORBIDDEN.search(name):
        raise _outside(root, name)
    for part in parts:
        if _DEVICE.fullmatch(part) or len(part.encode("utf-8", "replace")) > _LONGEST:
            raise _outside(root, name)
    try:
        joined = root / path
        is_inside = joined.resolve().is_relative_to(root.resolve())
        if not is_inside or _is_circular(joined):
            raise _outside(root, name)
    except (OSError, RuntimeError, ValueError) as error:
        # Circular links, or names that the file system rejects.
        raise _outside(root, name) from error
    return joined


def _is_circular(path: Path) -> bool:
    """Return whether a link leads to itself. Since Python 3.13, `Path.resolve` accepts such links."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _outside(root: Path, name: str) -> DatasetError:
    shown = name if len(name) <= 80 else f"{name[:77]}..."
    return DatasetError(
        f"{root}: expected names of files inside this folder, got {shown!r}, which leads out of "
        "it or is not a plain name; correct the file that names it, or copy what a link points to"
    )

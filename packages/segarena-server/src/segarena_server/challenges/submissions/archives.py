"""Unpacking of untrusted zip archives within limits. Error messages name no files on the server."""

from __future__ import annotations

import struct
from pathlib import Path

from segarena.errors import DatasetError, InvalidInput
from segarena.files.zip_archives import extract_zip

_END = struct.Struct("<4s4H2LH")
_LARGE_END = struct.Struct("<4sQ2H2L4Q")
_LARGE_PLACE = struct.Struct("<4sLQL")
"""ZIP64 records before the end of a zip with more than 65 535 files or 4 GiB; readers use only these."""

_MOST_COMMENT_BYTES = 2**16
_MOST_LISTING_BYTES = 16 * 2**20
"""Maximum size of the central directory of a zip, enough for about 200 000 files."""

_UNPACK_LIMIT_S = 300.0
"""Time limit of unpacking, during which this process cannot inspect other submissions."""

_LEFT_BY_DESKTOPS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_MAC_FOLDER = "__MACOSX"


def unpack_submission(
    archive: Path,
    folder: Path,
    *,
    most_bytes: int,
    most_files: int,
) -> None:
    """Unpack a zip into `folder`.

    Args:
        archive: the zip file.
        folder: target folder, which is created.
        most_bytes: maximum unpacked size of all files together.
        most_files: maximum number of files; each takes up to a millisecond, however small it is.

    Raises:
        InvalidInput: the file is not a zip, is damaged, encrypted or too large, or takes too long; or it
            contains a link or a name that leads out of the folder.
    """
    _check_listing(archive, most_files)
    try:
        extract_zip(
            archive, folder, most_bytes=most_bytes, most_files=most_files, limit_s=_UNPACK_LIMIT_S
        )
    except DatasetError as error:
        raise InvalidInput(
            str(error).replace(f"{archive}: ", "").replace(str(archive), "the zip")
        ) from error
    folder.mkdir(exist_ok=True)


def content_root(folder: Path) -> Path:
    """Return the folder where the content of an unpacked zip starts: its only subfolder if there is nothing else.

    Otherwise it starts in `folder` itself.
    """
    ignored = {*_LEFT_BY_DESKTOPS, _MAC_FOLDER}
    entries = [path for path in folder.iterdir() if path.name not in ignored]
    has_only_folder = len(entries) == 1 and entries[0].is_dir()
    return entries[0] if has_only_folder else folder


def files_in(root: Path) -> list[str]:
    """Return the names of all files below a folder, except those that desktop systems add."""
    names: list[str] = []
    for path in root.rglob("*"):
        name = path.relative_to(root)
        is_added = name.name in _LEFT_BY_DESKTOPS or _MAC_FOLDER in name.parts
        if path.is_file() and not is_added:
            names.append(name.as_posix())
    return sorted(names)


def _check_listing(archive: Path, most_files: int) -> None:
    """Raise `InvalidInput` if a file is not a zip, lists too many files, or has a directory that is too large.

    In memory, the directory takes ten times its size. The stated number may be wrong, so
    `extract_zip` counts again.
    """
    with archive.open("rb") as file:
        size = file.seek(0, 2)
        # A comment of unknown length follows the end record.
        most_behind = _MOST_COMMENT_BYTES + _END.size + _LARGE_PLACE.size + _LARGE_END.size
        # Only the end is read, because a zip reader would load the whole directory before the
        # check.
        file.seek(max(0, size - most_behind))
        tail = file.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < _END.size:
        raise InvalidInput("expected a zip, got something else; zip the folder again")
    end = _END.unpack_from(tail, place)
    large_files, large_bytes = _large_listing(tail[:place])
    files = max(end[4], large_files)
    listing_bytes = max(end[5], large_bytes)
    if files > most_files:
        raise InvalidInput(f"expected at most {most_files:,} files in the zip, got {files:,}")
    if listing_bytes > _MOST_LISTING_BYTES:
        raise InvalidInput(
            f"expected a zip directory of at most {_MOST_LISTING_BYTES:,} bytes, got {listing_bytes:,}"
        )


def _large_listing(before_end: bytes) -> tuple[int, int]:
    """Return the number of entries and the directory size from the ZIP64 records, or 0, 0 without them."""
    if before_end[-_LARGE_PLACE.size :][:4] != b"PK\x06\x07":
        return 0, 0
    end = before_end[: -_LARGE_PLACE.size][-_LARGE_END.size :]
    if len(end) < _LARGE_END.size or end[:4] != b"PK\x06\x06":
        raise InvalidInput("expected a zip, got one whose end is damaged; zip the folder again")
    record = _LARGE_END.unpack(end)
    return int(record[7]), int(record[8])

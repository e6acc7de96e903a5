"""Untrusted zip archives, unpacked within limits. Error messages name no files of the server."""

from __future__ import annotations

import struct
from pathlib import Path

from segarena.errors import DatasetError, InvalidInput
from segarena.files.zip_archives import extract_zip

_END = struct.Struct("<4s4H2LH")
_LARGE_END = struct.Struct("<4sQ2H2L4Q")
_LARGE_PLACE = struct.Struct("<4sLQL")
"""ZIP64 records before the end of a zip with more than 65 535 files or 4 GiB; readers use these alone."""

_MOST_COMMENT_BYTES = 2**16
_MOST_LISTING_BYTES = 16 * 2**20
"""Size of the central directory of a zip: about 200 000 files."""

_LEFT_BY_DESKTOPS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_MAC_FOLDER = "__MACOSX"


def unpack_submission(archive: Path, folder: Path, *, most_bytes: int) -> None:
    """Unpack a zip below `folder`.

    Args:
        archive: the file.
        folder: is made.
        most_bytes: of all files together, unpacked.

    Raises:
        InvalidInput: it is no zip, or damaged, encrypted or too large; or it contains a link, or a name that leads out
            of the folder.
    """
    _check_listing(archive)
    try:
        extract_zip(archive, folder, most_bytes=most_bytes)
    except DatasetError as error:
        raise InvalidInput(
            str(error).replace(f"{archive}: ", "").replace(str(archive), "the zip")
        ) from error
    folder.mkdir(exist_ok=True)


def content_root(folder: Path) -> Path:
    """Return the folder in which the content of an unpacked zip starts: its only folder if there is nothing else."""
    ignored = {*_LEFT_BY_DESKTOPS, _MAC_FOLDER}
    entries = [path for path in folder.iterdir() if path.name not in ignored]
    has_only_folder = len(entries) == 1 and entries[0].is_dir()
    return entries[0] if has_only_folder else folder


def files_in(root: Path) -> list[str]:
    """Return the names of all files below a folder, except those that desktops add."""
    names: list[str] = []
    for path in root.rglob("*"):
        name = path.relative_to(root)
        is_added = name.name in _LEFT_BY_DESKTOPS or _MAC_FOLDER in name.parts
        if path.is_file() and not is_added:
            names.append(name.as_posix())
    return sorted(names)


def _check_listing(archive: Path) -> None:
    """Raise `InvalidInput` if the central directory of a zip is too large: in memory it takes ten times its size."""
    with archive.open("rb") as file:
        size = file.seek(0, 2)
        # The end record is followed by a comment of unknown length.
        most_behind = _MOST_COMMENT_BYTES + _END.size + _LARGE_PLACE.size + _LARGE_END.size
        file.seek(max(0, size - most_behind))
        tail = file.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < _END.size:
        raise InvalidInput("expected a zip, got something else; zip the folder again")
    listing_bytes = max(_END.unpack_from(tail, place)[5], _large_listing_bytes(tail[:place]))
    if listing_bytes > _MOST_LISTING_BYTES:
        raise InvalidInput(
            f"its list of files has {listing_bytes:,} bytes, at most {_MOST_LISTING_BYTES:,} are read"
        )


def _large_listing_bytes(before_end: bytes) -> int:
    """Return the size of the central directory from the ZIP64 records; 0 for a zip without them."""
    if before_end[-_LARGE_PLACE.size :][:4] != b"PK\x06\x07":
        return 0
    end = before_end[: -_LARGE_PLACE.size][-_LARGE_END.size :]
    if len(end) < _LARGE_END.size or end[:4] != b"PK\x06\x06":
        raise InvalidInput("expected a zip, got one whose end is damaged; zip the folder again")
    return int(_LARGE_END.unpack(end)[8])

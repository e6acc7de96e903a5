"""Zips from strangers, unpacked within limits; what is said of them names no file of ours."""

from __future__ import annotations

import struct
from pathlib import Path

from segarena.errors import DatasetError, InvalidInput
from segarena.files.zip_archives import extract_zip

_END = struct.Struct("<4s4H2LH")
_LARGE_END = struct.Struct("<4sQ2H2L4Q")
_LARGE_PLACE = struct.Struct("<4sLQL")
"""What lies before the end of a zip of more than 65 535 files, or 4 GiB; whoever reads it goes by that alone."""

_MOST_COMMENT_BYTES = 2**16
_MOST_LISTING_BYTES = 16 * 2**20
"""Of the list of files in a zip: about 200 000 of them."""

_LEFT_BY_DESKTOPS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})


def unpack_submission(archive: Path, folder: Path, *, most_bytes: int) -> None:
    """Unpack a zip below `folder`.

    Args:
        archive: what was sent.
        folder: is made.
        most_bytes: of all files together, unpacked.

    Raises:
        InvalidInput: it is no zip, damaged or encrypted; a name leads elsewhere, a file is a link; or it is too large.
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
    """Return where the files of what was unpacked begin: in its only folder, if it has nothing else."""
    there = [path for path in folder.iterdir() if path.name not in {*_LEFT_BY_DESKTOPS, "__MACOSX"}]
    return there[0] if len(there) == 1 and there[0].is_dir() else folder


def files_in(root: Path) -> list[str]:
    """Return the names of all files below a folder, less what desktops leave in any."""
    names = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(
        name.as_posix()
        for name in names
        if name.name not in _LEFT_BY_DESKTOPS and "__MACOSX" not in name.parts
    )


def _check_listing(archive: Path) -> None:
    """Raise unless the list of files in a zip can be read: each entry takes ten times its bytes in memory."""
    with archive.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(
            max(0, size - _MOST_COMMENT_BYTES - _END.size - _LARGE_PLACE.size - _LARGE_END.size)
        )
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
    """Return how long the list of a large zip says that it is; 0 of one that is none."""
    if before_end[-_LARGE_PLACE.size :][:4] != b"PK\x06\x07":
        return 0
    end = before_end[: -_LARGE_PLACE.size][-_LARGE_END.size :]
    if len(end) < _LARGE_END.size or end[:4] != b"PK\x06\x06":
        raise InvalidInput("expected a zip, got one whose end is damaged; zip the folder again")
    return int(_LARGE_END.unpack(end)[8])

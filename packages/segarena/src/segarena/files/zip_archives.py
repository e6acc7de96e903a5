"""Zip archives to folders: nothing outside the folder, no bombs, encrypted ones with a password that is handed in."""

from __future__ import annotations

import errno
import lzma
import shutil
import stat
import unicodedata
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

from segarena.errors import DatasetError, MissingExtra
from segarena.files.safe_paths import within

PASSWORD_VARIABLE = "SEGARENA_ARCHIVE_PASSWORD"  # noqa: S105 - the name of a variable
MOST_FILES = 500_000
_AES = 99
_ENCRYPTED = 0x1
_CHUNK_BYTES = 1 << 20


def unpack(
    archive: Path, folder: Path, *, password: str | None = None, most_bytes: int = 200 * 10**9
) -> list[Path]:
    """Return the files of a zip, unpacked below `folder`; those that are there with their size are not written again.

    Args:
        archive: the zip; AES-encrypted ones need pyzipper.
        folder: is created. A file gets its name only once it is whole and its checksum is right.
        password: for encrypted files.
        most_bytes: of all files together.

    Raises:
        DatasetError: no zip, a truncated or damaged one, a wrong or missing password, a name that leads out of the
            folder, a link or device, two files for one place, or more than `most_bytes`.
        MissingExtra: encrypted with AES, and pyzipper is not installed.
        OSError: the disk is full or cannot be written.
    """
    try:
        with zipfile.ZipFile(archive) as plain:
            entries = [entry for entry in plain.infolist() if not entry.filename.endswith("/")]
        if any(not 0 <= entry.header_offset < archive.stat().st_size for entry in entries):
            raise zipfile.BadZipFile("its list of files leads out of it")
        targets = _targets(archive, entries, folder, most_bytes)
        wanted = [entry for entry in entries if not _is_there(entry, targets[entry.filename])]
        _check_password(archive, wanted, password)
        if sum(entry.file_size for entry in wanted) > shutil.disk_usage(archive.parent).free:
            raise OSError(errno.ENOSPC, "the archive needs more room than is free", str(archive))
        _unpack(archive, wanted, targets, folder, password)
    except _Damaged as error:
        raise _explained(archive, error, password) from error
    except (
        zipfile.BadZipFile,
        NotImplementedError,
    ) as error:  # the other: it claims a version that zip never had
        raise _explained(archive, error, None) from error
    return list(targets.values())


def _unpack(
    archive: Path,
    entries: list[zipfile.ZipInfo],
    targets: dict[str, Path],
    folder: Path,
    password: str | None,
) -> None:
    opened, damaged = _open(archive, entries)
    folder.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{folder.name}.part")  # beside the folder, where no member can be
    with opened:
        for entry in entries:
            try:
                with opened.open(
                    entry.filename, pwd=password.encode() if password else None
                ) as packed:
                    _write(packed, entry, part)
            except (damaged, RuntimeError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
                part.unlink(missing_ok=True)
                if (
                    isinstance(error, OSError) and error.errno is not None
                ):  # of the disk; that of bzip2 has no number
                    raise
                raise _Damaged(f"{entry.filename}: {error or 'it ends early'}") from error
            target = targets[entry.filename]
            target.parent.mkdir(parents=True, exist_ok=True)
            part.replace(target)


class _Damaged(Exception):
    """The bytes of a file are not the ones that were packed."""


def _explained(archive: Path, error: Exception, password: str | None) -> DatasetError:
    came = str(error) or type(error).__name__
    if password:
        hint = f"is the password right (--password or {PASSWORD_VARIABLE})? Otherwise delete"
    else:
        hint = "delete"
    return DatasetError(
        f"{archive}: expected a whole zip archive, got: {came}; {hint} the file and fetch it again"
    )


def _targets(
    archive: Path, entries: list[zipfile.ZipInfo], folder: Path, most_bytes: int
) -> dict[str, Path]:
    total = sum(entry.file_size for entry in entries)
    if total > most_bytes or len(entries) > MOST_FILES:
        raise DatasetError(
            f"{archive}: {len(entries)} files of {total} bytes unpacked, more than the limit of {MOST_FILES} files "
            f"and {most_bytes} bytes; is this the right archive?"
        )
    targets: dict[str, Path] = {}
    members: dict[str, str] = {}
    for entry in entries:
        targets[entry.filename] = target = _safe(archive, entry, folder)
        # File systems may take upper and lower case, or two spellings of an accent, for the same.
        place = unicodedata.normalize("NFC", target.relative_to(folder).as_posix()).casefold()
        if place in members:
            raise _two_at_one_place(archive, members[place], entry.filename)
        members[place] = entry.filename
    for place, name in members.items():
        above = next(
            (str(parent) for parent in PurePosixPath(place).parents if str(parent) in members), None
        )
        if above is not None:
            raise _two_at_one_place(archive, members[above], name)
    return targets


def _safe(archive: Path, entry: zipfile.ZipInfo, folder: Path) -> Path:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise DatasetError(
            f"{archive}: contains {entry.filename!r}, a link or device, which leads out of the folder; nothing unpacked"
        )
    try:
        return within(folder, entry.filename)
    except DatasetError as error:
        raise DatasetError(
            f"{archive}: contains {entry.filename!r}, which leads out of the folder or is no plain name; "
            "nothing unpacked"
        ) from error


def _two_at_one_place(archive: Path, first: str, second: str) -> DatasetError:
    return DatasetError(
        f"{archive}: contains {first!r} and {second!r}, which claim one place; nothing unpacked"
    )


def _is_there(entry: zipfile.ZipInfo, target: Path) -> bool:
    return target.is_file() and target.stat().st_size == entry.file_size


def _check_password(archive: Path, entries: list[zipfile.ZipInfo], password: str | None) -> None:
    if password is None and any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise DatasetError(
            f"{archive}: is encrypted; give the password that its providers gave you, with --password or in the "
            f"environment variable {PASSWORD_VARIABLE}"
        )


def _open(archive: Path, entries: list[zipfile.ZipInfo]) -> tuple[Any, type[Exception]]:
    """Return what opens the archive, and its error for damaged ones."""
    if not any(entry.compress_type == _AES for entry in entries):
        return zipfile.ZipFile(archive), zipfile.BadZipFile
    try:
        import pyzipper
    except ImportError as error:
        raise MissingExtra(
            f"{archive} is encrypted with AES: pip install 'segarena[radiology]'"
        ) from error
    return pyzipper.AESZipFile(archive), pyzipper.BadZipFile


def _write(packed: Any, entry: zipfile.ZipInfo, part: Path) -> None:
    """Write a file; its stated size is a limit, whatever the packed bytes go on to say."""
    # Not flushed one by one like other whole files: archives hold tens of thousands, and are unpacked again by size.
    left = entry.file_size
    with part.open("wb") as out:
        while chunk := packed.read(_CHUNK_BYTES):
            left -= len(chunk)
            if left < 0:
                raise EOFError("it is larger than stated")
            out.write(chunk)

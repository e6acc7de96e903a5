"""Safe extraction of zip archives: within one folder and within size limits, with optional decryption."""

from __future__ import annotations

import errno
import lzma
import math
import shutil
import stat
import time
import unicodedata
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

from segarena.errors import DatasetError, MissingExtra
from segarena.files.safe_paths import safe_join

PASSWORD_VARIABLE = "SEGARENA_ARCHIVE_PASSWORD"  # noqa: S105 - the name of a variable
MAX_FILES = 500_000
_AES = 99  # compression method of AES-encrypted members (WinZip)
# Bit 0 of a member's general purpose flags.
_ENCRYPTED = 0x1
_CHUNK_BYTES = 1 << 20


def extract_zip(
    archive: Path,
    folder: Path,
    *,
    password: str | None = None,
    most_bytes: int = 200 * 10**9,
    most_files: int = MAX_FILES,
    limit_s: float = math.inf,
) -> list[Path]:
    """Extract a zip archive into `folder` and return its files; existing files of the same size are not replaced.

    Args:
        archive: the zip file; AES encryption needs pyzipper.
        folder: created if missing. A file gets its name only once it is complete and its checksum
            matches.
        password: password of encrypted files.
        most_bytes: size limit for all files together.
        most_files: limit for the number of files.
        limit_s: time limit of the extraction in seconds.

    Raises:
        DatasetError: the archive is not a zip file, truncated or damaged; the password is wrong or missing; a
            member leads out of the folder, is a link or device, or has the path of another member; or
            the files exceed `most_bytes`, `most_files` or `limit_s`.
        MissingExtra: the archive is encrypted with AES, and pyzipper is not installed.
        OSError: the disk is full or cannot be written.
    """
    until = time.monotonic() + limit_s
    try:
        with zipfile.ZipFile(archive) as plain:
            entries = [entry for entry in plain.infolist() if not entry.filename.endswith("/")]
        archive_bytes = archive.stat().st_size
        if any(not 0 <= entry.header_offset < archive_bytes for entry in entries):
            raise zipfile.BadZipFile("its file list is outside the archive")
        targets = _targets(archive, entries, folder, most_bytes, most_files)
        wanted = [entry for entry in entries if not _is_extracted(entry, targets[entry.filename])]
        _check_password(archive, wanted, password)
        # Check all members before anything is written.
        wanted_bytes = sum(entry.file_size for entry in wanted)
        place = folder.absolute()
        while not place.exists():
            place = place.parent
        free_bytes = shutil.disk_usage(place).free
        if wanted_bytes > free_bytes:
            raise OSError(errno.ENOSPC, "the archive needs more space than is free", str(archive))
        _extract(archive, wanted, targets, folder, password, until)
    except _TookTooLong as error:
        raise DatasetError(
            f"{archive}: unpacking takes longer than {limit_s:g} s; put fewer or smaller files into it"
        ) from error
    except _Damaged as error:
        raise _damage_error(archive, error, password) from error
    except (zipfile.BadZipFile, NotImplementedError) as error:
        # NotImplementedError: the archive claims a version of zip that does not exist.
        raise _damage_error(archive, error, None) from error
    return list(targets.values())


def _extract(
    archive: Path,
    entries: list[zipfile.ZipInfo],
    targets: dict[str, Path],
    folder: Path,
    password: str | None,
    until: float,
) -> None:
    secret = password.encode() if password else None
    opened, damaged = _open(archive, entries)
    folder.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(
        f".{folder.name}.part"
    )  # next to the folder, so that no member can have this path
    with opened:
        for entry in entries:
            try:
                with opened.open(entry.filename, pwd=secret) as packed:
                    _write(packed, entry, part, until)
            except _TookTooLong:
                part.unlink(missing_ok=True)
                raise
            except (damaged, RuntimeError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
                part.unlink(missing_ok=True)
                # Disk errors have an errno; bzip2 raises OSError without one for damaged data.
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                raise _Damaged(f"{entry.filename}: {error or 'it ends early'}") from error
            target = targets[entry.filename]
            target.parent.mkdir(parents=True, exist_ok=True)
            part.replace(target)


class _TookTooLong(Exception):
    """Raised when the extraction reaches its time limit."""


class _Damaged(Exception):
    """Raised for damaged data of a member, or a wrong password."""


def _damage_error(
    archive: Path,
    error: Exception,
    password: str | None,
) -> DatasetError:
    problem = str(error) or type(error).__name__
    if password:
        hint = f"is the password right (--password or {PASSWORD_VARIABLE})? Otherwise delete"
    else:
        hint = "delete"
    return DatasetError(
        f"{archive}: expected a whole zip archive, got: {problem}; {hint} the file and fetch it again"
    )


def _targets(
    archive: Path,
    entries: list[zipfile.ZipInfo],
    folder: Path,
    most_bytes: int,
    most_files: int,
) -> dict[str, Path]:
    total = sum(entry.file_size for entry in entries)
    if total > most_bytes or len(entries) > most_files:
        raise DatasetError(
            f"{archive}: {len(entries)} files of {total} bytes unpacked, more than the limit of {most_files} files "
            f"and {most_bytes} bytes; is this the right archive?"
        )
    targets: dict[str, Path] = {}
    members: dict[str, str] = {}
    for entry in entries:
        target = _safe_target(archive, entry, folder)
        targets[entry.filename] = target
        # File systems may treat upper and lower case, or two encodings of an accent, as the same.
        path = unicodedata.normalize("NFC", target.relative_to(folder).as_posix()).casefold()
        if path in members:
            raise _same_path_error(archive, members[path], entry.filename)
        members[path] = entry.filename
    for path, name in members.items():
        for parent in map(str, PurePosixPath(path).parents):
            if parent in members:
                raise _same_path_error(archive, members[parent], name)
    return targets


def _safe_target(
    archive: Path,
    entry: zipfile.ZipInfo,
    folder: Path,
) -> Path:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise DatasetError(
            f"{archive}: contains {entry.filename!r}, a link or device, which could leave the folder; nothing unpacked"
        )
    try:
        return safe_join(folder, entry.filename)
    except DatasetError as error:
        raise DatasetError(
            f"{archive}: contains {entry.filename!r}, which leaves the folder or is not a plain name; "
            "nothing unpacked"
        ) from error


def _same_path_error(
    archive: Path,
    first: str,
    second: str,
) -> DatasetError:
    return DatasetError(
        f"{archive}: contains {first!r} and {second!r}, which have the same path; nothing unpacked"
    )


def _is_extracted(entry: zipfile.ZipInfo, target: Path) -> bool:
    return target.is_file() and target.stat().st_size == entry.file_size


def _check_password(
    archive: Path,
    entries: list[zipfile.ZipInfo],
    password: str | None,
) -> None:
    if password is None and any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise DatasetError(
            f"{archive}: is encrypted; give the password that its providers gave you, with --password or in the "
            f"environment variable {PASSWORD_VARIABLE}"
        )


def _open(archive: Path, entries: list[zipfile.ZipInfo]) -> tuple[Any, type[Exception]]:
    """Open the archive; return it with the exception type that its library raises for damaged data."""
    if not any(entry.compress_type == _AES for entry in entries):
        return zipfile.ZipFile(archive), zipfile.BadZipFile
    try:
        import pyzipper
    except ImportError as error:
        raise MissingExtra(
            f"{archive} is encrypted with AES: pip install 'segarena[radiology]'"
        ) from error
    return pyzipper.AESZipFile(archive), pyzipper.BadZipFile


def _write(
    packed: Any,
    entry: zipfile.ZipInfo,
    part: Path,
    until: float,
) -> None:
    """Write a file; its declared size is a limit, whatever the compressed data contain."""
    # Unlike `atomic_write`, do not flush each file: archives have tens of thousands of files, and a
    # second extraction replaces files of another size.
    if time.monotonic() > until:
        raise _TookTooLong
    left = entry.file_size
    with part.open("wb") as out:
        while chunk := packed.read(_CHUNK_BYTES):
            if time.monotonic() > until:
                raise _TookTooLong
            left -= len(chunk)
            if left < 0:
                raise EOFError("it is larger than stated")
            out.write(chunk)

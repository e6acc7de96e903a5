"""Safe extraction of zip archives: inside one folder, within size limits, and decrypted with a given password."""

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
from segarena.files.safe_paths import safe_join

PASSWORD_VARIABLE = "SEGARENA_ARCHIVE_PASSWORD"  # noqa: S105 - the name of a variable
MAX_FILES = 500_000
_AES = 99  # compression method of AES-encrypted members (WinZip)
_ENCRYPTED = 0x1
_CHUNK_BYTES = 1 << 20


def extract_zip(
    archive: Path, folder: Path, *, password: str | None = None, most_bytes: int = 200 * 10**9
) -> list[Path]:
    """Extract a zip archive into `folder` and return its files; existing files of the same size are kept.

    Args:
        archive: the zip; AES encryption needs pyzipper.
        folder: created if missing. A file gets its name only once it is complete and its checksum
            matches.
        password: for encrypted files.
        most_bytes: the limit for all files together.

    Raises:
        DatasetError: the archive is no zip, truncated or damaged; the password is wrong or missing; a
            member leads out of the folder, is a link or device, or has the path of another one; or
            the files exceed `most_bytes`.
        MissingExtra: it is encrypted with AES, and pyzipper is not installed.
        OSError: the disk is full or cannot be written.
    """
    try:
        with zipfile.ZipFile(archive) as plain:
            entries = [entry for entry in plain.infolist() if not entry.filename.endswith("/")]
        if any(not 0 <= entry.header_offset < archive.stat().st_size for entry in entries):
            raise zipfile.BadZipFile("its list of files leads out of it")
        targets = _targets(archive, entries, folder, most_bytes)
        wanted = [entry for entry in entries if not _is_extracted(entry, targets[entry.filename])]
        _check_password(archive, wanted, password)
        if sum(entry.file_size for entry in wanted) > shutil.disk_usage(archive.parent).free:
            raise OSError(errno.ENOSPC, "the archive needs more room than is free", str(archive))
        _extract(archive, wanted, targets, folder, password)
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
) -> None:
    secret = password.encode() if password else None
    opened, damaged = _open(archive, entries)
    folder.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(
        f".{folder.name}.part"
    )  # beside the folder, so that no member can have this path
    with opened:
        for entry in entries:
            try:
                with opened.open(entry.filename, pwd=secret) as packed:
                    _write(packed, entry, part)
            except (damaged, RuntimeError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
                part.unlink(missing_ok=True)
                # Errors of the disk have a number; bzip2 raises OSError without one for damaged data.
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                raise _Damaged(f"{entry.filename}: {error or 'it ends early'}") from error
            target = targets[entry.filename]
            target.parent.mkdir(parents=True, exist_ok=True)
            part.replace(target)


class _Damaged(Exception):
    """Damaged data of a member, or a wrong password."""


def _damage_error(archive: Path, error: Exception, password: str | None) -> DatasetError:
    problem = str(error) or type(error).__name__
    if password:
        hint = f"is the password right (--password or {PASSWORD_VARIABLE})? Otherwise delete"
    else:
        hint = "delete"
    return DatasetError(
        f"{archive}: expected a whole zip archive, got: {problem};  {hint} the file and fetch it again"
    )


def _targets(
    archive: Path, entries: list[zipfile.ZipInfo], folder: Path, most_bytes: int
) -> dict[str, Path]:
    total = sum(entry.file_size for entry in entries)
    if total > most_bytes or len(entries) > MAX_FILES:
        raise DatasetError(
            f"{archive}: {len(entries)} files of {total} bytes unpacked, more than the limit of {MAX_FILES} files "
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


def _safe_target(archive: Path, entry: zipfile.ZipInfo, folder: Path) -> Path:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise DatasetError(
            f"{archive}: contains {entry.filename!r}, a link or device, which leads out of the folder; nothing unpacked"
        )
    try:
        return safe_join(folder, entry.filename)
    except DatasetError as error:
        raise DatasetError(
            f"{archive}: contains {entry.filename!r}, which leads out of the folder or is no plain name; "
            "nothing unpacked"
        ) from error


def _same_path_error(archive: Path, first: str, second: str) -> DatasetError:
    return DatasetError(
        f"{archive}: contains {first!r} and {second!r}, which claim one place; nothing unpacked"
    )


def _is_extracted(entry: zipfile.ZipInfo, target: Path) -> bool:
    return target.is_file() and target.stat().st_size == entry.file_size


def _check_password(archive: Path, entries: list[zipfile.ZipInfo], password: str | None) -> None:
    if password is None and any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise DatasetError(
            f"{archive}: is encrypted; give the password that its providers gave you, with --password or in the "
            f"environment variable {PASSWORD_VARIABLE}"
        )


def _open(archive: Path, entries: list[zipfile.ZipInfo]) -> tuple[Any, type[Exception]]:
    """Return the opened archive, and the exception that its library raises for damaged data."""
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
    """Write a file; its stated size is a limit, whatever the compressed data contain."""
    # Not flushed file by file as in `atomic_write`: archives have tens of thousands of files, and a
    # second extraction replaces those of another size.
    left = entry.file_size
    with part.open("wb") as out:
        while chunk := packed.read(_CHUNK_BYTES):
            left -= len(chunk)
            if left < 0:
                raise EOFError("it is larger than stated")
            out.write(chunk)

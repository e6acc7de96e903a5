"""One file from the web to the disk: resumed, checked, and there only once it is whole."""

from __future__ import annotations

import errno
import hashlib
import http
import http.client
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segarena.errors import DatasetError
from segarena.version import __version__

_CHUNK_BYTES = 1 << 20
_NETWORK = (http.client.HTTPException, urllib.error.URLError, TimeoutError, ConnectionError)
_WORTH_ANOTHER_TRY = frozenset({408, 416, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file to fetch.

    Attributes:
        path: below the download folder.
        size_bytes: None when the server does not say beforehand.
        md5: hexadecimal; None when nobody states it.
        folder: unpack the file, a zip, to this folder below the download folder, and drop the zip.
    """

    url: str
    path: str
    size_bytes: int | None = None
    md5: str | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """How files are fetched.

    Attributes:
        attempts: how often a file is tried before it counts as failed.
        wait_s: before the second attempt; doubled before each further one.
        timeout_s: without an answer.
        most_bytes: refuse a larger file.
        on_progress: called with name, bytes so far, and bytes in all when known.
        sleep: what waits.
    """

    attempts: int = 5
    wait_s: float = 2.0
    timeout_s: float = 60.0
    most_bytes: int = 60 * 10**9
    on_progress: Callable[[str, int, int | None], None] | None = None
    sleep: Callable[[float], None] = time.sleep

    def read(self, url: str, *, most_bytes: int = 200_000_000) -> bytes:
        """Return a small document.

        Raises:
            DatasetError: an HTTP error, no answer, or more than `most_bytes`.
        """

        def once() -> bytes:
            with self._open(url) as response:
                return b"".join(_chunks(response, most_bytes=most_bytes))

        return self._try(url, once)

    def download(self, file: RemoteFile, folder: Path) -> Path:
        """Return `folder / file.path`, fetched unless it is there already with the right size.

        What has arrived is kept in `NAME.part` between attempts and runs, and asked for from there on. Only a file of
        the stated size and checksum gets its own name.

        Raises:
            DatasetError: an HTTP error, no answer, too large, or another checksum than stated, after all attempts.
            OSError: the disk is full or cannot be written.
        """
        target = folder / file.path
        if target.is_file() and file.size_bytes in (None, target.stat().st_size):
            return target
        if (file.size_bytes or 0) > self.most_bytes:
            raise DatasetError(f"{file.url}: {file.size_bytes} bytes, more than the limit of {self.most_bytes}")
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".part")

        def once() -> None:
            self._continue(file, part)
            _check(file, part)

        self._try(file.url, once)
        return part.replace(target)

    def _try(self, url: str, once: Callable[[], Any]) -> Any:
        wait_s, failure = self.wait_s, _Failure("nothing", may_pass=True)
        for attempt in range(self.attempts):
            if attempt:
                self.sleep(max(wait_s, failure.wait_s))
                wait_s *= 2
            try:
                return once()
            except (*_NETWORK, _Incomplete) as error:
                failure = _failure(error)
            if not failure.may_pass:
                break
        raise DatasetError(f"{url}: expected the file, got: {failure.text}; run it again later, or fetch it by hand")

    def _open(self, url: str, headers: dict[str, str] | None = None) -> Any:
        if not url.startswith(("https://", "http://")):
            raise DatasetError(f"{url}: expected an http or https address")
        agent = {"User-Agent": f"segarena/{__version__}"}
        request = urllib.request.Request(url, headers={**agent, **(headers or {})})  # noqa: S310 - checked above
        return urllib.request.urlopen(request, timeout=self.timeout_s)  # noqa: S310

    def _continue(self, file: RemoteFile, part: Path) -> None:
        have = part.stat().st_size if part.exists() else 0
        if have == file.size_bytes:
            return
        if file.size_bytes is not None and have > file.size_bytes:
            have = 0
        try:
            response = self._open(file.url, {"Range": f"bytes={have}-"} if have else None)
        except urllib.error.HTTPError as error:
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                part.unlink()
            raise
        with response:
            is_rest = response.status == http.HTTPStatus.PARTIAL_CONTENT
            if is_rest and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
                part.unlink()
                raise _Incomplete("another part of the file than was asked for")
            self._append(response, file, part, have if is_rest else 0)

    def _append(self, response: Any, file: RemoteFile, part: Path, have: int) -> None:
        total = file.size_bytes or _total(response, have)
        if total is not None and total - have > shutil.disk_usage(part.parent).free:
            raise OSError(errno.ENOSPC, f"{total - have} bytes to come, and less is free", str(part))
        most = self.most_bytes if file.size_bytes is None else file.size_bytes
        with part.open("ab" if have else "wb") as out:
            for chunk in _chunks(response, most_bytes=most - have):
                out.write(chunk)
                have += len(chunk)
                if self.on_progress:
                    self.on_progress(file.path, have, total)
        if total is not None and have < total:
            raise _Incomplete(f"only {have} of {total} bytes")


@dataclass(frozen=True, slots=True)
class _Failure:
    text: str
    may_pass: bool
    wait_s: float = 0.0


class _Incomplete(Exception):
    """The connection closed early, or the bytes are not the stated ones; worth another attempt."""


def _chunks(response: Any, *, most_bytes: int) -> Generator[bytes]:
    left = most_bytes
    while chunk := _read(response):
        left -= len(chunk)
        if left < 0:
            raise DatasetError(f"{response.url}: more than the {most_bytes} bytes that were expected; not fetched")
        yield chunk


def _read(response: Any) -> bytes:
    try:
        return response.read(_CHUNK_BYTES)
    except OSError as error:
        # Told apart from a disk that cannot be written, which is an OSError as well.
        raise _Incomplete(f"the connection broke: {error}") from error


def _check(file: RemoteFile, part: Path) -> None:
    if file.md5 is None:
        return
    with part.open("rb") as stream:
        found = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != file.md5.lower():
        part.unlink()
        raise _Incomplete(f"a file of the checksum {found} instead of {file.md5} (md5)")


def _total(response: Any, have: int) -> int | None:
    length = response.headers.get("Content-Length")
    return have + int(length) if length and length.isdigit() else None


def _failure(error: Exception) -> _Failure:
    if not isinstance(error, urllib.error.HTTPError):
        return _Failure(str(getattr(error, "reason", "") or error) or type(error).__name__, may_pass=True)
    after = (error.headers or {}).get("Retry-After") or ""
    wait_s = min(float(after), _LONGEST_WAIT_S) if after.strip().isdigit() else 0.0
    error.close()
    return _Failure(f"HTTP {error.code} {error.reason}", error.code in _WORTH_ANOTHER_TRY, wait_s)

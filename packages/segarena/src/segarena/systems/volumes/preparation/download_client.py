"""HTTP client that downloads one file at a time: resumable, verified, and renamed once it is complete."""

from __future__ import annotations

import errno
import hashlib
import http
import shutil
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from segarena.errors import DatasetError, MissingExtra
from segarena.systems.volumes.preparation.download_sources import RemoteFile
from segarena.version import __version__

try:
    import httpx2
    import tenacity
except ImportError as error:
    raise MissingExtra(
        f"downloading radiology data needs {error.name}: pip install 'segarena[radiology]'"
    ) from error

# Statuses that describe a temporary state of the server: timeouts, overload and failing gateways.
_RETRY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
# A server may ask for hours in Retry-After; a download that waits so long looks as if it hung.
_LONGEST_WAIT_S = 300.0

_Result = TypeVar("_Result")


def _client() -> httpx2.Client:
    # A compressed transfer would not match the stated size and could not be resumed.
    headers = {"User-Agent": f"segarena/{__version__}", "Accept-Encoding": "identity"}
    return httpx2.Client(headers=headers, follow_redirects=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadClient:
    """HTTP client with retries and resumed downloads."""

    attempts: int = 5  # attempts for each file before it counts as failed
    wait_s: float = 2.0  # before the second attempt; doubled before each further one
    timeout_s: float = 60.0  # without an answer
    most_bytes: int = 60 * 10**9  # limit above which a file is rejected
    # Callback with the name, the bytes so far, and the total bytes if known.
    on_progress: Callable[[str, int, int | None], None] | None = None
    sleep: Callable[[float], None] = time.sleep
    client: httpx2.Client = field(default_factory=_client, init=False, repr=False)

    def with_progress(self, on_progress: Callable[[str, int, int | None], None]) -> DownloadClient:
        """Return a client that reports progress, or this client if it already does."""
        return self if self.on_progress else replace(self, on_progress=on_progress)

    def __reduce__(self) -> tuple[Callable[[], DownloadClient], tuple[()]]:
        """Pickle only the options, because open connections and callbacks belong to this process."""
        names = ("attempts", "wait_s", "timeout_s", "most_bytes")
        options = {name: getattr(self, name) for name in names}
        return partial(DownloadClient, **options), ()

    def read(self, url: str, *, most_bytes: int = 200_000_000) -> bytes:
        """Return the content of a small document.

        Raises:
            DatasetError: there is an HTTP error or no response, or the document is larger than
                `most_bytes`.
        """

        def read_once() -> bytes:
            with self._open(url) as response:
                return b"".join(_chunks(response, most_bytes=most_bytes))

        return self._retry(url, read_once)

    def download(self, file: RemoteFile, folder: Path) -> Path:
        """Return `folder / file.path`; download it unless it already exists with the right size.

        Partial downloads remain in `NAME.part` between attempts and runs, and resume from there. A
        file is renamed to its final name only if it has the stated size and checksum.

        Raises:
            DatasetError: after all attempts there is an HTTP error or no response, or the file is
                too large or has a different checksum than stated.
            OSError: the disk is full or cannot be written.
        """
        target = folder / file.path
        if target.is_file() and file.size_bytes in (None, target.stat().st_size):
            return target
        if (file.size_bytes or 0) > self.most_bytes:
            raise DatasetError(
                f"{file.url}: {file.size_bytes} bytes, more than the limit of {self.most_bytes}"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".part")

        def download_once() -> None:
            self._resume(file, part)
            _verify_checksum(file, part)

        self._retry(file.url, download_once)
        return part.replace(target)

    def _retry(self, url: str, attempt: Callable[[], _Result]) -> _Result:
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.attempts),
            wait=self._pause_s,
            retry=tenacity.retry_if_exception_type(_TransientError),
            sleep=self.sleep,
            reraise=True,
        )
        try:
            return retrying(attempt)
        except _TransientError as error:
            raise _download_error(url, str(error)) from error

    def _pause_s(self, state: tenacity.RetryCallState) -> float:
        """Return the delay in seconds before the next attempt: doubled each time, or the server's if that is longer."""
        failure = state.outcome.exception() if state.outcome else None
        server_wait_s = failure.wait_s if isinstance(failure, _TransientError) else 0.0
        # Doubled, so that a busy server gets time to recover.
        own_wait_s = self.wait_s * 2 ** (state.attempt_number - 1)
        return max(own_wait_s, server_wait_s)

    @contextmanager
    def _open(self, url: str, headers: dict[str, str] | None = None) -> Generator[httpx2.Response]:
        """Yield the response to a request; raise `_TransientError` for temporary failures."""
        try:
            with self.client.stream(
                "GET", url, headers=headers, timeout=self.timeout_s
            ) as response:
                _check_status(response)
                yield response
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL, httpx2.TooManyRedirects) as error:
            raise DatasetError(
                f"{url}: expected an http or https address that answers, got: {error}"
            ) from error
        except httpx2.TransportError as error:
            raise _TransientError(str(error) or type(error).__name__) from error

    def _resume(self, file: RemoteFile, part: Path) -> None:
        received = part.stat().st_size if part.exists() else 0
        if received == file.size_bytes:
            return
        # A partial file that is too long belongs to another version of the file, so it cannot be
        # resumed.
        if file.size_bytes is not None and received > file.size_bytes:
            received = 0
        start = f"bytes {received}-"
        headers = {"Range": f"bytes={received}-"} if received else None
        try:
            with self._open(file.url, headers) as response:
                is_rest = response.status_code == http.HTTPStatus.PARTIAL_CONTENT
                content_range = response.headers.get("Content-Range", "")
                if is_rest and not content_range.startswith(start):
                    raise _UnusablePartError("a different part of the file than requested")
                # A server that does not support range requests sends the file from its first byte.
                self._append(response, file, part, received if is_rest else 0)
        except _UnusablePartError:
            part.unlink(missing_ok=True)
            raise

    def _append(
        self,
        response: httpx2.Response,
        file: RemoteFile,
        part: Path,
        received: int,
    ) -> None:
        total = file.size_bytes or _total_bytes(response, received)
        # Reported before the transfer instead of after hours of it.
        if total is not None and total - received > shutil.disk_usage(part.parent).free:
            raise OSError(
                errno.ENOSPC,
                f"{total - received} bytes remain, and less disk space is free",
                str(part),
            )
        most = self.most_bytes if file.size_bytes is None else file.size_bytes
        with part.open("ab" if received else "wb") as out:
            for chunk in _chunks(response, most_bytes=most - received):
                out.write(chunk)
                received += len(chunk)
                if self.on_progress:
                    self.on_progress(file.path, received, total)
        if total is not None and received < total:
            raise _TransientError(f"only {received} of {total} bytes")


class _TransientError(Exception):
    """A failure for which a retry is worthwhile: no response, a lost connection, a wrong size or checksum.

    Attributes:
        wait_s: the delay that the server requests.
    """

    def __init__(self, text: str, *, wait_s: float = 0.0) -> None:
        super().__init__(text)
        self.wait_s = wait_s


class _UnusablePartError(_TransientError):
    """Raised if the partial file on disk cannot be resumed; the next attempt starts from the first byte."""


def _chunks(response: httpx2.Response, *, most_bytes: int) -> Iterator[bytes]:
    remaining = most_bytes
    for chunk in response.iter_raw():
        remaining -= len(chunk)
        if remaining < 0:
            raise DatasetError(
                f"{response.url}: expected at most {most_bytes} bytes, got more; download cancelled"
            )
        yield chunk


def _verify_checksum(file: RemoteFile, part: Path) -> None:
    if file.md5 is None:
        return
    with part.open("rb") as stream:
        # MD5 only detects transfer errors here, so systems that forbid it for security (FIPS) must
        # allow it.
        digest = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False))
    found = digest.hexdigest()
    if found != file.md5.lower():
        part.unlink()
        raise _TransientError(f"a file with the MD5 checksum {found} instead of {file.md5}")


def _total_bytes(response: httpx2.Response, received: int) -> int | None:
    length = response.headers.get("Content-Length", "")
    return received + int(length) if length.isdigit() else None


def _check_status(response: httpx2.Response) -> None:
    status = f"HTTP {response.status_code} {response.reason_phrase}"
    if response.status_code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        raise _UnusablePartError(status)
    if response.status_code in _RETRY_STATUSES:
        raise _TransientError(status, wait_s=_retry_after_s(response))
    if not response.is_success:
        raise _download_error(str(response.url), status)


def _download_error(url: str, found: str) -> DatasetError:
    return DatasetError(
        f"{url}: expected the file, got: {found}; run the command again later, or download the file manually"
    )


def _retry_after_s(response: httpx2.Response) -> float:
    header = response.headers.get("Retry-After", "").strip()
    return min(float(header), _LONGEST_WAIT_S) if header.isdigit() else 0.0

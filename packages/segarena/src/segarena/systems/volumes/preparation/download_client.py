"""One file from the web to the disk: resumed, checked, and there only once it is whole."""

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
        f"fetching radiology data needs {error.name}: pip install 'segarena[radiology]'"
    ) from error

_WORTH_ANOTHER_TRY = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 300.0

Result = TypeVar("Result")


def _client() -> httpx2.Client:
    # Compressed bytes would not add up to the stated size, and a transfer of them could not be resumed.
    headers = {"User-Agent": f"segarena/{__version__}", "Accept-Encoding": "identity"}
    return httpx2.Client(headers=headers, follow_redirects=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadClient:
    """How files are fetched."""

    attempts: int = 5  # how often a file is tried before it counts as failed
    wait_s: float = 2.0  # before the second attempt; doubled before each further one
    timeout_s: float = 60.0  # without an answer
    most_bytes: int = 60 * 10**9  # refuse a larger file
    # Called with name, bytes so far, and bytes in all when known.
    on_progress: Callable[[str, int, int | None], None] | None = None
    sleep: Callable[[float], None] = time.sleep  # what waits
    client: httpx2.Client = field(default_factory=_client, init=False, repr=False)

    def telling(self, on_progress: Callable[[str, int, int | None], None]) -> DownloadClient:
        """Return the same, with someone else told, unless someone was told already."""
        return self if self.on_progress else replace(self, on_progress=on_progress)

    def __reduce__(self) -> tuple[Callable[[], DownloadClient], tuple[()]]:
        """Travel to other processes without what is of this one: open connections, and whom to tell."""
        options = {
            name: getattr(self, name) for name in ("attempts", "wait_s", "timeout_s", "most_bytes")
        }
        return partial(DownloadClient, **options), ()

    def read(self, url: str, *, most_bytes: int = 200_000_000) -> bytes:
        """Return a small document; `DatasetError` for an HTTP error, no answer, or more than `most_bytes`."""

        def once() -> bytes:
            with self._open(url) as response:
                return b"".join(_chunks(response, most_bytes=most_bytes))

        return self._retry(url, once)

    def download(self, file: RemoteFile, folder: Path) -> Path:
        """Return `folder / file.path`, fetched unless it is there already with the right size.

        What has arrived is kept in `NAME.part` between attempts and runs, and the transfer resumes there. Only a file
        of the stated size and checksum gets its own name.

        Raises:
            DatasetError: an HTTP error, no answer, too large, or another checksum than stated, after all attempts.
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

        def once() -> None:
            self._continue(file, part)
            _check(file, part)

        self._retry(file.url, once)
        return part.replace(target)

    def _retry(self, url: str, once: Callable[[], Result]) -> Result:
        attempts = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.attempts),
            wait=self._pause_s,
            retry=tenacity.retry_if_exception_type(_Passing),
            sleep=self.sleep,
            reraise=True,
        )
        try:
            return attempts(once)
        except _Passing as error:
            raise _no_file(url, str(error)) from error

    def _pause_s(self, state: tenacity.RetryCallState) -> float:
        """Return how long to wait: doubled with every attempt, and at least what the server asks for."""
        failure = state.outcome.exception() if state.outcome else None
        asked_s = failure.wait_s if isinstance(failure, _Passing) else 0.0
        return max(self.wait_s * 2 ** (state.attempt_number - 1), asked_s)

    @contextmanager
    def _open(self, url: str, headers: dict[str, str] | None = None) -> Generator[httpx2.Response]:
        """Yield the answer to a request; failures that may pass come as `_Passing`, while the body is read too."""
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
            raise _Passing(str(error) or type(error).__name__) from error

    def _continue(self, file: RemoteFile, part: Path) -> None:
        have = part.stat().st_size if part.exists() else 0
        if have == file.size_bytes:
            return
        if file.size_bytes is not None and have > file.size_bytes:
            have = 0
        try:
            with self._open(file.url, {"Range": f"bytes={have}-"} if have else None) as response:
                is_rest = response.status_code == http.HTTPStatus.PARTIAL_CONTENT
                if is_rest and not response.headers.get("Content-Range", "").startswith(
                    f"bytes {have}-"
                ):
                    raise _WrongPart("another part of the file than was asked for")
                self._append(response, file, part, have if is_rest else 0)
        except _WrongPart:
            part.unlink(missing_ok=True)
            raise

    def _append(self, response: httpx2.Response, file: RemoteFile, part: Path, have: int) -> None:
        total = file.size_bytes or _total(response, have)
        if total is not None and total - have > shutil.disk_usage(part.parent).free:
            raise OSError(
                errno.ENOSPC, f"{total - have} bytes to come, and less is free", str(part)
            )
        most = self.most_bytes if file.size_bytes is None else file.size_bytes
        with part.open("ab" if have else "wb") as out:
            for chunk in _chunks(response, most_bytes=most - have):
                out.write(chunk)
                have += len(chunk)
                if self.on_progress:
                    self.on_progress(file.path, have, total)
        if total is not None and have < total:
            raise _Passing(f"only {have} of {total} bytes")


class _Passing(Exception):
    """A failure worth another attempt: no answer, a broken connection, bytes that are not the stated ones.

    Attributes:
        wait_s: how long the server asks to be left alone.
    """

    def __init__(self, text: str, *, wait_s: float = 0.0) -> None:
        super().__init__(text)
        self.wait_s = wait_s


class _WrongPart(_Passing):
    """What lies on the disk cannot be continued; the next attempt starts from the first byte."""


def _chunks(response: httpx2.Response, *, most_bytes: int) -> Iterator[bytes]:
    left = most_bytes
    for chunk in response.iter_raw():
        left -= len(chunk)
        if left < 0:
            raise DatasetError(
                f"{response.url}: more than the {most_bytes} bytes that were expected; not fetched"
            )
        yield chunk


def _check(file: RemoteFile, part: Path) -> None:
    if file.md5 is None:
        return
    with part.open("rb") as stream:
        found = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != file.md5.lower():
        part.unlink()
        raise _Passing(f"a file of the checksum {found} instead of {file.md5} (md5)")


def _total(response: httpx2.Response, have: int) -> int | None:
    length = response.headers.get("Content-Length", "")
    return have + int(length) if length.isdigit() else None


def _check_status(response: httpx2.Response) -> None:
    told = f"HTTP {response.status_code} {response.reason_phrase}"
    if response.status_code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        raise _WrongPart(told)
    if response.status_code in _WORTH_ANOTHER_TRY:
        raise _Passing(told, wait_s=_retry_after_s(response))
    if not response.is_success:
        raise _no_file(str(response.url), told)


def _no_file(url: str, got: str) -> DatasetError:
    return DatasetError(
        f"{url}: expected the file, got: {got}; run it again later, or fetch it by hand"
    )


def _retry_after_s(response: httpx2.Response) -> float:
    asked = response.headers.get("Retry-After", "").strip()
    return min(float(asked), _LONGEST_WAIT_S) if asked.isdigit() else 0.0

"""Files in S3-compatible object storage, which servers on several machines share.

Credentials come from the usual environment variables: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
AWS_REGION, and AWS_ENDPOINT_URL for providers other than Amazon.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from segarena.errors import InvalidInput, MissingExtra, StoreError, StoreUnavailable
from segarena.files.atomic_write import open_atomic

_ADDRESS = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(/[\w./-]*)?")
_RETRY_TIMEOUT = timedelta(seconds=20)
_MAX_RETRIES = 3
_REQUEST_TIMEOUT_S = 60
_CHUNK_BYTES = 8 * 2**20


class S3Storage:
    """Files by name in object storage; instances are pickled as their address.

    Args:
        address: `s3://bucket` or `s3://bucket/folder`.

    Raises:
        InvalidInput: the address has another form.
        MissingExtra: the S3 client is not installed.
    """

    def __init__(self, address: str) -> None:
        found = _ADDRESS.fullmatch(address)
        if found is None:
            raise InvalidInput(
                f"storage: expected s3://bucket or s3://bucket/folder, got {address[:80]!r}"
            )
        self.address = address.rstrip("/")
        self._store = _open(found[1], (found[2] or "").strip("/"))

    def put(self, name: str, content: bytes | Path) -> str:
        """Upload bytes or a file under a name, replacing former content; return its version tag.

        Raises:
            StoreUnavailable: the storage does not respond.
            StoreError: the storage rejects the request.
        """
        with self._translated_errors():
            return str(self._store.put(name, content)["e_tag"] or "")

    def tag(self, name: str) -> str | None:
        """Return the version tag of a file, or None if there is no such file.

        Raises:
            StoreError: as for `put`.
        """
        with self._translated_errors():
            return _unless_missing(lambda: str(self._store.head(name)["e_tag"] or ""))

    def get(self, name: str) -> bytes | None:
        """Return the content of a file, or None if there is no such file.

        Raises:
            StoreError: as for `put`.
        """
        with self._translated_errors():
            return _unless_missing(lambda: bytes(self._store.get(name).bytes()))

    def get_file(self, name: str, path: Path) -> bool:
        """Download a file to a path; return False if there is no such file.

        Raises:
            StoreError: as for `put`; also if the local file cannot be written.
        """
        with self._translated_errors():
            found = _unless_missing(lambda: self._store.get(name))
            if found is None:
                return False
            with open_atomic(path) as file:
                for chunk in found.stream(min_chunk_size=_CHUNK_BYTES):
                    file.write(chunk)
        return True

    def drop(self, name: str) -> None:
        """Delete a file if it exists.

        Raises:
            StoreError: as for `put`.
        """
        with self._translated_errors():
            _unless_missing(lambda: self._store.delete(name))

    def check(self) -> None:
        """Raise `StoreError` unless a test file can be written and read."""
        self.put("segarena", b"files of a segarena server")
        if self.get("segarena") is None:
            raise StoreError(
                f"{self.address} does not return a stored test file; check its configuration"
            )

    # The client holds open connections and cannot be pickled for worker processes.
    def __reduce__(self) -> tuple[type[S3Storage], tuple[str]]:
        return type(self), (self.address,)

    @contextmanager
    def _translated_errors(self) -> Generator[None]:
        # Imported here because the package is an optional dependency.
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        try:
            yield
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise StoreError(
                f"{self.address} rejects these credentials; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            ) from error
        except (BaseError, FileNotFoundError) as error:
            if "NoSuchBucket" in str(error):
                raise StoreError(
                    f"{self.address}: the bucket does not exist; create it first"
                ) from error
            raise StoreUnavailable(
                f"{self.address} does not answer properly: {_first_line(error)}"
            ) from error


def _open(bucket: str, prefix: str) -> Any:
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise MissingExtra(
            'files at s3:// need an additional package: pip install "segarena-server[s3]"'
        ) from error
    # Only local S3 servers use plain HTTP, and the client rejects it by default.
    plain = os.environ.get("AWS_ENDPOINT_URL", os.environ.get("AWS_ENDPOINT", "")).startswith(
        "http://"
    )
    return S3Store(
        bucket,
        prefix=prefix or None,
        client_options={
            "timeout": f"{_REQUEST_TIMEOUT_S}s",
            "connect_timeout": "5s",
            "allow_http": plain,
        },
        retry_config={"max_retries": _MAX_RETRIES, "retry_timeout": _RETRY_TIMEOUT},
    )


def _unless_missing(ask: Any) -> Any:
    try:
        return ask()
    except FileNotFoundError as error:
        if "NoSuchBucket" in str(error):
            raise
        return None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]

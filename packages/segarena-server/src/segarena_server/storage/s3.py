"""Files at a storage that speaks S3, where servers of several machines find what the others wrote.

Who may use it is said by the environment, as everywhere: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, and
AWS_ENDPOINT_URL where it is not Amazon's.
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
_PATIENCE = timedelta(seconds=20)
_TIMES = 3
_ASKING_S = 60
_CHUNK = 8 * 2**20


class S3Storage:
    """Files by name at a storage. It travels between processes by its address.

    Args:
        address: `s3://bucket` or `s3://bucket/folder`.

    Raises:
        InvalidInput: another kind of address.
        MissingExtra: what speaks S3 is not installed.
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
        """Keep something, or a file, under a name, in place of what was there; return what tells its content apart.

        Raises:
            StoreUnavailable: the storage does not answer.
            StoreError: it refuses.
        """
        with self._told():
            return str(self._store.put(name, content)["e_tag"] or "")

    def tag(self, name: str) -> str | None:
        """Return what tells apart what is kept under a name; None when nothing is.

        Raises:
            StoreError: as `put`.
        """
        with self._told():
            return _unless_missing(lambda: str(self._store.head(name)["e_tag"] or ""))

    def get(self, name: str) -> bytes | None:
        """Return what is kept under a name; None when nothing is.

        Raises:
            StoreError: as `put`.
        """
        with self._told():
            return _unless_missing(lambda: bytes(self._store.get(name).bytes()))

    def get_file(self, name: str, path: Path) -> bool:
        """Write what is kept under a name to a file; False when nothing is.

        Raises:
            StoreError: as `put`, or the file cannot be written.
        """
        with self._told():
            found = _unless_missing(lambda: self._store.get(name))
            if found is None:
                return False
            with open_atomic(path) as file:
                for chunk in found.stream(min_chunk_size=_CHUNK):
                    file.write(chunk)
        return True

    def drop(self, name: str) -> None:
        """Keep what is under a name no longer, if anything is.

        Raises:
            StoreError: as `put`.
        """
        with self._told():
            _unless_missing(lambda: self._store.delete(name))

    def check(self) -> None:
        """Raise `StoreError` unless something can be kept there and read again."""
        self.put("segarena", b"files of a segarena server")
        if self.get("segarena") is None:
            raise StoreError(f"{self.address} does not give back what is kept there")

    def __reduce__(self) -> tuple[type[S3Storage], tuple[str]]:
        return type(self), (self.address,)

    @contextmanager
    def _told(self) -> Generator[None]:
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        try:
            yield
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise StoreError(
                f"{self.address} refuses these credentials; see AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            ) from error
        except (BaseError, FileNotFoundError) as error:
            if "NoSuchBucket" in str(error):
                raise StoreError(
                    f"{self.address}: there is no such bucket; make it first"
                ) from error
            raise StoreUnavailable(
                f"{self.address} does not answer as it should: {_first_line(error)}"
            ) from error


def _open(bucket: str, prefix: str) -> Any:
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise MissingExtra(
            'files at s3:// need another package: pip install "segarena[s3]"'
        ) from error
    plain = os.environ.get("AWS_ENDPOINT_URL", os.environ.get("AWS_ENDPOINT", "")).startswith(
        "http://"
    )
    return S3Store(
        bucket,
        prefix=prefix or None,
        client_options={"timeout": f"{_ASKING_S}s", "connect_timeout": "5s", "allow_http": plain},
        retry_config={"max_retries": _TIMES, "retry_timeout": _PATIENCE},
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

"""Bytes by key in a folder of limited size, where what was used longest ago goes first; processes may share one."""

from __future__ import annotations

import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from segarena.errors import StoreError
from segarena.files.whole import write_whole

T = TypeVar("T")

SUFFIX = ".embedding"
"""Ends the name of every file of ours, unless another ending is given; nothing else is counted or deleted."""


class BlobFolder:
    """Blobs on disk, one file each.

    Args:
        path: the folder; made if it is not there.
        limit_bytes: what all files together may take. A blob larger than that is not kept.
        suffix: of the files' names; folders for different things may be one.

    Raises:
        StoreError: the folder cannot be made.
    """

    def __init__(self, path: Path, limit_bytes: int, *, suffix: str = SUFFIX) -> None:
        self._path = path
        self._suffix = suffix
        self._limit_bytes = limit_bytes
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{path} cannot be made a cache: {error.strerror}; choose another --cache"
            ) from error

    def get(self, key: str) -> bytes | None:
        """Return the bytes of `key`, None when they are not there; they become the last to go."""
        file = self._file(key)
        try:
            data = file.read_bytes()
        except OSError:
            return None
        with suppress(OSError):  # a folder that may only be read still serves
            os.utime(file)
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keep `data` if the disk lets it; a full disk is no reason to end a run."""
        if len(data) > self._limit_bytes:
            return
        self._make_room(len(data))
        with suppress(StoreError):
            write_whole(self._file(key), data)

    def _file(self, key: str) -> Path:
        return self._path / f"{key}{self._suffix}"

    def _make_room(self, needed_bytes: int) -> None:
        """Delete what was used longest ago, and what dead processes left half written."""
        found: list[tuple[int, str, int]] = []
        for pattern in (f"*{self._suffix}", f".*{self._suffix}.*.part"):
            for file in self._path.glob(pattern):
                with suppress(OSError):  # another process has just deleted it
                    facts = file.stat()
                    found.append((facts.st_mtime_ns, str(file), facts.st_size))
        excess = sum(size for _, _, size in found) + needed_bytes - self._limit_bytes
        for _, file, size in sorted(found):
            if excess <= 0:
                return
            with suppress(OSError):
                Path(file).unlink(missing_ok=True)
            excess -= size


class Recent(Generic[T]):
    """The values used last, in the memory of this process.

    Args:
        limit_bytes: what they may take together.
        most: how many there may be; None for any number.
        keeps_last: the last one stays, however large it is.
    """

    def __init__(
        self, limit_bytes: int, *, most: int | None = None, keeps_last: bool = False
    ) -> None:
        self._limit_bytes = limit_bytes
        self._most = most
        self._least = 1 if keeps_last else 0
        self._kept: OrderedDict[str, tuple[T, int]] = OrderedDict()

    def get(self, key: str) -> T | None:
        """Return the value of `key`, None when it is not there."""
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def put(self, key: str, value: T, size: int) -> None:
        """Keep a value, and let go of what was used longest ago until it fits."""
        self._kept[key] = value, size
        self._kept.move_to_end(key)
        while len(self._kept) > self._least and self._is_too_much:
            self._kept.popitem(last=False)

    @property
    def _is_too_much(self) -> bool:
        is_too_many = self._most is not None and len(self._kept) > self._most
        return is_too_many or sum(size for _, size in self._kept.values()) > self._limit_bytes

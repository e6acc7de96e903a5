"""Locks on work: exclusive for a process that works alone, shared for processes that share the work."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from segarena.errors import RunConflict, SegarenaError
from segarena.files.atomic_write import is_leftover, write_error
from segarena.work.sharing.process_heartbeats import Presence, present_sharers

_OURS = re.compile(r"[0-9a-f]{16}\.(sharer|jsonl)|[0-9]{9}|\.[0-9a-f]{16}\.entry|lock")

_POLL_S = 0.1
_PATIENCE_S = 5.0
"""Seconds to wait for the lock, which a process that joins or leaves holds exclusively for a moment."""


@contextmanager
def shared_lock(path: Path) -> Generator[None]:
    """Hold a shared lock on a file, which excludes processes that work alone; create the file if needed.

    Raises:
        RunConflict: a process that works alone holds the lock.
        StoreError: the file cannot be created.
    """
    patient_until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("a+b", buffering=0)
        except OSError as error:
            raise write_error(path, error) from error
        with file:
            if _try_lock(file, fcntl.LOCK_SH) is not False and _is_at(path, file):
                yield
                return
        if time.monotonic() > patient_until:
            raise RunConflict(
                f"{path.parent} is in use by another process without --share; wait for it, or stop it and give "
                "--share to both"
            )
        time.sleep(_POLL_S)


def refuse_sharers(claims: Path) -> None:
    """Raise an error if live processes share the work.

    Raises:
        RunConflict: processes share the work; the message names them.
    """
    if not claims.is_dir():
        return
    with Presence(claims) as presence:
        there: list[str] = []
        for token, sharer in present_sharers(claims).items():
            if token != presence.me.token and presence.is_live(token):
                there.append(str(sharer))
    if there:
        raise RunConflict(
            f"{claims.parent} is shared by {', '.join(there)}; add --share to join, or choose another --out"
        )


def clear_claims(
    claims: Path,
    lock: Path,
    before: Callable[[], None] = lambda: None,
) -> None:
    """If no process shares the work any more, call `before` and then remove the claims; keep them if `before` fails."""
    if not claims.is_dir():
        return
    with suppress(OSError, SegarenaError), lock.open("a+b") as file:
        is_ours = _try_lock(file, fcntl.LOCK_EX)
        if is_ours or (is_ours is None and not present_sharers(claims)):
            before()
            remove_claims(claims)
            # An empty ledger means that no unit was finished.
            if lock.is_file() and not lock.stat().st_size:
                lock.unlink()


def remove_claims(claims: Path) -> None:
    """Remove the claim files of a folder, and the folder if nothing else is in it."""
    with suppress(OSError):
        for file in filter(is_claim_file, claims.iterdir()):
            file.unlink(missing_ok=True)
        claims.rmdir()


def is_claim_file(file: Path) -> bool:
    """Return whether a file name belongs to a claim file."""
    return _OURS.fullmatch(file.name) is not None or is_leftover(file)


def _try_lock(file: BinaryIO, how: int) -> bool | None:
    """Lock a file; return False if others hold the lock, None if the file system has no locks."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def _is_at(path: Path, file: BinaryIO) -> bool:
    """Return whether an open file is still the file at `path`."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False

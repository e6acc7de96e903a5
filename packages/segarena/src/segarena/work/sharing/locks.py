"""The lock of a work: one process has it that works alone, or all that share it, where the file system has locks."""

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
from segarena.files.whole import cannot_write, is_leftover
from segarena.work.sharing.presence import Presence, present_sharers

_OURS = re.compile(r"[0-9a-f]{16}\.(sharer|jsonl)|[0-9]{9}|\.[0-9a-f]{16}\.entry|lock")

_POLL_S = 0.1
_PATIENCE_S = 5.0
"""Who comes or goes has the lock alone for a moment."""


@contextmanager
def shared_lock(path: Path) -> Generator[None]:
    """Keep out who works alone; the file is made if need be.

    Raises:
        RunConflict: a process works there alone.
        StoreError: the file cannot be made.
    """
    patient_until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("a+b", buffering=0)
        except OSError as error:
            raise cannot_write(path, error) from error
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
    """Refuse to work alone where others share the work.

    Raises:
        RunConflict: names them.
    """
    if not claims.is_dir():
        return
    with Presence(claims) as presence:
        others = {
            token: who
            for token, who in present_sharers(claims).items()
            if token != presence.me.token
        }
        there = [str(who) for token, who in others.items() if presence.is_live(token)]
    if there:
        raise RunConflict(
            f"{claims.parent} is shared by {', '.join(there)}; give --share to take part, or choose another --out"
        )


def clear_claims(claims: Path, lock: Path, before: Callable[[], None] = lambda: None) -> None:
    """Remove the claims of a work in which nobody takes part any more, after `before`; if that fails they stay."""
    if not claims.is_dir():
        return
    with suppress(OSError, SegarenaError), lock.open("a+b") as file:
        is_ours = _try_lock(file, fcntl.LOCK_EX)
        if is_ours or (is_ours is None and not present_sharers(claims)):
            before()
            remove_claims(claims)
            if lock.is_file() and not lock.stat().st_size:  # nothing came of the work
                lock.unlink()


def remove_claims(claims: Path) -> None:
    """Remove a folder of claims, or only what is ours in it."""
    with suppress(OSError):
        for file in filter(is_claim_file, claims.iterdir()):
            file.unlink(missing_ok=True)
        claims.rmdir()


def is_claim_file(file: Path) -> bool:
    """Tell whether a file has a name that only files in a folder of claims have."""
    return _OURS.fullmatch(file.name) is not None or is_leftover(file)


def _try_lock(file: BinaryIO, how: int) -> bool | None:
    """Lock a file; return False if others have it, None where there are no locks."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def _is_at(path: Path, file: BinaryIO) -> bool:
    """Tell whether a file that was opened is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False

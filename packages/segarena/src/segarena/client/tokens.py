"""Who is asking: a token given, in the environment, or kept by `segarena login`. It never gets into a run or a log."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from segarena.errors import RemoteError, StoreError
from segarena.files.atomic_write import cannot_write

VARIABLE = "SEGARENA_TOKEN"


def tokens_file() -> Path:
    """Return where tokens are kept, by server: in the user's folder of configurations."""
    return (
        Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
        / "segarena"
        / "tokens.json"
    )


def token_for(server: str, given: str | None = None) -> str:
    """Return the token for a server: the one given, that of the environment, or the one that was kept.

    Raises:
        RemoteError: there is none.
        StoreError: the file of tokens is damaged, or others may read it.
    """
    token = given or os.environ.get(VARIABLE) or _kept().get(server, "")
    if not token.strip():
        raise RemoteError(
            f"{server}: no token; make one on your page there, then: segarena login {server}"
        )
    return checked(token)


def checked(token: str) -> str:
    """Return a token without space around it; raise `RemoteError` where no header could hold it."""
    plain = token.strip()
    if not (plain and plain.isascii() and plain.isprintable()) or " " in plain or len(plain) > 500:
        raise RemoteError(
            "token: expected one word as the server's page shows it, got something else"
        )
    return plain


def keep_token(server: str, token: str) -> Path:
    """Keep a token for a server, in a file that only its owner can read; return the file.

    Raises:
        StoreError: it cannot be written, or what is there is damaged.
    """
    return _write({**_kept(), server: checked(token)})


def forget_token(server: str) -> bool:
    """Forget the token of a server; tell whether there was one."""
    kept = _kept()
    if server not in kept:
        return False
    _write({name: token for name, token in kept.items() if name != server})
    return True


def _kept() -> dict[str, str]:
    file = tokens_file()
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            data = opened.read()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from error
    if stat.S_IMODE(mode) & (stat.S_IRWXG | stat.S_IRWXO):
        raise StoreError(
            f"{file} can be read by others; take that away (chmod 600), and make new tokens"
        )
    try:
        return msgspec.json.decode(data, type=dict[str, str])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{file} is damaged: {error}; delete it and give 'segarena login' again"
        ) from error


def _write(tokens: dict[str, str]) -> Path:
    file = tokens_file()
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileNotFoundError):
            part.unlink()
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            opened.write(msgspec.json.format(msgspec.json.encode(tokens)))
        part.replace(file)
    except OSError as error:
        raise cannot_write(file, error) from error
    return file

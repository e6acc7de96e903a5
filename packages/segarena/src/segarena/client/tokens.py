"""Access tokens, from an argument, the environment or `segarena login`; never part of runs or logs."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from segarena.errors import RemoteError, StoreError
from segarena.files.atomic_write import write_error

ENVIRONMENT_VARIABLE = "SEGARENA_TOKEN"


def tokens_file() -> Path:
    """Return the path of the file with the tokens of all servers, in the user's configuration folder."""
    config_home = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    return config_home / "segarena" / "tokens.json"


def token_for(server: str, given: str | None = None) -> str:
    """Return the token for a server: `given`, or the one in the environment, or the stored one, in this order.

    Raises:
        RemoteError: there is no token.
        StoreError: the token file is damaged, or other users can read it.
    """
    token = given or os.environ.get(ENVIRONMENT_VARIABLE) or _kept().get(server, "")
    if not token.strip():
        raise RemoteError(
            f"{server}: no token; create one on your page there, then: segarena login {server}"
        )
    return clean_token(token)


def clean_token(token: str) -> str:
    """Return a token without surrounding space; raise `RemoteError` if it is invalid in an HTTP header."""
    plain = token.strip()
    if not (plain and plain.isascii() and plain.isprintable()) or " " in plain or len(plain) > 500:
        raise RemoteError("token: expected a single word, as shown on the server's page")
    return plain


def store_token(server: str, token: str) -> Path:
    """Store the token for a server in a file that only its owner can read; return the file.

    Raises:
        StoreError: the file cannot be written, or is damaged.
    """
    return _write({**_kept(), server: clean_token(token)})


def forget_token(server: str) -> bool:
    """Delete the token of a server; return whether there was one."""
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
            f"{file} is readable by other users; restrict it (chmod 600), and create new tokens"
        )
    try:
        return msgspec.json.decode(data, type=dict[str, str])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(
            f"{file} is damaged: {error}; delete it and run 'segarena login' again"
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
        raise write_error(file, error) from error
    return file

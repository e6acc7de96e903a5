"""Check of the server's required packages, without importing them."""

from __future__ import annotations

from importlib.util import find_spec

from segarena.errors import MissingExtra

_REQUIRED_PACKAGES = ("fastapi", "uvicorn", "sqlalchemy", "alembic", "argon2")


def check_installed() -> None:
    """Raise `MissingExtra` unless the extra `server` is installed."""
    if any(find_spec(name) is None for name in _REQUIRED_PACKAGES):
        raise MissingExtra('a server needs more packages: pip install "segarena[server]"')

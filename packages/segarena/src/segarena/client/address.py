"""URLs of challenges: `https://host/challenges/SLUG`, or `https://host/challenges/SLUG/PHASE`."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from segarena.errors import InvalidInput

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}", re.IGNORECASE)
_SHAPE = "https://host/challenges/NAME or https://host/challenges/NAME/PHASE"


@dataclass(frozen=True, slots=True)
class Address:
    """A challenge on a server; `phase` is "" if the URL has none."""

    server: str
    slug: str
    phase: str = ""

    def __str__(self) -> str:
        phase = f"/{self.phase}" if self.phase else ""
        return f"{self.server}/challenges/{self.slug}{phase}"


def read_address(url: str) -> Address:
    """Parse the URL of a challenge or of a phase.

    >>> read_address("https://lab.example/challenges/spring/test/")
    Address(server='https://lab.example', slug='spring', phase='test')

    Raises:
        InvalidInput: the text is not the URL of a challenge, or the connection would not be encrypted.
    """
    before, found, after = url.partition("/challenges/")
    path = after.partition("?")[0].partition("#")[0]
    names = [name for name in path.split("/") if name]
    if not found or len(names) not in (1, 2) or not all(map(_NAME.fullmatch, names)):
        raise InvalidInput(f"challenge: expected {_SHAPE}, got {url[:200]!r}")
    return Address(read_server(before), *names)


def read_server(url: str) -> str:
    """Return the normalized URL of a server, without a trailing slash.

    Raises:
        InvalidInput: the text is not the URL of a server, or the connection would not be encrypted.
    """
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname or ""
        _ = parts.port  # raises ValueError for an invalid port
    except ValueError as error:
        raise InvalidInput(
            f"server: expected an address such as https://host, got {url[:200]!r}: {error}"
        ) from error
    if (
        parts.scheme not in ("https", "http")
        or not host
        or parts.username
        or parts.query
        or parts.fragment
    ):
        raise InvalidInput(f"server: expected an address such as https://host, got {url[:200]!r}")
    if parts.scheme == "http" and not is_loopback(host):
        raise InvalidInput(
            f"{url[:200]}: others could read a token sent over http; expected https://{host}"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def is_loopback(host: str) -> bool:
    """Return whether a host name or address refers to this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

"""Import of the OpenID Connect client, whose dependencies are optional."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from segarena.errors import MissingExtra
from segarena_server.settings import OidcSettings

if TYPE_CHECKING:
    from segarena_server.auth.oidc import Provider


def load_provider(settings: OidcSettings, clock: Callable[[], float] = time.time) -> Provider:
    """Return the client of the provider in the settings.

    Raises:
        MissingExtra: the packages of the extra `oidc` are not installed.
    """
    try:
        # Imported here because servers without OpenID Connect do not install its dependencies.
        from segarena_server.auth.oidc import Provider
    except ImportError as error:
        raise MissingExtra(
            'sign-in with OpenID Connect needs additional packages: pip install "segarena-server[oidc]"'
        ) from error
    return Provider(settings, clock)

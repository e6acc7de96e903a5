"""Known devices: browsers that have signed in to an account before.

The cookie of a device grants no access. It only makes wrong passwords count against the device
instead of the address, so that somebody who guesses passwords cannot lock out the owner of the
account.
"""

from __future__ import annotations

import secrets

from fastapi import Request
from starlette.responses import Response

from segarena_server.auth.permissions import cookie_name, secrets_match, sign, site_of
from segarena_server.site import Site

_LIFETIME_S = 400 * 86400
"""The longest cookie lifetime that browsers accept."""
_PATH = "/sign-in"


def known_device(request: Request, person_id: int) -> str:
    """Return the id of the visitor's device, or "" if it has never signed in to this account."""
    site = site_of(request)
    text, _, signature = request.cookies.get(_cookie_name(site), "").partition(".")
    # The signature comes first: only a signed text is certain to have three parts.
    if not secrets_match(signature, sign(site, "device", text)):
        return ""
    owner, made_at, device = text.split("-")
    is_valid = int(owner) == person_id and 0 <= site.now() - int(made_at) < _LIFETIME_S
    return device if is_valid else ""


def set_known_device(
    answer: Response,
    request: Request,
    person_id: int,
) -> None:
    """Set the cookie for a device that has just signed in to an account."""
    site = site_of(request)
    # A device keeps its id, so that its count of wrong passwords continues.
    device = known_device(request, person_id) or secrets.token_hex(16)
    text = f"{person_id}-{int(site.now())}-{device}"
    answer.set_cookie(
        _cookie_name(site),
        f"{text}.{sign(site, 'device', text)}",
        max_age=_LIFETIME_S,
        # Browsers send the cookie to the sign-in page only, the one place that reads it.
        path=_PATH,
        secure=site.settings.is_secure,
        httponly=True,
        samesite="strict",
    )


def _cookie_name(site: Site) -> str:
    return f"{cookie_name(site)}-device"

"""Signing in with an account elsewhere, by OpenID Connect: the code flow with PKCE, as a confidential client.

What the provider says is believed when its signature is by one of its keys and it was said to us, just now, about the
sign-in that this browser began. People are told apart by issuer and subject; an e-mail address proves nothing here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from segarena.errors import SegarenaError
from segarena_server.auth.identities import ProviderIdentity
from segarena_server.settings import OidcSettings, is_loopback

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""By keys of the provider alone: none, and those whose key we have too, are not among them."""
_KEPT_S = 3600.0
_AGAIN_S = 60.0
_PATIENCE_S = 10.0
_LEEWAY_S = 60
_MOST_BYTES = 2**20
LONGEST_SUBJECT = 255


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the provider said, and when."""

    told: dict[str, Any]
    at: float


class ProviderFault(SegarenaError):
    """The provider does not answer, or says what cannot be believed."""


class Provider:
    """One provider, with what it says of itself and its keys, fetched when they are needed and kept for an hour.

    Args:
        settings: which, and who we are there.
        clock: the time of day.
    """

    def __init__(self, settings: OidcSettings, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._client = httpx2.Client(timeout=_PATIENCE_S, follow_redirects=False)
        self._clock = clock
        self._lock = threading.Lock()
        self._described: _Kept | None = None
        self._keys: _Kept | None = None

    def address(self, back: str, *, state: str, nonce: str, verifier: str) -> str:
        """Return where a browser is sent for signing in.

        Raises:
            ProviderFault: the provider does not say.
        """
        told = {
            "response_type": "code", "client_id": self._settings.client_id, "redirect_uri": back,
            "scope": "openid profile", "state": state, "nonce": nonce,
            "code_challenge": _in_base64(hashlib.sha256(verifier.encode()).digest()), "code_challenge_method": "S256",
        }  # fmt: skip
        endpoint = self._endpoint("authorization_endpoint")
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(told)}"

    def identity(self, back: str, *, code: str, nonce: str, verifier: str) -> ProviderIdentity:
        """Return who signed in, for the code that a browser brought.

        Raises:
            ProviderFault: the code is not taken, or what comes for it cannot be believed.
        """
        told = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": verifier,
        }
        known = self._settings.client_id, self._settings.secret()
        text = self._ask("POST", self._endpoint("token_endpoint"), data=told, auth=known).get(
            "id_token"
        )
        if not isinstance(text, str):
            raise ProviderFault("it sent no ID token")
        claims = self._believed(text, nonce)
        name = claims.get("name") or claims.get("preferred_username")
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT:
            raise ProviderFault("its subject is no text, empty or too long")
        told_name = name if isinstance(name, str) else ""
        return ProviderIdentity(issuer=self._settings.issuer, subject=subject, name=told_name)

    def check(self) -> None:
        """Raise `ProviderFault` unless the provider says all that a sign-in needs."""
        for name in ("authorization_endpoint", "token_endpoint"):
            self._endpoint(name)
        self._key_for({})

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _believed(self, text: str, nonce: str) -> dict[str, Any]:
        """Return the claims of an ID token, checked as OpenID Connect Core 1.0, section 3.1.3.7, asks."""
        own = self._settings.client_id
        rules = jwt.JWTClaimsRegistry(
            now=int(self._clock()),
            leeway=_LEEWAY_S,
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "value": own},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            token = jwt.decode(
                text, lambda guest: self._key_for(guest.headers()), algorithms=_ALGORITHMS
            )
            rules.validate(token.claims)
        except (JoseError, ValueError, TypeError) as error:
            raise ProviderFault(f"its ID token cannot be believed: {error}") from error
        if token.claims["aud"] not in (own, [own]) and token.claims.get("azp") != own:
            raise ProviderFault("its ID token was made for somebody else, too")
        return token.claims

    def _key_for(self, header: Mapping[str, Any]) -> KeySet:
        """Return the provider's keys, fetched again when a token is by one that was not there; not too often."""
        with self._lock:
            kept = self._keys
            now = self._clock()
            is_old = kept is None or now - kept.at > _KEPT_S
            if (
                kept is None
                or is_old
                or (now - kept.at > _AGAIN_S and header.get("kid") not in _names(kept))
            ):
                kept = self._keys = _Kept(
                    self._ask("GET", self._described_endpoint("jwks_uri")), now
                )
        return KeySet.import_key_set({"keys": kept.told.get("keys") or []})

    def _endpoint(self, name: str) -> str:
        with self._lock:
            return self._described_endpoint(name)

    def _described_endpoint(self, name: str) -> str:
        """Return one of the provider's addresses; for who holds the lock."""
        kept = self._described
        now = self._clock()
        if kept is None or now - kept.at > _KEPT_S:
            told = self._ask(
                "GET", f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
            )
            if told.get("issuer") != self._settings.issuer:
                raise ProviderFault("it calls itself by another name than the settings do")
            kept = self._described = _Kept(told, now)
        endpoint = kept.told.get(name)
        if not isinstance(endpoint, str) or not is_safe(endpoint):
            raise ProviderFault(f"its {name} is no https address")
        return endpoint

    def _ask(self, method: str, url: str, **told: Any) -> dict[str, Any]:
        """Return the JSON object that comes for a request.

        Raises:
            ProviderFault: none comes, within the time and the size that there is.
        """
        try:
            with self._client.stream(
                method, url, headers={"accept": "application/json"}, **told
            ) as answer:
                body = b""
                for part in answer.iter_bytes():
                    body += part
                    if len(body) > _MOST_BYTES:
                        raise ProviderFault("it says too much")
            read: Any = json.loads(body) if answer.status_code == 200 else None
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            raise ProviderFault(
                f"it does not answer as it should: {type(error).__name__}"
            ) from error
        if not isinstance(read, dict):
            raise ProviderFault(f"it answered {answer.status_code}, or no object")
        return read


def is_safe(address: str) -> bool:
    """Tell whether an address is by TLS, or on this machine."""
    parts = urlsplit(address)
    return (parts.scheme == "https" and bool(parts.hostname)) or (
        parts.scheme == "http" and parts.hostname is not None and is_loopback(parts.hostname)
    )


def _names(kept: _Kept) -> set[Any]:
    keys: Any = kept.told.get("keys")
    if isinstance(keys, list):
        return {key.get("kid") for key in keys if isinstance(key, dict)}
    return set()


def _in_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

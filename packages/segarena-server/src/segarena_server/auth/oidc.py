"""OpenID Connect client: the authorization code flow with PKCE, as a confidential client.

The client accepts an ID token that is signed with one of the provider's keys, is addressed to this
server, is fresh, and carries the nonce of the sign-in that this browser started. Issuer and subject
identify a person; e-mail addresses are not used for identification.
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
from segarena_server.auth.oidc_identities import ProviderIdentity
from segarena_server.settings import OidcSettings, is_loopback

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Asymmetric signatures only: "none" means unsigned, and both sides would know an HMAC key."""
_CACHE_S = 3600.0
# Anybody can present a token with an invented key id; without a limit each would cost a download.
_REFETCH_S = 60.0
_TIMEOUT_S = 10.0
# The clocks of the provider and of this server may differ slightly.
_LEEWAY_S = 60
_MAX_RESPONSE_BYTES = 2**20
# OpenID Connect Core 1.0, section 2: a subject has at most 255 ASCII characters.
LONGEST_SUBJECT = 255


@dataclass(frozen=True, slots=True)
class _CachedDocument:
    """A JSON document of the provider and the time of its download."""

    content: dict[str, Any]
    at: float


class ProviderFault(SegarenaError):
    """The provider does not respond, or its response is invalid."""


class Provider:
    """Client of one provider; caches the provider's configuration and keys for an hour.

    Args:
        settings: the provider, and this server's credentials there.
        clock: returns seconds since 1970.
    """

    def __init__(self, settings: OidcSettings, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        # A redirect could lead the client secret to another host.
        self._client = httpx2.Client(timeout=_TIMEOUT_S, follow_redirects=False)
        self._clock = clock
        self._lock = threading.Lock()
        self._configuration: _CachedDocument | None = None
        self._keys: _CachedDocument | None = None

    def address(
        self,
        back: str,
        *,
        state: str,
        nonce: str,
        verifier: str,
    ) -> str:
        """Return the URL at the provider where the browser starts to sign in.

        Raises:
            ProviderFault: the provider's configuration has no such URL.
        """
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": back,
            "scope": "openid profile",
            "state": state,
            "nonce": nonce,
            "code_challenge": _base64url(hashlib.sha256(verifier.encode()).digest()),
            "code_challenge_method": "S256",
        }
        endpoint = self._endpoint("authorization_endpoint")
        separator = "&" if "?" in endpoint else "?"
        return f"{endpoint}{separator}{urlencode(query)}"

    def identity(
        self,
        back: str,
        *,
        code: str,
        nonce: str,
        verifier: str,
    ) -> ProviderIdentity:
        """Exchange the authorization code from the browser for the person's identity.

        Raises:
            ProviderFault: the provider rejects the code, or its ID token is invalid.
        """
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": verifier,
        }
        # client_secret_basic, the default of OpenID Connect Core 1.0, section 9.
        credentials = (self._settings.client_id, self._settings.secret())
        endpoint = self._endpoint("token_endpoint")
        response = self._request("POST", endpoint, data=fields, auth=credentials)
        text = response.get("id_token")
        if not isinstance(text, str):
            raise ProviderFault("the provider sent no ID token")
        claims = self._verified_claims(text, nonce)
        name = claims.get("name") or claims.get("preferred_username")
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT:
            raise ProviderFault(
                "the subject in the provider's ID token is missing, empty or too long"
            )
        display_name = name if isinstance(name, str) else ""
        return ProviderIdentity(issuer=self._settings.issuer, subject=subject, name=display_name)

    def check(self) -> None:
        """Raise `ProviderFault` unless the provider's configuration has everything that a sign-in needs."""
        for name in ("authorization_endpoint", "token_endpoint"):
            self._endpoint(name)
        self._key_for({})

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _verified_claims(self, text: str, nonce: str) -> dict[str, Any]:
        """Validate an ID token by OpenID Connect Core 1.0, section 3.1.3.7, and return its claims."""
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
            raise ProviderFault(f"the provider's ID token is invalid: {error}") from error
        # Section 3.1.3.7: a token for several audiences must name this client as the authorized
        # party.
        if token.claims["aud"] not in (own, [own]) and token.claims.get("azp") != own:
            raise ProviderFault("the provider's ID token is also addressed to another client")
        return token.claims

    def _key_for(self, header: Mapping[str, Any]) -> KeySet:
        """Return the provider's keys; download them if they are old or, at most once a minute, lack the key id."""
        with self._lock:
            cached = self._keys
            now = self._clock()
            is_old = cached is None or now - cached.at > _CACHE_S
            if (
                cached is None
                or is_old
                or (now - cached.at > _REFETCH_S and header.get("kid") not in _key_ids(cached))
            ):
                cached = self._keys = _CachedDocument(
                    self._request("GET", self._endpoint_locked("jwks_uri")), now
                )
        return KeySet.import_key_set({"keys": cached.content.get("keys") or []})

    def _endpoint(self, name: str) -> str:
        with self._lock:
            return self._endpoint_locked(name)

    def _endpoint_locked(self, name: str) -> str:
        """Return one of the provider's endpoints; the caller holds the lock."""
        cached = self._configuration
        now = self._clock()
        if cached is None or now - cached.at > _CACHE_S:
            configuration = self._request(
                "GET", f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
            )
            # OpenID Connect Discovery 1.0, section 4.3, requires the two to be identical.
            if configuration.get("issuer") != self._settings.issuer:
                raise ProviderFault(
                    "the issuer in the provider's configuration differs from the one in the settings"
                )
            cached = self._configuration = _CachedDocument(configuration, now)
        endpoint = cached.content.get(name)
        if not isinstance(endpoint, str) or not is_safe(endpoint):
            raise ProviderFault(f"the provider's {name} is not an https address")
        return endpoint

    def _request(
        self,
        method: str,
        url: str,
        **options: Any,
    ) -> dict[str, Any]:
        """Send a request and return the JSON object of the response.

        Raises:
            ProviderFault: no JSON object arrived within the limits of time and size.
        """
        try:
            with self._client.stream(
                method, url, headers={"accept": "application/json"}, **options
            ) as response:
                # In parts, because the stated length of a response cannot be trusted.
                body = b""
                for part in response.iter_bytes():
                    body += part
                    if len(body) > _MAX_RESPONSE_BYTES:
                        raise ProviderFault("the provider's response is too large")
            read: Any = json.loads(body) if response.status_code == 200 else None
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            raise ProviderFault(
                f"the provider sent no valid response: {type(error).__name__}"
            ) from error
        if not isinstance(read, dict):
            raise ProviderFault(
                f"expected status 200 and a JSON object from the provider, got status {response.status_code}"
            )
        return read


def is_safe(address: str) -> bool:
    """Return whether a URL uses TLS or refers to this machine."""
    parts = urlsplit(address)
    return (parts.scheme == "https" and bool(parts.hostname)) or (
        parts.scheme == "http" and parts.hostname is not None and is_loopback(parts.hostname)
    )


def _key_ids(cached: _CachedDocument) -> set[Any]:
    keys: Any = cached.content.get("keys")
    if isinstance(keys, list):
        return {key.get("kid") for key in keys if isinstance(key, dict)}
    return set()


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

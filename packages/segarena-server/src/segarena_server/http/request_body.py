"""Reading request bodies as bytes, JSON, forms and file uploads, with limits."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
from collections.abc import AsyncGenerator, Mapping
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from fastapi import Depends, Request
from starlette.formparsers import MultiPartException, MultiPartParser

from segarena_server import http_errors
from segarena_server.auth.permissions import secrets_match, site_of, visitor_of

MOST_FORM_BYTES = 16 * 1024
MOST_LARGE_FORM_BYTES = 512 * 1024
_MOST_FIELDS = 40
_MOST_LARGE_FIELDS = 400
_TIMEOUT_S = 300.0
_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/=]{44}):")

Told = TypeVar("Told")


async def read_body(request: Request, most: int) -> bytes:
    """Return the body.

    Raises:
        Refusal: the body exceeds `most` bytes, declared or not; it arrives too slowly; or too many large
            uploads are in progress.
    """
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > most:
        raise http_errors.too_large(most)
    budget = site_of(request).intake if most > MOST_LARGE_FORM_BYTES else None
    if budget is not None:
        # Checked before the body arrives, so that a client learns early that it has to retry.
        budget.check(int(declared))
    body = bytearray()
    try:
        # A client that sends a byte a minute would otherwise keep its memory forever.
        async with asyncio.timeout(_TIMEOUT_S):
            async for part in request.stream():
                # The declared length may be missing or wrong.
                if len(body) + len(part) > most:
                    raise http_errors.too_large(most)
                if budget is not None:
                    budget.take(len(part))
                    request.state.taken += len(part)
                body += part
    except TimeoutError as error:
        raise http_errors.Refusal(
            408, "slow", f"the body did not arrive within {_TIMEOUT_S:.0f} s; send it again"
        ) from error
    return bytes(body)


def check_digest(request: Request, body: bytes) -> bool:
    """Verify the Content-Digest header (RFC 9530); return whether the request has one.

    Raises:
        Refusal: the digest of the body differs from the header.
    """
    header = request.headers.get("content-digest", "")
    found = _DIGEST.search(header)
    if found is None:
        return False
    digest = hashlib.sha256(body).digest()
    # The digest only detects transmission errors: anyone who can change the body can also change
    # the header.
    if not hmac.compare_digest(found[1], base64.b64encode(digest).decode()):
        raise http_errors.Refusal(
            400, "digest", "the body does not match its Content-Digest; send it again"
        )
    return True


async def read_json(
    request: Request,
    kind: type[Told],
    most: int = MOST_FORM_BYTES,
) -> Told:
    """Parse and validate a JSON body of at most `most` bytes.

    Raises:
        Refusal: as for `read_body`; also if the body is not JSON, or not of this type.
    """
    body = await read_body(request, most)
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise http_errors.invalid(f"expected JSON: {error}") from error


async def read_page_json(
    request: Request,
    kind: type[Told],
    most: int = MOST_FORM_BYTES,
) -> Told:
    """Parse and validate a JSON body from a script of this site, which sends its form key in `x-form-key`.

    Raises:
        Refusal: as for `read_json`; also if another site sent the request, or the key is missing.
    """
    _check_origin(request)
    _check_key(request, {"key": request.headers.get("x-form-key", "")})
    return await read_json(request, kind, most)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form that a page of this site sent.

    Raises:
        Refusal: another site sent the form, the form key is missing, or the body is not a form.
    """
    return await _read_form(request, MOST_FORM_BYTES, _MOST_FIELDS)


async def read_large_form(request: Request) -> dict[str, str]:
    """Return the fields of a large form, such as the description of a challenge; otherwise like `read_form`."""
    return await _read_form(request, MOST_LARGE_FORM_BYTES, _MOST_LARGE_FIELDS)


Form = Annotated[dict[str, str], Depends(read_form)]
LargeForm = Annotated[dict[str, str], Depends(read_large_form)]
"""Fields of a form, injected as an argument of a route function."""


async def _read_form(
    request: Request,
    most_bytes: int,
    most_fields: int,
) -> dict[str, str]:
    _check_origin(request)
    body = await read_body(request, most_bytes)
    try:
        # Limit the number of fields, because a dictionary of many thousand fields is slow to build.
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=most_fields))
    except ValueError as error:
        raise http_errors.invalid("expected a form") from error
    _check_key(request, fields)
    return fields


async def read_upload(request: Request, most: int) -> tuple[dict[str, str], bytes]:
    """Return the fields and the single file of an upload form that a page of this site sent.

    Raises:
        Refusal: as for `read_form`; also if there is not exactly one file.
    """
    fields, files = await read_uploads(request, most, 1)
    return fields, files[0][1]


async def read_uploads(
    request: Request,
    most: int,
    most_files: int,
) -> tuple[dict[str, str], list[tuple[str, bytes]]]:
    """Read an upload form sent from a page of this site; return its fields, and the name and content of each file.

    Args:
        request: the request with the form.
        most: maximum total size of all files in bytes.
        most_files: maximum number of files.

    Raises:
        Refusal: as for `read_form`; also if there is no file, or there are too many.
    """
    _check_origin(request)
    body = await read_body(request, most + MOST_FORM_BYTES)

    async def parts() -> AsyncGenerator[bytes, None]:
        yield body

    try:
        form = await MultiPartParser(
            request.headers,
            parts(),
            max_files=most_files,
            max_fields=_MOST_FIELDS,
            max_part_size=MOST_FORM_BYTES,
        ).parse()
        fields: dict[str, str] = {}
        files: list[tuple[str, bytes]] = []
        for name, value in form.multi_items():
            if isinstance(value, str):
                fields[name] = value
            else:
                content = await value.read()
                # Browsers send an empty file for a file input without a selection.
                if content:
                    files.append((value.filename or "", content))
        await form.close()
    except (MultiPartException, KeyError, ValueError) as error:
        raise http_errors.invalid("expected a form with a file") from error
    _check_key(request, fields)
    if not files:
        raise http_errors.invalid("expected a file, got none; choose one")
    return fields, files


def number_in(text: str) -> int | None:
    """Parse a non-negative integer of at most nine digits; return None for any other text."""
    # Nine digits fit a 32-bit column in PostgreSQL, and isdecimal alone would accept other scripts'
    # digits.
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _check_key(request: Request, fields: Mapping[str, str]) -> None:
    """Raise `Refusal` for a form without the form key of the session."""
    expected = visitor_of(request).form_key
    # Visitors without a session have no form key; a forged form could do nothing in their name.
    if expected and not secrets_match(fields.get("key", ""), expected):
        raise http_errors.Refusal(
            403,
            "form",
            "this form belongs to an earlier session; open the page again and repeat your entry",
        )


def _check_origin(request: Request) -> None:
    """Raise `Refusal` for a form sent from another site: browsers name the origin, and no page can forge it."""
    site = site_of(request)
    # Older browsers do not send the header; the origin and the form key still protect their users.
    fetch_site = request.headers.get("sec-fetch-site", "same-origin")
    origin: Any = request.headers.get("origin")
    ours = {site.settings.address, f"{request.url.scheme}://{request.headers.get('host', '')}"}
    is_foreign = origin is not None and origin not in ours
    if fetch_site not in ("same-origin", "none") or is_foreign:
        raise http_errors.Refusal(
            403, "form", "the form was sent from another site; open the page here and send it again"
        )

"""Bodies of requests, counted while they come in."""

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
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from segarena_server.auth.permissions import secrets_match, site_of, visitor_of
from segarena_server.http import http_errors

MOST_FORM_BYTES = 16 * 1024
MOST_LARGE_FORM_BYTES = 512 * 1024
_MOST_FIELDS = 40
_MOST_LARGE_FIELDS = 400
_PATIENCE_S = 300.0
_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/=]{44}):")

Told = TypeVar("Told")


async def read_body(request: Request, most: int) -> bytes:
    """Return the body.

    Raises:
        Refusal: it is longer than `most` bytes, whether it says so or not, or takes minutes to come; or too many large
            ones come at once.
    """
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > most:
        raise http_errors.too_large(most)
    intake = site_of(request).intake if most > MOST_LARGE_FORM_BYTES else None
    if intake is not None:
        intake.check(int(declared))
    body = bytearray()
    try:
        async with asyncio.timeout(_PATIENCE_S):
            async for part in request.stream():
                if len(body) + len(part) > most:
                    raise http_errors.too_large(most)
                if intake is not None:
                    intake.take(len(part))
                    request.state.taken += len(part)
                body += part
    except TimeoutError as error:
        raise http_errors.Refusal(
            408, "slow", f"the body did not come within {_PATIENCE_S:.0f} s; send it again"
        ) from error
    return bytes(body)


def check_digest(request: Request, body: bytes) -> bool:
    """Tell whether the request said before its body what the body would be, and look whether it is that (RFC 9530).

    Raises:
        Refusal: it said something else.
    """
    told = request.headers.get("content-digest", "")
    found = _DIGEST.search(told)
    if found is None:
        return False
    if not hmac.compare_digest(found[1], base64.b64encode(hashlib.sha256(body).digest()).decode()):
        raise http_errors.Refusal(
            400, "digest", "the body is not what its Content-Digest says; send it again"
        )
    return True


async def read_json(request: Request, kind: type[Told], most: int = MOST_FORM_BYTES) -> Told:
    """Return a body of JSON of at most so many bytes, checked.

    Raises:
        Refusal: it is no JSON, or not of this kind.
    """
    body = await read_body(request, most)
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise http_errors.invalid(f"expected JSON: {error}") from error


async def read_page_json(request: Request, kind: type[Told], most: int = MOST_FORM_BYTES) -> Told:
    """Return a body of JSON, checked, that a script of a page of ours sent, with the session's key in `x-form-key`.

    Raises:
        Refusal: as `read_json`; or another site sent it, or it lacks the key.
    """
    _check_origin(request)
    _check_key(request, {"key": request.headers.get("x-form-key", "")})
    return await read_json(request, kind, most)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form that came from a page of ours.

    Raises:
        Refusal: another site sent it, it lacks the key of the session, or it is none.
    """
    return await _read_form(request, MOST_FORM_BYTES, _MOST_FIELDS)


async def read_large_form(request: Request) -> dict[str, str]:
    """Return the fields of a form that describes a challenge; otherwise as `read_form`."""
    return await _read_form(request, MOST_LARGE_FORM_BYTES, _MOST_LARGE_FIELDS)


Form = Annotated[dict[str, str], Depends(read_form)]
LargeForm = Annotated[dict[str, str], Depends(read_large_form)]
"""The fields of a form, as an argument of the function that answers it."""


async def _read_form(request: Request, most_bytes: int, most_fields: int) -> dict[str, str]:
    _check_origin(request)
    body = await read_body(request, most_bytes)
    try:
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=most_fields))
    except ValueError as error:
        raise http_errors.invalid("expected a form") from error
    _check_key(request, fields)
    return fields


async def read_upload(request: Request, most: int) -> tuple[dict[str, str], bytes]:
    """Return the fields of a form that came from a page of ours, and the one file in it.

    Raises:
        Refusal: as `read_form`; or it has no file, or several.
    """
    fields, files = await read_uploads(request, most, 1)
    return fields, files[0][1]


async def read_uploads(
    request: Request, most: int, most_files: int
) -> tuple[dict[str, str], list[tuple[str, bytes]]]:
    """Return the fields of a form that came from a page of ours, and the files in it: names, as told, and contents.

    Args:
        request: what came.
        most: bytes of all files together.
        most_files: how many there may be.

    Raises:
        Refusal: as `read_form`; or it has no file, or too many.
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
        told = list(form.multi_items())
        fields = {name: value for name, value in told if isinstance(value, str)}
        sent = [value for _, value in told if isinstance(value, UploadFile)]
        files = [(file.filename or "", await file.read()) for file in sent]
        await form.close()
    except (MultiPartException, KeyError, ValueError) as error:
        raise http_errors.invalid("expected a form with a file") from error
    _check_key(request, fields)
    files = [(name, content) for name, content in files if content]
    if not files:
        raise http_errors.invalid("expected a file, got none; choose one")
    return fields, files


def number_in(text: str) -> int | None:
    """Return the whole number, of at most nine digits, that a field or an address says; None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _check_key(request: Request, fields: Mapping[str, str]) -> None:
    """Refuse a form that lacks the key of the session."""
    expected = visitor_of(request).form_key
    if expected and not secrets_match(fields.get("key", ""), expected):
        raise http_errors.Refusal(
            403, "form", "this form is of an earlier session; open the page again and repeat it"
        )


def _check_origin(request: Request) -> None:
    """Refuse what a page of another site sends; browsers say where a form is from, and cannot be made not to."""
    site = site_of(request)
    told = request.headers.get("sec-fetch-site", "same-origin")
    origin: Any = request.headers.get("origin")
    ours = {site.settings.address, f"{request.url.scheme}://{request.headers.get('host', '')}"}
    if told not in ("same-origin", "none") or (origin is not None and origin not in ours):
        raise http_errors.Refusal(
            403, "form", "a form of another site; open the page here and repeat it"
        )

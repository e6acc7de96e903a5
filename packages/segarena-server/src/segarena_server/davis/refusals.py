"""Errors in the format of the published package.

Its client raises an exception of the name that comes with a 400, so only names of built-in exceptions are sent.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from starlette.responses import JSONResponse, Response

from segarena_server.http.http_errors import Refusal

Name: TypeAlias = Literal["ValueError", "RuntimeError"]

_NAMES: dict[str, Name] = {
    "conflict": "RuntimeError",
    "closed": "RuntimeError",
    "quota": "RuntimeError",
}


def published_error(refusal: Refusal) -> Response:
    """Return the response of the published server: 400 with an exception and its arguments; or 401, 405, 5xx."""
    text = " ".join(str(refusal).split())
    if refusal.status == 401:
        message = "a valid key is needed: user_key is a token of your page at the server"
        return JSONResponse({"error": "RuntimeError", "message": message}, 401)
    if refusal.status == 405 or refusal.status >= 500:
        return JSONResponse({"error": "RuntimeError", "message": text}, refusal.status)
    default: Name = "RuntimeError" if refusal.status == 403 else "ValueError"
    name = _NAMES.get(refusal.kind, default)
    return JSONResponse({"error": name, "message": [text]}, 400)

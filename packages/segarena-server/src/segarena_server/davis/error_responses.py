"""Errors in the format of the published package.

For status 400, the client raises the built-in exception whose name the response states, so the
server only sends such names.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from starlette.responses import JSONResponse, Response

from segarena_server.http_errors import Refusal

Name: TypeAlias = Literal["ValueError", "RuntimeError"]

_NAMES: dict[str, Name] = {
    "conflict": "RuntimeError",
    "closed": "RuntimeError",
    "quota": "RuntimeError",
}


def published_error(refusal: Refusal) -> Response:
    """Format an error as the published server does: 400 with an exception's name and arguments, or 401, 405 or 5xx."""
    text = " ".join(str(refusal).split())
    if refusal.status == 401:
        message = "expected a valid user_key: create a token on the server's 'Tokens' page"
        return JSONResponse({"error": "RuntimeError", "message": message}, 401)
    if refusal.status == 405 or refusal.status >= 500:
        return JSONResponse({"error": "RuntimeError", "message": text}, refusal.status)
    default: Name = "RuntimeError" if refusal.status == 403 else "ValueError"
    name = _NAMES.get(refusal.kind, default)
    return JSONResponse({"error": name, "message": [text]}, 400)

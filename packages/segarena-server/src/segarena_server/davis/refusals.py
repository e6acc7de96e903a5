"""How programs of the published package are told no.

They make an exception of the name that comes with a 400, so only names of Python's own exceptions are ever sent.
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
    """Return a refusal as the published server words it: 400 with the exception and its arguments; 401, 405 and 5xx."""
    text = " ".join(str(refusal).split())
    name = _NAMES.get(
        refusal.kind, "RuntimeError" if refusal.status in (403, 405) else "ValueError"
    )
    if refusal.status == 401:
        message = "a valid key is needed: user_key is a token of your page at the server"
        return JSONResponse({"error": "RuntimeError", "message": message}, 401)
    if refusal.status == 405 or refusal.status >= 500:
        return JSONResponse({"error": "RuntimeError", "message": text}, refusal.status)
    return JSONResponse({"error": name, "message": [text]}, 400)

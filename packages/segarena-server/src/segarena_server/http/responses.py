"""Error responses: JSON for programs, a page for browsers.

For an internal error, the response reveals only the request id.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DataError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Match

from segarena.errors import InvalidInput, SegarenaError, StoreUnavailable
from segarena_server import http_errors
from segarena_server.auth.permissions import is_api
from segarena_server.challenges.interfaces import interface_of
from segarena_server.db.database import DatabaseAway
from segarena_server.http_errors import Refusal
from segarena_server.server_log import LOG

_RETRY_S = 5.0
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def add_error_handlers(
    app: FastAPI, render_refusal: Callable[[Request, Refusal], Response]
) -> None:
    """Register the error handlers of the application; `render_refusal` renders the page for browsers."""

    async def answer(request: Request, error: Exception) -> Response:
        response = _answer(request, error, render_refusal)
        if response.status_code == 405:
            response.headers["allow"] = ", ".join(_allowed_methods(request))
        return response

    for kind in (
        SegarenaError,
        HTTPException,
        RequestValidationError,
        OverflowError,
        DataError,
        ClientDisconnect,
        Exception,
    ):
        app.add_exception_handler(kind, answer)


def refusal_of(error: Exception) -> Refusal:
    """Map an error to the refusal that reports it to the client."""
    match error:
        case Refusal():
            return error
        case InvalidInput():
            return http_errors.invalid(str(error))
        case DatabaseAway():
            return http_errors.busy(
                "the database is unavailable at the moment; nothing was changed", _RETRY_S
            )
        case StoreUnavailable():
            return http_errors.busy(
                "files cannot be read or written at the moment; nothing was changed", _RETRY_S
            )
        case ClientDisconnect():
            # This message only reaches the log: the client that could read it is gone.
            return Refusal(
                400, "unfinished", "the connection ended before the request was complete"
            )
        case HTTPException(status_code=405):
            return Refusal(405, "method", "this address does not support the method")
        case (
            HTTPException() | RequestValidationError() | OverflowError() | DataError()
        ):  # integers outside the range of a column
            # Numbers in paths may be of any size; a row with such an id cannot exist, so this is a
            # 404.
            return http_errors.unknown()
        case _:
            return Refusal(
                500,
                "fault",
                "internal server error; the server's log has the details under this request's id",
            )


def _answer(
    request: Request,
    error: Exception,
    render_refusal: Callable[[Request, Refusal], Response],
) -> Response:
    refusal = refusal_of(error)
    if refusal.status >= 500:
        trace = (
            error if refusal.status == 500 else None
        )  # no traceback for errors that are only transient
        LOG.error("%s", error, exc_info=trace, extra={"told": {"request": request.state.number}})
    interface = interface_of(request)
    if interface is not None:
        return interface.refusal(refusal)
    if is_api(request) or _is_of_script(request):
        # Interfaces and scripts come first: a redirect to a page would confuse them.
        return _as_json(request, refusal)
    if refusal.kind == "token":
        return RedirectResponse("/sign-in", 303)
    if refusal.kind == "second_factor":
        return RedirectResponse("/account/second-factor", 303)
    return render_refusal(request, refusal)


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods that a request's path supports, which RFC 9110 requires in a 405 response."""
    allowed: list[str] = []
    for method in _METHODS:
        # The middleware answers HEAD through the GET routes.
        scope = {**request.scope, "method": "GET" if method == "HEAD" else method}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            allowed.append(method)
    return allowed


def _is_of_script(request: Request) -> bool:
    """Return whether a script of this site sent the request and expects JSON instead of a page."""
    return (
        request.headers.get("accept", "") == "application/json" or "x-form-key" in request.headers
    )


def _as_json(request: Request, refusal: Refusal) -> Response:
    body: dict[str, Any] = {"error": refusal.kind, "message": " ".join(str(refusal).split())}
    headers: dict[str, str] = {}
    if refusal.status >= 500:
        body["request"] = request.state.number
    if refusal.retry_after_s is not None:
        body["retry_after_s"] = round(refusal.retry_after_s, 1)
        headers["retry-after"] = str(math.ceil(refusal.retry_after_s))
    if refusal.status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(body, refusal.status, headers)

"""Error responses: JSON for programs, a page for people.

An internal error reveals only its request number.
"""

from __future__ import annotations

import math
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DataError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse

from segarena.errors import InvalidInput, SegarenaError, StoreUnavailable
from segarena_server.auth.permissions import is_api
from segarena_server.db.database import DatabaseAway
from segarena_server.extensions.interfaces import interface_of
from segarena_server.http import http_errors
from segarena_server.http.http_errors import Refusal
from segarena_server.http.middleware import LOG
from segarena_server.pages.rendering import render_page

_RETRY_S = 5.0


def add_error_handlers(app: FastAPI) -> None:
    """Register the error handlers of the application."""
    for kind in (
        SegarenaError,
        HTTPException,
        RequestValidationError,
        OverflowError,
        DataError,
        Exception,
    ):
        app.add_exception_handler(kind, _answer)


def refusal_of(error: Exception) -> Refusal:
    """Return the refusal that reports an error to the client."""
    match error:
        case Refusal():
            return error
        case InvalidInput():
            return http_errors.invalid(str(error))
        case DatabaseAway():
            return http_errors.busy(
                "the database cannot be used at this moment; nothing was changed", _RETRY_S
            )
        case StoreUnavailable():
            return http_errors.busy(
                "files cannot be read or written at this moment; nothing was changed", _RETRY_S
            )
        case HTTPException(status_code=405):
            return Refusal(405, "method", "this cannot be done here")
        case (
            HTTPException() | RequestValidationError() | OverflowError() | DataError()
        ):  # integers outside the range of a column
            return http_errors.unknown()
        case _:
            return Refusal(
                500,
                "fault",
                "the server has a fault; its log says which, under this request's number",
            )


async def _answer(request: Request, error: Exception) -> Response:
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
        return _as_json(request, refusal)
    if refusal.kind == "token":
        return RedirectResponse("/sign-in", 303)
    return render_page(
        request, "refused.html", status=refusal.status, title="Not done", refusal=refusal
    )


def _is_of_script(request: Request) -> bool:
    """Tell whether a script of this site sent the request, which expects JSON and not a page."""
    return (
        request.headers.get("accept", "") == "application/json" or "x-form-key" in request.headers
    )


def _as_json(request: Request, refusal: Refusal) -> Response:
    told: dict[str, Any] = {"error": refusal.kind, "message": " ".join(str(refusal).split())}
    headers: dict[str, str] = {}
    if refusal.status >= 500:
        told["request"] = request.state.number
    if refusal.retry_after_s is not None:
        told["retry_after_s"] = round(refusal.retry_after_s, 1)
        headers["retry-after"] = str(math.ceil(refusal.retry_after_s))
    if refusal.status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(told, refusal.status, headers)

"""API routes for the server status and for challenges."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from sqlalchemy import select
from starlette.responses import JSONResponse, Response

from segarena.version import __version__
from segarena_server import http_errors
from segarena_server.auth.permissions import ANYONE, require_role, site_of
from segarena_server.challenges.challenge_repository import (
    all_challenges,
    cached_info,
    find_challenge,
)
from segarena_server.challenges.turn_time_accounting import TIME_RULE
from segarena_server.http_errors import API
from segarena_server.prometheus import database_metrics
from segarena_server.storage.disk_check import CHECK_EVERY_S, DiskCheck

router = APIRouter(prefix="/api/v1")


@router.get("/")
@require_role(ANYONE)
def about(_request: Request) -> Response:
    """Return the server's name, the versions of segarena and of the API, and the time rule."""
    return JSONResponse(
        {"name": "segarena", "version": __version__, "api": API, "time_rule": TIME_RULE}
    )


@router.get("/ping")
@require_role(ANYONE)
def ping(_request: Request) -> Response:
    """Respond at once, so that clients can measure the round-trip time."""
    return JSONResponse({})


@router.get("/openapi.json")
@require_role(ANYONE)
def describe_interface(request: Request) -> Response:
    """Return the OpenAPI description of this API."""
    # Served here and not by FastAPI's own route, which would bypass `require_role`.
    description: dict[str, Any] = request.app.openapi()
    return JSONResponse(description)


@router.get("/health")
@require_role(ANYONE)
def tell_health(_request: Request) -> Response:
    """Report that this process responds."""
    return JSONResponse({"health": "ok"})


@router.get("/ready")
@require_role(ANYONE)
def tell_readiness(request: Request) -> Response:
    """Report readiness: the database responds, the disk is writable, and no shutdown is in progress."""
    site = site_of(request)
    # Load balancers ask this route and stop sending requests to a server that is shutting down.
    if site.is_draining():
        raise http_errors.busy("the server is shutting down; try again", 1.0)
    with site.database.reading() as session:
        session.execute(select(1))
    if fault := site.shared(DiskCheck, lambda: DiskCheck(site.folder.path)).fault():
        raise http_errors.busy(fault, CHECK_EVERY_S)
    return JSONResponse({"ready": True})


@router.get("/metrics")
@require_role("organiser")
def tell_metrics(request: Request) -> Response:
    """Return the metrics of this process and of the database in Prometheus format."""
    site = site_of(request)
    with site.database.reading() as session:
        lines = [*site.counted.text(), *database_metrics(session, site.now())]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


@router.get("/challenges")
@require_role("viewer")
def get_challenges(request: Request) -> Response:
    """Return all challenges, newest first."""
    with site_of(request).database.reading() as session:
        found = [cached_info(challenge.description) for challenge in all_challenges(session)]
    return _json(found)


@router.get("/challenges/{slug}")
@require_role("viewer")
def get_challenge(request: Request, slug: str) -> Response:
    """Return the rules, phases and limits of a challenge."""
    with site_of(request).database.reading() as session:
        found = find_challenge(session, slug)
    return _json(cached_info(found.description))


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")

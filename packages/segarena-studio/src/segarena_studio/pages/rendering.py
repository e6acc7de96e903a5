"""Rendering of studio pages."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import HTMLResponse

from segarena_server.pages.rendering import render_page


def studio_page(
    request: Request,
    template: str,
    *,
    title: str,
    status: int = 200,
    **values: Any,
) -> HTMLResponse:
    """Render a template of the studio, which may extend those of the server."""
    return render_page(
        request,
        template,
        title=title,
        status=status,
        package="segarena_studio",
        **values,
    )

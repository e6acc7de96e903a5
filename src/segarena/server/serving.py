"""One serving process: opens the data folder, answers requests, ends without losing one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn

from segarena.errors import StoreError
from segarena.server.app import make_app
from segarena.server.database import Database
from segarena.server.evaluators import Evaluators
from segarena.server.folder import DataFolder
from segarena.server.people import has_organiser, invite_first
from segarena.server.post import Post
from segarena.server.schema import bring_up_to_date
from segarena.server.settings import Settings
from segarena.server.site import Site

_DRAIN_S = 30
"""So long requests that are under way have when the server is asked to end."""


def open_site(data: Path, settings: Settings) -> Site:
    """Return the site of a data folder, made where there is none.

    Raises:
        SegarenaError: the folder or the database cannot be used.
    """
    folder = DataFolder(data)
    folder.make()
    database = Database(settings.db or folder.database)
    bring_up_to_date(database)
    return Site(settings=settings, folder=folder, database=database, secret=folder.secret())


def first_link(site: Site) -> str:
    """Return the address at which the first administrator makes an account; "" when somebody administers already."""
    with site.database.writing() as session:
        if has_organiser(session):
            return ""
        return f"{site.settings.address}/register?invitation={invite_first(session, site.now())}"


class Serving:
    """Answers requests until it is stopped.

    Args:
        site: whose.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        settings = site.settings
        self._server = uvicorn.Server(
            uvicorn.Config(
                make_app(site), host=settings.host, port=settings.port, log_config=None, access_log=False,
                proxy_headers=settings.behind_proxy, server_header=False, timeout_graceful_shutdown=_DRAIN_S,
                lifespan="off", ws="none",
            )
        )  # fmt: skip

    def run(self, on_start: Callable[[int], Any] = lambda _: None) -> None:
        """Serve until a signal comes, or `stop` is called; `on_start` is called with the port.

        Raises:
            StoreError: the port is taken.
        """
        evaluators = Evaluators(self.site)
        self.site.hurry = evaluators.hurry
        self.site.is_draining = lambda: self._server.should_exit
        post = Post(self.site)
        evaluators.start()
        post.start()
        try:
            asyncio.run(self._serve(on_start))
        finally:
            post.stop()
            evaluators.stop()
            self.site.album.stop()

    def stop(self) -> None:
        """End when the requests under way are answered."""
        self._server.should_exit = True

    async def _serve(self, on_start: Callable[[int], Any]) -> None:
        watching = asyncio.create_task(self._tell(on_start))
        try:
            with suppress(KeyboardInterrupt):  # uvicorn raises it again once all is answered
                await self._server.serve()
        except SystemExit as error:  # uvicorn ends so when it cannot listen
            host, port = self.site.settings.host, self.site.settings.port
            raise StoreError(f"cannot listen at {host}:{port}: taken or not allowed; choose another --port") from error
        finally:
            watching.cancel()

    async def _tell(self, on_start: Callable[[int], Any]) -> None:
        while not self._server.started:
            await asyncio.sleep(0.02)
        on_start(self._server.servers[0].sockets[0].getsockname()[1])

"""One serving process: opens the data folder, answers requests or only evaluates, ends without losing anything."""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from segarena.errors import StoreError
from segarena.work.signals import stoppable
from segarena_server.app import make_app
from segarena_server.auth.accounts import has_organiser, invite_first
from segarena_server.db.database import Database
from segarena_server.db.schema import bring_up_to_date
from segarena_server.db.shared_values import shared_value
from segarena_server.jobs.pool import WorkerPool
from segarena_server.mail.smtp import MailSender
from segarena_server.settings import Settings
from segarena_server.site import Site
from segarena_server.storage.data_folder import DataFolder

_ARENA_MAX = -8
"""The number of that limit in `malloc.h` of the GNU C library."""
_DRAIN_S = 30
"""So long requests that are under way have when the server is asked to end."""
_TICKS = 10
"""Of uvicorn, in a second."""


def open_site(data: Path, settings: Settings) -> Site:
    """Return the site of a data folder, made where there is none.

    Raises:
        SegarenaError: the folder or the database cannot be used.
    """
    folder = DataFolder(data, settings.storage)
    folder.make()
    if folder.remote is not None:
        folder.remote.check()
    database = Database(settings.db or folder.database)
    try:
        bring_up_to_date(database)
        secret = folder.secret() if database.is_sqlite else _shared_secret(database, folder)
    except BaseException:
        database.close()
        raise
    return Site(settings=settings, folder=folder, database=database, secret=secret)


def _shared_secret(database: Database, folder: DataFolder) -> bytes:
    """Return the secret of all servers of a database, and see that they have their files in common.

    Raises:
        StoreError: they have not.
    """
    own = folder.secret().hex()
    place = folder.remote.address if folder.remote else "one folder"
    secret = shared_value(database, "secret", own)
    common = shared_value(database, "storage", place)
    if common != place:
        raise StoreError(
            f"the other servers of this database keep their files in {common}, this one in {place}"
        )
    if folder.remote is None and secret != own:
        raise StoreError(
            f"{folder.path} is not the folder of this database's other servers: let all of them use one folder, or a "
            "storage (storage = 's3://...')"
        )
    return bytes.fromhex(secret)


def first_admin_link(site: Site) -> str:
    """Return the address at which the first administrator makes an account; "" when somebody administers already."""
    with site.database.writing() as session:
        if has_organiser(session):
            return ""
        return f"{site.settings.address}/register?invitation={invite_first(session, site.now())}"


def _share_memory() -> None:
    """Let threads share what they do not need any more: otherwise dozens of them keep some megabytes each, for ever."""
    with suppress(OSError, AttributeError):  # not with every C library
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


class _Server(uvicorn.Server):
    """Asked to end, it listens until what waits for an evaluation has it, and tells others to come back."""

    def __init__(self, site: Site, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._site = site
        self._ticks = 0
        self.is_draining = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.is_draining:  # asked again: at once
            super().handle_exit(sig, frame)
        self.is_draining = True

    async def on_tick(self, counter: int) -> bool:
        self._ticks += self.is_draining
        if self.is_draining and (self._site.news.is_quiet or self._ticks > _DRAIN_S * _TICKS):
            self.should_exit = True
        return await super().on_tick(counter)


class SiteServer:
    """Answers requests until it is stopped.

    Args:
        site: whose.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        settings = site.settings
        self._server = _Server(
            site,
            uvicorn.Config(
                make_app(site), host=settings.host, port=settings.port, log_config=None, access_log=False,
                proxy_headers=settings.behind_proxy, server_header=False, timeout_graceful_shutdown=_DRAIN_S,
                lifespan="off", ws="none",
            ),
        )  # fmt: skip

    def run(self, on_start: Callable[[int], Any] = lambda _: None) -> None:
        """Serve until a signal comes, or `stop` is called; `on_start` is called with the port.

        Raises:
            StoreError: the port is taken.
        """
        _share_memory()
        hands = WorkerPool(self.site)
        self.site.hurry = hands.hurry
        self.site.is_draining = lambda: self._server.is_draining
        post = MailSender(self.site)
        hands.start()
        post.start()
        try:
            asyncio.run(self._serve(on_start))
        finally:
            post.stop()
            hands.stop()
            self.site.album.stop()
            for end in self.site.at_end:
                end()

    def stop(self) -> None:
        """End when the requests under way are answered."""
        self._server.is_draining = True

    async def _serve(self, on_start: Callable[[int], Any]) -> None:
        watching = asyncio.create_task(self._tell(on_start))
        try:
            with suppress(KeyboardInterrupt):  # uvicorn raises it again once all is answered
                await self._server.serve()
        except SystemExit as error:  # uvicorn ends so when it cannot listen
            host = self.site.settings.host
            port = self.site.settings.port
            raise StoreError(
                f"cannot listen at {host}:{port}: taken or not allowed; choose another --port"
            ) from error
        finally:
            watching.cancel()

    async def _tell(self, on_start: Callable[[int], Any]) -> None:
        while not self._server.started:
            await asyncio.sleep(0.02)
        on_start(self._server.servers[0].sockets[0].getsockname()[1])


def run_evaluator(site: Site, on_start: Callable[[], Any] = lambda: None) -> None:
    """Do what other servers of the same database have to be done, until a signal comes; listen to nobody."""
    hands = WorkerPool(site)
    with suppress(KeyboardInterrupt), stoppable():
        hands.start()
        on_start()
        threading.Event().wait()
    hands.stop()

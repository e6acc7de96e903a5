"""The server process: open a data folder, answer requests or only evaluate, and shut down without losing work."""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvicorn
from sqlalchemy.exc import IntegrityError
from threadpoolctl import threadpool_limits

from segarena.errors import StoreError
from segarena.work.signals import stoppable
from segarena_server.app import make_app
from segarena_server.auth.accounts import has_organiser, invite_first
from segarena_server.db.database import Database
from segarena_server.db.orm_models import SharedValue
from segarena_server.db.schema import bring_up_to_date
from segarena_server.extensions.job_kinds import job_kinds
from segarena_server.http.connections import IdleConnections, LimitedProtocol
from segarena_server.mail.smtp import MailSender
from segarena_server.outages import OutageRecorder
from segarena_server.public_address import record_address
from segarena_server.settings import Settings
from segarena_server.site import Site
from segarena_server.storage.data_folder import DataFolder
from segarena_server.workers.pool import WorkerPool

_ARENA_MAX = -8
"""Parameter M_ARENA_MAX of mallopt, from `malloc.h` of the GNU C library."""
_DRAIN_S = 30
"""Seconds that open requests get at shutdown."""
_TICKS = 10
"""How often per second uvicorn calls `on_tick`."""


def open_site(data: Path, settings: Settings) -> Site:
    """Open the site of a data folder; create the folder if it does not exist.

    Raises:
        SegarenaError: the folder, the storage or the database cannot be used.
    """
    folder = DataFolder(data, settings.storage)
    folder.make()
    if folder.remote is not None:
        folder.remote.check()
    database = Database(settings.db or folder.database)
    try:
        bring_up_to_date(database)
        # SQLite means a single server, whose secret stays out of the database file and its copies.
        secret = folder.secret() if database.is_sqlite else _shared_secret(database, folder)
    except BaseException:
        database.close()
        raise
    return Site(
        settings=settings,
        folder=folder,
        database=database,
        secret=secret,
    )


def _shared_secret(database: Database, folder: DataFolder) -> bytes:
    """Return the secret that all servers of a database share, and check that they also share their files.

    Raises:
        StoreError: the servers use different folders or storages.
    """
    # The first server offers its own secret; all later ones must have received the same one.
    own = folder.secret().hex()
    location = folder.remote.address if folder.remote else "one folder"
    secret = _shared_value(database, "secret", own)
    common = _shared_value(database, "storage", location)
    if common != location:
        raise StoreError(
            f"the other servers of this database keep their files in {common}, this one in {location}; set the "
            "same storage for all"
        )
    if folder.remote is None and secret != own:
        raise StoreError(
            f"the other servers of this database use another folder than {folder.path}; let all servers use the same "
            "folder, or a bucket (storage = 's3://...')"
        )
    return bytes.fromhex(secret)


def _shared_value(
    database: Database,
    name: str,
    own: str,
) -> str:
    """Return the shared value with this name; store `own` if the database has none."""
    with database.reading() as session:
        known = session.get(SharedValue, name)
    if known is not None:
        return known.value
    try:
        with database.writing() as session:
            session.add(SharedValue(name=name, value=own))
    except IntegrityError:
        # Another server stored the value at the same moment.
        with database.reading() as session:
            return session.get_one(SharedValue, name).value
    return own


def first_admin_link(site: Site) -> str:
    """Return the link for registering the first administrator, or "" if an organiser exists."""
    with site.database.writing() as session:
        if has_organiser(session):
            return ""
        return f"{site.settings.address}/register?invitation={invite_first(session, site.now())}"


def _limit_malloc_arenas() -> None:
    """Limit malloc's arenas; otherwise each of dozens of threads retains some megabytes of freed memory."""
    # Only the GNU C library provides mallopt.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


class _Server(uvicorn.Server):
    """A uvicorn server that, at shutdown, waits for pending evaluations and rejects new turns."""

    def __init__(self, site: Site, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._site = site
        self._ticks = 0
        self.is_draining = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # The second signal ends the server at once.
        if self.is_draining:
            super().handle_exit(sig, frame)
        self.is_draining = True

    async def on_tick(self, counter: int) -> bool:
        # `is_draining` is a boolean, so ticks only count from the first signal on.
        self._ticks += self.is_draining
        if self.is_draining and (self._site.news.is_quiet or self._ticks > _DRAIN_S * _TICKS):
            self.should_exit = True
        return await super().on_tick(counter)


class SiteServer:
    """Serves a site until it is stopped.

    Args:
        site: the site to serve.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        settings = site.settings
        limits = settings.limits
        idle_connections = IdleConnections(limits.header_s, limits.idle_connections)
        self._server = _Server(
            site,
            uvicorn.Config(
                make_app(site),
                host=settings.host,
                port=settings.port,
                # uvicorn only calls this object, with the arguments that its own protocol classes
                # take.
                http=cast("type[LimitedProtocol]", partial(LimitedProtocol, idle_connections)),
                log_config=None,
                access_log=False,
                proxy_headers=settings.behind_proxy,
                server_header=False,
                timeout_graceful_shutdown=_DRAIN_S,
                # The application has no startup events, and no route speaks WebSocket.
                lifespan="off",
                ws="none",
            ),
        )

    def run(self, on_start: Callable[[int], Any] = lambda _: None) -> None:
        """Serve until a signal or `stop`; call `on_start` with the port once the server listens.

        Raises:
            StoreError: the server cannot listen on the port.
        """
        _limit_malloc_arenas()
        worker_pool = WorkerPool(self.site, job_kinds())
        # Set here and not in `Site`, because the worker pool is constructed from the site.
        self.site.hurry = worker_pool.hurry
        self.site.is_draining = lambda: self._server.is_draining
        mail_sender = MailSender(self.site)
        outage_recorder = OutageRecorder(self.site)
        worker_pool.start()
        mail_sender.start()
        try:
            # Last, because the time until the server listens is part of the outage.
            outage_recorder.start()
            # With several threads, matrix products of boards wait for each other on a busy machine, and depend on the
            # number of processors in their last bits.
            with threadpool_limits(1, user_api="blas"):
                asyncio.run(self._serve(on_start))
        # Workers stop after the last response: open requests may still wait for their evaluations.
        finally:
            outage_recorder.stop()
            mail_sender.stop()
            worker_pool.stop()
            for end in self.site.at_end:
                end()

    def stop(self) -> None:
        """Shut down once the open requests are answered."""
        self._server.is_draining = True

    async def _serve(self, on_start: Callable[[int], Any]) -> None:
        start_notice = asyncio.create_task(self._notify_start(on_start))
        try:
            # uvicorn raises KeyboardInterrupt again after the shutdown.
            with suppress(KeyboardInterrupt):
                await self._server.serve()
        except SystemExit as error:
            # uvicorn exits when it cannot listen on the port.
            host = self.site.settings.host
            port = self.site.settings.port
            raise StoreError(
                f"cannot listen on {host}:{port}: the port is in use or not permitted; choose another --port"
            ) from error
        finally:
            start_notice.cancel()

    async def _notify_start(self, on_start: Callable[[int], Any]) -> None:
        while not self._server.started:
            await asyncio.sleep(0.02)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        # The server works without it; only commands that print links need it.
        with suppress(StoreError):
            await asyncio.to_thread(record_address, self.site, port)
        on_start(port)


def run_evaluator(site: Site, on_start: Callable[[], Any] = lambda: None) -> None:
    """Evaluate for other servers of the same database until a signal arrives; listen on no port."""
    worker_pool = WorkerPool(site, job_kinds())
    with suppress(KeyboardInterrupt), stoppable():
        worker_pool.start()
        on_start()
        threading.Event().wait()
    worker_pool.stop()

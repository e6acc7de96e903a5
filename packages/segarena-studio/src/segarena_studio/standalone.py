"""A studio on this machine alone: a site for one person without an account."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import select

from segarena.errors import InvalidInput, StoreError
from segarena_server.auth.access_keys import create_key, end_keys
from segarena_server.auth.accounts import fold_name
from segarena_server.auth.oidc_identities import NO_PASSWORD
from segarena_server.config_file import own_settings, read_settings
from segarena_server.db.orm_models import Person
from segarena_server.server_process import open_site
from segarena_server.settings import Limits, Settings
from segarena_server.site import Site
from segarena_server.storage.data_folder import DataFolder

OWN = "segarena-studio"
"""Folder of the studio's data inside the folder of pictures."""
_NAME = "me"
# A high limit, because nobody else can send requests, and browsing slices sends many.
_REQUESTS_PER_MINUTE = 10**6


def open_standalone(
    folder: Path,
    port: int,
    *,
    workers: int = 1,
    segmenters: Sequence[str] = (),
) -> tuple[Site, str]:
    """Open the site of a folder's studio, reachable from this machine alone; return it with a session key.

    Earlier session keys are revoked. With `workers` 0 there are no processes for long jobs.

    Raises:
        SegarenaError: the folder cannot be used.
    """
    limits = Limits(requests_per_minute=_REQUESTS_PER_MINUTE)
    site = open_site(
        folder / OWN,
        Settings(
            port=port,
            workers=workers,
            segmenters=tuple(segmenters),
            limits=limits,
        ),
    )
    now = site.now()
    with site.database.writing() as session:
        person = session.scalar(select(Person).where(Person.folded == fold_name(_NAME)))
        if person is None:
            kept = {"name": _NAME, "folded": fold_name(_NAME), "password": NO_PASSWORD}
            person = Person(
                **kept,
                role="admin",
                state="confirmed",
                made_at=now,
            )
            session.add(person)
            session.flush()
        # A link from an earlier start must no longer open the studio.
        end_keys(session, person.id, now, kind="session")
        site.only_person = person.id
        return site, create_key(
            session,
            "session",
            now,
            person_id=person.id,
            label=secrets.token_hex(4),
        )


def check_port(port: int) -> None:
    """Raise `StoreError` if a port of this machine cannot be used, before anything else is started."""
    with socket.socket() as tried:
        # Use the server's socket option, so that the port of a server that has just stopped counts
        # as free.
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise StoreError(
                f"cannot listen on port {port}: in use or not permitted; choose another --port"
            ) from error


def open_site_of_folder(
    data: Path,
    db: str | None = None,
    *,
    is_new: bool = False,
) -> Site:
    """Open the site of a server's data folder, or of the folder of `segarena studio`.

    Args:
        data: the folder.
        db: the database, as for `segarena serve`.
        is_new: whether the folder may be created.

    Raises:
        InvalidInput: the folder belongs neither to a server nor to a studio.
    """
    folder = data / OWN if (data / OWN).is_dir() else data
    if not is_new and not DataFolder(folder).exists:
        raise InvalidInput(f"{folder} is not the folder of a server; name one with --data")
    return open_site(folder, read_settings(own_settings(folder), {"db": db}))

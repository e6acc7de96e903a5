"""What is wrong with a server before it starts: its settings, folder, disk, database, samples, challenges and clock.

All of it is told at once, and nothing is changed. A fault keeps the server from working as it should; a remark is
something to know.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import func, select, text

from segarena.errors import SegarenaError
from segarena_server.auth.identities import provider_of
from segarena_server.challenges.challenge_repository import (
    all_challenges,
    cached_description,
    cached_info,
    description_of,
)
from segarena_server.config_file import settings_and_faults
from segarena_server.db.database import Database
from segarena_server.db.orm_models import AuditEvent, PooledSample
from segarena_server.db.schema import newest_revision, revision_of
from segarena_server.mail.smtp import smtp_fault
from segarena_server.runs.submissions import sandbox_of
from segarena_server.settings import LOOPBACK, Settings
from segarena_server.storage.data_folder import DataFolder

GUESSABLE_SEEDS = 2**32
"""Whoever tries all seeds below this finds the one that draws what was drawn."""
_LEAST_FREE = 2**30
"""With less than a GiB the next runs fill the disk."""
_LITTLE_FREE_SHARE = 0.1
_MOST_APART_S = 2.0
_BUILT = 1_767_225_600.0
"""The beginning of 2026: a clock that is before it was never set."""


@dataclass(frozen=True, slots=True)
class PreflightReport:
    """What was found, a line each."""

    faults: list[str]
    remarks: list[str]


def check(data: Path, config: Path | None, given: Mapping[str, Any]) -> PreflightReport:
    """Return all that is wrong with a configuration file and options, and with what they name."""
    settings, faults = settings_and_faults(config, given)
    if settings is None:
        return PreflightReport(faults, [])
    return PreflightReport([*faults, *faults_of(data, settings)], list(remarks_of(data, settings)))


def faults_of(data: Path, settings: Settings) -> list[str]:
    """Return what is wrong, a line each; what is not there yet is no fault."""
    try:
        folder = DataFolder(data, settings.storage)
    except SegarenaError as error:
        return [str(error)]
    told = [*_of_address(settings), *_of_roots(settings), *_of_disk(folder.path), *_of_clock()]
    told += [*_of_mail(settings), *_told(_of_provider(settings))]
    if folder.exists:
        told += [
            *_told(_of_folder(folder)),
            *_of_permissions(folder),
            *_told(_of_database(folder, settings)),
        ]
    else:
        told += _foreign(folder) if folder.path.exists() else _unwritable(folder.path)
        told += _told(_of_elsewhere(settings)) if settings.db else []
    return told


def remarks_of(data: Path, settings: Settings) -> Iterator[str]:
    """Yield what is worth knowing, a line each."""
    folder = DataFolder(data)
    if not folder.exists:
        yield f"{folder.path} is not there yet; the first start makes it"
    if settings.is_secure and not settings.behind_proxy:
        yield "behind_proxy is not set: if a proxy speaks TLS, everybody seems to come from its address"
    if not settings.workers:
        yield "workers = 0: this server evaluates nothing; another one at the same database must"
    if settings.port and _is_taken(settings.host, settings.port):
        yield f"something listens at {settings.host}:{settings.port}: this server, if it is at work"
    usage = shutil.disk_usage(_there(folder.path))
    if _LEAST_FREE <= usage.free < _LITTLE_FREE_SHARE * usage.total:
        yield f"{usage.free / 2**30:.0f} GiB of {usage.total / 2**30:.0f} are free where {folder.path} is"
    if folder.exists:
        yield from _told(_of_revision(folder, settings))


def _told(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines, and what kept them from coming."""
    try:
        yield from lines
    except SegarenaError as error:
        yield str(error)
    except OSError as error:
        yield f"{error.filename}: {error.strerror}"


def _of_address(settings: Settings) -> Iterator[str]:
    host = urlsplit(settings.url).hostname or ""
    if settings.url and not settings.is_secure and host not in LOOPBACK:
        yield f"url {settings.url} is without TLS: passwords and tokens can be read on the way; have a proxy speak TLS"


def _of_mail(settings: Settings) -> Iterator[str]:
    if (
        settings.mail is not None
        and not settings.mail.faults()
        and (fault := smtp_fault(settings.mail))
    ):
        yield fault


def _of_provider(settings: Settings) -> Iterator[str]:
    """Ask the provider of accounts for its addresses and its keys."""
    if settings.oidc is None or settings.oidc.faults():
        provider = None
    else:
        provider = provider_of(settings.oidc)
    if provider is not None and settings.oidc is not None:
        try:
            provider.check()
        except SegarenaError as error:
            yield f"oidc: {settings.oidc.issuer} cannot be used: {error}"
        finally:
            provider.close()


def _of_roots(settings: Settings) -> Iterator[str]:
    for root in settings.roots:
        path = Path(root)
        if not path.is_absolute():
            yield f"roots: expected an absolute path, got {root!r}"
        elif not path.is_dir() or not os.access(path, os.R_OK | os.X_OK):
            yield f"roots: {root} is no folder that can be read"
        elif path == Path(path.anchor):
            yield f"roots: {root} offers all files of this machine"


def _of_disk(path: Path) -> Iterator[str]:
    free = shutil.disk_usage(_there(path)).free
    if free < _LEAST_FREE:
        yield f"only {free / 2**20:.0f} MiB are free where {path} is: make room"


def _of_clock() -> Iterator[str]:
    if time.time() < _BUILT:
        yield f"the clock says {time.strftime('%Y-%m-%d', time.gmtime())}: set it, phases open and close by it"


def _foreign(folder: DataFolder) -> list[str]:
    try:
        there = any(folder.path.iterdir())
    except OSError as error:
        return [f"{folder.path}: {error.strerror}"]
    return [f"{folder.path} holds other files; name a new or empty folder"] if there else []


def _unwritable(path: Path) -> list[str]:
    there = _there(path)
    if os.access(there, os.W_OK | os.X_OK):
        return []
    return [f"{path} cannot be made: {there} cannot be written"]


def _of_folder(folder: DataFolder) -> Iterator[str]:
    folder.secret()
    if folder.remote is not None:
        folder.remote.check()
    for path in (folder.path, folder.runs, folder.samples.folder, folder.photographs.folder):
        if path.exists() and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            yield f"{path} cannot be read and written by this user"
    yield from map(str, (*folder.samples.damaged(), *folder.photographs.damaged()))


def _of_permissions(folder: DataFolder) -> Iterator[str]:
    secret = folder.path / "secret"
    if secret.is_file() and secret.stat().st_mode & 0o077:
        yield f"{secret} can be read by others: chmod 600"


def _of_elsewhere(settings: Settings) -> Iterator[str]:
    with closing(Database(settings.db)) as database:
        yield from _of_reaching(database)


def _of_database(folder: DataFolder, settings: Settings) -> Iterator[str]:
    if not (settings.db or folder.database.is_file()):
        return  # the next start makes it, a look does not
    with closing(Database(settings.db or folder.database)) as database:
        if damage := list(_of_soundness(database)):
            yield from damage
            return
        yield from _of_reaching(database)
        revision = revision_of(database)
        if revision and newest_revision(revision) is None:
            yield f"the database was made by a later version of segarena (revision {revision}): install that version"
        if revision and revision == newest_revision(revision):
            yield from _of_log(database)
            yield from _of_challenges(database, folder, settings)


def _of_reaching(database: Database) -> Iterator[str]:
    with database.reading() as session:
        started = time.time()
        if not database.is_sqlite:
            theirs = float(
                session.scalar(text("SELECT extract(epoch FROM clock_timestamp())")) or 0.0
            )
            ended = time.time()
            apart = max(started - theirs, theirs - ended, 0.0)
            if apart > _MOST_APART_S:
                yield f"the clock of the database and of this machine are {apart:.0f} s apart: set both by NTP"


def _of_soundness(database: Database) -> Iterator[str]:
    if database.file is not None and database.file.is_file():
        try:
            with closing(sqlite3.connect(database.file)) as plain:
                found = plain.execute("PRAGMA integrity_check").fetchone()[0]
        except sqlite3.Error as error:
            found = str(error)
        if found != "ok":
            yield f"{database.file} is damaged ({found}); restore it from a backup"


def _of_log(database: Database) -> Iterator[str]:
    with database.reading() as session:
        ahead = (session.scalar(select(func.max(AuditEvent.at))) or 0.0) - time.time()
    if ahead > _MOST_APART_S:
        yield f"the log has a line that is {ahead:.0f} s from now: the clock was set back, or was ahead before"


def _of_revision(folder: DataFolder, settings: Settings) -> Iterator[str]:
    revision = ""
    if settings.db or folder.database.is_file():
        with closing(Database(settings.db or folder.database)) as database:
            revision = revision_of(database)
    if not revision:
        yield "the database has no tables yet; the first start makes them"
    elif newest_revision(revision) not in (revision, None):
        yield f"the tables are of an earlier version ({revision}): the next start changes them; take a backup before"


def _of_challenges(database: Database, folder: DataFolder, settings: Settings) -> Iterator[str]:
    with database.reading() as session:
        challenges = all_challenges(session)
        kept = session.execute(select(PooledSample.sha256, PooledSample.sample).distinct()).all()
    for challenge in challenges:
        for phase in cached_description(challenge.description).phases:
            if phase.kind == "test" and phase.seed < GUESSABLE_SEEDS:
                where = f"challenge {challenge.slug}, phase {phase.name}"
                yield f"{where}: its seed can be guessed; leave it out, and the server makes one"
        try:
            cached_info(challenge.description)
        except SegarenaError as error:
            yield f"challenge {challenge.slug} cannot be built: {error}"
            continue
        takes_programs = any("worker" in phase.takes for phase in description_of(challenge).phases)
        if takes_programs and (why := sandbox_of(settings.sent).fault()):
            yield f"challenge {challenge.slug} takes programs, and none can be confined here: {why}"
    for sha256, sample in kept if folder.remote is None else ():
        if not folder.samples.path(sha256).is_file():
            yield f"sample {sample} is missing ({folder.samples.path(sha256)}); restore it from a backup"


def _there(path: Path) -> Path:
    """Return the nearest folder above a path that is there."""
    return next(above for above in (path, *path.parents) if above.exists())


def _is_taken(host: str, port: int) -> bool:
    try:
        here = LOOPBACK[0] if ipaddress.ip_address(host).is_unspecified else host
        with socket.create_connection((here, port), timeout=0.5):
            return True
    except (OSError, ValueError):
        return False

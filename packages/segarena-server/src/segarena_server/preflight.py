"""Checks before the server starts: settings, folder, disk, database, samples, challenges and clock.

A check reports all problems at once and changes nothing. A fault keeps the server from working
properly; a remark is for information.
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
from segarena_server.auth.oidc_loader import load_provider
from segarena_server.challenges.challenge_management import stored_phases
from segarena_server.challenges.challenge_repository import (
    all_challenges,
    cached_description,
    cached_info,
    description_of,
)
from segarena_server.challenges.sample_overlap import revealed_tests
from segarena_server.config_file import settings_and_faults
from segarena_server.db.database import Database
from segarena_server.db.orm_models import AuditEvent, PooledSample
from segarena_server.db.schema import newest_revision, revision_of, unknown_revision_text
from segarena_server.mail.smtp import smtp_fault
from segarena_server.runs.submissions import sandbox_of
from segarena_server.settings import LOOPBACK, Settings
from segarena_server.storage.data_folder import DataFolder

GUESSABLE_SEEDS = 2**32
"""Anyone could try all seeds below this number and find the one that drew the samples."""
_MIN_FREE_BYTES = 2**30
"""With less than 1 GiB of free space, the next runs are likely to fill the disk."""
_LOW_FREE_SHARE = 0.1
_MAX_CLOCK_SKEW_S = 2.0
_EARLIEST_TIME = 1_767_225_600.0
"""The beginning of 2026; a clock that shows an earlier time was never set."""


@dataclass(frozen=True, slots=True)
class PreflightReport:
    """Faults and remarks, one line each."""

    faults: list[str]
    remarks: list[str]


def check(
    data: Path,
    config: Path | None,
    given: Mapping[str, Any],
) -> PreflightReport:
    """Check a configuration file, options, and everything that they refer to."""
    settings, faults = settings_and_faults(config, given)
    if settings is None:
        return PreflightReport(faults, [])
    return PreflightReport([*faults, *faults_of(data, settings)], list(remarks_of(data, settings)))


def faults_of(data: Path, settings: Settings) -> list[str]:
    """Return the faults, one line each; a folder or database that does not exist yet is not a fault."""
    # Settings for a remote storage are only parsed here; `_check_folder` tries to connect.
    try:
        folder = DataFolder(data, settings.storage)
    except SegarenaError as error:
        return [str(error)]
    faults = [
        *_check_address(settings),
        *_check_roots(settings),
        *_check_disk(folder.path),
        *_check_clock(),
    ]
    faults += [*_check_mail(settings), *_with_errors(_check_provider(settings))]
    # `exists` requires the files of an earlier start; a folder that lacks them must be empty or
    # absent.
    if folder.exists:
        faults += [
            *_with_errors(_check_folder(folder)),
            *_check_permissions(folder),
            *_with_errors(_check_database(folder, settings)),
        ]
    else:
        faults += (
            _check_foreign_files(folder) if folder.path.exists() else _check_parent(folder.path)
        )
        faults += _with_errors(_check_remote_database(settings)) if settings.db else []
    return faults


def remarks_of(data: Path, settings: Settings) -> Iterator[str]:
    """Yield remarks about the folder, settings, port, disk and database, one line each; remarks are not faults."""
    folder = DataFolder(data)
    if not folder.exists:
        yield f"{folder.path} does not exist yet; the first start creates it"
    if settings.is_secure and not settings.behind_proxy:
        yield "behind_proxy is not set: if a proxy handles TLS, all clients appear to have its address"
    if not settings.workers:
        yield "workers = 0: this server evaluates nothing; another server with the same database must evaluate"
    if settings.port and _is_taken(settings.host, settings.port):
        yield (
            f"another program listens on {settings.host}:{settings.port}; ignore this if that program is this "
            "server"
        )
    usage = shutil.disk_usage(_existing_parent(folder.path))
    # Below the minimum, `_check_disk` already reports a fault.
    if _MIN_FREE_BYTES <= usage.free < _LOW_FREE_SHARE * usage.total:
        yield f"{usage.free / 2**30:.0f} GiB of {usage.total / 2**30:.0f} are free on the disk of {folder.path}"
    if folder.exists:
        yield from _with_errors(_check_revision(folder, settings))


def _with_errors(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines; if producing them raises an error, yield its message as the last line."""
    try:
        yield from lines
    except SegarenaError as error:
        yield str(error)
    except OSError as error:
        yield f"{error.filename}: {error.strerror}"


def _check_address(settings: Settings) -> Iterator[str]:
    host = urlsplit(settings.url).hostname or ""
    if settings.url and not settings.is_secure and host not in LOOPBACK:
        yield (
            f"url {settings.url} does not use TLS: others on the network can read passwords and tokens; put a "
            "proxy with TLS in front"
        )


def _check_mail(settings: Settings) -> Iterator[str]:
    if (
        settings.mail is not None
        and not settings.mail.faults()
        and (fault := smtp_fault(settings.mail))
    ):
        yield fault


def _check_provider(settings: Settings) -> Iterator[str]:
    """Check that the configuration of the OpenID Connect provider is valid."""
    if settings.oidc is None or settings.oidc.faults():
        provider = None
    else:
        provider = load_provider(settings.oidc)
    if provider is not None and settings.oidc is not None:
        try:
            provider.check()
        except SegarenaError as error:
            yield f"oidc: {settings.oidc.issuer} cannot be used: {error}"
        finally:
            provider.close()


def _check_roots(settings: Settings) -> Iterator[str]:
    for root in settings.roots:
        path = Path(root)
        if not path.is_absolute():
            yield f"roots: expected an absolute path, got {root!r}"
        elif not path.is_dir() or not os.access(path, os.R_OK | os.X_OK):
            yield f"roots: {root} is not a readable folder"
        # As a root, "/" would let organisers name any file that the server can read, its secret
        # included.
        elif path == Path(path.anchor):
            yield f"roots: {root} exposes all files of this machine; name a narrower folder"


def _check_disk(path: Path) -> Iterator[str]:
    free = shutil.disk_usage(_existing_parent(path)).free
    if free < _MIN_FREE_BYTES:
        yield f"only {free / 2**20:.0f} MiB are free on the disk of {path}: free some space"


def _check_clock() -> Iterator[str]:
    if time.time() < _EARLIEST_TIME:
        yield (
            f"the clock says {time.strftime('%Y-%m-%d', time.gmtime())}: set it, because it "
            "decides when phases open and close"
        )


def _check_foreign_files(folder: DataFolder) -> list[str]:
    try:
        there = any(folder.path.iterdir())
    except OSError as error:
        return [f"{folder.path}: {error.strerror}"]
    return [f"{folder.path} contains other files; name a new or empty folder"] if there else []


def _check_parent(path: Path) -> list[str]:
    there = _existing_parent(path)
    if os.access(there, os.W_OK | os.X_OK):
        return []
    return [
        f"{path} cannot be created: {there} is not writable; change its permissions, or choose another folder"
    ]


def _check_folder(folder: DataFolder) -> Iterator[str]:
    folder.secret()
    if folder.remote is not None:
        folder.remote.check()
    for path in (folder.path, folder.runs, folder.samples.folder, folder.photographs.folder):
        if path.exists() and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            yield f"{path} is not readable and writable by this user; change its owner or permissions"
    yield from map(str, (*folder.samples.damaged(), *folder.photographs.damaged()))


def _check_permissions(folder: DataFolder) -> Iterator[str]:
    secret = folder.path / "secret"
    if secret.is_file() and secret.stat().st_mode & 0o077:
        yield f"{secret} is readable by other users: run chmod 600"


def _check_remote_database(settings: Settings) -> Iterator[str]:
    with closing(Database(settings.db)) as database:
        yield from _check_connection(database)


def _check_database(folder: DataFolder, settings: Settings) -> Iterator[str]:
    if not (settings.db or folder.database.is_file()):
        return  # created at the next start; a check changes nothing
    with closing(Database(settings.db or folder.database)) as database:
        # A damaged file makes the later queries fail with misleading errors.
        if damage := list(_check_integrity(database)):
            yield from damage
            return
        yield from _check_connection(database)
        revision = revision_of(database)
        if revision and newest_revision(revision) is None:
            yield f"the database {unknown_revision_text(revision)}"
        # The ORM classes only match the newest schema, so the tables of other revisions cannot be
        # queried.
        if revision and revision == newest_revision(revision):
            yield from _check_log(database)
            yield from _check_challenges(database, folder, settings)


def _check_connection(database: Database) -> Iterator[str]:
    with database.reading() as session:
        started = time.time()
        if not database.is_sqlite:
            theirs = float(
                session.scalar(text("SELECT extract(epoch FROM clock_timestamp())")) or 0.0
            )
            ended = time.time()
            # The query takes time on the way, so only a difference beyond both of its ends counts
            # as skew.
            apart = max(started - theirs, theirs - ended, 0.0)
            if apart > _MAX_CLOCK_SKEW_S:
                yield (
                    f"the clocks of the database and of this machine differ by {apart:.0f} s: synchronize both by "
                    "NTP"
                )


def _check_integrity(database: Database) -> Iterator[str]:
    if database.file is not None and database.file.is_file():
        try:
            with closing(sqlite3.connect(database.file)) as plain:
                found = plain.execute("PRAGMA integrity_check").fetchone()[0]
        except sqlite3.Error as error:
            found = str(error)
        if found != "ok":
            yield f"{database.file} is damaged ({found}); restore it from a backup"


def _check_log(database: Database) -> Iterator[str]:
    with database.reading() as session:
        ahead = (session.scalar(select(func.max(AuditEvent.at))) or 0.0) - time.time()
    if ahead > _MAX_CLOCK_SKEW_S:
        yield (
            f"the newest entry of the audit log is {ahead:.0f} s in the future: the clock was set back, or was "
            "fast before"
        )


def _check_revision(folder: DataFolder, settings: Settings) -> Iterator[str]:
    revision = ""
    if settings.db or folder.database.is_file():
        with closing(Database(settings.db or folder.database)) as database:
            revision = revision_of(database)
    if not revision:
        yield "the database has no tables yet; the first start creates them"
    elif newest_revision(revision) not in (revision, None):
        yield f"the tables have an earlier revision ({revision}): the next start migrates them; make a backup first"


def _check_challenges(
    database: Database,
    folder: DataFolder,
    settings: Settings,
) -> Iterator[str]:
    with database.reading() as session:
        challenges = all_challenges(session)
        kept = session.execute(select(PooledSample.sha256, PooledSample.sample).distinct()).all()
    for challenge in challenges:
        for phase in cached_description(challenge.description).phases:
            if phase.kind == "test" and phase.seed < GUESSABLE_SEEDS:
                where = f"challenge {challenge.slug}, phase {phase.name}"
                yield f"{where}: its seed can be guessed; omit it, and the server generates one"
        try:
            cached_info(challenge.description)
        except SegarenaError as error:
            yield f"challenge {challenge.slug} cannot be built: {error}"
            continue
        takes_programs = any("worker" in phase.takes for phase in description_of(challenge).phases)
        if takes_programs and (why := sandbox_of(settings.sent).fault()):
            yield f"challenge {challenge.slug} accepts programs, but this machine cannot run them in a sandbox: {why}"
    with database.reading() as session:
        yield from revealed_tests(stored_phases(session))
    # With a remote storage, the local folder is only a cache, and a missing file is downloaded
    # again.
    for sha256, sample in kept if folder.remote is None else ():
        if not folder.samples.path(sha256).is_file():
            yield f"sample {sample} is missing ({folder.samples.path(sha256)}); restore it from a backup"


def _existing_parent(path: Path) -> Path:
    """Return a path if it exists, otherwise its nearest existing parent folder."""
    return next(above for above in (path, *path.parents) if above.exists())


def _is_taken(host: str, port: int) -> bool:
    try:
        # Nothing can connect to 0.0.0.0 or :: portably, but a server bound there listens on the
        # loopback address.
        here = LOOPBACK[0] if ipaddress.ip_address(host).is_unspecified else host
        with socket.create_connection((here, port), timeout=0.5):
            return True
    except (OSError, ValueError):
        return False

"""Export of all data about a person, as a zip. It contains nothing about others and no hidden data."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import SegarenaError
from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.db.orm_models import (
    AccessKey,
    AuditEvent,
    Challenge,
    Identity,
    Person,
    Run,
    Submission,
    Team,
    Turn,
)
from segarena_server.extensions.site_sections import personal_data_sources
from segarena_server.http.middleware import LOG
from segarena_server.runs.run_repository import INTERACTIVE_KINDS, run_samples
from segarena_server.runs.scores import visible_scores
from segarena_server.site import Site
from segarena_server.storage.compression import decompress_body

_README = """All that this server keeps about your account.

account.json               the account, its keys (without their text, which nobody has but you), what you did and when,
                           your runs, and scores as far as you may see them
runs/RUN/PLACE-TURN.sent   what your program sent in a turn: masks
runs/RUN/PLACE-TURN.got    what it got: prompts, and values where the phase shows them
sent/NUMBER                the files that you sent to be judged, in the order of the account's list
drawing/TASK.json          what you drew in the studio, and when
seats/RUN/SEAT.json        what you gave at the seat of a run that asked you, and when you were away

Turns are frames, as they travelled. segarena.protocol reads them: unpack_turn what was sent, unpack_reply what
was got.
"""
_CHUNK_BYTES = 2**20
_SUBMISSION_COLUMNS = (
    "id",
    "kind",
    "phase",
    "name",
    "segmenter",
    "note",
    "state",
    "told",
    "bytes",
    "sha256",
    "sent_at",
    "done_at",
)


def personal_data_of(session: Session, person: Person, now: float) -> dict[str, Any]:
    """Return the table rows about a person as JSON values; of secrets only their existence."""
    keys = session.scalars(
        select(AccessKey).where(AccessKey.person_id == person.id).order_by(AccessKey.id)
    )
    events = session.scalars(
        select(AuditEvent).where(AuditEvent.person_id == person.id).order_by(AuditEvent.id)
    )
    identities = session.scalars(select(Identity).where(Identity.person_id == person.id))
    own = "id", "name", "contact", "email", "email_at", "wants_letters", "role", "state", "made_at"
    return {
        "account": _columns(person, *own),
        "elsewhere": [_columns(one, "issuer", "subject", "made_at") for one in identities],
        "team": session.get_one(Team, person.team_id).name,
        "keys": [
            _columns(key, "kind", "label", "made_at", "ends_at", "used_at", "ended_at")
            for key in keys
        ],
        "log": [_columns(event, "at", "action", "about", "address") for event in events],
        "runs": [_run(session, run, now) for run in _runs(session, person)],
        "sent": [_columns(sent, *_SUBMISSION_COLUMNS) for sent in _sent(session, person)],
        **{
            name: source.about(session, person.id)
            for name, source in personal_data_sources().items()
        },
    }


def personal_data_archive(site: Site, person_id: int) -> Iterator[bytes]:
    """Yield a zip of all data about a person piece by piece, without a temporary file."""
    with site.database.reading() as session:
        person = session.get_one(Person, person_id)
        account = json.dumps(
            personal_data_of(session, person, site.now()), indent=1, ensure_ascii=False
        )
        turns = _turns(session, person)
        files = [sent.sha256 for sent in _sent(session, person)]
    pieces = _DrainedBuffer()
    with zipfile.ZipFile(pieces, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        archive.writestr("README.txt", _README)
        archive.writestr("account.json", account)
        for run_id, place, number in turns:
            with site.database.reading() as session:
                turn = session.get_one(Turn, (run_id, place, number))
            for name, packed in (("sent", turn.request), ("got", turn.response)):
                if packed:
                    archive.writestr(
                        f"runs/{run_id}/{place + 1}-{number}.{name}", decompress_body(packed)
                    )
            yield pieces.drain()
        for number, sha256 in enumerate(files, 1):
            for _ in _put_file(archive, site, f"sent/{number}", sha256):
                yield pieces.drain()
        for folder, source in personal_data_sources().items():
            for name, content in source.files(site, person_id):
                archive.writestr(f"{folder}/{name}", content)
                yield pieces.drain()
    yield pieces.drain()


def _put_file(archive: zipfile.ZipFile, site: Site, name: str, sha256: str) -> Iterator[None]:
    """Add a submitted file to an archive part by part; note a lost file and go on."""
    try:
        path = site.folder.sent.fetch(sha256)
    except SegarenaError as error:
        LOG.warning("a file that was sent is missing from a copy: %s", error)
        archive.writestr(f"{name}.missing", "the server does not have this file any more")
        return
    with path.open("rb") as file, archive.open(name, "w", force_zip64=True) as target:
        while part := file.read(_CHUNK_BYTES):
            target.write(part)
            yield


class _DrainedBuffer:
    """A write-only file object whose content is drained while it is written."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def write(self, data: bytes) -> int:
        self._buffer += data
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is no buffer below."""

    def close(self) -> None:
        """Do nothing: no file is open."""

    def drain(self) -> bytes:
        """Return and remove the content."""
        content = bytes(self._buffer)
        self._buffer = bytearray()
        return content


def _runs(session: Session, person: Person) -> list[Run]:
    return list(
        session.scalars(select(Run).where(Run.person_id == person.id).order_by(Run.made_at))
    )


def _sent(session: Session, person: Person) -> list[Submission]:
    return list(
        session.scalars(
            select(Submission).where(Submission.person_id == person.id).order_by(Submission.sent_at)
        )
    )


def _turns(session: Session, person: Person) -> list[tuple[str, int, int]]:
    """Return the keys of turns over the network; turns with submitted programs on the server are hidden."""
    own = select(Turn.run_id, Turn.place, Turn.number).join(Run, Run.id == Turn.run_id)
    travelled = own.where(Run.person_id == person.id, Run.kind.in_(INTERACTIVE_KINDS))
    found = session.execute(travelled.order_by(Run.made_at, Turn.place, Turn.number))
    return [(run_id, place, number) for run_id, place, number in found]


def _run(session: Session, run: Run, now: float) -> dict[str, Any]:
    """Return a run as its participant may see it, with keys in place of sample names."""
    challenge = session.get_one(Challenge, run.challenge_id)
    columns = _columns(
        run, "id", "phase", "name", "segmenter", "note", "state", "fault", "made_at", "ended_at"
    )
    team = session.get_one(Team, run.team_id).name
    places = [place.key for place in run_samples(session, run.id)]
    scores = visible_scores(run, find_phase(challenge, run.phase), now)
    return columns | {"challenge": challenge.slug, "team": team, "places": places, "scores": scores}


def _columns(row: object, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}

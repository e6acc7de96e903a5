"""Export of all data about a person as a zip, without data about others or hidden data."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import SegarenaError
from segarena_server.auth.second_factor import codes_left
from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.db.orm_models import (
    AccessKey,
    Announcement,
    AuditEvent,
    Challenge,
    ChallengeOrganiser,
    Identity,
    JoinRequest,
    Person,
    Run,
    SecondFactor,
    Submission,
    Team,
    TermsAcceptance,
    TermsVersion,
    Turn,
    TurnKey,
)
from segarena_server.extensions.site_sections import personal_data_sources
from segarena_server.runs.run_repository import INTERACTIVE_KINDS, run_samples
from segarena_server.runs.scores import visible_scores
from segarena_server.server_log import LOG
from segarena_server.site import Site
from segarena_server.storage.compression import decompress_body

_README = """All data that this server stores about your account.

account.json               the account, its keys (without their text, which only you have), what you did and when,
                           your runs, and scores as far as you may see them
runs/RUN/PLACE-TURN.sent   what your program sent in a turn: masks
runs/RUN/PLACE-TURN.got    what it received: prompts, and scores if the phase shows them
sent/NUMBER                the files that you submitted, in the order of "sent" in account.json
drawing/TASK.json          what you drew in the studio, and when
seats/RUN/SEAT.json        your answers to a run that prompted you, and when you were away

Turns are stored as they were sent. segarena.protocol decodes them: unpack_turn what your program sent, unpack_reply
what it received.
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


def personal_data_of(
    session: Session,
    person: Person,
    now: float,
) -> dict[str, Any]:
    """Return the table rows about a person as JSON values; for secrets, only whether they exist."""
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
        "second_factor": _second_factor(session, person),
        "elsewhere": [_columns(one, "issuer", "subject", "made_at") for one in identities],
        "team": session.get_one(Team, person.team_id).name,
        "keys": [
            _columns(key, "kind", "label", "made_at", "ends_at", "used_at", "ended_at")
            for key in keys
        ],
        "log": [_columns(event, "at", "action", "about", "address") for event in events],
        "runs": [_run(session, run, now) for run in _runs(session, person)],
        "sent": [_columns(sent, *_SUBMISSION_COLUMNS) for sent in _sent(session, person)],
        "organises": _organised(session, person),
        "terms": _accepted_terms(session, person),
        "join_requests": _join_requests(session, person),
        "announcements": [
            _columns(one, "title", "text", "made_at", "withdrawn_at")
            for one in session.scalars(
                select(Announcement)
                .where(Announcement.person_id == person.id)
                .order_by(Announcement.id)
            )
        ],
        **{
            name: source.about(session, person.id)
            for name, source in personal_data_sources().items()
        },
    }


def _accepted_terms(session: Session, person: Person) -> list[dict[str, Any]]:
    """Return the versions of terms that a person accepted, with their texts."""
    rows = session.execute(
        select(Challenge.slug, TermsAcceptance, TermsVersion.text)
        .join(TermsAcceptance, TermsAcceptance.challenge_id == Challenge.id)
        .join(
            TermsVersion,
            (TermsVersion.challenge_id == TermsAcceptance.challenge_id)
            & (TermsVersion.number == TermsAcceptance.number),
        )
        .where(TermsAcceptance.person_id == person.id)
        .order_by(TermsAcceptance.made_at)
    )
    return [
        _columns(accepted, "number", "made_at") | {"challenge": slug, "text": text}
        for slug, accepted, text in rows
    ]


def _join_requests(session: Session, person: Person) -> list[dict[str, Any]]:
    """Return the requests to take part that a person made for teams."""
    rows = session.execute(
        select(Challenge.slug, JoinRequest)
        .join(JoinRequest, JoinRequest.challenge_id == Challenge.id)
        .where(JoinRequest.person_id == person.id)
        .order_by(JoinRequest.made_at)
    )
    own = "message", "state", "reason", "made_at", "decided_at"
    return [_columns(request, *own) | {"challenge": slug} for slug, request in rows]


def _organised(session: Session, person: Person) -> list[dict[str, Any]]:
    """Return the challenges that a person organises, and since when."""
    rows = session.execute(
        select(Challenge.slug, ChallengeOrganiser.made_at)
        .join(ChallengeOrganiser, ChallengeOrganiser.challenge_id == Challenge.id)
        .where(ChallengeOrganiser.person_id == person.id)
        .order_by(Challenge.id)
    )
    return [{"challenge": slug, "made_at": made_at} for slug, made_at in rows]


def _second_factor(session: Session, person: Person) -> dict[str, Any] | None:
    """Return when the second factor was set up, and the number of unused recovery codes; None without one."""
    factor = session.get(SecondFactor, person.id)
    if factor is None:
        return None
    left = codes_left(session, person.id)
    return _columns(factor, "made_at", "confirmed_at") | {"recovery_codes_left": left}


def personal_data_archive(site: Site, person_id: int) -> Iterator[bytes]:
    """Yield a zip of all data about a person in pieces, without a temporary file."""
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
            # One turn at a time, because all masks of a person may not fit into memory.
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


def _put_file(
    archive: zipfile.ZipFile,
    site: Site,
    name: str,
    sha256: str,
) -> Iterator[None]:
    """Add a submitted file to an archive in pieces; if the file is lost, add a note instead."""
    try:
        path = site.folder.sent.fetch(sha256)
    except SegarenaError as error:
        LOG.warning("a submitted file is missing from a data export: %s", error)
        archive.writestr(f"{name}.missing", "the server no longer has this file")
        return
    with path.open("rb") as file, archive.open(name, "w", force_zip64=True) as target:
        while part := file.read(_CHUNK_BYTES):
            target.write(part)
            yield


class _DrainedBuffer:
    """A write-only file object whose content is read while it is being written."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def write(self, data: bytes) -> int:
        self._buffer += data
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is no underlying file."""

    def close(self) -> None:
        """Do nothing: no file is open."""

    def drain(self) -> bytes:
        """Return the content and remove it."""
        content = bytes(self._buffer)
        self._buffer = bytearray()
        return content


def _runs(session: Session, person: Person) -> list[Run]:
    of_person = select(Run).where(Run.person_id == person.id)
    return list(session.scalars(of_person.order_by(Run.made_at)))


def _sent(session: Session, person: Person) -> list[Submission]:
    of_person = select(Submission).where(Submission.person_id == person.id)
    return list(session.scalars(of_person.order_by(Submission.sent_at)))


def _turns(session: Session, person: Person) -> list[TurnKey]:
    """Return the keys of the turns in a person's runs; turns of submitted programs stay hidden."""
    query = (
        select(Turn.run_id, Turn.place, Turn.number)
        .join(Run, Run.id == Turn.run_id)
        .where(
            Run.person_id == person.id,
            # A submitted program receives hidden samples, and its turns would reveal their prompts.
            Run.kind.in_(INTERACTIVE_KINDS),
        )
        .order_by(Run.made_at, Turn.place, Turn.number)
    )
    keys: list[TurnKey] = []
    for run_id, place, number in session.execute(query):
        keys.append((run_id, place, number))
    return keys


def _run(
    session: Session,
    run: Run,
    now: float,
) -> dict[str, Any]:
    """Return a run as its participant may see it, with sample keys in place of sample names."""
    challenge = session.get_one(Challenge, run.challenge_id)
    columns = _columns(
        run,
        "id",
        "phase",
        "name",
        "segmenter",
        "note",
        "state",
        "fault",
        "unranked",
        "made_at",
        "ended_at",
    )
    team = session.get_one(Team, run.team_id).name
    places = [place.key for place in run_samples(session, run.id)]
    scores = visible_scores(run, find_phase(challenge, run.phase), now)
    return columns | {"challenge": challenge.slug, "team": team, "places": places, "scores": scores}


def _columns(row: object, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}

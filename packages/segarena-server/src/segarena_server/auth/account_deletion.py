"""Accounts that are deleted. What names somebody goes; what others rely on stays, under a number.

The row of the account stays with its number alone, so that no other account gets it: the log and the runs refer to it.
Results stay on boards, as other rows were compared with them, and prompts stay counted, as whoever got them still knows
them; the team that they were given to stays in its circle.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from segarena.errors import SegarenaError
from segarena.plugin_spec import PluginSpec
from segarena.registry import lookup
from segarena.reports.boards.extracts import extract_text, read_extract
from segarena_server.auth.accounts import keep_one_admin
from segarena_server.auth.teams import is_personal_team, leave, members_of
from segarena_server.db.orm_models import (
    AccessKey,
    AuditEvent,
    Identity,
    Person,
    QueuedEmail,
    Run,
    Submission,
    Team,
)
from segarena_server.extensions.site_sections import personal_data_sources
from segarena_server.jobs.job_queue import REMOVE_NAME, enqueue_job
from segarena_server.runs.run_repository import request_end
from segarena_server.runs.submissions import drop_when_written
from segarena_server.storage.data_folder import DataFolder

NAMELESS = "run"
"""What a run is called whose team is deleted, and what was judged by it."""


def delete_account(session: Session, folder: DataFolder, person: Person, now: float) -> None:
    """Delete an account: its name, contact, password, keys, addresses, what it sent, and what its runs are called.

    Raises:
        InvalidInput: it is the last one that administers, or that leads what others take part in.
    """
    keep_one_admin(session, person)
    for kept in personal_data_sources().values():
        kept.forget(session, folder, person.id, now)
    team = session.get_one(Team, person.team_id)
    if not is_personal_team(person, team):
        leave(session, person, now)
        if not members_of(session, team.id):
            _forget_team(session, team, now)
    _forget_team(session, session.get_one(Team, person.team_id), now)
    _forget_sent(session, folder, person, now)
    _forget_name(session, person)
    connection = session.connection()
    connection.execute(delete(AccessKey).where(AccessKey.person_id == person.id))
    connection.execute(
        update(AuditEvent).where(AuditEvent.person_id == person.id).values(address="")
    )
    person.name = person.folded = f"(deleted {person.id})"
    for table in (QueuedEmail, Identity):
        connection.execute(delete(table).where(table.person_id == person.id))
    person.contact = ""
    person.password = "-"
    person.state = "deleted"
    person.email = ""
    person.email_at = None
    person.wants_letters = False
    session.flush()


def _forget_team(session: Session, team: Team, now: float) -> None:
    """Take the name from a team that nobody is in any more, and from its runs; those that go on end.

    What their folders say is changed by jobs: there may be many, and they may be elsewhere.
    """
    team.name = team.folded = f"(deleted {team.id})"
    for run in session.scalars(select(Run).where(Run.team_id == team.id)):
        run.name, run.segmenter, run.note = NAMELESS, _known(run.segmenter), ""
        enqueue_job(
            session, REMOVE_NAME, run.id, now
        )  # before it is ended, which goes by the new name
        request_end(session, run, now)
        if run.extract:
            extract = read_extract(run.extract)
            run.extract = extract_text(
                replace(extract, segmenter=replace(extract.segmenter, name=NAMELESS))
            )


def _known(segmenter: str) -> str:
    """Return the name of a segmenter that everybody has, which tells nothing of who named it; "" for any other."""
    try:
        name = PluginSpec.parse(segmenter).reference
    except SegarenaError:
        return ""
    return name if lookup("segmenter", name) else ""


def _forget_sent(session: Session, folder: DataFolder, person: Person, now: float) -> None:
    """Delete the files that somebody sent to be judged; what is still looked at or judged ends."""
    for sent in session.scalars(select(Submission).where(Submission.person_id == person.id)):
        sent.name = NAMELESS
        sent.segmenter = ""
        sent.note = ""
        sent.told = "[]"
        sent.failure = ""
        if sent.state == "waiting":
            sent.state = "dead"
            sent.done_at = now
        if sent.run_id is not None:
            request_end(session, session.get_one(Run, sent.run_id), now)
        same = Submission.sha256 == sent.sha256, Submission.person_id != person.id
        if session.scalar(select(Submission.id).where(*same).limit(1)) is None:
            drop_when_written(session, folder.sent, sent.sha256)


def _forget_name(session: Session, person: Person) -> None:
    """Take a name out of lines of the log that were written when lines had names."""
    lines = AuditEvent.about.startswith(f"{person.name}: ", autoescape=True) | (
        AuditEvent.about == person.name
    )
    actions = ("account changed", "sign-in refused")
    for event in session.scalars(select(AuditEvent).where(AuditEvent.action.in_(actions), lines)):
        event.about = event.about.replace(person.name, f"account {person.id}", 1)

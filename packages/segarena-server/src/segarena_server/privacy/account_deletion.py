"""Account deletion: remove everything that identifies a person, and keep what other people rely on.

The account's row keeps only its id, to which the log and the runs refer, so that no other account
gets this id. Results stay on the boards, because other rows were compared with them. Prompts still
count, because the people who received them still know them; their team stays in its circle.
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
from segarena_server.auth.oidc_identities import NO_PASSWORD
from segarena_server.auth.teams import is_personal_team, leave, members_of
from segarena_server.db.orm_models import (
    AccessKey,
    AuditEvent,
    ChallengeOrganiser,
    Identity,
    JoinRequest,
    Person,
    QueuedEmail,
    RecoveryCode,
    Run,
    SecondFactor,
    Submission,
    Team,
    TermsAcceptance,
)
from segarena_server.extensions.site_sections import personal_data_sources
from segarena_server.jobs.job_queue import REMOVE_NAME, enqueue_job
from segarena_server.runs.run_repository import NAMELESS, request_end
from segarena_server.runs.submissions import drop_when_written
from segarena_server.storage.data_folder import DataFolder


def delete_account(
    session: Session,
    folder: DataFolder,
    person: Person,
    now: float,
) -> None:
    """Delete an account: its name, contact, password, keys, addresses and submissions.

    Runs also lose their names if their team has no members left.

    Raises:
        InvalidInput: the person is the last administrator, or the last leader of something shared.
    """
    keep_one_admin(session, person)
    # First, because a section may raise `InvalidInput` if the person has to act first.
    for source in personal_data_sources().values():
        source.forget(session, folder, person.id, now)
    team = session.get_one(Team, person.team_id)
    if not is_personal_team(person, team):
        leave(session, person, now)
        if not members_of(session, team.id):
            _anonymise_team(session, team, now)
    _anonymise_team(session, session.get_one(Team, person.team_id), now)
    _delete_submissions(session, folder, person, now)
    _remove_name_from_log(session, person)
    connection = session.connection()
    connection.execute(delete(AccessKey).where(AccessKey.person_id == person.id))
    connection.execute(
        update(AuditEvent).where(AuditEvent.person_id == person.id).values(address="")
    )
    # The folded name is unique, so the placeholder contains the account's id.
    person.name = person.folded = f"(deleted {person.id})"
    for table in (
        QueuedEmail,
        Identity,
        SecondFactor,
        RecoveryCode,
        ChallengeOrganiser,
        TermsAcceptance,
    ):
        connection.execute(delete(table).where(table.person_id == person.id))
    # The decision stays with the team, but the words are the person's.
    asked = update(JoinRequest).where(JoinRequest.person_id == person.id)
    connection.execute(asked.values(message="", person_id=None))
    person.contact = ""
    person.password = NO_PASSWORD
    person.state = "deleted"
    person.email = ""
    person.email_at = None
    person.wants_letters = False
    # Flush now, so that a violated constraint shows here and not at the caller's commit.
    session.flush()


def _anonymise_team(
    session: Session,
    team: Team,
    now: float,
) -> None:
    """Remove the name of a team without members, also from its runs, and end its open runs.

    Jobs rewrite the run folders, because there may be many and they may be in remote storage.
    """
    team.name = team.folded = f"(deleted {team.id})"
    for run in session.scalars(select(Run).where(Run.team_id == team.id)):
        run.name = NAMELESS
        run.segmenter = _public_segmenter(run.segmenter)
        run.note = ""
        # Before the run ends, because ending it uses the new name.
        enqueue_job(session, REMOVE_NAME, run.id, now)
        request_end(session, run, now)
        if run.extract:
            extract = read_extract(run.extract)
            segmenter = replace(extract.segmenter, name=NAMELESS)
            run.extract = extract_text(replace(extract, segmenter=segmenter))


def _public_segmenter(segmenter: str) -> str:
    """Return the name of an installed segmenter, which identifies nobody, or "" for any other text."""
    try:
        name = PluginSpec.parse(segmenter).reference
    except SegarenaError:
        return ""
    return name if lookup("segmenter", name) else ""


def _delete_submissions(
    session: Session,
    folder: DataFolder,
    person: Person,
    now: float,
) -> None:
    """Delete the submitted files of a person, and end their inspection and evaluation."""
    for submission in session.scalars(select(Submission).where(Submission.person_id == person.id)):
        submission.name = NAMELESS
        submission.segmenter = ""
        submission.note = ""
        submission.told = "[]"
        submission.failure = ""
        if submission.state == "waiting":
            submission.state = "dead"
            submission.done_at = now
        if submission.run_id is not None:
            request_end(session, session.get_one(Run, submission.run_id), now)
        # The file stays if another person submitted the same one.
        same_file = select(Submission.id).where(
            Submission.sha256 == submission.sha256, Submission.person_id != person.id
        )
        if session.scalar(same_file.limit(1)) is None:
            drop_when_written(session, folder.sent, submission.sha256)


def _remove_name_from_log(session: Session, person: Person) -> None:
    """Remove a person's name from log entries of earlier versions, which contained names."""
    lines = AuditEvent.about.startswith(f"{person.name}: ", autoescape=True) | (
        AuditEvent.about == person.name
    )
    actions = ("account changed", "sign-in refused")
    for event in session.scalars(select(AuditEvent).where(AuditEvent.action.in_(actions), lines)):
        event.about = event.about.replace(person.name, f"account {person.id}", 1)

"""Invitations to a project: accounts are added by name, and other people get a link that creates an account.

A link is an invitation of the server (`segarena_server.auth.access_keys`) whose label names the project and the role.
The account that uses it may then join the project. The label is signed, because organisers of the server, who need not
belong to the project, choose the labels of their own invitations. E-mail addresses are not stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.auth.access_keys import find_key
from segarena_server.auth.accounts import invite, person_named
from segarena_server.auth.permissions import secrets_match, sign
from segarena_server.db.orm_models import AccessKey, Person
from segarena_server.mail.mail_outbox import clean_address
from segarena_server.site import Site
from segarena_studio.annotation.projects import set_member
from segarena_studio.orm_models import MEMBER_ROLES, Member, Project

MOST_ENTRIES = 200
"""Maximum number of names and addresses in one list."""
_LABEL = re.compile(r"project:([0-9]{1,9}):([a-z]+):([0-9a-f]{32})")
_SEPARATORS = re.compile(r"[\n\r,;]+")
_ACCOUNT_ROLE = "participant"


class InvitationResult(msgspec.Struct, kw_only=True):
    """Result of inviting a list of people.

    Attributes:
        added: names of the accounts that became members.
        known: names of the accounts that were members before; their roles are unchanged.
        keys: pairs of an e-mail address and the key of its invitation.
        refused: pairs of an entry that could not be used and the reason.
    """

    added: list[str] = []
    known: list[str] = []
    keys: list[tuple[str, str]] = []
    refused: list[tuple[str, str]] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectInvitation:
    """An invitation that a person may accept.

    Attributes:
        key: the stored key.
        project: the project.
        role: role of the new member.
    """

    key: AccessKey
    project: Project
    role: str


def split_entries(text: str) -> list[str]:
    """Split a list of names and addresses at line breaks, commas and semicolons, without duplicates.

    Raises:
        InvalidInput: the list is empty or too long.
    """
    stripped = [" ".join(entry.split()) for entry in _SEPARATORS.split(text)]
    entries = list(dict.fromkeys(entry for entry in stripped if entry))
    if not 1 <= len(entries) <= MOST_ENTRIES:
        raise InvalidInput(
            f"people: expected 1 to {MOST_ENTRIES} names or e-mail addresses, got {len(entries)}"
        )
    return entries


def invite_people(
    session: Session,
    site: Site,
    project: Project,
    entries: list[str],
    role: str,
    now: float,
    *,
    may_create_accounts: bool,
) -> InvitationResult:
    """Add the accounts in a list to a project, and create invitations for the e-mail addresses.

    Args:
        session: write session.
        site: site of the project.
        project: the project.
        entries: names of accounts and e-mail addresses.
        role: role of the new members.
        now: time of the invitation.
        may_create_accounts: whether the sender may let people create accounts, as organisers of the server may.

    Raises:
        InvalidInput: the role is unknown.
    """
    if role not in MEMBER_ROLES:
        raise InvalidInput(f"role: expected {', '.join(MEMBER_ROLES)}")
    result = InvitationResult()
    for entry in entries:
        try:
            if "@" in entry:
                _check_may_invite(may_create_accounts=may_create_accounts)
                label = _label(site, project.id, role)
                address = clean_address(entry)
                result.keys.append((address, invite(session, now, _ACCOUNT_ROLE, label)))
            else:
                _add_account(session, project, entry, role, now, result)
        except InvalidInput as error:
            result.refused.append((entry[:200], str(error)))
    return result


def find_invitation(
    session: Session,
    site: Site,
    text: str,
) -> ProjectInvitation | None:
    """Return the unused invitation whose link contains this text; None if there is none, or it has expired."""
    key = find_key(session, "invitation", text, site.now())
    return None if key is None else _read_invitation(session, site, key)


def find_pending_invitation(
    session: Session,
    site: Site,
    person_id: int,
) -> ProjectInvitation | None:
    """Return the invitation that created an account; None if there is none, or the person joined its project."""
    query = (
        select(AccessKey)
        .where(AccessKey.kind == "invitation", AccessKey.person_id == person_id)
        .where(AccessKey.used_at.is_not(None), AccessKey.label.startswith("project:"))
        .order_by(AccessKey.id.desc())
    )
    for key in session.scalars(query):
        found = _read_invitation(session, site, key)
        if found is not None and session.get(Member, (found.project.id, person_id)) is None:
            return found
    return None


def accept_invitation(
    session: Session,
    invitation: ProjectInvitation,
    person: Person,
    now: float,
) -> None:
    """Add a person to the project of an invitation, which becomes invalid; members keep their role.

    Raises:
        InvalidInput: the account may only view.
        Refusal: another person has used the invitation.
    """
    # Lock the key, so that two people cannot accept it at the same moment.
    key = session.get_one(
        AccessKey, invitation.key.id, with_for_update=True, populate_existing=True
    )
    if key.person_id not in (None, person.id):
        raise http_errors.unknown()
    if session.get(Member, (invitation.project.id, person.id)) is None:
        set_member(session, invitation.project, person.name, invitation.role, now)
    key.person_id = person.id
    key.used_at = key.used_at or now
    key.ended_at = now
    # A used invitation admits nobody again, not even a person who was removed from the project.
    key.label = "used: " + key.label


def _label(
    site: Site,
    project_id: int,
    role: str,
) -> str:
    named = f"project:{project_id}:{role}"
    return f"{named}:{sign(site, 'project invitation', named)[:32]}"


def _read_invitation(
    session: Session,
    site: Site,
    key: AccessKey,
) -> ProjectInvitation | None:
    match = _LABEL.fullmatch(key.label)
    if match is None:
        return None
    project_id = int(match[1])
    role = match[2]
    if not secrets_match(key.label, _label(site, project_id, role)):
        return None
    project = session.get(Project, project_id)
    if project is None:
        return None
    return ProjectInvitation(key=key, project=project, role=role)


def _check_may_invite(*, may_create_accounts: bool) -> None:
    if not may_create_accounts:
        raise InvalidInput(
            "only organisers of the server can invite people without an account; enter the name of an account"
        )


def _add_account(
    session: Session,
    project: Project,
    name: str,
    role: str,
    now: float,
    result: InvitationResult,
) -> None:
    person = person_named(session, name)
    if person is not None and session.get(Member, (project.id, person.id)) is not None:
        result.known.append(person.name)
        return
    set_member(session, project, name, role, now)
    result.added.append(name if person is None else person.name)

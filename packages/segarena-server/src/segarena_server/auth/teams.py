"""Teams: the owners of runs. Quotas and board rows belong to a team; the prompt budget belongs to a circle of teams.

People who join a team bring along the prompts they have seen, and people who leave still know them.
Teams that ever had a member in common therefore form one permanent circle with one prompt budget,
so that changing teams yields no additional prompts.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Select, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.auth.access_keys import create_key, end_keys, find_key
from segarena_server.auth.accounts import check_lookalikes, fold_name
from segarena_server.db.orm_models import Person, Run, Team


def team_of(session: Session, person_id: int) -> int:
    """Return the id of a person's current team."""
    return session.scalars(select(Person.team_id).where(Person.id == person_id)).one()


def circle_of(session: Session, team_id: int) -> Select[int]:
    """Return a query for all teams that share the prompt budget of a team, itself included."""
    circle = select(Team.circle).where(Team.id == team_id).scalar_subquery()
    return select(Team.id).where(Team.circle == circle)


def runs_counted(team_id: int) -> ColumnElement[bool]:
    """Return the condition for runs that count towards a team's quota: its own, and its members' runs in other teams.

    Founding a new team therefore yields no additional runs.
    """
    members = select(Person.id).where(Person.team_id == team_id)
    return or_(Run.team_id == team_id, Run.person_id.in_(members))


def is_own(
    run: Run,
    team_id: int,
    person_id: int | None,
) -> bool:
    """Return whether a run is a person's own: one of their current team, or one that they started in another."""
    return run.team_id == team_id or run.person_id == person_id


def members_of(session: Session, team_id: int) -> list[Person]:
    """Return the members of a team in order of account id."""
    return list(
        session.scalars(select(Person).where(Person.team_id == team_id).order_by(Person.id))
    )


def is_personal_team(person: Person, team: Team) -> bool:
    """Return whether a team is the personal team of a person, which nobody else can join."""
    return team.folded == person.folded


def lock_circles(session: Session, *team_ids: int) -> None:
    """Lock teams, with all teams of their circles, against other changes and new runs until the transaction ends."""
    while True:
        circles = select(Team.circle).where(Team.id.in_(team_ids))
        before = set(session.scalars(circles))
        # In order of id, so that two transactions that lock overlapping circles cannot deadlock.
        locked = select(Team.id).where(Team.circle.in_(before)).order_by(Team.id).with_for_update()
        held = set(session.scalars(locked))
        if held >= {*team_ids} and set(session.scalars(circles)) <= before:
            return  # no circles were merged while waiting for the locks


def make_team(
    session: Session,
    person: Person,
    name: str,
    now: float,
) -> Team:
    """Create a team with one member, who leaves their current team.

    Raises:
        InvalidInput: a team or a person has this name or one that resembles it.
    """
    check_lookalikes(session, name)
    team = Team(name=name, folded=fold_name(name), made_at=now)
    try:
        with session.begin_nested():
            session.add(team)
    except IntegrityError as error:
        raise InvalidInput("this name is taken; choose another") from error
    _move(session, person, team, now)
    return team


def invite_to(
    session: Session,
    person: Person,
    now: float,
) -> str:
    """Create an invitation to a person's team and return its text, which is valid for one use.

    Raises:
        InvalidInput: the person is in their personal team.
    """
    team = session.get_one(Team, person.team_id)
    if is_personal_team(person, team):
        raise InvalidInput("nobody can join your personal team: create a team first")
    return create_key(session, "team", now, person_id=person.id, team_id=team.id)


def invited_to(
    session: Session,
    text: str,
    now: float,
) -> Team | None:
    """Return the team of an invitation, or None if the invitation is invalid or has expired."""
    key = find_key(session, "team", text, now)
    return session.get(Team, key.team_id) if key and key.team_id else None


def join(
    session: Session,
    person: Person,
    text: str,
    now: float,
) -> Team:
    """Move a person to the team of an invitation, and return that team.

    Raises:
        InvalidInput: the invitation is invalid or has expired, or the person is already a member.
    """
    key = find_key(session, "team", text, now)
    team = session.get(Team, key.team_id) if key and key.team_id else None
    if key is None or team is None:
        raise InvalidInput("the invitation is invalid or has expired; ask the sender for a new one")
    if team.id == person.team_id:
        raise InvalidInput("you are already a member of this team")
    key.ended_at = key.used_at = now
    _move(session, person, team, now)
    return team


def leave(
    session: Session,
    person: Person,
    now: float,
) -> Team:
    """Move a person back to their personal team and return it; the former team keeps its runs.

    Raises:
        InvalidInput: the person is already in their personal team.
    """
    own = session.scalars(select(Team).where(Team.folded == person.folded)).one()
    if own.id == person.team_id:
        raise InvalidInput("this is your personal team, which you cannot leave")
    _move(session, person, own, now)
    return own


def _move(
    session: Session,
    person: Person,
    team: Team,
    now: float,
) -> None:
    """Move a person to a team, and merge its circle with the circle of the person's former team."""
    former_id = person.team_id
    lock_circles(session, former_id, team.id)
    # Read again, because other transactions may have merged circles before this one got the lock.
    former_circle = session.get_one(Team, former_id, populate_existing=True).circle
    new_circle = session.get_one(Team, team.id, populate_existing=True).circle
    for other in session.scalars(select(Team).where(Team.circle == new_circle)):
        other.circle = former_circle
    person.team_id = team.id
    session.flush()
    # Revoke the person's team invitations, which would still lead to the team they have left.
    end_keys(session, person.id, now, kind="team")

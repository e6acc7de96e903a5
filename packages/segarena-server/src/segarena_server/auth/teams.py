"""Teams: whose a run is. Runs, limits and rows of the board are a team's, the budget of prompts is its circle's.

Whoever joins a team brings along what they have seen, and whoever leaves it still knows it. So teams that ever had a
member in common are one circle, for good, and have one budget: who joins and leaves gets no prompt that is new to it.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Select, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.auth.accounts import fold_name
from segarena_server.auth.keys import create_key, end_keys, find_key
from segarena_server.db.orm_models import Person, Run, Team


def team_of(session: Session, person_id: int) -> int:
    """Return the team that somebody has now."""
    return session.scalars(select(Person.team_id).where(Person.id == person_id)).one()


def circle_of(session: Session, team_id: int) -> Select[int]:
    """Return a choice of the teams that share a budget of prompts with one, itself among them."""
    circle = select(Team.circle).where(Team.id == team_id).scalar_subquery()
    return select(Team.id).where(Team.circle == circle)


def runs_counted(team_id: int) -> ColumnElement[bool]:
    """Return what is true of the runs that count for a team's limits: its own, and those that members began elsewhere.

    So a new team is no way to more runs than its members have.
    """
    members = select(Person.id).where(Person.team_id == team_id)
    return or_(Run.team_id == team_id, Run.person_id.in_(members))


def is_own(run: Run, team_id: int, person_id: int | None) -> bool:
    """Tell whether a run is somebody's: of their team now, or begun by them before they left."""
    return run.team_id == team_id or run.person_id == person_id


def members_of(session: Session, team_id: int) -> list[Person]:
    """Return who is in a team, who is longest there first."""
    return list(
        session.scalars(select(Person).where(Person.team_id == team_id).order_by(Person.id))
    )


def is_personal_team(person: Person, team: Team) -> bool:
    """Tell whether a team is somebody's own, which nobody else can join."""
    return team.folded == person.folded


def lock_circles(session: Session, *team_ids: int) -> None:
    """Keep others from changing the circles of teams, or beginning runs in them, until the transaction ends."""
    while True:
        circles = select(Team.circle).where(Team.id.in_(team_ids))
        known = set(session.scalars(circles))
        locked = select(Team.id).where(Team.circle.in_(known)).order_by(Team.id).with_for_update()
        held = set(session.scalars(locked))
        if held >= {*team_ids} and set(session.scalars(circles)) <= known:
            return  # nobody joined two of them meanwhile


def make_team(session: Session, person: Person, name: str, now: float) -> Team:
    """Return a new team with one member, who leaves the one before.

    Raises:
        InvalidInput: the name is taken, by a team or by a person.
    """
    team = Team(name=name, folded=fold_name(name), made_at=now)
    try:
        with session.begin_nested():
            session.add(team)
    except IntegrityError as error:
        raise InvalidInput("this name is taken; choose another") from error
    _move(session, person, team, now)
    return team


def invite_to(session: Session, person: Person, now: float) -> str:
    """Return the text of an invitation to somebody's team; it works once.

    Raises:
        InvalidInput: it is the team of one that everybody has.
    """
    team = session.get_one(Team, person.team_id)
    if is_personal_team(person, team):
        raise InvalidInput("nobody can join the team of your own name: make a team first")
    return create_key(session, "team", now, person_id=person.id, team_id=team.id)


def invited_to(session: Session, text: str, now: float) -> Team | None:
    """Return which team an invitation is to; None when it does not hold (any more)."""
    key = find_key(session, "team", text, now)
    return session.get(Team, key.team_id) if key and key.team_id else None


def join(session: Session, person: Person, text: str, now: float) -> Team:
    """Return the team that somebody is now in.

    Raises:
        InvalidInput: the invitation does not hold (any more), or they are there already.
    """
    key = find_key(session, "team", text, now)
    team = session.get(Team, key.team_id) if key and key.team_id else None
    if key is None or team is None:
        raise InvalidInput(
            "the invitation does not hold (any more); ask whoever sent it for another"
        )
    if team.id == person.team_id:
        raise InvalidInput("you are in this team already")
    key.ended_at = key.used_at = now
    _move(session, person, team, now)
    return team


def leave(session: Session, person: Person, now: float) -> Team:
    """Return the team of somebody's own name, where they are again; the runs of the team stay with it.

    Raises:
        InvalidInput: it is where they are.
    """
    own = session.scalars(select(Team).where(Team.folded == person.folded)).one()
    if own.id == person.team_id:
        raise InvalidInput("this is the team of your own name, which nobody can leave")
    _move(session, person, own, now)
    return own


def _move(session: Session, person: Person, team: Team, now: float) -> None:
    """Put somebody into a team, whose circle and that of the team before are one from now on."""
    before = person.team_id
    lock_circles(session, before, team.id)
    circles = [
        session.get_one(Team, number, populate_existing=True).circle for number in (before, team.id)
    ]
    for other in session.scalars(select(Team).where(Team.circle == circles[1])):
        other.circle = circles[0]
    person.team_id = team.id
    session.flush()
    end_keys(session, person.id, now, kind="team")

"""The list of accounts: search, filters and pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from sqlalchemy import ColumnElement, case, func, or_, select
from sqlalchemy.orm import Session

from segarena_server.auth.accounts import fold_name
from segarena_server.db.orm_models import ROLES, Person, Team

ACCOUNTS_PER_PAGE = 50
STATES = ("waiting", "confirmed", "closed")
"""States of accounts in list order. The list omits deleted accounts, which have no name."""
_MAX_TEXT_LENGTH = 100
# Bounds the page, because huge numbers would overflow the integers that databases use for OFFSET.
_MAX_PAGE_DIGITS = 6
# Accounts that wait for an organiser come first.
_STATE_ORDER = case(
    {state: number for number, state in enumerate(STATES)}, value=Person.state, else_=len(STATES)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFilter:
    """Search text, filters and page of the list.

    Attributes:
        text: part of a name, an e-mail address, a contact or a team name; "" for all.
        state: one of `STATES`; "" for all.
        role: one of `ROLES`; "" for all.
        page: page number, from 1.
    """

    text: str = ""
    state: str = ""
    role: str = ""
    page: int = 1

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> AccountFilter:
        """Parse a filter from the query parameters of a URL; invalid values count as absent."""
        state = query.get("state", "")
        role = query.get("role", "")
        page = query.get("page", "")
        is_number = page.isascii() and page.isdecimal() and len(page) <= _MAX_PAGE_DIGITS
        return cls(
            text=" ".join(query.get("q", "").split())[:_MAX_TEXT_LENGTH],
            state=state if state in STATES else "",
            role=role if role in ROLES else "",
            page=max(1, int(page)) if is_number else 1,
        )

    def query(self, page: int | None = None) -> str:
        """Return the query parameters of the URL that shows this list, or another page of it."""
        number = self.page if page is None else page
        values = {
            "q": self.text,
            "state": self.state,
            "role": self.role,
            "page": str(number) if number > 1 else "",
        }
        return urlencode({name: value for name, value in values.items() if value})


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPage:
    """One page of the list.

    Attributes:
        rows: accounts with the names of their teams.
        total: number of accounts on all pages.
        number: number of this page, from 1.
        pages: number of pages, at least 1.
    """

    rows: list[tuple[Person, str]]
    total: int
    number: int
    pages: int


def list_accounts(session: Session, wanted: AccountFilter) -> AccountPage:
    """Return a page of accounts, waiting ones first, then by name; if there is no such page, return the last."""
    conditions = _conditions(wanted)
    found = select(Person, Team.name).join(Team, Team.id == Person.team_id).where(*conditions)
    count = select(func.count(Person.id)).join(Team, Team.id == Person.team_id).where(*conditions)
    total = session.scalar(count) or 0
    pages = max(1, -(-total // ACCOUNTS_PER_PAGE))
    number = min(wanted.page, pages)
    ordered = found.order_by(_STATE_ORDER, Person.folded)
    limited = ordered.limit(ACCOUNTS_PER_PAGE).offset((number - 1) * ACCOUNTS_PER_PAGE)
    rows = [(person, team) for person, team in session.execute(limited)]
    return AccountPage(
        rows=rows,
        total=total,
        number=number,
        pages=pages,
    )


def count_accounts(session: Session) -> dict[str, int]:
    """Return the number of accounts in each of `STATES`."""
    found = select(Person.state, func.count(Person.id)).group_by(Person.state)
    counts: dict[str, int] = dict.fromkeys(STATES, 0)
    for state, count in session.execute(found):
        if state in counts:
            counts[state] = count
    return counts


def _conditions(wanted: AccountFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [Person.state != "deleted"]
    if wanted.text:
        folded = fold_name(wanted.text)
        # SQLite and PostgreSQL compare case differently in LIKE, so both sides are lowered here.
        lowered = wanted.text.lower()
        conditions.append(
            or_(
                Person.folded.contains(folded, autoescape=True),
                Team.folded.contains(folded, autoescape=True),
                func.lower(Person.email).contains(lowered, autoescape=True),
                func.lower(Person.contact).contains(lowered, autoescape=True),
            )
        )
    if wanted.state:
        conditions.append(Person.state == wanted.state)
    if wanted.role:
        conditions.append(Person.role == wanted.role)
    return conditions

"""`segarena challenge teams`: teams' requests to take part, and decisions about them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.reports.sheets import Sheet
from segarena_server.auth.accounts import fold_name
from segarena_server.challenges.challenge_management import COMMAND_LINE, existing_challenge
from segarena_server.db.orm_models import Team
from segarena_server.runs.admission import decide_request, join_requests
from segarena_server.site import Site


def decide_teams(
    site: Site,
    slug: str,
    *,
    approved: Sequence[str],
    declined: Sequence[str],
    reason: str,
) -> None:
    """Approve and decline teams by name, all or none.

    Raises:
        InvalidInput: the challenge or a team does not exist, a team made no request, or a decline has no reason.
    """
    challenge = existing_challenge(site, slug)
    with site.database.writing() as session:
        for name in (*approved, *declined):
            decide_request(
                session,
                challenge,
                _team_named(session, name).id,
                is_approved=name in approved,
                reason=reason,
                now=site.now(),
                by=COMMAND_LINE,
            )


def teams_sheet(site: Site, slug: str) -> Sheet:
    """Return the teams' requests to take part in a challenge as a table."""
    challenge = existing_challenge(site, slug)
    with site.database.reading() as session:
        requests = join_requests(session, challenge)
    rows: list[tuple[str, ...]] = []
    for request, team in requests:
        message = " ".join(request.message.split())
        rows.append((team.name, request.state, message, request.reason))
    return Sheet(
        name=slug,
        caption="",
        head=("team", "state", "message", "reason"),
        rows=tuple(rows),
        notes=() if rows else ("No team has asked to take part.",),
    )


def _team_named(session: Session, name: str) -> Team:
    team = session.scalar(select(Team).where(Team.folded == fold_name(name)))
    if team is None:
        raise InvalidInput(f"expected the name of a team, got {name[:40]!r}")
    return team

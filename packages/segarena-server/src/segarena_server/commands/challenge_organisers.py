"""`segarena challenge organisers`: the people who manage a challenge."""

from __future__ import annotations

from collections.abc import Sequence

from segarena_server.auth.challenge_organisers import (
    add_organiser,
    organisers_of,
    remove_organiser,
)
from segarena_server.challenges.challenge_management import COMMAND_LINE, existing_challenge
from segarena_server.site import Site


def add_and_remove_organisers(
    site: Site,
    slug: str,
    added: Sequence[str],
    removed: Sequence[str],
) -> list[str]:
    """Add and remove organisers of a challenge, all or none, and return the names of its organisers afterwards.

    Raises:
        InvalidInput: the challenge or an account does not exist, an account's role is below organiser, or an account
            to remove is not an organiser.
    """
    challenge = existing_challenge(site, slug)
    now = site.now()
    with site.database.writing() as session:
        for name in added:
            add_organiser(session, challenge, name, now, COMMAND_LINE)
        for name in removed:
            remove_organiser(session, challenge, name, now, COMMAND_LINE)
        session.flush()
        return [person.name for person in organisers_of(session, challenge)]

"""`segarena challenge second-factor-off`: restore access for someone who lost their phone and recovery codes."""

from __future__ import annotations

from segarena.errors import InvalidInput
from segarena_server.audit_log import record_event
from segarena_server.auth.access_keys import end_keys
from segarena_server.auth.accounts import person_named
from segarena_server.auth.second_factor import remove_second_factor
from segarena_server.site import Site


def switch_off_second_factor(site: Site, name: str) -> None:
    """Switch off the second factor of an account, end its sessions and record this in the audit log.

    Raises:
        InvalidInput: the account does not exist, or has no second factor.
    """
    now = site.now()
    with site.database.writing() as session:
        person = person_named(session, name)
        if person is None or person.state == "deleted":
            raise InvalidInput(f"there is no account {name[:40]!r}")
        if not remove_second_factor(session, person.id, now):
            raise InvalidInput(f"{person.name} has no second factor switched on")
        # Whoever asked may not be the owner; a stolen session must not survive the removal.
        end_keys(session, person.id, now, kind="session")
        record_event(session, now, "second factor off", f"account {person.id}, by the command")

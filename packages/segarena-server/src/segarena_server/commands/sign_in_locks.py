"""`segarena challenge unlock`: reset the limits on wrong passwords."""

from __future__ import annotations

from segarena.errors import InvalidInput
from segarena_server.audit_log import record_event
from segarena_server.auth.accounts import person_named
from segarena_server.site import Site


def lift_locks(
    site: Site,
    name: str,
    *,
    is_for_all: bool,
) -> str:
    """Reset the limits on wrong passwords for an account, or all limits on attempts; return a confirmation.

    Raises:
        InvalidInput: the account does not exist, or not exactly one of name and `is_for_all` is given.
    """
    if bool(name) == is_for_all:
        raise InvalidInput("expected the name of an account, or --all")
    now = site.now()
    if is_for_all:
        site.attempts.forget_all()
        with site.database.writing() as session:
            record_event(session, now, "sign-in limits lifted", "all")
        return "everybody can try again"
    with site.database.reading() as session:
        person = person_named(session, name)
    if person is None:
        raise InvalidInput(f"there is no account {name[:40]!r}")
    site.sign_ins.lift(person.folded)
    with site.database.writing() as session:
        record_event(session, now, "sign-in limits lifted", f"account {person.id}")
    return f"{person.name} can try again from any address"

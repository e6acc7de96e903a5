"""The outbox of e-mails: queued in a table, sent later by `segarena_server.mail.smtp`.

Queued e-mails contain no links. The key of a link is created when the e-mail leaves, so that neither
the database nor its backups grant access.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.auth.keys import create_key
from segarena_server.db.orm_models import Challenge, Person, QueuedEmail, Run

_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)*[A-Za-z0-9-]{1,63}"
)
"""Addresses as browsers accept them in forms: no line ends, no second recipient."""
_MAX_ADDRESS_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedEmail:
    """An e-mail ready to send, and the text of the access key in its link."""

    subject: str
    text: str
    key: str = ""


def clean_address(text: str) -> str:
    """Return a normalized e-mail address; "" for an empty one.

    Raises:
        InvalidInput: it is not an e-mail address.
    """
    text = text.strip()
    if text and (len(text) > _MAX_ADDRESS_LENGTH or not _ADDRESS.fullmatch(text)):
        raise InvalidInput("expected an e-mail address like name@example.org")
    return text


def queue_email(
    session: Session,
    now: float,
    kind: str,
    *,
    person: Person | None = None,
    to: str = "",
    about: str = "",
) -> None:
    """Queue an e-mail to `to`, or else to the confirmed address of `person`; without either, do nothing.

    A password reset is queued even without an address, and not sent: so the response time does not
    reveal whether the account exists.
    """
    address = to
    if not address and person is not None and person.email_at is not None:
        address = person.email
    if not address and kind != "reset":
        return
    person_id = None if person is None else person.id
    session.add(
        QueuedEmail(
            kind=kind, person_id=person_id, recipient=address, about=about, made_at=now, due_at=now
        )
    )


def queue_run_over_email(session: Session, run: Run, now: float) -> None:
    """Queue the e-mail about the end of a run, if the person who started it wants one."""
    person = session.get_one(Person, run.person_id)
    if person.wants_letters:
        queue_email(session, now, "run over", person=person, about=run.id)


def unsent_emails(session: Session) -> list[QueuedEmail]:
    """Return up to 20 e-mails that failed so far or for good, newest first; without those that have no address."""
    failed = select(QueuedEmail).where(QueuedEmail.failure != "", QueuedEmail.recipient != "")
    return list(session.scalars(failed.order_by(QueuedEmail.id.desc()).limit(20)))


def render_email(
    session: Session, letter: QueuedEmail, address: str, now: float
) -> RenderedEmail | None:
    """Render a queued e-mail and create the key of its link; return None when it is obsolete.

    Args:
        session: a writing one, for the key.
        letter: the queued e-mail.
        address: address of the site.
        now: the current time.
    """
    person = session.get(Person, letter.person_id) if letter.person_id else None
    if not letter.recipient or (person and person.state in ("closed", "deleted")):
        return None
    written = _RENDERERS[letter.kind](session, letter, person, address, now)
    if written is None:
        return None
    greeting = f"Hello {person.name},\n\n" if person else "Hello,\n\n"
    return replace(written, text=f"{greeting}{written.text}\n\n-- \n{address}\n")


def _invitation(
    session: Session, letter: QueuedEmail, _person: Person | None, address: str, now: float
) -> RenderedEmail:
    key = create_key(session, "invitation", now, role=letter.about)
    link = f"{address}/register?invitation={key}"
    why = (
        "you are invited to take part in challenges. Create your account here; the link works once, "
        "within 30 days:"
    )
    return RenderedEmail(subject="An invitation", text=_lines(why, link), key=key)


def _address(
    session: Session, letter: QueuedEmail, person: Person | None, address: str, now: float
) -> RenderedEmail | None:
    if person is None:
        return None
    key = create_key(session, "address", now, person_id=person.id, label=letter.recipient)
    why = "to confirm that this is your address, open this link within an hour; it works once:"
    text = _lines(
        why, f"{address}/address?link={key}", "If you did not ask for this e-mail, ignore it."
    )
    return RenderedEmail(subject="Confirm your address", text=text, key=key)


def _reset(
    session: Session, _letter: QueuedEmail, person: Person | None, address: str, now: float
) -> RenderedEmail | None:
    if person is None:
        return None
    key = create_key(session, "reset", now, person_id=person.id)
    why = (
        "you asked to reset your password. Choose a new one here within an hour; the link works "
        "once:"
    )
    text = _lines(
        why,
        f"{address}/reset?link={key}",
        "If it was not you, ignore this e-mail: your password stays the same.",
    )
    return RenderedEmail(subject="Reset your password", text=text, key=key)


def _confirmed(
    _session: Session, _letter: QueuedEmail, person: Person | None, address: str, _now: float
) -> RenderedEmail | None:
    if person is None or person.state != "confirmed":
        return None
    why = "an organiser has confirmed your account. You can sign in now:"
    return RenderedEmail(
        subject="Your account is confirmed", text=_lines(why, f"{address}/sign-in")
    )


def _run_over(
    session: Session, letter: QueuedEmail, _person: Person | None, address: str, _now: float
) -> RenderedEmail | None:
    run = session.get(Run, letter.about)
    if run is None:
        return None
    slug = session.get_one(Challenge, run.challenge_id).slug
    outcome = "failed; its page says why" if run.fault else "is over"
    end = "You can turn off these e-mails on your account page."
    text = _lines(f"your run at {slug}, {run.phase}, {outcome}:", f"{address}/runs/{run.id}", end)
    return RenderedEmail(subject=f"A run at {slug} is over", text=text)


def _lines(*paragraphs: str) -> str:
    return "\n\n".join(paragraphs)


_RENDERERS: dict[
    str, Callable[[Session, QueuedEmail, Person | None, str, float], RenderedEmail | None]
] = {
    "invitation": _invitation,
    "address": _address,
    "reset": _reset,
    "confirmed": _confirmed,
    "run over": _run_over,
}

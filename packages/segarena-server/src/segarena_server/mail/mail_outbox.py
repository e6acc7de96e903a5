"""Letters by e-mail: put down where something happens, sent later by `segarena_server.mail.smtp`.

What is put down has no link in it. The key of a link is made when the letter leaves, so that neither the database nor a
backup of it opens anything.
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
"""Addresses as browsers take them in forms; nothing that could end a line or name a second recipient."""
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedEmail:
    """A letter as it is sent, and the text of the key in its link."""

    subject: str
    text: str
    key: str = ""


def clean_address(text: str) -> str:
    """Return an address for e-mail, "" for none.

    Raises:
        InvalidInput: it is not one.
    """
    text = text.strip()
    if text and (len(text) > _LONGEST or not _ADDRESS.fullmatch(text)):
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
    """Have a letter sent: to `to`, else to the confirmed address of `person`; none where neither is.

    One about another password is put down all the same, and goes nowhere: by the time that it takes nobody can tell
    whether there is such an account.
    """
    address = to or (person.email if person and person.email_at is not None else "")
    if not address and kind != "reset":
        return
    person_id = None if person is None else person.id
    session.add(
        QueuedEmail(
            kind=kind, person_id=person_id, recipient=address, about=about, made_at=now, due_at=now
        )
    )


def queue_run_over_email(session: Session, run: Run, now: float) -> None:
    """Tell who began a run that it is over, if they want to be told."""
    person = session.get_one(Person, run.person_id)
    if person.wants_letters:
        queue_email(session, now, "run over", person=person, about=run.id)


def unsent_emails(session: Session) -> list[QueuedEmail]:
    """Return the letters that could not be sent so far, or never will be; those that went nowhere are none of them."""
    failed = select(QueuedEmail).where(QueuedEmail.failure != "", QueuedEmail.recipient != "")
    return list(session.scalars(failed.order_by(QueuedEmail.id.desc()).limit(20)))


def render_email(
    session: Session, letter: QueuedEmail, address: str, now: float
) -> RenderedEmail | None:
    """Return a letter with the links that it needs; None when there is nothing to say any more.

    Args:
        session: writes: the keys of the links.
        letter: as it was put down.
        address: of the site.
        now: the time.
    """
    person = session.get(Person, letter.person_id) if letter.person_id else None
    if not letter.recipient or (person and person.state in ("closed", "deleted")):
        return None
    written = _KINDS[letter.kind](session, letter, person, address, now)
    if written is None:
        return None
    hello = f"Hello {person.name},\n\n" if person else "Hello,\n\n"
    return replace(written, text=f"{hello}{written.text}\n\n-- \n{address}\n")


def _invitation(
    session: Session, letter: QueuedEmail, _person: Person | None, address: str, now: float
) -> RenderedEmail:
    key = create_key(session, "invitation", now, role=letter.about)
    link = f"{address}/register?invitation={key}"
    why = "you were invited to take part in challenges. Make your account here; the link works once, within 30 days:"
    return RenderedEmail(subject="An invitation", text=_lines(why, link), key=key)


def _address(
    session: Session, letter: QueuedEmail, person: Person | None, address: str, now: float
) -> RenderedEmail | None:
    if person is None:
        return None
    key = create_key(session, "address", now, person_id=person.id, label=letter.recipient)
    why = "is this your address? Then open this link within an hour; it works once:"
    text = _lines(why, f"{address}/address?link={key}", "If you did not ask for it, do nothing.")
    return RenderedEmail(subject="Confirm your address", text=text, key=key)


def _reset(
    session: Session, _letter: QueuedEmail, person: Person | None, address: str, now: float
) -> RenderedEmail | None:
    if person is None:
        return None
    key = create_key(session, "reset", now, person_id=person.id)
    why = "somebody, you we hope, asked for another password. Choose it here within an hour; the link works once:"
    text = _lines(
        why, f"{address}/reset?link={key}", "If it was not you, do nothing: the password stays."
    )
    return RenderedEmail(subject="Another password", text=text, key=key)


def _confirmed(
    _session: Session, _letter: QueuedEmail, person: Person | None, address: str, _now: float
) -> RenderedEmail | None:
    if person is None or person.state != "confirmed":
        return None
    why = "an organiser has confirmed your account. Now you can sign in:"
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
    how = "came to nothing; its page says why" if run.fault else "is over"
    end = "On the page of your account you can say that you do not want to be told."
    text = _lines(f"your run at {slug}, {run.phase}, {how}:", f"{address}/runs/{run.id}", end)
    return RenderedEmail(subject=f"A run at {slug} is over", text=text)


def _lines(*paragraphs: str) -> str:
    return "\n\n".join(paragraphs)


_KINDS: dict[
    str, Callable[[Session, QueuedEmail, Person | None, str, float], RenderedEmail | None]
] = {
    "invitation": _invitation,
    "address": _address,
    "reset": _reset,
    "confirmed": _confirmed,
    "run over": _run_over,
}

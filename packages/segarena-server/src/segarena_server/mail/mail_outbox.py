"""The outbox of e-mails, queued in a table and sent later by `segarena_server.mail.smtp`.

Queued e-mails contain no links. The key in a link is created when the e-mail is sent, so that
neither the database nor its backups grant access.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.auth.access_keys import create_key
from segarena_server.challenges.challenge_repository import cached_info
from segarena_server.db.orm_models import (
    Announcement,
    Challenge,
    JoinRequest,
    Person,
    QueuedEmail,
    Run,
    Team,
)

_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)*[A-Za-z0-9-]{1,63}"
)
"""E-mail addresses as browsers accept them in forms: no line breaks, no second recipient."""
_MAX_ADDRESS_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedEmail:
    """An e-mail that is ready to send, and the access key in its link."""

    subject: str
    text: str
    key: str = ""


def clean_address(text: str) -> str:
    """Return a normalized e-mail address, or "" for an empty text.

    Raises:
        InvalidInput: the text is not an e-mail address.
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
    """Queue an e-mail to `to`, or if it is empty to the confirmed address of `person`; do nothing without an address.

    A password reset without an address is queued too, though never sent, so that the response time
    does not reveal whether the account exists.
    """
    address = to
    # An unconfirmed address may belong to somebody else, who must not receive account data.
    if not address and person is not None and person.email_at is not None:
        address = person.email
    if not address and kind != "reset":
        return
    person_id = None if person is None else person.id
    session.add(
        QueuedEmail(
            kind=kind,
            person_id=person_id,
            recipient=address,
            about=about,
            made_at=now,
            due_at=now,
        )
    )


def queue_run_over_email(
    session: Session,
    run: Run,
    now: float,
) -> None:
    """Queue the e-mail about the end of a run if the person who started it wants one."""
    person = session.get_one(Person, run.person_id)
    if person.wants_letters:
        queue_email(session, now, "run over", person=person, about=run.id)


def announcement_readers(session: Session, challenge_id: int) -> list[Person]:
    """Return the people who receive announcements of a challenge by e-mail.

    These are people who started a run in it, or whose team did, who want e-mails, and who confirmed
    their address.
    """
    of_challenge = Run.challenge_id == challenge_id
    took_part = Person.team_id.in_(select(Run.team_id).where(of_challenge)) | Person.id.in_(
        select(Run.person_id).where(of_challenge)
    )
    found = select(Person).where(
        took_part,
        Person.wants_letters,
        Person.state == "confirmed",
        Person.email_at.is_not(None),
    )
    return list(session.scalars(found.order_by(Person.id)))


def queue_announcement_emails(
    session: Session,
    announcement: Announcement,
    now: float,
) -> int:
    """Queue an announcement to each of its readers and return their number."""
    readers = announcement_readers(session, announcement.challenge_id)
    for person in readers:
        queue_email(session, now, "announcement", person=person, about=str(announcement.id))
    return len(readers)


def unsent_emails(session: Session) -> list[QueuedEmail]:
    """Return up to 20 e-mails with a failed attempt, newest first; omit those without an address."""
    failed = select(QueuedEmail).where(QueuedEmail.failure != "", QueuedEmail.recipient != "")
    return list(session.scalars(failed.order_by(QueuedEmail.id.desc()).limit(20)))


def render_email(
    session: Session,
    letter: QueuedEmail,
    address: str,
    now: float,
) -> RenderedEmail | None:
    """Render a queued e-mail and create the key of its link; return None if the e-mail is obsolete.

    Args:
        session: a session for writing, because the key is stored.
        letter: the queued e-mail.
        address: public address of the site.
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
    session: Session,
    letter: QueuedEmail,
    _person: Person | None,
    address: str,
    now: float,
) -> RenderedEmail:
    key = create_key(session, "invitation", now, role=letter.about)
    link = f"{address}/register?invitation={key}"
    why = (
        "you have been invited to take part in challenges. Create your account here; the link works once, "
        "within 30 days:"
    )
    return RenderedEmail(subject="An invitation", text=_lines(why, link), key=key)


def _address(
    session: Session,
    letter: QueuedEmail,
    person: Person | None,
    address: str,
    now: float,
) -> RenderedEmail | None:
    if person is None:
        return None
    key = create_key(session, "address", now, person_id=person.id, label=letter.recipient)
    why = "to confirm that this is your address, open this link within an hour; it works once:"
    text = _lines(
        why,
        f"{address}/address?link={key}",
        "If you did not request this e-mail, you can ignore it.",
    )
    return RenderedEmail(subject="Confirm your address", text=text, key=key)


def _reset(
    session: Session,
    _letter: QueuedEmail,
    person: Person | None,
    address: str,
    now: float,
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
        "If you did not request this, you can ignore this e-mail; your password stays the same.",
    )
    return RenderedEmail(subject="Reset your password", text=text, key=key)


def _confirmed(
    _session: Session,
    _letter: QueuedEmail,
    person: Person | None,
    address: str,
    _now: float,
) -> RenderedEmail | None:
    # The organiser may have closed the account again before the e-mail was sent.
    if person is None or person.state != "confirmed":
        return None
    why = "an organiser has confirmed your account. You can sign in now:"
    return RenderedEmail(
        subject="Your account is confirmed", text=_lines(why, f"{address}/sign-in")
    )


def _run_over(
    session: Session,
    letter: QueuedEmail,
    _person: Person | None,
    address: str,
    _now: float,
) -> RenderedEmail | None:
    run = session.get(Run, letter.about)
    if run is None:
        return None
    slug = session.get_one(Challenge, run.challenge_id).slug
    outcome = "failed; its page shows the reason" if run.fault else "is over"
    end = "You can turn off these e-mails on your account page."
    text = _lines(f"your run in {slug}, {run.phase}, {outcome}:", f"{address}/runs/{run.id}", end)
    return RenderedEmail(subject=f"A run in {slug} is over", text=text)


def _announcement(
    session: Session,
    letter: QueuedEmail,
    person: Person | None,
    address: str,
    _now: float,
) -> RenderedEmail | None:
    announcement = session.get(Announcement, int(letter.about))
    # Readers may have turned e-mails off, or organisers withdrawn the announcement, since it was
    # queued.
    if announcement is None or announcement.withdrawn_at is not None:
        return None
    if person is None or not person.wants_letters:
        return None
    challenge = session.get_one(Challenge, announcement.challenge_id)
    title = cached_info(challenge.description).title
    why = f"the organisers of {title} announce:"
    link = f"{address}/challenges/{challenge.slug}#news-{announcement.id}"
    end = "You can turn off these e-mails on your account page."
    text = _lines(why, announcement.title, announcement.text, link, end)
    return RenderedEmail(subject=f"{' '.join(title.split())}: {announcement.title}", text=text)


def _join_request(
    session: Session,
    letter: QueuedEmail,
    _person: Person | None,
    address: str,
    _now: float,
) -> RenderedEmail | None:
    found = _request_about(session, letter)
    if found is None or found[0].state != "waiting":
        return None
    request, challenge = found
    team = session.get_one(Team, request.team_id).name
    title = cached_info(challenge.description).title
    link = f"{address}/organise/challenges/{challenge.slug}/teams"
    text = _lines(f"team {team} asks to take part in {title}:", request.message or "-", link)
    return RenderedEmail(subject=f"{' '.join(title.split())}: a team asks to take part", text=text)


def _join_decision(
    session: Session,
    letter: QueuedEmail,
    _person: Person | None,
    address: str,
    _now: float,
) -> RenderedEmail | None:
    found = _request_about(session, letter)
    if found is None or found[0].state == "waiting":
        return None
    request, challenge = found
    team = session.get_one(Team, request.team_id).name
    title = cached_info(challenge.description).title
    link = f"{address}/challenges/{challenge.slug}"
    if request.state == "approved":
        text = _lines(f"team {team} can take part in {title} now:", link)
    else:
        why = f"the organisers of {title} declined team {team}:"
        text = _lines(why, request.reason, f"You can ask again on its page: {link}")
    return RenderedEmail(subject=f"{' '.join(title.split())}: team {request.state}", text=text)


def _request_about(session: Session, letter: QueuedEmail) -> tuple[JoinRequest, Challenge] | None:
    challenge_id, team_id = map(int, letter.about.split())
    request = session.get(JoinRequest, (challenge_id, team_id))
    return None if request is None else (request, session.get_one(Challenge, challenge_id))


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
    "announcement": _announcement,
    "join request": _join_request,
    "join decision": _join_decision,
}

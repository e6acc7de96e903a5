"""Announcements of organisers about a challenge: publishing and withdrawing them."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.db.orm_models import Announcement, Challenge

MOST_PER_DAY = 3
"""Maximum number of announcements of a challenge in 24 hours, withdrawn ones included; each is sent
to every participant."""
MOST_TITLE_LENGTH = 120
MOST_TEXT_LENGTH = 10_000

_DAY_S = 86400.0


def publish_announcement(
    session: Session,
    challenge: Challenge,
    title: str,
    text: str,
    *,
    person_id: int,
    now: float,
) -> Announcement:
    """Publish an announcement on the page of a challenge.

    Args:
        session: a session for writing.
        challenge: the challenge that it is about.
        title: one line; white space is collapsed.
        text: text in Markdown.
        person_id: id of the organiser.
        now: the current time.

    Raises:
        InvalidInput: the title or the text is missing or too long, or the title is not printable.
        Refusal: there were too many announcements within a day.
    """
    clean_title = " ".join(title.split())
    # Browsers send line breaks as \r\n.
    clean_text = text.replace("\r\n", "\n").strip()
    if not 1 <= len(clean_title) <= MOST_TITLE_LENGTH or not clean_title.isprintable():
        raise InvalidInput(
            f"expected a title of 1 to {MOST_TITLE_LENGTH} characters, got {len(clean_title)}"
        )
    if not 1 <= len(clean_text) <= MOST_TEXT_LENGTH:
        raise InvalidInput(
            f"expected a text of 1 to {MOST_TEXT_LENGTH:,} characters, got {len(clean_text):,}"
        )
    # The lock makes concurrent announcements count each other.
    session.execute(select(Challenge.id).where(Challenge.id == challenge.id).with_for_update())
    wait_s = wait_for_announcement_s(session, challenge, now)
    if wait_s:
        raise http_errors.quota(
            f"at most {MOST_PER_DAY} announcements in 24 hours; collect the news and publish it later",
            wait_s,
        )
    announcement = Announcement(
        challenge_id=challenge.id,
        person_id=person_id,
        title=clean_title,
        text=clean_text,
        made_at=now,
    )
    session.add(announcement)
    # The id is needed at once, by the e-mails about the announcement.
    session.flush()
    return announcement


def wait_for_announcement_s(
    session: Session,
    challenge: Challenge,
    now: float,
) -> float:
    """Return the seconds until a challenge may publish its next announcement; 0 if it may now."""
    recent = select(Announcement.made_at).where(
        Announcement.challenge_id == challenge.id, Announcement.made_at > now - _DAY_S
    )
    times = sorted(session.scalars(recent), reverse=True)
    if len(times) < MOST_PER_DAY:
        return 0.0
    return times[MOST_PER_DAY - 1] + _DAY_S - now


def withdraw_announcement(
    session: Session,
    challenge: Challenge,
    number: int,
    now: float,
) -> Announcement | None:
    """Withdraw an announcement, so that its unsent e-mails are dropped; return None if there is none to withdraw."""
    found = session.get(Announcement, number)
    if found is None or found.challenge_id != challenge.id or found.withdrawn_at is not None:
        return None
    found.withdrawn_at = now
    return found


def announcements_of(session: Session, challenge: Challenge) -> list[Announcement]:
    """Return a challenge's announcements without the withdrawn ones, newest first."""
    found = select(Announcement).where(
        Announcement.challenge_id == challenge.id, Announcement.withdrawn_at.is_(None)
    )
    return list(session.scalars(found.order_by(Announcement.id.desc())))

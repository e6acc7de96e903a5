"""The tables of studies. Of those who take part there is no name and no address in them."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    String,
    Text,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column

from segarena_server.db.orm_models import Table


class StudyRow(Table):
    """A study; its rules are the description, see `segarena_studio.studies.description`."""

    __tablename__ = "studies"
    __table_args__ = (CheckConstraint("state IN ('open', 'closed')", name="state"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(64), unique=True)
    description: Mapped[str] = mapped_column(Text)
    dataset: Mapped[str] = mapped_column(Text)
    """As the dataset calls itself."""
    state: Mapped[str] = mapped_column(String(20), default="open")
    person_id: Mapped[int | None] = mapped_column(ForeignKey("people.id", ondelete="SET NULL"))
    """Who made it."""
    made_at: Mapped[float] = mapped_column(Float)


class StudyItem(Table):
    """Something that is shown: a part of a picture that people are to point at."""

    __tablename__ = "study_items"

    study_id: Mapped[int] = mapped_column(
        ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True)
    image: Mapped[str] = mapped_column(String(500))
    """The same for all items on one picture."""
    sample: Mapped[str] = mapped_column(Text)
    target: Mapped[str] = mapped_column(Text)
    object_id: Mapped[int] = mapped_column(default=1)
    plane: Mapped[int | None]
    label: Mapped[str] = mapped_column(Text, default="")
    is_alone: Mapped[bool] = mapped_column(default=True)
    """Whether its target is the only one of its sample."""
    goal: Mapped[str] = mapped_column(String(20), default="object")
    model: Mapped[str] = mapped_column(String(80), default="")
    is_turned: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether it is shown turned round, as slices of volumes are."""
    is_easy: Mapped[bool] = mapped_column(default=False)
    """For training and attention; what is given for it is no data."""
    width: Mapped[int]
    height: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    """Of the picture, in the storage."""
    mask: Mapped[bytes] = mapped_column(LargeBinary)
    """Run lengths of what is to be pointed at."""
    previous: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Run lengths of the mask that is corrected."""


class StudyLink(Table):
    """A link by which so many may come; its text is made from its number, see `visits.link_text`."""

    __tablename__ = "study_links"

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"), index=True)
    label: Mapped[str] = mapped_column(String(80), default="")
    most: Mapped[int]
    came: Mapped[int] = mapped_column(default=0)
    made_at: Mapped[float] = mapped_column(Float)
    ended_at: Mapped[float | None] = mapped_column(Float)


class StudyVisitor(Table):
    """Somebody who takes part. A browser has the key; here is its hash."""

    __tablename__ = "study_visitors"
    __table_args__ = (
        CheckConstraint(
            "state IN ('training', 'ready', 'working', 'done', 'failed')", name="state"
        ),
        Index(None, "study_id", "device"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    link_id: Mapped[int] = mapped_column(ForeignKey("study_links.id", ondelete="CASCADE"))
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(String(20))
    """What exports call the person: p and twelve digits, which say nothing of when they came."""
    kind: Mapped[str] = mapped_column(String(20))
    mode: Mapped[str] = mapped_column(String(20))
    device: Mapped[str] = mapped_column(String(20))
    """As declared."""
    state: Mapped[str] = mapped_column(String(20), default="training")
    batches: Mapped[int] = mapped_column(default=0)
    """Begun."""
    counted: Mapped[int] = mapped_column(default=0)
    """Batches that count."""
    tries: Mapped[int] = mapped_column(default=0)
    """Of training tasks."""
    passed: Mapped[int] = mapped_column(default=0)
    checks: Mapped[int] = mapped_column(default=0)
    """Of attention, answered."""
    missed: Mapped[int] = mapped_column(default=0)
    """Of these, those that were wrong."""


class StudyTrial(Table):
    """One item shown to one person once, and what they gave."""

    __tablename__ = "study_trials"
    __table_args__ = (
        CheckConstraint("purpose IN ('main', 'training', 'attention')", name="purpose"),
        ForeignKeyConstraint(
            ["study_id", "item"], ["study_items.study_id", "study_items.number"], ondelete="CASCADE"
        ),
        Index(None, "visitor_id", "batch", "place"),
        Index(None, "study_id", "item"),
    )

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    study_id: Mapped[int]
    item: Mapped[int]
    visitor_id: Mapped[int] = mapped_column(ForeignKey("study_visitors.id", ondelete="CASCADE"))
    batch: Mapped[int]
    place: Mapped[int]
    purpose: Mapped[str] = mapped_column(String(20))
    device: Mapped[str] = mapped_column(String(20))
    """As declared; once there is an answer, as measured."""
    given_at: Mapped[float] = mapped_column(Float)
    begun_at: Mapped[float | None] = mapped_column(Float)
    """When the picture was first to be seen: all that follows is counted from here."""
    loads: Mapped[int] = mapped_column(default=0)
    answered_s: Mapped[float | None] = mapped_column(Float)
    """Seconds from there to the answer."""
    sha256: Mapped[str] = mapped_column(String(64), default="")
    """Of the answer."""
    answer: Mapped[str] = mapped_column(Text, default="")
    """As JSON; see `segarena_studio.studies.trial_answers`."""
    is_inside: Mapped[bool] = mapped_column(default=False)
    is_near: Mapped[bool] = mapped_column(default=False)
    is_void: Mapped[bool] = mapped_column(default=False)
    """Whether its batch does not count."""


class StudyCode(Table):
    """A code that was given out. No row says to whom: a platform knows who has it, and not what they gave."""

    __tablename__ = "study_codes"

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"), index=True)
    code: Mapped[str] = mapped_column(String(80))
    batches: Mapped[int]
    counted: Mapped[int]

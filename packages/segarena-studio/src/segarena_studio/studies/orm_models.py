"""Database tables of studies. They contain neither names nor addresses of participants."""

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

from segarena_server.db.orm_models import OrmModel


class StudyRow(OrmModel):
    """A study; its rules are in the description. See `segarena_studio.studies.description`."""

    __tablename__ = "studies"
    __table_args__ = (CheckConstraint("state IN ('open', 'closed')", name="state"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(64), unique=True)
    description: Mapped[str] = mapped_column(Text)
    dataset: Mapped[str] = mapped_column(Text)
    """Name by which the dataset identifies itself."""
    state: Mapped[str] = mapped_column(String(20), default="open")
    person_id: Mapped[int | None] = mapped_column(ForeignKey("people.id", ondelete="SET NULL"))
    """The person who created it."""
    made_at: Mapped[float] = mapped_column(Float)


class StudyItem(OrmModel):
    """A target of a study: a part of a picture that participants point at."""

    __tablename__ = "study_items"

    study_id: Mapped[int] = mapped_column(
        ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True)
    image: Mapped[str] = mapped_column(String(500))
    """Identifier of the picture, the same for all items on it."""
    sample: Mapped[str] = mapped_column(Text)
    target: Mapped[str] = mapped_column(Text)
    object_id: Mapped[int] = mapped_column(default=1)
    plane: Mapped[int | None]
    label: Mapped[str] = mapped_column(Text, default="")
    is_alone: Mapped[bool] = mapped_column(default=True)
    """Whether the target is the only one of its sample."""
    goal: Mapped[str] = mapped_column(String(20), default="object")
    model: Mapped[str] = mapped_column(String(80), default="")
    is_turned: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the picture is displayed rotated by 180 degrees, as slices of volumes are."""
    is_easy: Mapped[bool] = mapped_column(default=False)
    """Whether the item serves training and attention checks, whose answers do not count as data."""
    width: Mapped[int]
    height: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    """Hash of the picture in the storage."""
    mask: Mapped[bytes] = mapped_column(LargeBinary)
    """Run lengths of the part to point at."""
    previous: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Run lengths of the mask to correct."""


class StudyLink(OrmModel):
    """An invitation link for a number of people; `visits.link_text` derives its text from its number."""

    __tablename__ = "study_links"

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"), index=True)
    label: Mapped[str] = mapped_column(String(80), default="")
    most: Mapped[int]
    came: Mapped[int] = mapped_column(default=0)
    made_at: Mapped[float] = mapped_column(Float)
    ended_at: Mapped[float | None] = mapped_column(Float)


class StudyVisitor(OrmModel):
    """A participant. Their browser has a key, whose hash is stored here."""

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
    """Name in exports: p and twelve hexadecimal digits, which reveal nothing about the order of arrival.
    """
    kind: Mapped[str] = mapped_column(String(20))
    mode: Mapped[str] = mapped_column(String(20))
    device: Mapped[str] = mapped_column(String(20))
    """Declared kind of device."""
    state: Mapped[str] = mapped_column(String(20), default="training")
    batches: Mapped[int] = mapped_column(default=0)
    """Number of batches begun."""
    counted: Mapped[int] = mapped_column(default=0)
    """Number of batches that count."""
    tries: Mapped[int] = mapped_column(default=0)
    """Number of training tasks answered."""
    passed: Mapped[int] = mapped_column(default=0)
    checks: Mapped[int] = mapped_column(default=0)
    """Number of attention checks answered."""
    missed: Mapped[int] = mapped_column(default=0)
    """Number of attention checks with a wrong answer."""


class StudyTrial(OrmModel):
    """One item shown to one participant once, with the answer."""

    __tablename__ = "study_trials"
    __table_args__ = (
        CheckConstraint("purpose IN ('main', 'training', 'attention')", name="purpose"),
        ForeignKeyConstraint(
            ["study_id", "item"],
            ["study_items.study_id", "study_items.number"],
            ondelete="CASCADE",
        ),
        # Indexes for finding the current trial of a participant, and the answers on an item.
        Index(None, "visitor_id", "batch", "place"),
        Index(None, "study_id", "item"),
    )

    # Random ids, because participants see them in addresses.
    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    study_id: Mapped[int]
    item: Mapped[int]
    visitor_id: Mapped[int] = mapped_column(ForeignKey("study_visitors.id", ondelete="CASCADE"))
    batch: Mapped[int]
    place: Mapped[int]
    purpose: Mapped[str] = mapped_column(String(20))
    device: Mapped[str] = mapped_column(String(20))
    """Declared kind of device; once there is an answer, the kind inferred from it."""
    given_at: Mapped[float] = mapped_column(Float)
    begun_at: Mapped[float | None] = mapped_column(Float)
    """Time when the picture was first visible; all durations start here."""
    loads: Mapped[int] = mapped_column(default=0)
    answered_s: Mapped[float | None] = mapped_column(Float)
    """Seconds from `begun_at` to the answer."""
    sha256: Mapped[str] = mapped_column(String(64), default="")
    """Hash of the answer."""
    answer: Mapped[str] = mapped_column(Text, default="")
    """The answer as JSON; see `segarena_studio.studies.trial_answers`."""
    is_inside: Mapped[bool] = mapped_column(default=False)
    is_near: Mapped[bool] = mapped_column(default=False)
    is_void: Mapped[bool] = mapped_column(default=False)
    """Whether the batch of this trial was excluded."""


class StudyCode(OrmModel):
    """A completion code. No row refers to a participant: a platform knows whose code it is, but not their answers."""

    __tablename__ = "study_codes"

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"), index=True)
    code: Mapped[str] = mapped_column(String(80))
    batches: Mapped[int]
    counted: Mapped[int]

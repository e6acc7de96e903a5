"""Database tables of annotation: projects, members, pictures, tasks, drafts, reviews and agreement.

Times are seconds since 1970 in UTC, as in `segarena_server.db.orm_models`. A scene is stored
compressed and otherwise as it was sent; see `segarena_studio.annotation.scene_document`.
"""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Float,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from segarena_server.db.orm_models import OrmModel, Person

MEMBER_ROLES = ("annotator", "reviewer", "lead")
"""Roles in a project; each includes the rights of those before it."""

STATES = ("clean", "in progress", "finished", "in review", "returned", "approved")
"""States of a task, in their usual order."""


class Project(OrmModel):
    """A set of pictures that the same people annotate under the same settings."""

    __tablename__ = "drawing_projects"
    __table_args__ = (CheckConstraint("state IN ('open', 'closed')", name="state"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(80))
    guide: Mapped[str] = mapped_column(Text, default="")
    """Instructions for annotators, plain text."""
    labels: Mapped[str] = mapped_column(Text, default="")
    """Names that the editor suggests, one per line."""
    attributes: Mapped[str] = mapped_column(Text, default="", server_default="")
    """Attributes that annotators fill in for each region, one per line; see `annotation/region_attributes.py`."""
    segmenters: Mapped[str] = mapped_column(Text, default="")
    """Segmenters that answer prompts in the editor, one specification per line; "" for the default ones."""
    has_videos: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the pictures of a folder are the frames of a video; see `annotation/tracks.py`."""
    annotators: Mapped[int] = mapped_column(default=1)
    """Number of annotators of each picture, who do not see each other's work."""
    is_free: Mapped[bool] = mapped_column(default=True)
    """Whether annotators request the next free task; otherwise a lead assigns tasks."""
    is_reviewed: Mapped[bool] = mapped_column(default=True)
    """Whether finished tasks wait for a reviewer."""
    seed: Mapped[int] = mapped_column(default=0)
    """Determines the order of pictures and the assignment."""
    state: Mapped[str] = mapped_column(String(20), default="open")
    made_at: Mapped[float] = mapped_column(Float)


class Member(OrmModel):
    """Membership of a person in a project."""

    __tablename__ = "drawing_members"
    __table_args__ = (CheckConstraint("role IN ('annotator', 'reviewer', 'lead')", name="role"),)

    project_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_projects.id", ondelete="CASCADE"), primary_key=True
    )
    person_id: Mapped[int] = mapped_column(
        ForeignKey("people.id", ondelete="CASCADE"),
        primary_key=True,
        index=True,
    )
    role: Mapped[str] = mapped_column(String(20))
    made_at: Mapped[float] = mapped_column(Float)


class Picture(OrmModel):
    """A picture of a project, checked and stored by its hash."""

    __tablename__ = "drawing_pictures"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_projects.id", ondelete="CASCADE"), index=True
    )
    name: Mapped[str] = mapped_column(String(255))
    """Path of the file inside the folder that was added."""
    sha256: Mapped[str] = mapped_column(String(64))
    kind: Mapped[str] = mapped_column(String(40))
    """Media type."""
    thumbnail: Mapped[str] = mapped_column(String(64))
    """Hash of a small JPEG of the picture."""
    height: Mapped[int]
    width: Mapped[int]
    bytes: Mapped[int]
    place: Mapped[float] = mapped_column(Float)
    """Position in the order of annotation, 0 to 1, derived from the seed; the same for all frames of a video."""
    made_at: Mapped[float] = mapped_column(Float)


class Task(OrmModel):
    """One picture to be annotated by one person, with its state."""

    __tablename__ = "drawing_tasks"
    __table_args__ = (
        CheckConstraint(
            "state IN ('clean', 'in progress', 'finished', 'in review', 'returned', 'approved')",
            name="state",
        ),
        # Nobody annotates a picture twice; NULLs are distinct, so a picture may have several free
        # tasks.
        UniqueConstraint("picture_id", "person_id"),
        Index(None, "project_id", "state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("drawing_projects.id", ondelete="CASCADE"))
    picture_id: Mapped[int] = mapped_column(ForeignKey("drawing_pictures.id", ondelete="CASCADE"))
    picture: Mapped[Picture] = relationship()
    person_id: Mapped[int | None] = mapped_column(
        ForeignKey("people.id", ondelete="SET NULL"), index=True
    )
    """The annotator; null while the task is free."""
    person: Mapped[Person | None] = relationship(foreign_keys=[person_id])
    reviewer_id: Mapped[int | None] = mapped_column(ForeignKey("people.id", ondelete="SET NULL"))
    """The last reviewer."""
    state: Mapped[str] = mapped_column(String(20), default="clean")
    revision: Mapped[int] = mapped_column(default=0)
    """Revision of the newest draft; 0 before the first."""
    saved_at: Mapped[float | None] = mapped_column(Float)
    finished_at: Mapped[float | None] = mapped_column(Float)
    regions: Mapped[int] = mapped_column(default=0)
    points: Mapped[int] = mapped_column(default=0)
    """Corners of all outlines; a corner that two regions share counts twice."""
    annotation_ms: Mapped[float] = mapped_column(Float, default=0.0)
    """Sum of the gaps shorter than five seconds between log entries."""
    total_ms: Mapped[float] = mapped_column(Float, default=0.0)
    """Time spent on all regions, including deleted ones; `active_ms` is the part with the window in the foreground."""
    active_ms: Mapped[float] = mapped_column(Float, default=0.0)
    logged_ms: Mapped[float | None] = mapped_column(Float)
    """Time of the newest log entry."""
    spent: Mapped[str] = mapped_column(Text, default="{}")
    """Milliseconds for each region, {id: [all, active]}, as JSON."""
    # Deferred: the history may take megabytes, and only the editor needs it.
    history: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    """Undo history of the editor, compressed; as sent with the newest draft."""


class Draft(OrmModel):
    """A saved scene. Older revisions are pruned at increasing intervals."""

    __tablename__ = "drawing_drafts"
    # A save that arrives twice must not create two revisions.
    __table_args__ = (UniqueConstraint("task_id", "client_id"),)

    task_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_tasks.id", ondelete="CASCADE"), primary_key=True
    )
    revision: Mapped[int] = mapped_column(primary_key=True)
    client_id: Mapped[str] = mapped_column(String(64))
    """Id chosen by the editor, so that a save sent twice counts once."""
    scene: Mapped[bytes] = mapped_column(LargeBinary)
    is_kept: Mapped[bool] = mapped_column(default=False)
    """Whether this revision is never pruned, because a decision refers to it or the task started from it."""
    saved_at: Mapped[float] = mapped_column(Float)


class LogSegment(OrmModel):
    """Actions of an annotator between two drafts, from which times are computed."""

    __tablename__ = "drawing_log"

    task_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_tasks.id", ondelete="CASCADE"), primary_key=True
    )
    revision: Mapped[int] = mapped_column(primary_key=True)
    entries: Mapped[bytes] = mapped_column(LargeBinary)
    """A JSON list of {at_ms, kind, region}, compressed."""


class Decision(OrmModel):
    """Change of a task's state: begun, finished, taken for review, returned, approved or reopened."""

    __tablename__ = "drawing_decisions"
    __table_args__ = (
        CheckConstraint(
            "kind IN ('begun', 'finished', 'taken', 'returned', 'approved', 'reopened')",
            name="kind",
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_tasks.id", ondelete="CASCADE"), index=True
    )
    person_id: Mapped[int | None] = mapped_column(ForeignKey("people.id", ondelete="SET NULL"))
    person: Mapped[Person | None] = relationship()
    kind: Mapped[str] = mapped_column(String(20))
    revision: Mapped[int]
    text: Mapped[str] = mapped_column(Text, default="")
    made_at: Mapped[float] = mapped_column(Float)


class Comment(OrmModel):
    """A comment on a task, at a position of the picture or about the whole picture."""

    __tablename__ = "drawing_comments"

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_tasks.id", ondelete="CASCADE"), index=True
    )
    person_id: Mapped[int | None] = mapped_column(ForeignKey("people.id", ondelete="SET NULL"))
    person: Mapped[Person | None] = relationship()
    revision: Mapped[int]
    text: Mapped[str] = mapped_column(Text)
    x: Mapped[float | None] = mapped_column(Float)
    y: Mapped[float | None] = mapped_column(Float)
    """Pixels of the picture, from its top left corner."""
    region: Mapped[str] = mapped_column(String(64), default="")
    made_at: Mapped[float] = mapped_column(Float)
    done_at: Mapped[float | None] = mapped_column(Float)
    """Time when the comment was resolved."""


class TaskAgreement(OrmModel):
    """Agreement between two annotators of a picture after both have finished; measured again after changes."""

    __tablename__ = "drawing_compared"

    one_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_tasks.id", ondelete="CASCADE"), primary_key=True
    )
    other_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_tasks.id", ondelete="CASCADE"), primary_key=True
    )
    one_revision: Mapped[int]
    other_revision: Mapped[int]
    regions: Mapped[float] = mapped_column(Float)
    """F of the regions."""
    edges: Mapped[float] = mapped_column(Float)
    """F of the visible edges."""
    order_same: Mapped[int]
    order_pairs: Mapped[int]
    names_same: Mapped[int]
    names: Mapped[int]

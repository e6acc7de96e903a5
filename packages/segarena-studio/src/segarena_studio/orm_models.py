"""The tables of drawing: projects, who is in them, pictures, tasks, and all that becomes of a task.

Times are seconds since 1970, in UTC, as in `segarena_server.db.orm_models`. A scene is kept as it was sent, packed; see
`segarena_studio.annotation.scene_document`.
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
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from segarena_server.db.orm_models import Person, Table

MEMBER_ROLES = ("annotator", "reviewer", "lead")
"""Each may do what those before it may, in one project."""

STATES = ("clean", "in progress", "finished", "in review", "returned", "approved")
"""Of a task, in the order in which it has them."""


class Project(Table):
    """Pictures that are annotated by the same people under the same rules."""

    __tablename__ = "drawing_projects"
    __table_args__ = (CheckConstraint("state IN ('open', 'closed')", name="state"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(80))
    guide: Mapped[str] = mapped_column(Text, default="")
    """What annotators are told, plain text."""
    labels: Mapped[str] = mapped_column(Text, default="")
    """Names that the editor suggests, one per line."""
    segmenters: Mapped[str] = mapped_column(Text, default="")
    """What answers prompts in the editor, one specification per line; "" for those without weights."""
    annotators: Mapped[int] = mapped_column(default=1)
    """How many people annotate each picture, without seeing each other's work."""
    is_free: Mapped[bool] = mapped_column(default=True)
    """Whether whoever asks for work gets the next free task; otherwise tasks are given by a lead."""
    is_reviewed: Mapped[bool] = mapped_column(default=True)
    """Whether finished tasks wait for a reviewer."""
    seed: Mapped[int] = mapped_column(default=0)
    """Decides in which order pictures come, and who gets which."""
    state: Mapped[str] = mapped_column(String(20), default="open")
    made_at: Mapped[float] = mapped_column(Float)


class Member(Table):
    """Somebody who is in a project."""

    __tablename__ = "drawing_members"
    __table_args__ = (CheckConstraint("role IN ('annotator', 'reviewer', 'lead')", name="role"),)

    project_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_projects.id", ondelete="CASCADE"), primary_key=True
    )
    person_id: Mapped[int] = mapped_column(
        ForeignKey("people.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[str] = mapped_column(String(20))
    made_at: Mapped[float] = mapped_column(Float)


class Picture(Table):
    """A picture of a project, checked and kept by its hash."""

    __tablename__ = "drawing_pictures"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_projects.id", ondelete="CASCADE"), index=True
    )
    name: Mapped[str] = mapped_column(String(255))
    """Of the file, with its folders inside the one that was added."""
    sha256: Mapped[str] = mapped_column(String(64))
    kind: Mapped[str] = mapped_column(String(40))
    """Its media type."""
    thumbnail: Mapped[str] = mapped_column(String(64))
    """The hash of a small JPEG of it."""
    height: Mapped[int]
    width: Mapped[int]
    bytes: Mapped[int]
    place: Mapped[float] = mapped_column(Float)
    """From 0 to 1 by the seed of the project: in this order pictures are annotated."""
    made_at: Mapped[float] = mapped_column(Float)


class Task(Table):
    """One picture for one annotator, and how far it is."""

    __tablename__ = "drawing_tasks"
    __table_args__ = (
        CheckConstraint(
            "state IN ('clean', 'in progress', 'finished', 'in review', 'returned', 'approved')",
            name="state",
        ),
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
    """Who annotates it; nobody yet where it is free."""
    person: Mapped[Person | None] = relationship(foreign_keys=[person_id])
    reviewer_id: Mapped[int | None] = mapped_column(ForeignKey("people.id", ondelete="SET NULL"))
    """Who took it for review last."""
    state: Mapped[str] = mapped_column(String(20), default="clean")
    revision: Mapped[int] = mapped_column(default=0)
    """Of the newest draft; 0 before the first."""
    saved_at: Mapped[float | None] = mapped_column(Float)
    finished_at: Mapped[float | None] = mapped_column(Float)
    regions: Mapped[int] = mapped_column(default=0)
    points: Mapped[int] = mapped_column(default=0)
    """Corners of all outlines; one that two regions share counts for each of them."""
    annotation_ms: Mapped[float] = mapped_column(Float, default=0.0)
    """Of the log: gaps of less than five seconds between entries, added up."""
    total_ms: Mapped[float] = mapped_column(Float, default=0.0)
    """Time with all regions, those included that were deleted, and `active_ms` that of it with the window in front."""
    active_ms: Mapped[float] = mapped_column(Float, default=0.0)
    logged_ms: Mapped[float | None] = mapped_column(Float)
    """When the newest entry of the log was made."""
    spent: Mapped[str] = mapped_column(Text, default="{}")
    """Milliseconds with each region, {id: [all, active]}, as JSON."""
    history: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    """What the editor can undo, packed; as it was sent with the newest draft."""


class Draft(Table):
    """A scene as it was saved. Of many revisions fewer and fewer are kept the older they are."""

    __tablename__ = "drawing_drafts"
    __table_args__ = (UniqueConstraint("task_id", "client_id"),)

    task_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_tasks.id", ondelete="CASCADE"), primary_key=True
    )
    revision: Mapped[int] = mapped_column(primary_key=True)
    client_id: Mapped[str] = mapped_column(String(64))
    """What the editor called it, so that what is sent twice counts once."""
    scene: Mapped[bytes] = mapped_column(LargeBinary)
    is_kept: Mapped[bool] = mapped_column(default=False)
    """Whether somebody decided on it, so that it stays."""
    saved_at: Mapped[float] = mapped_column(Float)


class LogSegment(Table):
    """What an annotator did between two drafts, for the times."""

    __tablename__ = "drawing_log"

    task_id: Mapped[int] = mapped_column(
        ForeignKey("drawing_tasks.id", ondelete="CASCADE"), primary_key=True
    )
    revision: Mapped[int] = mapped_column(primary_key=True)
    entries: Mapped[bytes] = mapped_column(LargeBinary)
    """A JSON list of {at_ms, kind, region}, packed."""


class Decision(Table):
    """That a task was finished, taken for review, returned, approved or opened again."""

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


class Comment(Table):
    """What somebody said about a task, at a place of the picture or about all of it."""

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
    """In pixels of the picture, from its top left corner."""
    region: Mapped[str] = mapped_column(String(64), default="")
    made_at: Mapped[float] = mapped_column(Float)
    done_at: Mapped[float | None] = mapped_column(Float)
    """When it was taken for settled."""


class TaskAgreement(Table):
    """How far two annotators of one picture agree, once both have finished; made again when one changes."""

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

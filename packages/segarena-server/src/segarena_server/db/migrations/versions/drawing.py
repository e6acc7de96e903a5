"""Drawing in the studio: projects, who is in them, pictures, tasks, and all that becomes of a task."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "drawing"
down_revision = "chosen"

_STATES = "'clean', 'in progress', 'finished', 'in review', 'returned', 'approved'"
_DECISIONS = "'begun', 'finished', 'taken', 'returned', 'approved', 'reopened'"
_TABLES = (
    "compared",
    "comments",
    "decisions",
    "log",
    "drafts",
    "tasks",
    "pictures",
    "members",
    "projects",
)


def upgrade() -> None:
    """Make the tables."""
    _make_projects()
    _make_tasks()
    _make_histories()


def downgrade() -> None:
    """Remove them."""
    for name in _TABLES:
        op.drop_table(f"drawing_{name}")


def _make_projects() -> None:
    op.create_table(
        "drawing_projects",
        _column("id", sa.Integer()),
        _column("name", sa.String(length=80)),
        _column("guide", sa.Text()),
        _column("labels", sa.Text()),
        _column("segmenters", sa.Text()),
        _column("annotators", sa.Integer()),
        _column("is_free", sa.Boolean()),
        _column("is_reviewed", sa.Boolean()),
        _column("seed", sa.Integer()),
        _column("state", sa.String(length=20)),
        _column("made_at", sa.Float()),
        _check("projects", "state", "state IN ('open', 'closed')"),
        _key("projects", "id"),
    )
    op.create_table(
        "drawing_members",
        _column("project_id", sa.Integer()),
        _column("person_id", sa.Integer()),
        _column("role", sa.String(length=20)),
        _column("made_at", sa.Float()),
        _check("members", "role", "role IN ('annotator', 'reviewer', 'lead')"),
        _refers("members", "project_id", "drawing_projects"),
        _refers("members", "person_id", "people"),
        _key("members", "project_id", "person_id"),
    )
    _index("members", "person_id")
    op.create_table(
        "drawing_pictures",
        _column("id", sa.Integer()),
        _column("project_id", sa.Integer()),
        _column("name", sa.String(length=255)),
        _column("sha256", sa.String(length=64)),
        _column("kind", sa.String(length=40)),
        _column("thumbnail", sa.String(length=64)),
        _column("height", sa.Integer()),
        _column("width", sa.Integer()),
        _column("bytes", sa.Integer()),
        _column("place", sa.Float()),
        _column("made_at", sa.Float()),
        _refers("pictures", "project_id", "drawing_projects"),
        _key("pictures", "id"),
        _unique("pictures", "project_id", "name"),
    )
    _index("pictures", "project_id")


def _make_tasks() -> None:
    op.create_table(
        "drawing_tasks",
        _column("id", sa.Integer()),
        _column("project_id", sa.Integer()),
        _column("picture_id", sa.Integer()),
        _column("person_id", sa.Integer(), nullable=True),
        _column("reviewer_id", sa.Integer(), nullable=True),
        _column("state", sa.String(length=20)),
        _column("revision", sa.Integer()),
        _column("saved_at", sa.Float(), nullable=True),
        _column("finished_at", sa.Float(), nullable=True),
        _column("regions", sa.Integer()),
        _column("points", sa.Integer()),
        _column("annotation_ms", sa.Float()),
        _column("total_ms", sa.Float()),
        _column("active_ms", sa.Float()),
        _column("logged_ms", sa.Float(), nullable=True),
        _column("spent", sa.Text()),
        _column("history", sa.LargeBinary(), nullable=True),
        _check("tasks", "state", f"state IN ({_STATES})"),
        _refers("tasks", "project_id", "drawing_projects"),
        _refers("tasks", "picture_id", "drawing_pictures"),
        _refers("tasks", "person_id", "people", "SET NULL"),
        _refers("tasks", "reviewer_id", "people", "SET NULL"),
        _key("tasks", "id"),
        _unique("tasks", "picture_id", "person_id"),
    )
    _index("tasks", "person_id")
    _index("tasks", "project_id", "state")


def _make_histories() -> None:
    op.create_table(
        "drawing_drafts",
        _column("task_id", sa.Integer()),
        _column("revision", sa.Integer()),
        _column("client_id", sa.String(length=64)),
        _column("scene", sa.LargeBinary()),
        _column("is_kept", sa.Boolean()),
        _column("saved_at", sa.Float()),
        _refers("drafts", "task_id", "drawing_tasks"),
        _key("drafts", "task_id", "revision"),
        _unique("drafts", "task_id", "client_id"),
    )
    op.create_table(
        "drawing_log",
        _column("task_id", sa.Integer()),
        _column("revision", sa.Integer()),
        _column("entries", sa.LargeBinary()),
        _refers("log", "task_id", "drawing_tasks"),
        _key("log", "task_id", "revision"),
    )
    op.create_table(
        "drawing_decisions",
        _column("id", sa.Integer()),
        _column("task_id", sa.Integer()),
        _column("person_id", sa.Integer(), nullable=True),
        _column("kind", sa.String(length=20)),
        _column("revision", sa.Integer()),
        _column("text", sa.Text()),
        _column("made_at", sa.Float()),
        _check("decisions", "kind", f"kind IN ({_DECISIONS})"),
        _refers("decisions", "task_id", "drawing_tasks"),
        _refers("decisions", "person_id", "people", "SET NULL"),
        _key("decisions", "id"),
    )
    _index("decisions", "task_id")
    op.create_table(
        "drawing_comments",
        _column("id", sa.Integer()),
        _column("task_id", sa.Integer()),
        _column("person_id", sa.Integer(), nullable=True),
        _column("revision", sa.Integer()),
        _column("text", sa.Text()),
        _column("x", sa.Float(), nullable=True),
        _column("y", sa.Float(), nullable=True),
        _column("region", sa.String(length=64)),
        _column("made_at", sa.Float()),
        _column("done_at", sa.Float(), nullable=True),
        _refers("comments", "task_id", "drawing_tasks"),
        _refers("comments", "person_id", "people", "SET NULL"),
        _key("comments", "id"),
    )
    _index("comments", "task_id")
    op.create_table(
        "drawing_compared",
        _column("one_id", sa.Integer()),
        _column("other_id", sa.Integer()),
        _column("one_revision", sa.Integer()),
        _column("other_revision", sa.Integer()),
        _column("regions", sa.Float()),
        _column("edges", sa.Float()),
        _column("order_same", sa.Integer()),
        _column("order_pairs", sa.Integer()),
        _column("names_same", sa.Integer()),
        _column("names", sa.Integer()),
        _refers("compared", "one_id", "drawing_tasks"),
        _refers("compared", "other_id", "drawing_tasks"),
        _key("compared", "one_id", "other_id"),
    )


def _column(name: str, kind: Any, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=nullable)


def _key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=op.f(f"pk_drawing_{table}"))


def _check(table: str, name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_drawing_{table}_{name}"))


def _unique(table: str, *columns: str) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(*columns, name=op.f(f"uq_drawing_{table}_{'_'.join(columns)}"))


def _refers(table: str, column: str, to: str, then: str = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{to}.id"], name=op.f(f"fk_drawing_{table}_{column}"), ondelete=then
    )


def _index(table: str, *columns: str) -> None:
    op.create_index(
        op.f(f"ix_drawing_{table}_{'_'.join(columns)}"), f"drawing_{table}", list(columns)
    )

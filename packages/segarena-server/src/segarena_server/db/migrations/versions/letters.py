"""Letters by e-mail, and addresses that were confirmed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "letters"
down_revision = "ladder"

_BEFORE = "kind IN ('session', 'token', 'invitation', 'team')"
_NOW = "kind IN ('session', 'token', 'invitation', 'team', 'address', 'reset')"
_keys = sa.table("keys", sa.column("kind"))


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "letters",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("recipient", sa.String(length=200), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("failure", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("due_at", sa.Float(), nullable=False),
        sa.CheckConstraint("state IN ('waiting', 'dead')", name=op.f("ck_letters_state")),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_letters_person_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_letters")),
    )
    op.create_index(op.f("ix_letters_state_due_at"), "letters", ["state", "due_at"])
    op.create_index(op.f("ix_letters_person_id"), "letters", ["person_id"])
    with op.batch_alter_table("people") as table:
        table.add_column(
            sa.Column("email", sa.String(length=200), nullable=False, server_default="")
        )
        table.add_column(sa.Column("email_at", sa.Float(), nullable=True))
        table.add_column(
            sa.Column("wants_letters", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("people") as table:
        table.alter_column(
            "email",
            existing_type=sa.String(length=200),
            existing_nullable=False,
            server_default=None,
        )
        table.alter_column(
            "wants_letters",
            existing_type=sa.Boolean(),
            existing_nullable=False,
            server_default=None,
        )
    _allow(_NOW)


def downgrade() -> None:
    """Remove it."""
    op.execute(_keys.delete().where(_keys.c.kind.in_(("address", "reset"))))
    _allow(_BEFORE)
    with op.batch_alter_table("people") as table:
        for column in ("email", "email_at", "wants_letters"):
            table.drop_column(column)
    op.drop_table("letters")


def _allow(kinds: str) -> None:
    with op.batch_alter_table("keys") as table:
        table.drop_constraint(op.f("ck_keys_kind"), type_="check")
        table.create_check_constraint(op.f("ck_keys_kind"), kinds)

"""Accounts elsewhere that people sign in with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "identities"
down_revision = "evaluated"

_BEFORE = "kind IN ('session', 'token', 'invitation', 'team', 'address', 'reset')"
_NOW = "kind IN ('session', 'token', 'invitation', 'team', 'address', 'reset', 'login')"
_keys = sa.table("keys", sa.column("kind"))


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "identities",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("issuer", sa.String(length=500), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_identities_person_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identities")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_identities_issuer_subject")),
    )
    op.create_index(op.f("ix_identities_person_id"), "identities", ["person_id"])
    _allow(_NOW)


def downgrade() -> None:
    """Remove it: who has no password cannot sign in any more."""
    op.execute(_keys.delete().where(_keys.c.kind == "login"))
    _allow(_BEFORE)
    op.drop_table("identities")


def _allow(kinds: str) -> None:
    with op.batch_alter_table("keys") as table:
        table.drop_constraint(op.f("ck_keys_kind"), type_="check")
        table.create_check_constraint(op.f("ck_keys_kind"), kinds)

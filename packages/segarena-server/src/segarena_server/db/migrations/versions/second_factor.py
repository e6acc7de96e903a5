"""Second factor: secrets for codes at sign-in, recovery codes, and keys of sign-ins that await a code."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "second_factor"
down_revision = "challenge_news"

_KINDS = "'session', 'token', 'invitation', 'team', 'address', 'reset', 'login'"


def upgrade() -> None:
    """Create the tables and allow the new kind of key; nobody has a second factor at first."""
    op.create_table(
        "second_factors",
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("nonce", sa.String(64), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("confirmed_at", sa.Float(), nullable=True),
        sa.Column("last_step", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
            name=op.f("fk_second_factors_person_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("person_id", name=op.f("pk_second_factors")),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("used_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
            name=op.f("fk_recovery_codes_person_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recovery_codes")),
    )
    op.create_index(op.f("ix_recovery_codes_person_id"), "recovery_codes", ["person_id"])
    _allow_kinds(f"kind IN ({_KINDS}, 'factor')")


def downgrade() -> None:
    """Delete the tables, so that no sign-in requires a code."""
    op.execute("DELETE FROM keys WHERE kind = 'factor'")
    _allow_kinds(f"kind IN ({_KINDS})")
    op.drop_index(op.f("ix_recovery_codes_person_id"), "recovery_codes")
    op.drop_table("recovery_codes")
    op.drop_table("second_factors")


def _allow_kinds(condition: str) -> None:
    name = op.f("ck_keys_kind")
    with op.batch_alter_table("keys") as keys:
        keys.drop_constraint(name, type_="check")
        keys.create_check_constraint(name, condition)

"""Teams: everybody gets one of their name, and it has the runs that they began."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "teams"
down_revision = "0001"

_people = sa.table(
    "people", *map(sa.column, ("id", "team_id", "name", "folded", "state", "made_at"))
)
_teams = sa.table("teams", *map(sa.column, ("id", "name", "folded", "circle", "made_at")))
_runs = sa.table(
    "runs", *map(sa.column, ("id", "team_id", "person_id", "challenge_id", "pool", "made_at"))
)
_places = sa.table("places", *map(sa.column, ("run_id", "number", "sample", "past")))
_keys = sa.table("keys", sa.column("kind"))


def upgrade() -> None:
    """Make them, for whom there is."""
    op.create_table(
        "teams",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("folded", sa.String(length=40), nullable=False),
        sa.Column("circle", sa.String(length=32), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
        sa.UniqueConstraint("folded", name=op.f("uq_teams_folded")),
    )
    op.create_index(op.f("ix_teams_circle"), "teams", ["circle"])
    for table in ("people", "runs"):
        op.add_column(table, sa.Column("team_id", sa.Integer(), nullable=True))
    op.add_column("places", sa.Column("past", sa.Text(), nullable=False, server_default="[]"))
    _give_teams()
    _keep_past()
    with op.batch_alter_table("people") as table:
        table.alter_column("team_id", existing_type=sa.Integer(), nullable=False)
        table.create_foreign_key(op.f("fk_people_team_id"), "teams", ["team_id"], ["id"])
        table.create_index(op.f("ix_people_team_id"), ["team_id"])
        table.drop_constraint(op.f("ck_people_state"), type_="check")
        table.create_check_constraint(
            op.f("ck_people_state"), "state IN ('waiting', 'confirmed', 'closed', 'deleted')"
        )
    with op.batch_alter_table("runs") as table:
        table.alter_column("team_id", existing_type=sa.Integer(), nullable=False)
        table.create_foreign_key(op.f("fk_runs_team_id"), "teams", ["team_id"], ["id"])
        table.create_index(op.f("ix_runs_team_id"), ["team_id"])
        table.drop_index(op.f("ix_runs_challenge_id_phase_person_id"))
        table.create_index(
            op.f("ix_runs_challenge_id_phase_team_id"), ["challenge_id", "phase", "team_id"]
        )
    with op.batch_alter_table("places") as table:
        table.alter_column(
            "past", existing_type=sa.Text(), existing_nullable=False, server_default=None
        )
    with op.batch_alter_table("keys") as table:
        table.add_column(sa.Column("team_id", sa.Integer(), nullable=True))
        table.create_foreign_key(
            op.f("fk_keys_team_id"), "teams", ["team_id"], ["id"], ondelete="CASCADE"
        )
        table.drop_constraint(op.f("ck_keys_kind"), type_="check")
        table.create_check_constraint(
            op.f("ck_keys_kind"), "kind IN ('session', 'token', 'invitation', 'team')"
        )


def downgrade() -> None:
    """Remove them: runs are of who began them."""
    op.execute(_keys.delete().where(_keys.c.kind == "team"))
    op.execute(_people.update().where(_people.c.state == "deleted").values(state="closed"))
    with op.batch_alter_table("keys") as table:
        table.drop_constraint(op.f("ck_keys_kind"), type_="check")
        table.create_check_constraint(
            op.f("ck_keys_kind"), "kind IN ('session', 'token', 'invitation')"
        )
        table.drop_constraint(op.f("fk_keys_team_id"), type_="foreignkey")
        table.drop_column("team_id")
    with op.batch_alter_table("places") as table:
        table.drop_column("past")
    with op.batch_alter_table("runs") as table:
        table.drop_index(op.f("ix_runs_challenge_id_phase_team_id"))
        table.create_index(
            op.f("ix_runs_challenge_id_phase_person_id"), ["challenge_id", "phase", "person_id"]
        )
        table.drop_index(op.f("ix_runs_team_id"))
        table.drop_constraint(op.f("fk_runs_team_id"), type_="foreignkey")
        table.drop_column("team_id")
    with op.batch_alter_table("people") as table:
        table.drop_constraint(op.f("ck_people_state"), type_="check")
        table.create_check_constraint(
            op.f("ck_people_state"), "state IN ('waiting', 'confirmed', 'closed')"
        )
        table.drop_index(op.f("ix_people_team_id"))
        table.drop_constraint(op.f("fk_people_team_id"), type_="foreignkey")
        table.drop_column("team_id")
    op.drop_index(op.f("ix_teams_circle"), "teams")
    op.drop_table("teams")


def _give_teams() -> None:
    """Give each person a team of their name, and it their runs."""
    connection = op.get_bind()
    for person in connection.execute(sa.select(_people)).all():
        told = {"name": person.name, "folded": person.folded, "made_at": person.made_at}
        connection.execute(_teams.insert().values(circle=uuid.uuid4().hex, **told))
        team_id = connection.scalar(sa.select(_teams.c.id).where(_teams.c.folded == person.folded))
        connection.execute(
            _people.update().where(_people.c.id == person.id).values(team_id=team_id)
        )
        connection.execute(
            _runs.update().where(_runs.c.person_id == person.id).values(team_id=team_id)
        )


def _keep_past() -> None:
    """Keep which earlier runs the prompts about each sample were given in, as was found out anew each time before."""
    connection = op.get_bind()
    earlier: defaultdict[tuple[Any, ...], list[str]] = defaultdict(list)
    rows = connection.execute(
        sa.select(_places, _runs.c.person_id, _runs.c.challenge_id, _runs.c.pool)
        .join(_runs, _runs.c.id == _places.c.run_id)
        .order_by(_runs.c.made_at, _runs.c.id)
    )
    for place in rows.all():
        known = earlier[place.person_id, place.challenge_id, place.pool, place.sample]
        this = (_places.c.run_id == place.run_id) & (_places.c.number == place.number)
        connection.execute(_places.update().where(this).values(past=json.dumps(known)))
        known.append(place.run_id)

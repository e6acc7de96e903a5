"""Alembic environment: run migrations on the connection of `segarena_server.db.schema`."""

from __future__ import annotations

from alembic import context

from segarena_server.db.orm_models import OrmModel

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=OrmModel.metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()

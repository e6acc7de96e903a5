"""What Alembic runs: migrations of a connection that `segarena.server.schema` gives."""

from __future__ import annotations

from alembic import context

from segarena.server.tables import Table

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Table.metadata, render_as_batch=True, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()

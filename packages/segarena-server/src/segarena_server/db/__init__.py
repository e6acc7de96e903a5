"""The database: connection, ORM models, schema and migrations."""

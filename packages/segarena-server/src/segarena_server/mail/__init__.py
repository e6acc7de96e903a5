"""E-mail: the outbox and its SMTP sender."""

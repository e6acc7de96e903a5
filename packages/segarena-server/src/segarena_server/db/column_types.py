"""Column types for values that the database stores as text."""

from __future__ import annotations

import json
from dataclasses import asdict

import msgspec
from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator

from segarena_server.dialogue_status import DialogueStatus


class DialogueStatuses(TypeDecorator[tuple[DialogueStatus, ...]]):
    """The statuses of some dialogues, as JSON; "" for none."""

    impl = Text
    cache_ok = True

    def process_bind_param(
        self,
        value: tuple[DialogueStatus, ...] | None,
        dialect: Dialect,
    ) -> str:
        """Return the text to store."""
        # Not msgspec, which replaces metrics that are not finite by null.
        return json.dumps([asdict(status) for status in value]) if value else ""

    def process_result_value(
        self,
        value: str | None,
        dialect: Dialect,
    ) -> tuple[DialogueStatus, ...]:
        """Parse a stored text."""
        plain = json.loads(value or "[]")
        for fields in plain:
            # Statuses stored by earlier versions lack these.
            fields.setdefault("heard", fields["rounds"])
            fields.setdefault("repeated", fields["replayed"])
        return msgspec.convert(plain, tuple[DialogueStatus, ...])

"""The server log: lines of JSON in a file or on stderr."""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

LOG = logging.getLogger("segarena_server")
_LIBRARIES = ("asyncio", "sqlalchemy", "uvicorn")
"""Loggers of libraries that report lost connections themselves; their records go to the same log."""


class JsonLines(logging.Formatter):
    """Formats each log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as a line of JSON."""
        # UTC, because servers of one database may be in different time zones.
        at = (
            time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z"
        )
        told: dict[str, Any] = {
            "at": at,
            "level": record.levelname.lower(),
            "what": record.getMessage(),
        }
        told |= getattr(record, "told", {})
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told)


def log_to(file: Path | None, level: int) -> None:
    """Send log records of at least this level, and records of libraries, to a file or stderr, as lines of JSON."""
    if file is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        handler = logging.FileHandler(file)
    handler.setFormatter(JsonLines())
    for log in (LOG, *map(logging.getLogger, _LIBRARIES)):
        log.handlers = [handler]
        # Otherwise handlers of the root logger would print each line a second time, in another
        # format.
        log.propagate = False
    LOG.setLevel(level)

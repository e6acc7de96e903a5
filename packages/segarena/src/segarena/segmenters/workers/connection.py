"""Reaching a worker: its program is started, or it is connected to, and it greets."""

from __future__ import annotations

import os
import time
from typing import Any

from segarena.errors import PluginInvalid
from segarena.segmenters.workers.failure_messages import told_of, what_is_missing, why_lost
from segarena.segmenters.workers.worker_config import WorkerConfig, WorkerLost
from segarena.segmenters.workers.worker_process import WorkerProcess
from segarena.segmenters.workers.worker_socket import connected
from segarena.segmenters.workers.worker_stream import WorkerStream
from segarena.worker import ProtocolError


def open_connection(reach: WorkerConfig, *, patience_s: float = 0.0) -> WorkerStream:
    """Return a link to a worker that has greeted.

    Args:
        reach: how it is reached.
        patience_s: how long one that should be listening may be away.

    Raises:
        PluginInvalid: it cannot be started or connected to, or speaks another version; says what to do.
        Lost: it ended, was silent or spoke nonsense before it greeted.
    """
    link: WorkerStream = connected(reach, patience_s) if reach.is_address else WorkerProcess(reach)
    link.until = time.monotonic() + reach.start_s
    try:
        link.greet()
    except (EOFError, OSError, ProtocolError, WorkerLost) as error:
        how = link.close()
        lines = link.last_lines()
        missing = what_is_missing(lines, reach)
        if missing:
            raise PluginInvalid(f"worker: {missing}") from error
        raise WorkerLost(
            told_of(why_lost(error) or how, lines), was_killed=link.was_killed
        ) from error
    except BaseException:
        link.close()
        raise
    return link


def token_request(token: str) -> dict[str, Any]:
    """Return the frame that shows the token which an environment variable holds."""
    return {"id": 0, "verb": "token", "token": os.environ.get(token, "")}

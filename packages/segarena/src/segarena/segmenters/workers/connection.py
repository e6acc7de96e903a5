"""Opening a connection to a worker: start its program or connect to its address, then read its greeting."""

from __future__ import annotations

import os
import time
from typing import Any

from segarena.errors import PluginInvalid
from segarena.segmenters.workers.failure_messages import (
    describe_end,
    describe_loss,
    describe_missing_module,
)
from segarena.segmenters.workers.worker_config import WorkerConfig, WorkerLost
from segarena.segmenters.workers.worker_process import WorkerProcess
from segarena.segmenters.workers.worker_socket import connect_with_retry
from segarena.segmenters.workers.worker_stream import WorkerStream
from segarena.worker import ProtocolError


def open_connection(config: WorkerConfig, *, retry_s: float = 0.0) -> WorkerStream:
    """Return a stream to a worker that has sent its greeting.

    Args:
        config: command or address of the worker.
        retry_s: number of seconds for which to retry a refused connection to an address.

    Raises:
        PluginInvalid: the worker cannot be started or reached, or has another protocol version;
            the message suggests a remedy.
        WorkerLost: the worker ended, timed out or broke the protocol before its greeting.
    """
    stream: WorkerStream
    if config.is_address:
        stream = connect_with_retry(config, retry_s)
    else:
        stream = WorkerProcess(config)
    stream.until = time.monotonic() + config.start_s
    try:
        stream.read_greeting()
    except (EOFError, OSError, ProtocolError, WorkerLost) as error:
        how = stream.close()
        lines = stream.last_lines()
        missing = describe_missing_module(lines, config)
        if missing:
            raise PluginInvalid(f"worker: {missing}") from error
        message = describe_end(describe_loss(error) or how, lines)
        raise WorkerLost(message, was_killed=stream.was_killed) from error
    except BaseException:
        stream.close()
        raise
    return stream


def token_request(variable: str) -> dict[str, Any]:
    """Return the header that presents the token from an environment variable."""
    return {"id": 0, "verb": "token", "token": os.environ.get(variable, "")}

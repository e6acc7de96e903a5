"""Connections without a complete request: a time limit, and a limit on their number.

uvicorn only has a timeout between requests. Without these limits, a client that opens connections
and sends half a request line on each would keep them, and their file descriptors, forever.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

_REFUSED_BODY_S = 300.0
"""Time limit for the rest of a body whose request was already answered; clients read the response only after it."""
_STALLED_S = 60.0
"""Seconds in which a client must read some of a response, as in nginx's `send_timeout`."""


class IdleConnections:
    """The connections without a request in progress, and their limits.

    Not thread-safe: only the event loop's thread uses it.

    Args:
        header_s: time limit in seconds for the request line and all headers.
        most: maximum number of idle connections; beyond it, the longest idle one is closed, so that a
            flood of them cannot keep out new clients.
    """

    def __init__(self, header_s: float, most: int) -> None:
        self.header_s = header_s
        self._most = most
        self._idle: dict[LimitedProtocol, None] = {}

    def __len__(self) -> int:
        return len(self._idle)

    def add(self, connection: LimitedProtocol) -> None:
        """Add a connection; close the oldest if there are too many."""
        # A dictionary keeps the order of insertion, so its first key is the oldest connection.
        self._idle[connection] = None
        if len(self._idle) > self._most:
            oldest = next(iter(self._idle))
            self.remove(oldest)
            oldest.close()

    def remove(self, connection: LimitedProtocol) -> None:
        """Remove a connection that has received a request or has ended."""
        self._idle.pop(connection, None)


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with limits on idle connections.

    Args:
        idle: the idle connections of the server.
        arguments: arguments of uvicorn's protocol.
    """

    def __init__(self, idle: IdleConnections, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._idle = idle
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] - asyncio declares the base class of transports
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._update()

    def data_received(self, data: bytes) -> None:
        """Handle received bytes."""
        super().data_received(data)
        self._update()

    def on_response_complete(self) -> None:
        """Start to wait for the next request, or handle one that has arrived already."""
        super().on_response_complete()
        # The deadline of the answered request's body must not apply to the next headers.
        self._stop_waiting()
        self._update()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the timers."""
        super().connection_lost(exc)
        self._stop_waiting()
        self._unset_stall()

    def pause_writing(self) -> None:
        """Start the time limit within which the client must read some of the response."""
        super().pause_writing()
        self._unset_stall()
        # abort() instead of close(), which would wait until the client reads.
        self._stall = self.loop.call_later(_STALLED_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel the timer, because the client has read some of the response."""
        super().resume_writing()
        self._unset_stall()

    def close(self) -> None:
        """Close the connection; abort it if the client does not read the rest of a response in time."""
        self.transport.close()
        self.loop.call_later(_STALLED_S, self.transport.abort)

    def _update(self) -> None:
        """Start or cancel the timer for the next request."""
        # Against its annotation, uvicorn sets the cycle to None until the first request.
        cycle = cast("RequestResponseCycle | None", self.cycle)
        is_idle = cycle is None or cycle.response_complete
        if not is_idle or self.transport.is_closing():
            self._stop_waiting()
        elif self._deadline is None:
            # Set once and not renewed with each byte: a client that sends a byte a second never
            # completes a request.
            is_in_body = self.conn.their_state is h11.SEND_BODY
            limit_s = _REFUSED_BODY_S if is_in_body else self._idle.header_s
            self._deadline = self.loop.call_later(limit_s, self.close)
            self._idle.add(self)

    def _stop_waiting(self) -> None:
        self._idle.remove(self)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _unset_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

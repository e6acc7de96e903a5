"""A limit on the memory of all large request bodies together."""

from __future__ import annotations

from segarena_server.http import http_errors

_RETRY_S = 5.0


class UploadBudget:
    """Counts the bytes of large bodies from their arrival until their requests are answered.

    Not thread-safe: only the thread of the event loop uses it.

    Args:
        most: bytes in memory at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0

    def check(self, size: int) -> None:
        """Raise `Refusal` when `size` more bytes exceed the limit; reserves nothing."""
        if self._taken + size > self._most:
            raise http_errors.busy("too many large uploads at this moment; send it again", _RETRY_S)

    def take(self, size: int) -> None:
        """Count received bytes.

        Raises:
            Refusal: they exceed the limit.
        """
        self.check(size)
        self._taken += size

    def give_back(self, size: int) -> None:
        """Release bytes whose request is answered."""
        self._taken -= size

"""Room for large bodies of requests: who comes while there is none is told to come again."""

from __future__ import annotations

from segarena_server.http import http_errors

_AGAIN_S = 5.0


class UploadBudget:
    """Counts the bytes of large bodies, from when they come until their requests are answered.

    It belongs to the thread of the event loop.

    Args:
        most: so many may be there at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0

    def check(self, size: int) -> None:
        """Raise `Refusal` when there is no room for so many more bytes now; nothing is kept free for them."""
        if self._taken + size > self._most:
            raise http_errors.busy(
                "too many large bodies come in at this moment; send it again", _AGAIN_S
            )

    def take(self, size: int) -> None:
        """Count bytes that came.

        Raises:
            Refusal: there is no room.
        """
        self.check(size)
        self._taken += size

    def give_back(self, size: int) -> None:
        """Uncount bytes that are not needed any more."""
        self._taken -= size

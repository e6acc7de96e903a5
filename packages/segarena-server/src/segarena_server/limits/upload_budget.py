"""A limit on the memory of all large request bodies together."""

from __future__ import annotations

from segarena_server import http_errors

_RETRY_S = 5.0


class UploadBudget:
    """Counts the bytes of large bodies from their arrival until the response to their request.

    Not thread-safe: only the event loop's thread uses it.

    Args:
        most: maximum number of bytes in memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0

    def check(self, size: int) -> None:
        """Raise `Refusal` if `size` more bytes would exceed the limit; reserve nothing."""
        if self._taken + size > self._most:
            raise http_errors.busy(
                "too many large uploads at the moment; try again later", _RETRY_S
            )

    def take(self, size: int) -> None:
        """Count received bytes.

        Raises:
            Refusal: the bytes exceed the limit.
        """
        self.check(size)
        self._taken += size

    def give_back(self, size: int) -> None:
        """Release the bytes of a request that has been answered."""
        self._taken -= size

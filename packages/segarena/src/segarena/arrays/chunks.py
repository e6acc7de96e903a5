"""Work on a large table part by part, so that memory does not grow with it."""

from __future__ import annotations

from collections.abc import Iterator


def row_chunks(count: int, width: int, *, most: int) -> Iterator[slice]:
    """Return slices that together are 0..count, each of at most `most` places in a table `width` places wide.

    >>> list(row_chunks(5, 10, most=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]

    Args:
        count: rows of the table.
        width: places in a row.
        most: places held at once; a single row is never divided.
    """
    rows = max(1, most // max(1, width))
    return (slice(start, min(start + rows, count)) for start in range(0, count, rows))

"""Process a large table in chunks of rows, to bound memory."""

from __future__ import annotations

from collections.abc import Iterator


def row_chunks(
    count: int,
    width: int,
    *,
    most: int,
) -> Iterator[slice]:
    """Divide the rows of a table into slices of at most `most` cells each.

    >>> list(row_chunks(5, 10, most=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]

    Args:
        count: number of rows.
        width: number of cells in a row.
        most: maximum number of cells in a chunk; a single row is never divided.
    """
    rows = max(1, most // max(1, width))
    for start in range(0, count, rows):
        stop = min(start + rows, count)
        yield slice(start, stop)

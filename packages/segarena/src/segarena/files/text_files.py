"""Text files of users and of published datasets, with a one-line error for files that are not text."""

from __future__ import annotations

from pathlib import Path

from segarena.errors import DatasetError, SegarenaError


def read_text(
    path: Path,
    what: str,
    *,
    error: type[SegarenaError] = DatasetError,
) -> str:
    """Return the text of a file in UTF-8.

    Args:
        path: the file.
        what: description of its content, for the message.
        error: type of the error.

    Raises:
        DatasetError: the file cannot be read, or is not UTF-8; `error` replaces the type.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as cause:
        raise error(f"{path}: expected {what}, got: {cause.strerror}") from cause
    except UnicodeDecodeError as cause:
        raise error(
            f"{path}: expected {what} as text in UTF-8, got an invalid byte at position {cause.start}; save it in UTF-8"
        ) from cause

"""Checks of the arguments that a participant's script passes to its session."""

from __future__ import annotations

import datetime
import secrets
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput, PredictionInvalid, StoreError

# Both limits are those of the published package, which also reduces larger values to them.
MOST_SECONDS = 600.0
MOST_INTERACTIONS = 16


def capped_limit(
    name: str,
    value: float | None,
    most: float,
    *,
    is_whole: bool = False,
) -> float | None:
    """Return `value`, or `most` with a warning if it is larger; None stays None.

    Raises:
        InvalidInput: the value is not a positive number, or `is_whole` and it is not an integer.
    """
    if value is None:
        return None
    unchecked: Any = value
    is_number = isinstance(unchecked, (int, float, np.number))
    # Negated comparison, because NaN is not above 0 either.
    is_valid = is_number and bool(unchecked > 0)
    if is_valid and is_whole:
        is_valid = float(unchecked) % 1 == 0
    if not is_valid:
        kind = "a whole number" if is_whole else "a number"
        raise InvalidInput(f"{name}: expected {kind} above 0, got {value!r}")
    if value > most:
        warnings.warn(
            f"{name}: {value:g} exceeds the limit; {most:g} is used instead", stacklevel=3
        )
        return most
    return value


def check_seed(value: Any) -> int:
    """Return `value` if it is a valid seed.

    Raises:
        InvalidInput: the value is not a non-negative integer.
    """
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise InvalidInput(f"seed: expected a whole number of at least 0, got {value!r}")
    return int(value)


def masks_array(masks: Any) -> NDArray[Any]:
    """Return masks as one array.

    Raises:
        PredictionInvalid: the masks do not form an array, for example because lists have different
            lengths.
    """
    try:
        return np.asarray(masks)
    except (TypeError, ValueError) as error:
        raise PredictionInvalid(
            f"masks: expected one array of object ids, got something else ({error})"
        ) from error


def check_frame_candidates(candidates: Sequence[int] | None, frames: int) -> tuple[int, ...] | None:
    """Return the valid candidates, or None if there are none; warn about invalid candidates.

    Raises:
        InvalidInput: the candidates are not integers.
    """
    if candidates is None:
        return None
    try:
        numbers = np.asarray(candidates).reshape(-1)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"next_scribble_frame_candidates: expected frame indices, got {candidates}"
        ) from error
    if numbers.size and numbers.dtype.kind not in "iu":
        raise InvalidInput(
            f"next_scribble_frame_candidates: expected frame indices, got {numbers.dtype} values"
        )
    is_frame = (numbers >= 0) & (numbers < frames)
    if not is_frame.all():
        outside = numbers[~is_frame].tolist()
        warnings.warn(
            f"next_scribble_frame_candidates: expected frame indices 0 to {frames - 1}, ignored {outside}",
            stacklevel=3,
        )
    return tuple(numbers[is_frame].tolist()) or None


def make_folder(path: Path) -> Path:
    """Create a folder unless it exists, and return it.

    Raises:
        StoreError: the folder cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be created: {error.strerror}; choose another folder"
        ) from error
    return path


def new_session_folder(beside: str | Path | None) -> Path:
    """Return the path of a new session folder in `beside`, by default in `runs`."""
    now = datetime.datetime.now(datetime.UTC)
    started = now.strftime("%Y%m%d_%H%M%S")
    # Sessions that start in the same second must not share a folder.
    distinct = secrets.token_hex(4)
    return Path(beside or "runs") / f"davis-session-{started}-{distinct}"

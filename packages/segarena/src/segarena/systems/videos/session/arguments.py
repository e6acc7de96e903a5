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

MOST_SECONDS = 600.0
MOST_INTERACTIONS = 16


def capped_limit(
    name: str, value: float | None, most: float, *, is_whole: bool = False
) -> float | None:
    """Return `value`, or `most` with a warning if it is larger; None stays None.

    Raises:
        InvalidInput: not a number above 0, or not a whole one although `is_whole`.
    """
    if value is None:
        return None
    unchecked: Any = value
    is_number = isinstance(unchecked, (int, float, np.number))
    # NaN is not above 0 either.
    is_valid = is_number and bool(unchecked > 0)
    if is_valid and is_whole:
        is_valid = float(unchecked) % 1 == 0
    if not is_valid:
        kind = "a whole number " if is_whole else ""
        raise InvalidInput(f"{name}: expected {kind}more than 0, got {value!r}")
    if value > most:
        warnings.warn(f"{name}: {value:g} is more than {most:g}, which it is set to", stacklevel=3)
        return most
    return value


def check_seed(value: Any) -> int:
    """Return `value` if it is a valid seed.

    Raises:
        InvalidInput: not a whole number from 0.
    """
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise InvalidInput(f"seed: expected a whole number from 0, got {value!r}")
    return int(value)


def masks_array(masks: Any) -> NDArray[Any]:
    """Return masks as one array.

    Raises:
        PredictionInvalid: not an array, such as lists of different lengths.
    """
    try:
        return np.asarray(masks)
    except (TypeError, ValueError) as error:
        raise PredictionInvalid(
            f"masks: expected one array of object ids, got what is none ({error})"
        ) from error


def check_frame_candidates(candidates: Sequence[int] | None, frames: int) -> tuple[int, ...] | None:
    """Return the valid candidates, with a warning about others; None if there are none.

    Raises:
        InvalidInput: they are not whole numbers.
    """
    if candidates is None:
        return None
    try:
        numbers = np.asarray(candidates).reshape(-1)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"next_scribble_frame_candidates: expected numbers of frames, got {candidates}"
        ) from error
    if numbers.size and numbers.dtype.kind not in "iu":
        raise InvalidInput(
            f"next_scribble_frame_candidates: expected numbers of frames, got {numbers.dtype} values"
        )
    is_frame = (numbers >= 0) & (numbers < frames)
    if not is_frame.all():
        outside = numbers[~is_frame].tolist()
        warnings.warn(
            f"next_scribble_frame_candidates: frames go from 0 to {frames - 1}, not {outside}",
            stacklevel=3,
        )
    return tuple(numbers[is_frame].tolist()) or None


def make_folder(path: Path) -> Path:
    """Create a folder unless it exists, and return it.

    Raises:
        StoreError: it cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be made: {error.strerror}; choose another folder"
        ) from error
    return path


def new_session_folder(beside: str | Path | None) -> Path:
    """Return the path of a new session folder: in `beside`, or in `runs`."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d_%H%M%S")
    return Path(beside or "runs") / f"davis-session-{now}-{secrets.token_hex(4)}"

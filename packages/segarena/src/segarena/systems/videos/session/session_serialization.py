"""Stored form of a session: its identity file, and each prediction as an entry of its journal."""

from __future__ import annotations

import base64
import datetime
import json
import secrets
from pathlib import Path
from typing import Any, TypedDict

import msgspec
import numpy as np

from segarena.arrays.rle import decode_rle
from segarena.dialogue import Prediction
from segarena.engine.session import Session
from segarena.errors import InvalidMask, PredictionInvalid, StoreError
from segarena.files.atomic_write import write_atomic
from segarena.files.hashes import sha256
from segarena.systems.videos.session.report_file import claim_report

_STARTED = "%Y%m%d_%H%M%S"


class Submission(TypedDict):
    """A prediction in the journal; see `make_submission`."""

    sequence: str
    scribble_idx: int
    objects: int
    interaction: int
    seconds: float
    spent_s: float
    is_taken: bool
    is_over: bool
    candidates: list[int] | None
    masks: list[str]


def open_session_file(path: Path, report_folder: Path) -> dict[str, str]:
    """Read the identity of a session, its `session_id` and its `started` time; create the file if it is missing.

    No two reports in `report_folder` have the same start time in their names: a session that finds
    an existing report uses the next free second.

    Raises:
        StoreError: the folder is not writable, or the file is damaged.
    """
    if path.is_file():
        return read_session_file(path)
    now = datetime.datetime.now(datetime.UTC)
    # Published file names have a resolution of one second, and two sessions may start in the same
    # second.
    while not claim_report(report_folder, started := now.strftime(_STARTED)):
        now += datetime.timedelta(seconds=1)
    # 64 hexadecimal digits, as in the keys of the published package.
    about = {"session_id": secrets.token_hex(32), "started": started}
    write_atomic(path, json.dumps({**about, "sha256": sha256(*about.values())}))
    return about


def make_submission(
    session: Session,
    *,
    seconds: float = 0.0,
    candidates: tuple[int, ...] | None = None,
    is_taken: bool = False,
    is_over: bool = False,
) -> Submission:
    """Return the journal entry of the latest prediction, with its masks if it came in time.

    Args:
        session: session of the sample.
        seconds: time taken by the prediction.
        candidates: the frames in which the participant requests corrections.
        is_taken: whether the prediction came in time.
        is_over: whether the time ran out before a prediction.
    """
    masks: list[str] = []
    if is_taken:
        for row in session.rows().masks:
            if row.round == session.answered:
                masks.append(base64.b64encode(row.rle).decode("ascii"))
    requested = None if candidates is None else list(candidates)
    return {
        "sequence": session.sample.id,
        # Repeats count from 0, the published scribble indices from 1.
        "scribble_idx": session.repeat + 1,
        "objects": session.target.objects,
        # A dropped prediction is not among the answered ones, so the interaction it belongs to is
        # the next.
        "interaction": session.answered + (not is_taken),
        "seconds": seconds,
        "spent_s": session.spent_s,
        "is_taken": is_taken,
        "is_over": is_over,
        "candidates": requested,
        "masks": masks,
    }


def decode_answer(entry: Submission, shape: tuple[int, ...]) -> Prediction:
    """Return the prediction in a journal entry.

    Raises:
        InvalidMask: a mask is damaged, or its size differs from `shape`.
    """
    labels = np.zeros(shape, dtype=np.uint8)
    for number, text in enumerate(entry["masks"], 1):
        try:
            rle = base64.b64decode(text, validate=True)
        except ValueError as error:
            raise InvalidMask(f"expected a mask in base64, got: {error}") from error
        labels[decode_rle(rle, shape)] = number
    frames = entry["candidates"]
    candidates = None if frames is None else tuple(frames)
    return Prediction(labels, candidates=candidates)


def cast_object_ids(masks: Any, objects: int) -> Any:
    """Return whole object ids as uint8; return anything else unchanged, because the session checks types.

    Raises:
        PredictionInvalid: an object id is above `objects`.
    """
    labels = np.asarray(masks)
    if labels.dtype.kind not in "iuf" or not labels.size:
        return labels
    highest = labels.max()
    if objects < highest < np.inf:
        raise PredictionInvalid(f"masks: expected object ids 0 to {objects}, got {highest:g}")
    # A cast would hide fractions, NaN and negative numbers from the session's check.
    if labels.dtype.kind == "f" or labels.min() < 0:
        return labels
    return labels.astype(np.uint8, copy=False)


def read_session_file(path: Path) -> dict[str, str]:
    """Return `session_id` and `started` of a session.

    Raises:
        StoreError: the file is missing or damaged.
    """
    try:
        values = msgspec.convert(json.loads(path.read_text(encoding="utf-8")), dict[str, str])
        about = {name: values.pop(name) for name in ("session_id", "started")}
        datetime.datetime.strptime(about["started"], _STARTED)  # it becomes part of a file name
    except (OSError, ValueError, LookupError, RecursionError, msgspec.ValidationError) as error:
        raise StoreError(
            f"{path} is damaged ({error}); start a session in another folder"
        ) from error
    # Earlier versions wrote no checksum.
    if values and values != {"sha256": sha256(*about.values())}:
        raise StoreError(f"{path} has a wrong checksum; start a session in another folder")
    return about

"""Session and functions of the DAVIS Interactive Challenge, with the names of its published package."""

from __future__ import annotations

from segarena.systems.videos.scribbles.files import fuse_scribbles, is_empty
from segarena.systems.videos.session.davis import DavisInteractiveSession
from segarena.systems.videos.session.davisinteractive_functions import (
    InteractiveScribblesRobot,
    annotated_frames,
    annotated_frames_object,
    batched_f_measure,
    batched_jaccard,
    scribbles2mask,
    scribbles2points,
)

__all__ = [
    "DavisInteractiveSession",
    "InteractiveScribblesRobot",
    "annotated_frames",
    "annotated_frames_object",
    "batched_f_measure",
    "batched_jaccard",
    "fuse_scribbles",
    "is_empty",
    "scribbles2mask",
    "scribbles2points",
]

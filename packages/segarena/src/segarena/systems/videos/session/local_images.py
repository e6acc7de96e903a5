"""Sequences of a server that the participant has: known by their pixels, and called as they are called here."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from segarena.datasets.listing import existing_folder
from segarena.files.images import read_image
from segarena.samples import VideoSample
from segarena.systems.videos.datasets.davis import DAVIS_LAYOUT
from segarena.systems.videos.files.frame_files import image_files

MOST_DIFFERENCE = 2.0
"""Mean over a frame, of 255: decoders of JPEG round differently, and two frames of one video differ by more."""


class LocalImages:
    """The images of a folder in the layout of DAVIS.

    Args:
        root: the folder with `JPEGImages/480p`.

    Raises:
        DatasetMissing: it is not there.
    """

    def __init__(self, root: str | Path) -> None:
        images = existing_folder(
            Path(root).expanduser() / "JPEGImages" / "480p", "sequences", DAVIS_LAYOUT
        )
        self._sequences = {
            folder.name: image_files(folder)
            for folder in sorted(images.iterdir())
            if folder.is_dir()
        }

    def name_of(self, sample: VideoSample) -> str | None:
        """Return what a video is called here; None when it is not here."""
        for name, files in self._sequences.items():
            if len(files) == len(sample.frames) and all(
                self._shows(sample, files, place) for place in (0, -1)
            ):
                return name
        return None

    def _shows(self, sample: VideoSample, files: tuple[Path, ...], place: int) -> bool:
        here = read_image(files[place])
        there = sample.frames[place]
        return here.shape == there.shape and bool(
            np.abs(here.astype(np.int16) - there).mean() <= MOST_DIFFERENCE
        )

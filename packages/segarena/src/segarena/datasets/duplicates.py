"""Search for copies in a dataset: samples with equal content, and targets with equal masks in one sample."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.samples import ImageSample, Sample, VideoSample


class Copies(NamedTuple):
    """Copies of one kind: `what` describes them in words, `names` lists them."""

    what: str
    names: Sequence[str]


class DuplicateSearch:
    """Search for equal content among images and volumes that are loaded one by one, and among videos."""

    def __init__(self) -> None:
        self._first_by_content: dict[bytes, str] = {}
        self._first_by_frame: dict[bytes, str] = {}
        self._images: list[str] = []
        self._volumes: list[str] = []
        self._videos: list[str] = []
        self._sharing: list[str] = []
        self._targets: list[str] = []

    def add(self, sample: Sample) -> None:
        """Compare a loaded image or volume with the earlier ones; for videos, see `add_video`."""
        if isinstance(sample, VideoSample):
            return
        is_image = isinstance(sample, ImageSample)
        content = content_hash(sample.image if is_image else sample.voxels)
        earlier = self._first_by_content.setdefault(content, sample.id)
        if earlier != sample.id:
            copies = self._images if is_image else self._volumes
            copies.append(f"{sample.id} = {earlier}")
        first_by_mask: dict[bytes, str] = {}
        for target in sample.targets:
            same = first_by_mask.setdefault(content_hash(target.mask), target.id)
            if same != target.id:
                self._targets.append(f"{target.id} = {same} in {sample.id}")

    def add_video(self, name: str, frames: Sequence[bytes]) -> None:
        """Compare a video with the earlier ones.

        Args:
            name: name of the video.
            frames: `content_hash` of each frame; b"" for a frame that many videos have, such as a black one.
        """
        if not frames:
            return
        earlier = self._first_by_content.setdefault(b"".join(frames), name)
        if earlier != name:
            self._videos.append(f"{name} = {earlier}")
            return
        shared: Counter[str] = Counter()
        for frame in frames:
            owner = self._first_by_frame.setdefault(frame, name)
            if frame and owner != name:
                shared[owner] += 1
        for owner, count in shared.items():
            self._sharing.append(f"{count} frames of {name} in {owner}")

    def copies(self) -> Iterable[Copies]:
        """Return the copies that were found, by kind; empty for none."""
        by_content = {"pixels": self._images, "voxels": self._volumes, "frames": self._videos}
        for what, names in by_content.items():
            if names:
                yield Copies(
                    f"samples with the same {what} as an earlier one ({len(names)}); their objects "
                    f"are counted more than once",
                    names,
                )
        if self._sharing:
            yield Copies(
                f"pairs of videos with frames in common ({len(self._sharing)}); their objects "
                f"are counted more than once",
                self._sharing,
            )
        if self._targets:
            yield Copies(
                f"targets with the same mask as another target of their sample ({len(self._targets)}); they are "
                "counted more than once",
                self._targets,
            )


def content_hash(array: NDArray[Any]) -> bytes:
    """Return a hash of shape, dtype and values of an array with at least one axis."""
    digest = hashlib.blake2b(f"{array.shape} {array.dtype}".encode(), digest_size=16)
    # Part by part, because a scan in another axis order would be copied as a whole.
    for part in array:
        digest.update(np.ascontiguousarray(part).data)
    return digest.digest()

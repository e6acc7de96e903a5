"""Base of datasets that read video files: files of a video, conversion to objects, scribbles, and checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.datasets.duplicates import DuplicateSearch, content_hash
from segarena.datasets.listed_dataset import (
    CheckTally,
    Files,
    ListedDataset,
    abbreviate_names,
    duplicate_findings,
)
from segarena.datasets.mask_orientation import MaskedPhotograph, orientation_assumptions
from segarena.errors import DatasetMissing, InvalidInput, InvalidMask, SampleInvalid
from segarena.roles import Finding
from segarena.samples import VOID, Labels, Target, VideoSample
from segarena.systems.videos.files.frame_files import (
    FrameFiles,
    frame_shape,
    match_masks,
    read_label_stack,
)
from segarena.systems.videos.scribbles.files import Scribbles, read_scribbles


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoFiles:
    """The files of one video, in order; missing masks are omitted."""

    frames: Files
    masks: Files = ()
    scribbles: Files = ()

    @property
    def all(self) -> Files:
        """All files."""
        return (*self.frames, *self.masks, *self.scribbles)


class VideoObjects(NamedTuple):
    """The target of a video, the highest object id in its files, and the new id for each old id."""

    target: Target
    highest: int
    numbers: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRules:
    """Rules for converting mask values to objects.

    Attributes:
        ignore_value: value of pixels that are excluded from scoring; None if there are none.
        single: whether all objects are merged into one.
        renumber: whether gaps in the ids are closed.
        max_objects: maximum number of objects in a video that is not merged; None for no limit.
    """

    ignore_value: int | None = VOID
    single: bool = False
    renumber: bool = False
    max_objects: int | None = None

    def objects(self, labels: Labels) -> VideoObjects:
        """Return the objects of a video as one target, called "objects"; `labels` is modified in place and not copied.

        Raises:
            InvalidMask: there are no objects, more than `max_objects`, or gaps in the ids that the
                rules do not close.
        """
        ignore = None
        if self.ignore_value is not None:
            ignore = labels == self.ignore_value
            if self.single:
                is_object = (labels != 0) & ~ignore
                if not is_object.any():
                    ignore = None  # masks of one object are often written as 0 and 255
        if ignore is not None:
            labels[ignore] = 0
            if not ignore.any():
                ignore = None
        highest = int(labels.max(initial=0))
        numbers = self._numbers(labels)
        if numbers[-1] != VOID:
            labels[...] = numbers[labels]
        target = Target(id="objects", mask=labels, ignore=ignore)
        return VideoObjects(target, highest, numbers)

    def _numbers(self, labels: Labels) -> NDArray[np.uint8]:
        counts = np.bincount(labels.ravel(), minlength=VOID + 1)
        ids = np.flatnonzero(counts[1:]) + 1
        if not ids.size:
            raise InvalidMask(
                "expected at least one object in the masks, found none; leave the sequence out"
            )
        numbers = np.arange(VOID + 1, dtype=np.uint8)
        if self.single:
            return np.minimum(numbers, 1)
        if self.max_objects is not None and ids.size > self.max_objects:
            raise InvalidMask(
                f"expected at most {self.max_objects} objects, found {ids.size}: {ids.tolist()}"
            )
        if ids[-1] == ids.size:
            return numbers
        if not self.renumber:
            raise InvalidMask(
                f"expected object ids 1 to {ids.size}, found {ids.tolist()}; set renumber=True to close the gaps"
            )
        numbers[:] = 0
        numbers[ids] = np.arange(1, ids.size + 1)
        return numbers


class VideoDataset(ListedDataset[VideoSample]):
    """Base class for videos whose files have already been listed.

    Args:
        name: name in records.
        videos: the files of each video by sample id, in the order of evaluation.
        folders: mask folder of each video, for error messages.
        objects: conversion of masks to objects.
        needs_masks: if True, a frame without a mask is an error; if False, a video with missing
            masks has no target.
    """

    sample_kind = "video"

    def __init__(
        self,
        name: str,
        videos: Mapping[str, VideoFiles],
        folders: Mapping[str, Path],
        objects: ObjectRules,
        *,
        needs_masks: bool = True,
    ) -> None:
        self._videos = dict(videos)
        self._folders = dict(folders)
        self._objects = objects
        self._needs_masks = needs_masks
        files = {key: video.all for key, video in videos.items()}
        super().__init__(name, files, asdict(objects))

    def assumptions(self, sample_ids: Sequence[str]) -> Sequence[str]:
        """State the assumed orientation of masks without an orientation tag, judged by the first frames."""
        pictures: list[MaskedPhotograph] = []
        for sample_id in sample_ids:
            video = self._videos[sample_id]
            pictures.append(MaskedPhotograph(video.frames[0], tuple(video.masks[:1])))
        return orientation_assumptions(
            pictures, "upright", remedy="rotate the masks, or remove the tag of the frames"
        )

    def _read(self, sample_id: str, files: Files) -> VideoSample:
        del files
        video = self._videos[sample_id]
        shape = frame_shape(video.frames)
        objects = self._read_objects(sample_id, video, shape)
        targets = () if objects is None else (objects.target,)
        scribbles: list[Scribbles] = []
        for path in video.scribbles:
            scribbles.append(self._read_scribbles(path, sample_id, video, objects))
        return VideoSample(
            id=sample_id,
            frames=FrameFiles(sample_id, video.frames, shape),
            frame_shape=shape,
            targets=targets,
            scribbles=tuple(scribbles),
        )

    def _read_objects(
        self,
        sample_id: str,
        video: VideoFiles,
        shape: tuple[int, int],
    ) -> VideoObjects | None:
        if not self._needs_masks and len(video.masks) < len(video.frames):
            return None
        folder = self._folders[sample_id]
        masks = match_masks(video.frames, video.masks, folder)
        try:
            return self._objects.objects(read_label_stack(masks, shape))
        except InvalidMask as error:
            # Messages about single files already begin with the folder.
            if str(error).startswith(str(folder)):
                raise
            raise InvalidMask(f"{folder}: {error}") from error

    def _read_scribbles(
        self,
        path: Path,
        sample_id: str,
        video: VideoFiles,
        objects: VideoObjects | None,
    ) -> Scribbles:
        highest = None if objects is None or self._objects.single else objects.highest
        name = sample_id.rpartition("/")[2]
        try:
            drawn = read_scribbles(path, frames=len(video.frames), objects=highest, sequence=name)
        except DatasetMissing as error:
            raise InvalidInput(str(error)) from error
        return drawn if objects is None else _renumbered(drawn, objects.numbers)

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        del tally
        frames = 0
        objects = 0
        scribbles = 0
        without: list[str] = []
        duplicates = DuplicateSearch()
        for sample_id in self.sample_ids:
            try:
                sample = self.load(sample_id)
            except SampleInvalid:
                without.append(sample_id)
                continue  # the check has reported it
            frames += len(sample.frames)
            objects += sum(target.objects for target in sample.targets)
            scribbles += len(sample.scribbles)
            if not sample.scribbles:
                without.append(sample_id)
            hashes: list[bytes] = []
            for number in range(len(sample.frames)):
                try:
                    frame = sample.frames[number]
                except SampleInvalid as error:
                    yield Finding(is_error=True, message=str(error))
                    continue
                has_content = frame.min() < frame.max()
                hashes.append(content_hash(frame) if has_content else b"")
            if self.reports_duplicates:
                duplicates.add_video(sample_id, hashes)
        yield from duplicate_findings(duplicates)
        yield from self._compare(len(self.sample_ids), frames, objects)
        if scribbles and without:
            yield Finding(
                is_error=False,
                message=f"videos without scribbles ({len(without)}): {abbreviate_names(without)}",
            )
        message = (
            f"{self.name}: {len(self.sample_ids)} sequences, {frames} frames, {objects} objects, "
            f"{scribbles} scribble files"
        )
        yield Finding(is_error=False, message=message)

    def _compare(
        self,
        sequences: int,
        frames: int,
        objects: int,
    ) -> Iterable[Finding]:
        """Return findings for counts that differ from published ones; none unless a subclass knows such counts."""
        del sequences, frames, objects
        return ()


def _renumbered(drawn: Scribbles, numbers: NDArray[np.uint8]) -> Scribbles:
    """Return scribbles with the object ids of the merged or renumbered masks."""
    frames: list[list[dict[str, Any]]] = []
    for lines in drawn["scribbles"]:
        renumbered: list[dict[str, Any]] = []
        for line in lines:
            # Masks have 8 bits, so a larger id cannot be an object.
            object_id = int(numbers[min(line["object_id"], VOID)])
            renumbered.append({**line, "object_id": object_id})
        frames.append(renumbered)
    return {**drawn, "scribbles": frames}


def select_sequences(
    names: Iterable[str],
    sequences: str | Iterable[str] | None,
    where: Path,
) -> list[str]:
    """Return those of `names` that are in `sequences`, in the order of `names`; all if `sequences` is None.

    Raises:
        DatasetMissing: one of `sequences` is not among `names`.
    """
    known = list(names)
    if sequences is None:
        return known
    wanted = [sequences] if isinstance(sequences, str) else list(sequences)
    missing = [name for name in wanted if name not in known]
    if missing:
        raise DatasetMissing(
            f"{where}: expected the sequences {abbreviate_names(missing)}, found only "
            f"{abbreviate_names(known)}"
        )
    return [name for name in known if name in wanted]

"""Your own videos: folders of frames and of masks, and optionally of scribbles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from segarena.datasets.listed_dataset import abbreviate_names, require_folder
from segarena.errors import DatasetMissing
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import VOID
from segarena.systems.videos.files.frame_files import (
    image_files,
    images_if_folder,
    missing_frame_names,
)
from segarena.systems.videos.files.video_dataset import (
    ObjectRules,
    VideoDataset,
    VideoFiles,
    select_sequences,
)

VIDEO_FOLDER_LAYOUT = "PATH/frames/SEQ/0001.jpg with PATH/masks/SEQ/0001.png"


@dataset("video-folder")
class VideoFolder(VideoDataset):
    """Videos with one folder of frames and one folder of masks of the same name, possibly nested.

    The values in a mask are object ids. Scribbles are JSON files in the format of the DAVIS
    challenge.

    Args:
        path: the parent folder.
        frames: folder of the frames in `path`.
        masks: folder of the masks in `path`.
        scribbles: folder of the scribbles in `path`; optional.
        sequences: load only these sequences; by default all.
        single: whether all objects of a video are merged into one.
        renumber: close gaps in the object ids instead of rejecting them.
        max_objects: maximum number of objects in a video; more raise an error.
        ignore_value: value of pixels that are excluded from scoring; None if there are none.
        name: name in records; by default the name of the folder at `path`.

    Raises:
        DatasetMissing: a folder or a sequence is missing, or there are no frames.
    """

    reports_duplicates = True

    def __init__(
        self,
        *,
        path: str,
        frames: str = "frames",
        masks: str = "masks",
        scribbles: str = "scribbles",
        sequences: Sequence[str] | None = None,
        single: bool = False,
        renumber: bool = False,
        max_objects: int | None = None,
        ignore_value: int | None = VOID,
        name: str | None = None,
    ) -> None:
        root = Path(path).expanduser()
        images = require_folder(root / frames, "folders of frames", VIDEO_FOLDER_LAYOUT)
        labels = require_folder(root / masks, "folders of masks", VIDEO_FOLDER_LAYOUT)
        found = _sequences(images)
        if not found:
            raise DatasetMissing(
                f"{images}: expected a folder with images for each video, found none; "
                f"the layout is {VIDEO_FOLDER_LAYOUT}"
            )
        names = select_sequences(found, sequences, images)
        folders = {key: labels / key for key in names}
        videos: dict[str, VideoFiles] = {}
        for key in names:
            scribble_files = sorted((root / scribbles / key).glob("*.json"))
            videos[key] = VideoFiles(
                frames=image_files(images / key),
                masks=images_if_folder(folders[key]),
                scribbles=tuple(scribble_files),
            )
        rules = ObjectRules(
            ignore_value=ignore_value,
            single=single,
            renumber=renumber,
            max_objects=max_objects,
        )
        super().__init__(name or root.resolve().name, videos, folders, rules)

    def _oddities(self) -> Iterable[Finding]:
        for sample_id, video in self._videos.items():
            missing = list(missing_frame_names(video.frames))
            if missing:
                message = f"{sample_id}: the frame numbers have gaps; missing: {abbreviate_names(missing)}"
                yield Finding(is_error=False, message=message)


def _sequences(images: Path) -> list[str]:
    sequences: list[str] = []
    folders = [path for path in images.rglob("*") if path.is_dir()]
    for folder in sorted(folders):
        if image_files(folder):
            sequences.append(folder.relative_to(images).as_posix())
    return sequences

"""DAVIS 2017 and 2016 as downloaded: videos with several objects, and scribbles drawn by people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from segarena.datasets.listed_dataset import abbreviate_names, require_folder
from segarena.errors import DatasetMissing, InvalidImage
from segarena.files.safe_paths import safe_join
from segarena.files.text_files import read_text
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import VideoSample
from segarena.systems.videos.files.frame_files import images_if_folder, missing_frame_names
from segarena.systems.videos.files.video_dataset import (
    ObjectRules,
    VideoDataset,
    VideoFiles,
    select_sequences,
)

DAVIS_LAYOUT = "PATH/JPEGImages/480p/SEQ/00000.jpg with PATH/Annotations/480p/SEQ/00000.png"

DAVIS_SUBSETS = ("train", "val", "trainval", "test-dev")
PUBLISHED = {
    "train": (60, 4209, 144),
    "val": (30, 1999, 61),
    "trainval": (90, 6208, 205),
    "test-dev": (30, 2086, 89),
}
"""Number of sequences, frames and objects in DAVIS 2017."""

KNOWN_SEQUENCES = frozenset(
    (
        "bike-packing",
        "blackswan",
        "bmx-trees",
        "car-roundabout",
        "drift-chicane",
        "goat",
        "horsejump-high",
        "india",
        "kite-surf",
        "lab-coat",
        "libby",
        "mbike-trick",
        "soapbox",
        "bear",
        "bmx-bumps",
        "boxing-fisheye",
        "breakdance-flare",
        "dog-gooses",
        "lindy-hop",
        "mallard-fly",
        "tuk-tuk",
        "upside-down",
        "varanus-cage",
        "aerobatics",
        "carousel",
        "cats-car",
        "giant-slalom",
        "guitar-violin",
        "hoverboard",
    )
)
"""Sequences of all subsets by which the dataset is distinguished from a user's videos in the same layout."""


@dataset("davis")
class Davis(VideoDataset):
    """DAVIS in its downloaded layout; the files determine which sequences exist.

    A sample is a sequence. Its target "objects" contains the labels of all its objects; label 255
    becomes `ignore`, or the object in a sequence of 2016 that has no other label. The files in
    `Scribbles/SEQ` are its scribbles, one file per person.

    Args:
        path: the folder with `JPEGImages`.
        subset: "train", "val", "trainval" or "test-dev", as listed in `ImageSets`; "all" for every
            folder of frames; or a list of sequence names, in this order.
        sequences: load only these sequences of the subset.
        resolution: name of the folder in `JPEGImages` and in `Annotations`.
        year: 2017, or 2016 for a single object: all ids are merged to 1, and the `ImageSets` of
            2016 are used.
        renumber: close gaps in the object ids instead of rejecting them.

    Raises:
        DatasetMissing: a folder, a list or a sequence is missing.
    """

    def __init__(
        self,
        *,
        path: str,
        subset: str | Sequence[str] = "val",
        sequences: Sequence[str] | None = None,
        resolution: str = "480p",
        year: Literal[2016, 2017] = 2017,
        renumber: bool = False,
    ) -> None:
        root = Path(path).expanduser()
        images = require_folder(root / "JPEGImages" / resolution, "sequences", DAVIS_LAYOUT)
        if isinstance(subset, str) and year == 2017 and not sequences:
            self._published = PUBLISHED.get(subset)
        else:
            self._published = None
        self._is_hidden = subset == "test-dev"
        names = select_sequences(_names(root, images, subset, year), sequences, images)
        masks = {name: root / "Annotations" / resolution / name for name in names}
        videos: dict[str, VideoFiles] = {}
        for name in names:
            scribbles = sorted((root / "Scribbles" / name).glob("*.json"))
            # A missing folder affects only its own sequence; `_read` reports it.
            videos[name] = VideoFiles(
                frames=images_if_folder(images / name),
                masks=images_if_folder(masks[name]),
                scribbles=tuple(scribbles),
            )
        self._images = images
        rules = ObjectRules(single=year == 2016, renumber=renumber)
        super().__init__("davis", videos, masks, rules, needs_masks=not self._is_hidden)

    def _read(self, sample_id: str, files: tuple[Path, ...]) -> VideoSample:
        frames = self._videos[sample_id].frames
        missing = list(missing_frame_names(frames))
        if missing or not frames:
            found = "none"
            if frames:
                found = f"none for {abbreviate_names(missing)}"
            raise InvalidImage(
                f"{self._images / sample_id}: expected frames without gaps, found {found}; copy them again"
            )
        return super()._read(sample_id, files)

    def _oddities(self) -> Iterable[Finding]:
        if self._is_hidden:
            message = (
                "test-dev: the annotations are not public, so masks cannot be evaluated here; the challenge's "
                "server provides the scribbles and evaluates the masks"
            )
            yield Finding(is_error=False, message=message)

    def _compare(
        self,
        sequences: int,
        frames: int,
        objects: int,
    ) -> Iterable[Finding]:
        if self._published is None or KNOWN_SEQUENCES.isdisjoint(self.sample_ids):
            return
        counts = {"sequences": sequences, "frames": frames, "objects": objects}
        for (name, count), published in zip(counts.items(), self._published, strict=True):
            # Without public annotations the objects cannot be counted.
            is_unknown = self._is_hidden and name == "objects"
            if count != published and not is_unknown:
                message = f"davis: expected {published} {name} as published, found {count}"
                yield Finding(is_error=False, message=message)


def _names(
    root: Path,
    images: Path,
    subset: str | Sequence[str],
    year: int,
) -> list[str]:
    """Return the sequences of a subset (see `Davis`)."""
    if not isinstance(subset, str):
        return select_sequences(subset, None, images)
    if subset == "all":
        folders = [folder for folder in images.iterdir() if folder.is_dir()]
        return sorted(folder.name for folder in folders)
    parts = ("train", "val") if subset == "trainval" else (subset,)
    names: list[str] = []
    for part in parts:
        names += _listed(root / "ImageSets", part, year)
    for name in names:
        safe_join(images, name)  # raises for names that lead out of the folder
    return names


def _listed(
    lists: Path,
    subset: str,
    year: int,
) -> list[str]:
    """Return the sequences listed for a subset, sorted by name."""
    # The first release of 2016 stores its lists in a folder named after the resolution, with a pair
    # of files in each line.
    for folder in (str(year), "480p"):
        path = lists / folder / f"{subset}.txt"
        if path.is_file() and (folder != "480p" or year == 2016):
            names: set[str] = set()
            for line in read_text(path, "names of sequences").splitlines():
                if not line.strip():
                    continue
                entry = line.split()[0]
                # A frame path such as /JPEGImages/480p/bear/00000.jpg contains the sequence name as
                # its folder.
                names.add(Path(entry).parent.name if "/" in entry else entry)
            return sorted(names)
    raise DatasetMissing(
        f"{lists / str(year) / subset}.txt: expected the list of the subset, found none; copy it, "
        f"or set subset='all' for every folder, or subset=['bear', ...]; known subsets are {', '.join(DAVIS_SUBSETS)}"
    )

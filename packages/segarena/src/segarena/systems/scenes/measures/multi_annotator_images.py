"""Images annotated by several people: folders of human segmentations, and files of amodal scenes.

`find_images` lists the images. A `HumanImage` can be sent to another process; it reads its
segmentations when they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.label_edges import thin_label_edges
from segarena.datasets.bsds500 import read_compact, read_original
from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.limits import check_mask_pixels
from segarena.files.matlab import read_matlab
from segarena.files.npy import read_arrays
from segarena.samples import Mask
from segarena.systems.scenes.files import read_scenes
from segarena.systems.scenes.measures.drawings import Drawing, drawing_of_labels, drawing_of_scene
from segarena.systems.scenes.model.scene import Scene

HUMAN_LAYOUT = (
    "PATH/human/SPLIT/ID.npz or PATH/groundTruth/SPLIT/ID.mat (human segmentations), such files "
    "directly in PATH, or files of amodal scenes"
)


@dataclass(frozen=True, slots=True)
class HumanImage:
    """One image annotated by several people.

    Attributes:
        id: image id.
        split: "train", "val", ...; "" if there are no splits.
        path: file of the segmentations; None for scenes.
        scenes: scenes of the image, one per annotator.
    """

    id: str
    split: str
    path: Path | None = None
    scenes: tuple[Scene, ...] = ()

    def drawings(self) -> list[Drawing]:
        """Read the drawings of all annotators.

        Raises:
            InvalidMask: a file is missing or damaged, or a mask is invalid.
        """
        if self.path is None:
            return [drawing_of_scene(scene) for scene in self.scenes]
        labels = read_segmentations(self.path)
        edges = read_boundaries(self.path, labels)
        drawings: list[Drawing] = []
        for number, (one, edge) in enumerate(zip(labels, edges, strict=True), 1):
            drawing = drawing_of_labels(one, edge, image=self.id, annotator=str(number))
            drawings.append(drawing)
        return drawings


def find_images(path: Path, *, splits: Sequence[str] = ()) -> list[HumanImage]:
    """Return the annotated images of a folder or file; see `HUMAN_LAYOUT`.

    Images with segmentations are sorted by split and id; images with scenes are in file order.

    Args:
        path: the folder or file.
        splits: use only these splits; empty for all.

    Raises:
        DatasetMissing: the path does not exist, or has none of these splits; scenes have no splits.
        DatasetError: a file of scenes is unreadable.
    """
    path = path.expanduser()
    if not path.exists():
        raise DatasetMissing(
            f"{path}: expected a file or folder of annotations, found none; check the path"
        )
    found = _segmentation_files(path)
    if not found:
        groups = read_scenes(path).by_image()
        if splits:
            raise DatasetMissing(
                f"{path}: expected annotations of {list(splits)}, found scenes, which have no splits; omit the splits"
            )
        return [HumanImage(id=key, split="", scenes=group) for key, group in groups.items()]
    images: list[HumanImage] = []
    for split, file in found:
        if not splits or split in splits:
            images.append(HumanImage(id=file.stem, split=split, path=file))
    if not images:
        known_splits = {split for split, _ in found}
        known = ", ".join(sorted(known_splits)) or "none"
        wanted = f" of {list(splits)}" if splits else ""
        raise DatasetMissing(
            f"{path}: expected annotations{wanted}, found splits: {known}; "
            f"the layout is {HUMAN_LAYOUT}"
        )
    return images


def read_segmentations(path: Path) -> list[NDArray[np.int32]]:
    """Return all label maps in a file (.npz or .mat), one per annotator; raise `InvalidMask` if it is damaged."""
    return read_compact(path) if path.suffix == ".npz" else read_original(path)


def read_boundaries(path: Path, labels: Sequence[NDArray[Any]]) -> list[Mask]:
    """Return the thin boundaries stored with segmentations, or those of `labels` if the file stores none.

    Raises:
        InvalidMask: the file is damaged, or its boundaries differ from `labels` in number or size.
    """
    stored = _packed(path) if path.suffix == ".npz" else _matlab(path)
    if stored is None:
        return [thin_label_edges(segmentation) for segmentation in labels]
    damage = InvalidMask(
        f"{path}: expected one boundary map per segmentation, of the same size, got other maps; copy the file again"
    )
    if len(stored) != len(labels):
        raise damage
    boundaries: list[Mask] = []
    for edges, segmentation in zip(stored, labels, strict=True):
        height, width = segmentation.shape
        # Packed rows end on whole bytes, so they may be wider than the image.
        if edges.shape[0] != height or edges.shape[1] < width:
            raise damage
        boundaries.append(edges[:, :width])
    return boundaries


def _packed(path: Path) -> list[Mask] | None:
    packed = read_arrays(path, ["boundaries"]).get("boundaries")
    if packed is None:
        return None
    check_mask_pixels(8 * packed.size, path, error=InvalidMask)
    try:
        return list(np.unpackbits(packed, axis=2).view(np.bool_))
    except (ValueError, TypeError) as error:
        raise InvalidMask(
            f"{path}: expected boundaries packed along the rows, got: {error}; copy it again"
        ) from error


def _matlab(path: Path) -> list[Mask] | None:
    try:
        # A MATLAB cell array of structs: each cell holds a (1, 1) array.
        cells = [cell[0, 0] for cell in read_matlab(path, "groundTruth").ravel()]
        for cell in cells:
            if "Boundaries" not in (cell.dtype.names or ()):
                return None
        return [np.asarray(cell["Boundaries"]).astype(np.bool_) for cell in cells]
    except (IndexError, ValueError, TypeError, AttributeError) as error:
        raise InvalidMask(
            f"{path}: expected groundTruth{{k}}.Boundaries, got other fields; copy it again"
        ) from error


def _segmentation_files(path: Path) -> list[tuple[str, Path]]:
    """Return (split, file) of all segmentations: those of the first layout that has files, else those in `path`."""
    roots = (path, path / "data", path / "BSDS500" / "data", path / "BSR" / "BSDS500" / "data")
    for root in roots:
        for folder, suffix in (("human", ".npz"), ("groundTruth", ".mat")):
            files = sorted((root / folder).glob(f"*/*{suffix}"))
            # Use the first layout that has files, because a release may contain the same data in
            # both.
            if files:
                return [(file.parent.name, file) for file in files]
    compact = sorted(path.glob("*.npz"))
    original = sorted(path.glob("*.mat"))
    return [("", file) for file in (*compact, *original)]

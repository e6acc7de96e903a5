"""What one person drew, as agreement and statistics see it: a label map or an amodal scene, by the same three things.

These are how many pixels its regions share with those of another drawing, its visible edges, and its names and order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.label_edges import thin_label_edges
from segarena.errors import InvalidMask
from segarena.samples import Mask
from segarena.systems.scenes.edges.region_measures import shared_px
from segarena.systems.scenes.model.polygon_fill import Patch
from segarena.systems.scenes.model.rasters import Rasters, overlap_table, rasterise
from segarena.systems.scenes.model.scene import Scene


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawing:
    """Everything one annotator drew on one image.

    Attributes:
        image: the id of the image.
        annotator: their name; a number from 1 where the file gives none.
        labels: (H, W), the region that each pixel shows; regions of a label map are its values.
        edges: bool (H, W), the visible edges, one pixel wide.
        scene: what this was made of, if it was a scene.
        rasters: the scene in pixels.
    """

    image: str
    annotator: str
    labels: NDArray[Any]
    edges: Mask
    scene: Scene | None = None
    rasters: Rasters | None = None

    @property
    def extents(self) -> tuple[Patch, ...]:
        """Full extents of the regions, front first, which may overlap; those of a label map by ascending label."""
        if self.rasters is not None:
            return tuple(region.amodal for region in self.rasters.regions)
        whole = (slice(0, self.labels.shape[0]), slice(0, self.labels.shape[1]))
        return tuple(Patch(whole, self.labels == label) for label in np.unique(self.labels))

    @property
    def has_depth(self) -> bool:
        """Whether the order of `extents` is a depth order."""
        return self.scene is not None and self.scene.has_depth

    @property
    def regions(self) -> int:
        """How many regions there are."""
        if self.rasters is None:
            return len(np.unique(self.labels))
        return len(self.rasters.regions)


def drawing_of_labels(
    labels: NDArray[Any], edges: Mask | None = None, *, image: str = "", annotator: str = ""
) -> Drawing:
    """Return a label map (H, W) as a drawing: every value is a region; without `edges` they are its own, thinned."""
    own = thin_label_edges(labels) if edges is None else edges
    return Drawing(image=image, annotator=annotator, labels=labels, edges=own)


def drawing_of_scene(scene: Scene) -> Drawing:
    """Return an amodal scene as a drawing; edges are those of its visible regions, uncovered pixels being one more."""
    rasters = rasterise(scene)
    return Drawing(
        image=scene.image.id,
        annotator=scene.annotator,
        labels=rasters.owner,
        edges=thin_label_edges(rasters.owner),
        scene=scene,
        rasters=rasters,
    )


def region_ious(one: Drawing, other: Drawing) -> NDArray[np.float64]:
    """Return the IoU of every region of one drawing with every region of the other, (I, J), by full extents.

    Regions without pixels have IoU 0.

    Raises:
        InvalidMask: the drawings are of images of different size.
    """
    if one.labels.shape != other.labels.shape:
        raise InvalidMask(
            f"image {one.image}: expected drawings of one size, got {one.labels.shape} by {one.annotator} and "
            f"{other.labels.shape} by {other.annotator}"
        )
    if one.rasters is None and other.rasters is None:
        shared = shared_px(one.labels, other.labels)
        areas = shared.sum(axis=1)
        other_areas = shared.sum(axis=0)
    else:
        first = one.extents
        second = other.extents
        shared = overlap_table(first, second)
        areas = np.array([np.count_nonzero(patch.mask) for patch in first], dtype=np.int64)
        other_areas = np.array([np.count_nonzero(patch.mask) for patch in second], dtype=np.int64)
    return shared / np.maximum(areas[:, None] + other_areas[None] - shared, 1)

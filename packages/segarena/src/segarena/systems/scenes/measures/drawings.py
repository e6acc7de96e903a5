"""Common interface of label maps and amodal scenes, for agreement and statistics.

A drawing gives the pixels that its regions share with those of another drawing, its visible edges,
and its names and order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.label_edges import thin_label_edges
from segarena.arrays.polygon_fill import Patch
from segarena.errors import InvalidMask
from segarena.samples import Mask
from segarena.systems.scenes.edges.region_measures import shared_px
from segarena.systems.scenes.model.rasters import Rasters, overlap_table, rasterise
from segarena.systems.scenes.model.scene import Scene


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class Drawing:
    """All regions that one annotator drew on one image.

    Attributes:
        image: the id of the image.
        annotator: name of the annotator, or an index from 1 if the file has no name.
        labels: (H, W), the region that each pixel shows; in a label map, each value is a region.
        edges: bool (H, W), the visible edges, one pixel wide.
        scene: the scene that was drawn; None for a label map.
        rasters: the rasterized scene; None for a label map.
    """

    image: str
    annotator: str
    labels: NDArray[Any]
    edges: Mask
    scene: Scene | None = None
    rasters: Rasters | None = None

    @property
    def extents(self) -> tuple[Patch, ...]:
        """Full extents of the regions, which may overlap: front first, or by label for a label map."""
        if self.rasters is not None:
            return tuple(region.amodal for region in self.rasters.regions)
        height, width = self.labels.shape
        whole = (slice(0, height), slice(0, width))
        return tuple(Patch(whole, self.labels == label) for label in np.unique(self.labels))

    @property
    def has_depth(self) -> bool:
        """Whether the order of `extents` is a depth order."""
        return self.scene is not None and self.scene.has_depth

    @property
    def regions(self) -> int:
        """Number of regions."""
        if self.rasters is None:
            return len(np.unique(self.labels))
        return len(self.rasters.regions)


def drawing_of_labels(
    labels: NDArray[Any],
    edges: Mask | None = None,
    *,
    image: str = "",
    annotator: str = "",
) -> Drawing:
    """Convert a label map (H, W) to a drawing: every value is a region, and `edges` default to its thinned edges."""
    if edges is None:
        edges = thin_label_edges(labels)
    return Drawing(
        image=image,
        annotator=annotator,
        labels=labels,
        edges=edges,
    )


def drawing_of_scene(scene: Scene) -> Drawing:
    """Convert an amodal scene to a drawing with the edges of its visible regions."""
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
    """Return the IoU of the full extents of every region of one drawing with every region of the other, (I, J).

    Regions without pixels have IoU 0.

    Raises:
        InvalidMask: the images of the drawings differ in size.
    """
    if one.labels.shape != other.labels.shape:
        raise InvalidMask(
            f"image {one.image}: expected drawings of the same size, got {one.labels.shape} by {one.annotator} and "
            f"{other.labels.shape} by {other.annotator}"
        )
    if one.rasters is None and other.rasters is None:
        shared = shared_px(one.labels, other.labels)
        areas = shared.sum(axis=1)
        other_areas = shared.sum(axis=0)
    else:
        extents = one.extents
        other_extents = other.extents
        shared = overlap_table(extents, other_extents)
        areas = _areas_px(extents)
        other_areas = _areas_px(other_extents)
    union = areas[:, None] + other_areas[None] - shared
    return shared / np.maximum(union, 1)


def _areas_px(patches: Sequence[Patch]) -> NDArray[np.int64]:
    return np.array([np.count_nonzero(patch.mask) for patch in patches], dtype=np.int64)

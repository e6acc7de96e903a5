"""Pictures of how well annotators agree on the regions of one image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.reports.overlays import data_uri
from segarena.systems.scenes.measures.agreement import region_support
from segarena.systems.scenes.measures.drawings import Drawing
from segarena.systems.scenes.model.reductions import hidden_edges

VISIBLE_EDGE = (30, 60, 160)
HIDDEN_EDGE = (200, 30, 30)


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class SupportPicture:
    """One annotator's regions, coloured by their agreement with the other annotators.

    Attributes:
        image: image id.
        annotator: annotator who drew the regions.
        pixels: uint8 (H, W, 3).
        support: mean IoU over all regions.
        occlusion: mean hidden share over all regions; None if hidden parts were not annotated.
    """

    image: str
    annotator: str
    pixels: NDArray[np.uint8]
    support: float
    occlusion: float | None

    @property
    def uri(self) -> str:
        """The picture encoded as a data URI."""
        done, png = cv2.imencode(".png", self.pixels[:, :, ::-1])
        return data_uri(png.tobytes() if done else b"", "png")


def support_picture(drawings: Sequence[Drawing], which: int = 0) -> SupportPicture:
    """Colour the regions of one annotator by their mean IoU with those of the others, from dark (0) to bright (1).

    Visible edges are blue, and edges hidden by regions in front are red. Pixels without a region
    are white.
    """
    drawing = drawings[which]
    support = region_support(drawings, which)
    if drawing.rasters is None:
        numbers = np.searchsorted(np.unique(drawing.labels), drawing.labels) + 1
    else:
        numbers = np.asarray(drawing.labels, dtype=np.int64)
    levels = np.concatenate(([0.0], np.nan_to_num(support)))
    grey = np.round(255 * levels[numbers]).astype(np.uint8)
    coloured = cv2.applyColorMap(grey, cv2.COLORMAP_VIRIDIS)
    pixels = np.array(coloured[:, :, ::-1], dtype=np.uint8)  # OpenCV's colours are BGR
    pixels[numbers == 0] = 255
    pixels[drawing.edges] = VISIBLE_EDGE
    occlusion = None
    if drawing.rasters is not None:
        pixels[hidden_edges(drawing.rasters)] = HIDDEN_EDGE
        hidden = [raster.occlusion for raster in drawing.rasters.regions]
        if hidden and drawing.scene is not None and drawing.scene.tells_hidden:
            occlusion = float(np.mean(hidden))
    return SupportPicture(
        image=drawing.image,
        annotator=drawing.annotator,
        pixels=pixels,
        support=float(np.mean(support)) if len(support) else 0.0,
        occlusion=occlusion,
    )

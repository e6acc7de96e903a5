"""Edges of label maps: pixels at which one region ends and another begins.

The Berkeley boundary benchmark and the DAVIS contour measure define edges by the same rule; a mask
is a label map with two regions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.thinning import thin
from segarena.samples import Mask


def label_edges(labels: NDArray[Any]) -> Mask:
    """Return the pixels whose 2 x 2 block (the pixel, east, south, south-east) contains two labels.

    The last row compares only with the east neighbour, the last column only with the south
    neighbour, and the last pixel is never an edge. The edge of an object at the right or lower
    border of the frame is therefore missing, and a mask that fills the frame has no edge. Edges are
    up to two pixels wide; see `thin_label_edges`.

    >>> label_edges(np.array([[1, 1, 2], [1, 1, 2], [1, 1, 1]])).astype(int)
    array([[0, 1, 0],
           [0, 1, 1],
           [0, 0, 0]])

    Args:
        labels: (H, W), any dtype that can be compared, including bool. A crop gives the same edges as the frame if it
            includes one extra pixel of the frame on each side of the relevant region.

    Source: BSDS500, `seg2bdry(..., "imageSize")`; DAVIS 2017, `seg2bmap` of its toolkits.
    """
    # NumPy compares bytes faster than booleans.
    if labels.dtype == np.bool_:
        labels = labels.view(np.uint8)
    # A block has a single label exactly if its other three pixels equal the first one.
    edges = np.zeros(labels.shape, dtype=np.bool_)
    edges[:, :-1] = labels[:, 1:] != labels[:, :-1]
    edges[:-1] |= labels[1:] != labels[:-1]
    edges[:-1, :-1] |= labels[1:, 1:] != labels[:-1, :-1]
    return edges


def thin_label_edges(labels: NDArray[Any]) -> Mask:
    """Return one-pixel-wide edges of a label map (H, W), as BSDS500 stores the boundaries of a segmentation.

    >>> thin_label_edges(np.array([[1, 1, 2, 2], [1, 1, 2, 2], [1, 1, 2, 2]])).astype(int)
    array([[0, 1, 0, 0],
           [0, 1, 0, 0],
           [0, 1, 0, 0]])
    """
    return thin(label_edges(labels))

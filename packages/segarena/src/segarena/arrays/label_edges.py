"""Edges of label maps: the pixels at which one region ends and another begins.

The Berkeley boundary benchmark and the DAVIS contour measure draw the edge of a segmentation by the same rule; a mask
is the label map of two regions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.thinning import thin
from segarena.samples import Mask


def label_edges(labels: NDArray[Any]) -> Mask:
    """Return the pixels whose 2 x 2 block (itself, east, south, south-east) holds two labels.

    In the last row only the east neighbour counts, in the last column only the south one, and the last pixel of all is
    never an edge. So the edge of an object at the right or lower border of the frame is not drawn, and a mask that
    fills the frame has none. Edges are up to two pixels wide; see `thin_label_edges`.

    >>> label_edges(np.array([[1, 1, 2], [1, 1, 2], [1, 1, 1]])).astype(int)
    array([[0, 1, 0],
           [0, 1, 1],
           [0, 0, 0]])

    Args:
        labels: (H, W), any dtype that can be compared, bool included. A crop gives the edges of the frame within it
            if it keeps one pixel of the frame on each side of the region that matters.

    Source: BSDS500, `seg2bdry(..., "imageSize")`; DAVIS 2017, `seg2bmap` of its toolkits.
    """
    if labels.dtype == np.bool_:
        labels = labels.view(np.uint8)  # NumPy compares bytes faster than booleans
    edges = np.zeros(labels.shape, dtype=np.bool_)
    # A block has one label exactly if its three other pixels equal the first one.
    edges[:, :-1] = labels[:, 1:] != labels[:, :-1]
    edges[:-1] |= labels[1:] != labels[:-1]
    edges[:-1, :-1] |= labels[1:, 1:] != labels[:-1, :-1]
    return edges


def thin_label_edges(labels: NDArray[Any]) -> Mask:
    """Return the edges of a label map (H, W) one pixel wide, as BSDS500 stores the boundaries of a segmentation.

    >>> thin_label_edges(np.array([[1, 1, 2, 2], [1, 1, 2, 2], [1, 1, 2, 2]])).astype(int)
    array([[0, 1, 0, 0],
           [0, 1, 0, 0],
           [0, 1, 0, 0]])
    """
    return thin(label_edges(labels))

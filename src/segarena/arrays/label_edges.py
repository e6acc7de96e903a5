"""Edges of label maps: where one region ends and another begins, as the Berkeley benchmark draws it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.thinning import thin
from segarena.samples import Mask


def label_edges(labels: NDArray[Any]) -> Mask:
    """Return the pixels whose 2 x 2 block (itself, east, south, south-east) holds two labels.

    In the last row only the east neighbour counts, in the last column only the south one; the last pixel of all is
    never an edge. Edges are up to two pixels wide; see `thin_label_edges`.

    Args:
        labels: (H, W), any dtype that can be compared.

    Source: BSDS500, `seg2bdry(..., "imageSize")`.
    """
    east, south = labels[:, 1:] != labels[:, :-1], labels[1:] != labels[:-1]
    edges = np.zeros(labels.shape, dtype=np.bool_)
    edges[:, :-1] = east
    edges[:-1] |= south
    edges[:-1, :-1] |= east[1:] | south[:, 1:]
    return edges


def thin_label_edges(labels: NDArray[Any]) -> Mask:
    """Return the edges of a label map one pixel wide: what BSDS500 stores as the boundaries of a segmentation."""
    return thin(label_edges(labels))

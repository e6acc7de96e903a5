"""Deviations of the published prompting code from what a careful reader would expect, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from segarena.errors import InvalidInput
from segarena.options import Protocol

QUIRKS: Mapping[str, str] = MappingProxyType(
    {
        "repeated-points": "some pixels or slices are clicked twice where there are fewer of them than points",
        "inclusive-box": "the stop of a box in 3D is its last voxel, so that the box is one voxel too small",
        "clipped-noise": "edges of a perturbed box are clipped at the last pixel, which a box at the border thus loses",
        "one-fraction": "all slices corrected in a round are corrected at the same share of their wrong pixels",
        "first-click-patch": "corrections for models in 3D lie within 96 mm of the first click along each axis",
        "coronal-only": "scribbles on surplus are drawn in a coronal plane, never in a sagittal one",
        "joined-contours": "a scribble continues from one outline of the object into the next",
        "broken-stroke": "a scribble on surplus continues after stretches that are not predicted, as one scribble",
        "sideways-line": "for models in 3D the line through missing voxels runs from column to column",
        "positive-fallback": "clicks on surplus voxels, given where no scribble can be drawn, are positive",
    }
)


def resolve_quirks(protocol: Protocol, quirks: Iterable[str]) -> frozenset[str]:
    """Return the quirks in force: the named ones, or all for the protocol "published".

    Raises:
        InvalidInput: there is no quirk of a given name.
    """
    named = frozenset([quirks] if isinstance(quirks, str) else quirks)
    unknown = named - QUIRKS.keys()
    if unknown:
        raise InvalidInput(
            f"quirks: {', '.join(sorted(unknown))} unknown; there are {', '.join(QUIRKS)}"
        )
    return frozenset(QUIRKS) if protocol == "published" else named

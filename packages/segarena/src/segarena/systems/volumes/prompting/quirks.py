"""What the published prompting code does otherwise than a careful reader would expect, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from segarena.errors import InvalidInput
from segarena.options import Protocol

QUIRKS: Mapping[str, str] = MappingProxyType(
    {
        "repeated-points": "where pixels or slices are fewer than points wanted, some are clicked twice",
        "inclusive-box": "the stop of a box in 3D is the last voxel, which the box then loses",
        "clipped-noise": "edges of a perturbed box are cut at the last pixel, so that a box at the border loses it",
        "one-fraction": "all slices corrected in a round are corrected at the same share of their wrong pixels",
        "first-click-patch": "corrections for models in 3D lie within 96 mm of the first click along each axis",
        "coronal-only": "scribbles on what is surplus are drawn in a coronal plane, never in a sagittal one",
        "joined-contours": "a scribble runs on from one outline of the object into the next",
        "broken-stroke": "a scribble on surplus goes on behind stretches that are not predicted, still as one",
        "sideways-line": "for models in 3D the line through what is missing runs from column to column",
        "positive-fallback": "clicks on surplus voxels given where no scribble can be drawn are called positive",
    }
)


def resolve_quirks(protocol: Protocol, quirks: Iterable[str]) -> frozenset[str]:
    """Return the quirks in force: those named, or all as published; `InvalidInput` for an unknown one."""
    named = frozenset([quirks] if isinstance(quirks, str) else quirks)
    if unknown := named - QUIRKS.keys():
        raise InvalidInput(
            f"quirks: {', '.join(sorted(unknown))} unknown; there are {', '.join(QUIRKS)}"
        )
    return frozenset(QUIRKS) if protocol == "published" else named

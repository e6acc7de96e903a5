"""Named deviations of the published prompting code from the behaviour a careful reader would expect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from segarena.errors import InvalidInput
from segarena.options import Protocol

QUIRKS: Mapping[str, str] = MappingProxyType(
    {
        "repeated-points": "some pixels or slices are clicked twice if there are fewer of them than points",
        "inclusive-box": "the stop of a box in 3D is its last voxel, so that the box is one voxel too small",
        "clipped-noise": "edges of a perturbed box are clipped to the last pixel, so a box at the border loses it",
        "one-fraction": "in each slice of a round, the same relative position in the list of wrong pixels is clicked",
        "first-click-patch": "corrections for models in 3D lie within 96 mm of the first click along each axis",
        "coronal-only": "scribbles on surplus voxels are drawn in a coronal plane, never in a sagittal one",
        "joined-contours": "a scribble continues from one outline of the object into the next",
        "broken-stroke": "a scribble on surplus voxels continues across gaps in the prediction, as one scribble",
        "sideways-line": "for models in 3D the line through missing voxels runs from column to column",
        "positive-fallback": "clicks on surplus voxels, given where no scribble can be drawn, are positive",
    }
)


def resolve_quirks(protocol: Protocol, quirks: Iterable[str]) -> frozenset[str]:
    """Return the active quirks: the named ones, or all for the protocol "published".

    Raises:
        InvalidInput: a name is not a known quirk.
    """
    named = frozenset([quirks] if isinstance(quirks, str) else quirks)
    unknown = named - QUIRKS.keys()
    if unknown:
        raise InvalidInput(
            f"quirks: {', '.join(sorted(unknown))} unknown; expected any of {', '.join(QUIRKS)}"
        )
    return frozenset(QUIRKS) if protocol == "published" else named

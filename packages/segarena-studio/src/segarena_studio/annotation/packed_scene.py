"""Shorter form of a scene document, for slow connections: half as large as the document, both compressed.

Neighbouring vertices are close to each other, and most rings are consecutive points, so `points` and the rings become

    {"scale": 1000, "deltas": [x, y, ...], "others": [[point, x, y], ...]}
    {"runs": [first, count, ...]}

`deltas` are the differences between successive points, in thousandths of a pixel. `others` are the points with a
coordinate that is not a whole number of thousandths. Everything else stays as it is. The editor's `packed-scene.js`
reverses this exactly.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

_SCALE = 1000
"""The editor rounds coordinates to thousandths of a pixel."""


def pack_scene(scene: msgspec.Raw) -> Any:
    """Return a stored scene document in the shorter form; a scene without points, or null, as it is."""
    document = msgspec.json.decode(scene)
    if not document or not document["points"]:
        return scene
    regions = [
        region | {"ring": {"runs": _runs_of(region["ring"])}} for region in document["regions"]
    ]
    return document | {"points": _pack_points(document["points"]), "regions": regions}


def _pack_points(points: list[list[float]]) -> dict[str, Any]:
    coordinates = np.asarray(points, np.float64)
    scaled = np.round(coordinates * _SCALE)
    is_exact = (scaled / _SCALE == coordinates).all(axis=1)
    deltas = np.diff(scaled.astype(np.int64), axis=0, prepend=0)
    others = [[int(point), *points[point]] for point in np.flatnonzero(~is_exact)]
    return {"scale": _SCALE, "deltas": deltas.ravel().tolist(), "others": others}


def _runs_of(ring: list[int]) -> list[int]:
    """Return first and count of each run of consecutive points."""
    runs: list[int] = []
    for point in ring:
        if runs and point == runs[-2] + runs[-1]:
            runs[-1] += 1
        else:
            runs += [point, 1]
    return runs

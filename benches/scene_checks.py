"""Checks of large scenes in the studio: the first, after one edit, and again for the review page.

The limits of seconds are those of the pages: finishing a picture takes at most 2 s after an edit,
and a review page at most 1 s. Times are processor times, because the machine may be busy.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import msgspec
import numpy as np

from segarena_studio.annotation.check_cache import CheckCache
from segarena_studio.annotation.scene_document import read_document
from segarena_studio.orm_models import Picture

WIDTH = 4000
HEIGHT = 3000
LAYERS = 2.0
"""How often regions cover each pixel, on average."""
SCENES = ((300, 100, 2.0), (2000, 50, 8.0))
"""Regions, points of each, and the limit in seconds after one edit."""
REVIEW_S = 1.0


def make_document(
    regions: int,
    points: int,
    seed: int = 0,
) -> dict[str, Any]:
    """Return a document of star-shaped regions at random positions."""
    rng = np.random.default_rng(seed)
    usual_radius = math.sqrt(LAYERS * WIDTH * HEIGHT / regions / math.pi)
    angles = np.arange(points) / points * 2 * math.pi
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    corners: list[list[float]] = []
    outlines: list[dict[str, Any]] = []
    for number in range(regions):
        radius = usual_radius * math.exp(rng.normal(0, 0.4))
        middle = rng.uniform((0, 0), (WIDTH, HEIGHT))
        waves = 1 + 0.2 * np.sin(3 * angles + rng.uniform(0, 6))
        radii = radius * (waves + 0.05 * rng.standard_normal(points))
        ring = np.clip(middle + radii[:, None] * directions, 0, (WIDTH, HEIGHT))
        first = len(corners)
        corners += np.round(ring, 2).tolist()
        ring_points = list(range(first, first + points))
        outlines.append({"id": f"r{number + 1}", "ring": ring_points, "name": f"thing {number}"})
    return {"version": 1, "points": corners, "regions": outlines, "next_id": regions + 1}


def measure(
    cache: CheckCache,
    document: dict[str, Any],
    picture: Picture,
) -> float:
    """Return the processor time of reading and analysing a document."""
    text = msgspec.json.encode(document)
    started = time.process_time()
    cache.analyse(1, read_document(text), picture)
    return time.process_time() - started


def main() -> None:
    """Measure all scenes; exit with 1 if a limit is exceeded."""
    is_met = True
    picture = Picture(name="large.jpg", width=WIDTH, height=HEIGHT)
    for regions, points, limit_s in SCENES:
        cache = CheckCache()
        document = make_document(regions, points)
        first_s = measure(cache, document, picture)
        document["points"][points // 2][0] += 5
        edited_s = measure(cache, document, picture)
        again_s = measure(cache, document, picture)
        print(f"{regions} regions of {points} points on {WIDTH} x {HEIGHT} pixels")
        print(f"  first check            {first_s:7.2f} s")
        print(f"  after one edit         {edited_s:7.2f} s, limit {limit_s:g} s")
        print(f"  again, for the review  {again_s:7.2f} s, limit {REVIEW_S:g} s")
        is_met = is_met and edited_s <= limit_s and again_s <= REVIEW_S
    sys.exit(not is_met)


if __name__ == "__main__":
    main()

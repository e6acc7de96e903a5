"""Time of the checks of large scenes in the studio: the first, after one edit, and again for the review page.

Times are processor time. Seconds after one edit are what finishing a picture takes; the ratios to the first check do
not depend on the machine.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
from measurement import Figures, argument_parser, at_most, no_bar, seconds_of, yardstick

from segarena_studio.annotation.scene_check_cache import CheckCache
from segarena_studio.annotation.scene_document import read_document
from segarena_studio.orm_models import Picture

WIDTH = 4000
HEIGHT = 3000
LAYERS = 2.0
"""How often regions cover each pixel, on average."""
SCENES = ((300, 100), (2000, 50))
"""Regions, and points of each."""
BARS = {
    "300 regions: first check": no_bar("s"),
    "300 regions: after one edit": at_most(1.1, "s"),
    "300 regions: after one edit, yardsticks": at_most(60),
    "300 regions: after one edit / first check": at_most(0.35),
    "300 regions: again / first check": at_most(0.0045),
    "2000 regions: first check": no_bar("s"),
    "2000 regions: after one edit": at_most(5, "s"),
    "2000 regions: after one edit, yardsticks": at_most(300),
    "2000 regions: after one edit / first check": at_most(0.45),
    "2000 regions: again / first check": at_most(0.008),
}


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


def analyse_s(
    cache: CheckCache,
    document: dict[str, Any],
    picture: Picture,
) -> float:
    """Return the processor time of reading and analysing a document."""
    text = msgspec.json.encode(document)
    return seconds_of(lambda: cache.analyse(1, read_document(text), picture))


def main() -> None:
    """Measure all scenes; exit with 1 if a limit is exceeded."""
    options = argument_parser(__doc__).parse_args()
    scenes = SCENES
    if options.quick:
        scenes = ((300, 8),)
    figures = Figures(BARS, has_bars=not options.quick)
    picture = Picture(name="large.jpg", width=WIDTH, height=HEIGHT)
    for regions, points in scenes:
        cache = CheckCache()
        document = make_document(regions, points)
        first_s = analyse_s(cache, document, picture)
        document["points"][points // 2][0] += 5
        edited_s = analyse_s(cache, document, picture)
        again_s = analyse_s(cache, document, picture)
        name = f"{regions} regions"
        figures.report(f"{name}: first check", first_s)
        figures.report(f"{name}: after one edit", edited_s)
        figures.report(f"{name}: after one edit, yardsticks", edited_s / seconds_of(yardstick))
        figures.report(f"{name}: after one edit / first check", edited_s / first_s)
        figures.report(f"{name}: again / first check", again_s / first_s)
    figures.finish()


if __name__ == "__main__":
    main()

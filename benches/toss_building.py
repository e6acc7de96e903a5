"""Time of `segarena toss build`, which builds the tiers of a one-shot dataset: `python benches/toss_building.py`.

Textured scenes of 4 classes in 2 folds, drawn from a fixed seed. The time is that of one more image: a build of few
images is subtracted from one of many. A second call finds all stages finished.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cv2
import numpy as np
from measurement import Figures, argument_parser, at_most, seconds_of, yardstick
from PIL import Image

from segarena.systems.oneshot.datasets.folder import folder_source
from segarena.systems.oneshot.tier_building.build_tiers import build_tiers
from segarena.systems.oneshot.tier_building.tier_build_options import BuildPlan

CLASSES = ("ant", "bee", "cat", "dog")
SHAPE = (240, 320)
FEW, MANY = 3, 15
"""Images of each class."""
BARS = {
    "an image, yardsticks": at_most(14),
    "building again, all stages finished / the first time": at_most(0.06),
}


def write_images(folder: Path, count: int) -> None:
    """Write images with one textured disc each, and their masks by class."""
    rng = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    for label, name in enumerate(CLASSES):
        (folder / "masks" / name).mkdir(parents=True)
        for number in range(count):
            mask = np.zeros(SHAPE, dtype=np.uint8)
            middle = (int(rng.integers(90, 230)), int(rng.integers(80, 160)))
            cv2.circle(mask, middle, int(rng.integers(30, 70)), 255, thickness=-1)
            noise = rng.integers(0, 255, (SHAPE[0] // 8, SHAPE[1] // 8, 3), dtype=np.uint8)
            image = cv2.resize(noise, SHAPE[::-1])
            image[mask > 0] = image[mask > 0] // 2 + 40 * label
            file = f"{name}-{number}"
            Image.fromarray(image).save(folder / "images" / f"{file}.jpg")
            Image.fromarray(mask).save(folder / "masks" / name / f"{file}.png")


def main() -> None:
    """Report the figures; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    cv2.setNumThreads(1)
    counts = {"few": FEW, "many": MANY}
    if options.quick:
        counts = {"few": 2, "many": 3}
    plan = BuildPlan(name="made-up", folds=(CLASSES[:2], CLASSES[2:]))
    spent_s: dict[str, float] = {}
    yardsticks_s: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        write_images(scratch / "warm", 2)
        build_tiers(folder_source(scratch / "warm"), scratch / "warm-tiers", plan)

        def build(size: str) -> None:
            build_tiers(folder_source(scratch / size), scratch / f"{size}-tiers", plan)

        for size, count in counts.items():
            write_images(scratch / size, count)
            yardsticks_s.append(seconds_of(yardstick))
            spent_s[size] = seconds_of(lambda size=size: build(size))
            yardsticks_s.append(seconds_of(yardstick))
        again_s = seconds_of(lambda: build("many"))
    images = len(CLASSES) * (counts["many"] - counts["few"])
    each_s = (spent_s["many"] - spent_s["few"]) / images
    figures = Figures(BARS, has_bars=not options.quick)
    figures.report("an image, yardsticks", each_s / float(np.median(yardsticks_s)))
    figures.report(
        "building again, all stages finished / the first time", again_s / spent_s["many"]
    )
    figures.finish()


if __name__ == "__main__":
    main()

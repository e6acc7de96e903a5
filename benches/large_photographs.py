"""Resident memory over a run of many large photographs: it must not grow with their number.

    python benches/large_photographs.py [--images 300] [--full]

Photographs have 12 megapixels, and `--full` uses 2000 of them. The segmenter only returns empty masks. Resident memory
is read after each dialogue; the peak of the last fifth is compared with that of the first fifth. A leak of a hundredth
of a photograph for each of them misses the limit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measurement import Figures, argument_parser, at_most, no_bar, processor_s, resident_mb
from PIL import Image

import segarena

IMAGES = 300
FULL_IMAGES = 2000
SIZE_PX = (4000, 3000)
BARS = {
    "growth for each photograph / size of a photograph": at_most(0.01),
    "peak memory of the last fifth / of the first fifth": at_most(1.25),
    "peak memory": no_bar("MB"),
    "processor time of a photograph": no_bar("s"),
}


class NothingFound:
    """Returns an empty mask for each dialogue."""

    def encode(self, sample: Any) -> tuple[int, ...]:
        """Return the shape."""
        return sample.shape

    def predict(self, encoded: tuple[int, ...], dialogues: Any) -> list[np.ndarray]:
        """Return empty masks."""
        return [np.zeros(encoded, dtype=np.bool_) for _ in dialogues]


def write_photographs(folder: Path, count: int, size_px: tuple[int, int]) -> None:
    """Write one large photograph and its mask under `count` names."""
    width, height = size_px
    noise = np.random.default_rng(0).integers(0, 255, (75, 100, 3), dtype=np.uint8)
    mask = np.zeros((height, width), dtype=np.uint8)
    mask[height // 4 : 3 * height // 4, width // 4 : 3 * width // 4] = 255
    for kind in ("images", "masks"):
        (folder / kind).mkdir(parents=True)
    Image.fromarray(noise).resize(size_px).save(folder / "images/0000.jpg")
    Image.fromarray(mask).save(folder / "masks/0000.png")
    for index in range(1, count):
        (folder / f"images/{index:04d}.jpg").hardlink_to(folder / "images/0000.jpg")
        (folder / f"masks/{index:04d}.png").hardlink_to(folder / "masks/0000.png")


def main() -> None:
    """Report the growth; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--images", type=int, default=IMAGES)
    parser.add_argument("--full", action="store_true", help=f"use {FULL_IMAGES} photographs")
    options = parser.parse_args()
    images = options.images
    size_px = SIZE_PX
    if options.full:
        images = FULL_IMAGES
    if options.quick:
        images = 10
        size_px = (400, 300)
    seen_mb: list[float] = []
    started = processor_s()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        write_photographs(scratch / "large", images, size_px)
        segarena.evaluate(
            "clicks",
            segmenter=f"{__file__}:NothingFound",
            dataset=f"folder(path={str(scratch / 'large')!r})",
            rounds=1,
            out=scratch / "run",
            on_progress=lambda _: seen_mb.append(resident_mb()),
        )
    fifth = max(1, len(seen_mb) // 5)
    early_mb = max(seen_mb[:fifth])
    late_mb = max(seen_mb[-fifth:])
    photograph_mb = 3 * size_px[0] * size_px[1] / 1e6
    between = 0.8 * images
    figures = Figures(BARS, has_bars=not options.quick)
    figures.report(
        "growth for each photograph / size of a photograph",
        (late_mb - early_mb) / between / photograph_mb,
    )
    figures.report("peak memory of the last fifth / of the first fifth", late_mb / early_mb)
    figures.report("peak memory", max(seen_mb))
    figures.report("processor time of a photograph", (processor_s() - started) / images)
    figures.finish()


if __name__ == "__main__":
    main()

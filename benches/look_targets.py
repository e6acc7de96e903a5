"""Time of `segarena look` on a run of 500 targets: opening it, a page of the list, its first thumbnails.

    python benches/look_targets.py [--targets 500]

Photographs of 480 x 640 have five targets each. What the browser asks for first is called without HTTP: the first 60
rows of the list, and the thumbnails of 12 of them, which are then read again from the cache. A thumbnail is compared
with decoding and shrinking one photograph, in alternation.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cv2
import numpy as np
from measurement import (
    Figures,
    argument_parser,
    at_most,
    paired_with_yardstick,
    seconds_of,
    yardstick,
)
from PIL import Image

import segarena
from segarena_studio.pages.viewer import ROWS_PER_REQUEST
from segarena_studio.viewer.catalog import open_catalog
from segarena_studio.viewer.table_query import TableQuery

TARGETS = 500
TARGETS_OF_A_PHOTOGRAPH = 5
SHAPE = (480, 640)
THUMBNAILS = 12
BARS = {
    "opening 500 targets and the first page, yardsticks": at_most(9),
    "another page of the list, yardsticks": at_most(0.5),
    "a thumbnail / decoding and shrinking its photograph": at_most(18),
    "a thumbnail from the cache / the first time": at_most(0.024),
}


def write_dataset(folder: Path, targets: int) -> str:
    """Write photographs with a mask for each target; return them as a dataset."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (30, 40, 3), dtype=np.uint8)
    (folder / "images").mkdir(parents=True)
    for index in range(max(1, targets // TARGETS_OF_A_PHOTOGRAPH)):
        name = f"{index:04d}"
        Image.fromarray(noise).resize(SHAPE[::-1]).save(folder / "images" / f"{name}.jpg")
        masks = folder / "masks" / name
        masks.mkdir(parents=True)
        for number in range(TARGETS_OF_A_PHOTOGRAPH):
            mask = np.zeros(SHAPE, dtype=np.uint8)
            cv2.circle(mask, (60 + 120 * number, 240), 50, 255, thickness=-1)
            Image.fromarray(mask).save(masks / f"{number}.png")
    return f"folder(path={str(folder)!r})"


def main() -> None:
    """Report the figures; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--targets", type=int, default=TARGETS)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    targets = options.targets
    if options.quick:
        targets = 10
    everything = TableQuery()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        run = scratch / "run"
        segarena.evaluate(
            "clicks",
            segmenter="nearest-prompt",
            dataset=write_dataset(scratch / "data", targets),
            users=["centre"],
            rounds=1,
            out=run,
        )
        opened = []

        def open_first_page() -> None:
            catalog = open_catalog([str(run)], scratch / f"shelf-{len(opened)}")
            (collection,) = catalog.collections
            collection.table.rows(everything, 0, ROWS_PER_REQUEST)
            opened.append(collection)

        open_first_page()  # imports
        opening = paired_with_yardstick(open_first_page, 1 if options.quick else 3)
        collection = opened[-1]
        count = collection.table.count(everything)
        if count < targets:
            raise SystemExit(f"the list has {count} rows, expected {targets}")
        page = paired_with_yardstick(
            lambda: collection.table.rows(everything, count // 2, ROWS_PER_REQUEST), 9
        )
        rows = collection.table.rows(everything, 0, ROWS_PER_REQUEST)
        keys = [(row["sample"], row["target"], row["user"], row["repeat"]) for row in rows]
        ratios: list[float] = []
        cached: list[float] = []
        for key in keys[: THUMBNAILS * TARGETS_OF_A_PHOTOGRAPH : TARGETS_OF_A_PHOTOGRAPH]:
            first_s = seconds_of(lambda key=key: collection.thumb(key))
            path = scratch / "data" / "images" / f"{key[0]}.jpg"
            baseline_s = seconds_of(lambda path=path: cv2.resize(cv2.imread(str(path)), (160, 120)))
            again_s = seconds_of(lambda key=key: collection.thumb(key))
            ratios.append(first_s / baseline_s)
            cached.append(again_s / first_s)
        print(f"{count} rows; the yardstick takes {1000 * seconds_of(yardstick):.1f} ms")
    figures = Figures(BARS, has_bars=targets == TARGETS)
    figures.report("opening 500 targets and the first page, yardsticks", opening.ratio)
    figures.report("another page of the list, yardsticks", page.ratio)
    figures.report("a thumbnail / decoding and shrinking its photograph", float(np.median(ratios)))
    figures.report("a thumbnail from the cache / the first time", float(np.median(cached)))
    figures.finish()


if __name__ == "__main__":
    main()

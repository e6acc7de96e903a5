"""Cost of the engine: its share of a GrabCut run, the gain of a second worker, memory over 2000 images.

    python benches/engine.py [BSDS500_FOLDER] [--samples 12] [--images 2000]

Without the folder of BSDS500, one demo photograph is repeated, because one of the demo photographs
causes half of the work, which a second worker could not share. Limits, for GrabCut as in the paper
(the whole window, five iterations, no bound): everything outside predict and encode takes at most 5
% of the wall time, and two workers do at least 1.6 times the work of one. The share for the
package's own fast GrabCut is printed too. Memory must not grow with the number of images.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

import segarena
from segarena.registry import build

WHOLE = "grabcut(work_px=1000000, iterations=5, reach_px=0)"


def evaluate(
    segmenter: str, dataset: str, out: Path, workers: int, limit: int
) -> tuple[float, float, int]:
    """Return wall seconds, seconds inside the segmenter, and rounds of one GrabCut run."""
    started = time.perf_counter()
    folder = segarena.evaluate(
        "clicks",
        segmenter=segmenter,
        dataset=dataset,
        users=["centre"],
        out=out,
        workers=workers,
        limit=limit,
    )
    wall_s = time.perf_counter() - started
    return wall_s, float(folder.timings()["predict_s"].sum()), folder.config.counts.rounds


def overhead(dataset: str, limit: int, scratch: Path) -> bool:
    """Print the engine's share of a run in one process, and the gain of a second worker."""
    evaluate("grabcut", dataset, scratch / "warm", workers=0, limit=1)
    shares: dict[str, float] = {}
    for segmenter in ("grabcut", WHOLE):
        wall_s, inside_s, rounds = evaluate(
            segmenter, dataset, scratch / segmenter[:9], workers=0, limit=limit
        )
        shares[segmenter] = 1 - inside_s / wall_s
        outside_ms = 1000 * (wall_s - inside_s) / rounds
        print(
            f"{segmenter}: {wall_s:.1f} s, outside the segmenter {shares[segmenter]:.1%}, {outside_ms:.2f} ms per round"
        )
    one_s, _, _ = evaluate(WHOLE, dataset, scratch / "one", workers=1, limit=limit)
    two_s, _, _ = evaluate(WHOLE, dataset, scratch / "two", workers=2, limit=limit)
    print(f"workers: one {one_s:.1f} s, two {two_s:.1f} s, ratio {one_s / two_s:.2f} (bar 1.6)")
    return shares[WHOLE] <= 0.05 and one_s / two_s >= 1.6


def resident_mb() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def memory(images: int, scratch: Path) -> bool:
    """Print resident memory at the start, the middle and the end of a run over many large images."""
    photographs(scratch / "large", images)
    seen: list[float] = []
    segarena.evaluate(
        "clicks",
        segmenter=str(Path(segarena.__file__).parents[2] / "tests/engine/misbehaving.py") + ":Good",
        dataset=f"folder(path={str(scratch / 'large')!r})",
        rounds=1,
        out=scratch / "memory",
        on_progress=lambda _: seen.append(resident_mb()),
    )
    tenth = max(1, images // 10)
    early, late = max(seen[: 2 * tenth]), max(seen[-2 * tenth :])
    print(
        f"memory over {images} images of 1200 x 1600: first fifth {early:.0f} MB, last fifth {late:.0f} MB"
    )
    return late <= early * 1.05 + 10


def equal_work(folder: Path, count: int) -> str:
    """Write a demo photograph and its first target under `count` names; return a dataset of them."""
    sample = build("dataset", "demo").load("camera")
    Image.fromarray(sample.image).save(place_of(folder, "images", 0))
    Image.fromarray(sample.targets[0].mask.astype(np.uint8) * 255).save(
        place_of(folder, "masks", 0)
    )
    for kind in ("images", "masks"):
        for index in range(1, count):
            place_of(folder, kind, index).hardlink_to(place_of(folder, kind, 0))
    return f"folder(path={str(folder)!r})"


def place_of(folder: Path, kind: str, index: int) -> Path:
    """Return the path of a picture; creates its folder."""
    (folder / kind).mkdir(parents=True, exist_ok=True)
    return folder / kind / f"{index:04d}.png"


def photographs(folder: Path, count: int) -> None:
    """Write one large photograph and its mask under `count` names."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, size=(75, 100, 3), dtype=np.uint8)
    mask = np.zeros((1200, 1600), dtype=np.uint8)
    mask[300:900, 400:1000] = 255
    (folder / "images").mkdir(parents=True)
    (folder / "masks").mkdir()
    Image.fromarray(noise).resize((1600, 1200)).save(folder / "images/0000.jpg")
    Image.fromarray(mask).save(folder / "masks/0000.png")
    for index in range(1, count):
        (folder / f"images/{index:04d}.jpg").hardlink_to(folder / "images/0000.jpg")
        (folder / f"masks/{index:04d}.png").hardlink_to(folder / "masks/0000.png")


def main() -> None:
    """Measure everything; exit with 1 if a limit is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "bsds500", nargs="?", help="folder of BSDS500; without it, a demo photograph is repeated"
    )
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--images", type=int, default=2000)
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp())
    try:
        dataset = (
            f"bsds500(path={options.bsds500!r})"
            if options.bsds500
            else equal_work(scratch / "equal", options.samples)
        )
        held = [overhead(dataset, options.samples, scratch), memory(options.images, scratch)]
    finally:
        shutil.rmtree(scratch)
    print("all limits met" if all(held) else "a limit was missed")
    raise SystemExit(not all(held))


if __name__ == "__main__":
    main()

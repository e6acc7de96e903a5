"""Processor time per click and per encoding of the segmenters without weights, at 481 x 321.

    python benches/segmenters.py [NAME ...]

Photographs of scikit-image, shrunk to 481 x 321, with three artificial targets (discs of the
photographs' middle third) in each, and twenty centre clicks per target. Figures are for one thread.
"""

from __future__ import annotations

import time

import cv2
import numpy as np
from measurement import Figures, argument_parser, at_most, no_bar, seconds_of, yardstick
from skimage import data

from segarena import registry
from segarena.dialogue import Dialogue, as_prediction
from segarena.prompts import Click
from segarena.samples import ImageSample

SHAPE = (321, 481)
ROUNDS = 20
BARS = {
    "graph: click, yardsticks": at_most(1),
    "graph: encode, yardsticks": at_most(20),
    "grabcut: click, yardsticks": at_most(2.5),
    "grabcut: encode, yardsticks": no_bar(),
    "watershed: click, yardsticks": at_most(1),
    "watershed: encode, yardsticks": no_bar(),
}


def photographs() -> list[ImageSample]:
    """Return the photographs that ship with scikit-image, in colour and shrunk."""
    images = {"astronaut": data.astronaut(), "coffee": data.coffee(), "chelsea": data.chelsea()}
    return [
        ImageSample(id=name, image=cv2.resize(image, SHAPE[::-1], interpolation=cv2.INTER_AREA))
        for name, image in images.items()
    ]


def targets() -> list[np.ndarray]:
    """Return three discs; their content does not affect the time."""
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    circles = [(160, 240, 90), (120, 150, 45), (200, 330, 25)]
    return [
        (rows - row) ** 2 + (columns - column) ** 2 < radius**2 for row, column, radius in circles
    ]


def next_click(prediction: np.ndarray, target: np.ndarray) -> Click | None:
    """Return the middle of the deepest error."""
    depths = [
        cv2.distanceTransform(np.pad(error, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
        for error in (target & ~prediction, prediction & ~target)
    ]
    deepest = 0 if depths[0].max() >= depths[1].max() else 1
    if depths[deepest].max() == 0:
        return None
    row, column = np.unravel_index(int(np.argmax(depths[deepest])), SHAPE)
    return Click((int(row), int(column)), is_positive=deepest == 0)


def measure(name: str, rounds: int) -> tuple[list[float], list[float]]:
    """Return the seconds per encoding and per click of one segmenter."""
    segmenter = registry.build("segmenter", name)
    encodings, clicks = [], []
    segmenter.encode(photographs()[0])  # imports and warm-up
    for sample in photographs():
        start = time.process_time()
        encoded = segmenter.encode(sample)
        encodings.append(time.process_time() - start)
        for target in targets():
            dialogue, mask = Dialogue(), np.zeros(SHAPE, bool)
            for _ in range(rounds):
                if (click := next_click(mask, target)) is None:
                    break
                dialogue = dialogue.ask((click,))
                start = time.process_time()
                answer = segmenter.predict(encoded, [dialogue])[0]
                clicks.append(time.process_time() - start)
                prediction = as_prediction(answer, SHAPE)
                dialogue, mask = dialogue.answer(prediction), prediction.mask
    return encodings, clicks


def main() -> None:
    """Report the time of a click and of an encoding of each segmenter."""
    parser = argument_parser(__doc__)
    parser.add_argument("names", nargs="*", default=["graph", "grabcut", "watershed"])
    options = parser.parse_args()
    cv2.setNumThreads(1)
    rounds = ROUNDS
    if options.quick:
        rounds = 1
    bars = {
        f"{name}: {part}, yardsticks": no_bar()
        for name in options.names
        for part in ("click", "encode")
    }
    bars |= {name: bar for name, bar in BARS.items() if name in bars}
    figures = Figures(bars, has_bars=not options.quick)
    for name in options.names:
        yardstick_ms = 1000 * np.median([seconds_of(yardstick) for _ in range(5)])
        encodings, clicks = (1000 * np.asarray(seconds) for seconds in measure(name, rounds))
        middle, slow = np.percentile(clicks, [50, 95])
        encode = np.median(encodings)
        print(f"{name}: encode {encode:.0f} ms, click {middle:.1f} ms (95 % within {slow:.1f} ms)")
        figures.report(f"{name}: click, yardsticks", middle / yardstick_ms)
        figures.report(f"{name}: encode, yardsticks", encode / yardstick_ms)
    figures.finish()


if __name__ == "__main__":
    main()

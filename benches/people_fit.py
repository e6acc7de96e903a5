"""Time of `segarena people fit` on a tiny collection of people's prompts: `python benches/people_fit.py`.

Boxes of six people, with offsets of a known distribution, and strokes of two people on four objects: the sizes of a
first study. Both are compared with the yardstick of `measurement.py`.
"""

from __future__ import annotations

import cv2
import numpy as np
from measurement import Figures, argument_parser, at_most, paired_with_yardstick

from segarena_people.fitting.box_fit import PersonBoxes, fit_boxes
from segarena_people.fitting.stroke_fit import PersonDrawing, fit_scribbler

BOXES = 240
OBJECTS = 4
SHAPE = (96, 128)
BARS = {
    "boxes: 240 of six people, yardsticks": at_most(2),
    "scribbler: 8 drawings of two people, yardsticks": at_most(90),
}


def make_boxes(count: int) -> PersonBoxes:
    """Return boxes whose errors are a twentieth of their sides."""
    rng = np.random.default_rng(0)
    sides_px = np.exp(rng.uniform(np.log(10), np.log(300), (count, 2)))
    offsets_px = 0.05 * rng.standard_t(4, (count, 4)) * sides_px[:, [0, 1, 0, 1]]
    return PersonBoxes(sides_px, offsets_px, [f"p{number % 6}" for number in range(count)])


def make_drawings(objects: int) -> list[PersonDrawing]:
    """Return a curl by each of two people within each of several ellipses."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    drawings: list[PersonDrawing] = []
    for _ in range(objects):
        centre = rng.uniform(0.4, 0.6, 2) * SHAPE
        half = rng.uniform(0.2, 0.35, 2) * SHAPE
        goal = ((rows - centre[0]) / half[0]) ** 2 + ((columns - centre[1]) / half[1]) ** 2 <= 1
        for person in range(2):
            angle = rng.uniform(0, 2 * np.pi) + np.linspace(0, 3.5 + 3.5 * person, 24)
            radius = np.linspace(0.7, 0.2, 24)
            points = np.stack(
                [
                    centre[1] + radius * half[1] * np.cos(angle),
                    centre[0] + radius * half[0] * np.sin(angle),
                ],
                axis=1,
            )
            ink = np.zeros(SHAPE, dtype=np.uint8)
            line = np.rint(points).astype(np.int32).reshape(-1, 1, 2)
            cv2.polylines(ink, [line], isClosed=False, color=1, thickness=3)
            drawings.append(PersonDrawing(f"p{person}", goal, ink > 0))
    return drawings


def main() -> None:
    """Report the figures; exit with 1 if a limit is missed."""
    options = argument_parser(__doc__).parse_args()
    cv2.setNumThreads(1)
    boxes = make_boxes(BOXES)
    figures = Figures(BARS, has_bars=not options.quick)
    pairs = 5
    if options.quick:
        pairs = 1
    fitted = paired_with_yardstick(lambda: fit_boxes(boxes, "made up"), pairs)
    figures.report("boxes: 240 of six people, yardsticks", fitted.ratio)
    if not options.quick:
        drawings = make_drawings(OBJECTS)
        scribbler = paired_with_yardstick(lambda: fit_scribbler(drawings), 1)
        figures.report("scribbler: 8 drawings of two people, yardsticks", scribbler.ratio)
    figures.finish()


if __name__ == "__main__":
    main()

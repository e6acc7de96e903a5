"""Time per stroke of the scribbler in frames of 480 x 854.

    python benches/scribbler.py [--repeats 5]

Goals: discs of three sizes, an object that fills the frame, a ring, a crescent, a sliver of 5 px. A
stroke is a line, and the time of a drawing is divided by its number of lines. For each seed the
smallest CPU time counts (as many seeds as repetitions); the result is the mean over seeds.

A single line around a whole ring takes longest: the steps of a draft are sequential, and all drafts wait for the
longest.
"""

from __future__ import annotations

import time

import cv2
import numpy as np
from measurement import Figures, argument_parser, at_most, seconds_of, yardstick

from segarena.users.stroke_model.model import read_stroke_model
from segarena.users.stroke_model.stroke_sampling import sample_strokes

BARS = {
    "a stroke, mean over goals and people": at_most(20, "ms"),
    "a stroke, yardsticks": at_most(1.3),
    "a stroke of the slowest goal and person, yardsticks": at_most(5),
}
ROWS, COLUMNS = np.mgrid[:480, :854]


def disc(radius, column=427):
    """Return a disc in the middle of the frame."""
    return (ROWS - 240) ** 2 + (COLUMNS - column) ** 2 <= radius**2


GOALS = {
    "disc, radius 10": disc(10),
    "disc, radius 50": disc(50),
    "disc, radius 150": disc(150),
    "most of the frame": ((ROWS - 240) / 220) ** 2 + ((COLUMNS - 427) / 400) ** 2 <= 1,
    "ring": disc(150) & ~disc(120),
    "crescent": disc(130) & ~disc(130, 487),
    "sliver": (np.abs(ROWS - 240 - 40 * np.sin(COLUMNS / 60)) < 3) & (np.abs(COLUMNS - 427) < 200),
}


def per_stroke_ms(goal, person, repeats):
    """Return the mean time of a drawing, and of one of its lines."""
    hand = read_stroke_model()
    habits = hand.habits_of(person)
    drawings, strokes = [], 0
    for seed in range(repeats):
        times = []
        for _ in range(2):
            start = time.thread_time()
            lines = sample_strokes(goal, habits, hand, np.random.default_rng(seed))
            times.append(time.thread_time() - start)
        drawings.append(1000 * min(times))
        strokes += len(lines)
    return sum(drawings) / repeats, sum(drawings) / strokes


def main():
    """Print a line for each goal; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    repeats = options.repeats
    goals = GOALS
    if options.quick:
        repeats = 1
        goals = {"disc, radius 10": GOALS["disc, radius 10"]}
    cv2.setNumThreads(1)
    model = read_stroke_model()
    sample_strokes(disc(20), model.habits_of("acdc-expert"), model, np.random.default_rng(0))
    spent_ms = 0.0
    strokes = 0.0
    worst_ms = 0.0
    yardsticks_ms = []
    for name, goal in goals.items():
        found = {person: per_stroke_ms(goal, person, repeats) for person in model.people}
        told = "  ".join(f"{drawing:5.1f} ({stroke:4.1f})" for drawing, stroke in found.values())
        print(f"{name:18} ms per drawing (per stroke):  {told}", flush=True)
        spent_ms += sum(drawing for drawing, _ in found.values())
        strokes += sum(drawing / stroke for drawing, stroke in found.values())
        worst_ms = max(worst_ms, *(stroke for _, stroke in found.values()))
        yardsticks_ms.append(1000 * seconds_of(yardstick))
    yardstick_ms = np.median(yardsticks_ms)
    figures = Figures(BARS, has_bars=not options.quick)
    figures.report("a stroke, mean over goals and people", spent_ms / strokes)
    figures.report("a stroke, yardsticks", spent_ms / strokes / yardstick_ms)
    figures.report("a stroke of the slowest goal and person, yardsticks", worst_ms / yardstick_ms)
    figures.finish()


if __name__ == "__main__":
    main()

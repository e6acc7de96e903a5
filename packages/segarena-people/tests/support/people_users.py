"""Artificial people: a user that draws a wave through the object, and collections of such drawings."""

import numpy as np

from segarena.dialogue import Dialogue
from segarena.multi_object import empty_comparison
from segarena.prompts import Box, Click, Scribble
from segarena.roles import Turn
from segarena.samples import ImageSample, Target
from segarena_people.mask_files import GOALS, encode_mask_png
from segarena_people.prompt_table import write_prompt_table
from segarena_people.prompts import PersonPrompt, PointerSample

SHAPE = (96, 128)


class Waver:
    """Draws one wave from left to right through the error.

    Args:
        height: height of the wave, as a share of the object's.
        reach: share of the object's width that the wave crosses.
    """

    prompt_kinds = frozenset({"scribble"})

    def __init__(self, *, height: float = 0.5, reach: float = 0.7):
        self.height = height
        self.reach = reach

    def next(self, turn: Turn):
        wrong = turn.target.mask != turn.comparison.given
        rows, columns = np.nonzero(wrong)
        if not len(rows):
            return None
        middle = rows.mean(), columns.mean()
        tall = np.ptp(rows) + 1
        wide = np.ptp(columns) + 1
        height = self.height * turn.rng.uniform(0.6, 1.4)
        reach = self.reach * turn.rng.uniform(0.8, 1.2)
        along = np.linspace(-1, 1, 25)
        row = middle[0] + tall * height / 2 * np.sin(
            along * turn.rng.uniform(3, 5) + turn.rng.uniform(0, 6)
        )
        column = middle[1] + along * wide * reach / 2
        points = np.clip(np.stack([row, column], 1), 0, np.array(wrong.shape) - 1.0)
        is_positive = bool(turn.target.mask[int(middle[0]), int(middle[1])])
        return (Scribble(tuple(map(tuple, points.tolist())), is_positive),)


class Aimer:
    """Clicks near the middle of the object, off by `spread` of its size."""

    prompt_kinds = frozenset({"click"})

    def __init__(self, *, spread: float = 0.15):
        self.spread = spread

    def next(self, turn: Turn):
        rows, columns = np.nonzero(turn.target.mask)
        size = np.array([np.ptp(rows), np.ptp(columns)]) + 1
        place = np.array([rows.mean(), columns.mean()]) + turn.rng.normal(0, self.spread, 2) * size
        inside = np.clip(place.round().astype(int), 0, np.array(turn.target.mask.shape) - 1)
        return (Click(tuple(inside.tolist())),)


class Boxer:
    """Draws a box whose edges are off by a normally distributed share of the object's size."""

    prompt_kinds = frozenset({"box"})

    def __init__(self, *, spread: float = 0.05):
        self.spread = spread

    def next(self, turn: Turn):
        rows, columns = np.nonzero(turn.target.mask)
        first = np.array([rows.min(), columns.min()])
        last = np.array([rows.max(), columns.max()]) + 1
        off = turn.rng.normal(0, self.spread, (2, 2)) * (last - first)
        start = np.clip((first + off[0]).round(), 0, np.array(SHAPE) - 2).astype(int)
        stop = np.clip((last + off[1]).round(), start + 1, SHAPE).astype(int)
        return (Box(tuple(start.tolist()), tuple(stop.tolist())),)


def blob(rng):
    """Return an ellipse at a random position, bool (96, 128)."""
    rows, columns = np.indices(SHAPE)
    middle = rng.uniform([35, 45], [60, 85])
    radii = rng.uniform([12, 15], [30, 40])
    return ((rows - middle[0]) / radii[0]) ** 2 + ((columns - middle[1]) / radii[1]) ** 2 <= 1


def write_people(folder, drawers, *, images=24, seed=7, labels=("leaf",)):
    """Write a collection in which each of `drawers`, users by person's name, answers for every image."""
    rng = np.random.default_rng(seed)
    (folder / GOALS).mkdir(parents=True)
    rows = []
    for number in range(images):
        mask = blob(rng)
        (folder / GOALS / f"{number}.png").write_bytes(encode_mask_png(mask))
        target = Target(id="1", mask=mask)
        sample = ImageSample(
            id=f"image-{number}", image=np.zeros((*SHAPE, 3), np.uint8), targets=(target,)
        )
        for person, user in drawers.items():
            turn = Turn(
                sample=sample, target=target, dialogue=Dialogue(), comparison=empty_comparison(sample, target),
                rng=np.random.default_rng([seed, number, len(rows)]),
            )  # fmt: skip
            label = labels[number % len(labels)]
            rows += [
                _row(f"{person}-{number}", person, number, label, prompt)
                for prompt in user.next(turn)
            ]
    write_prompt_table(rows, folder / "prompts.parquet")
    return folder


def _row(name, person, number, label, prompt):
    match prompt:
        case Click(position=position):
            places = [position]
        case Box(start=start, stop=stop):
            places = [start, tuple(end - 1 for end in stop)]
        case Scribble(points=points):
            places = points
    points = tuple(PointerSample(stroke=0, x=column + 0.5, y=row + 0.5) for row, column in places)
    return PersonPrompt(
        id=name, study="made up", dataset="blobs", sample=f"image-{number}", target="1", label=label, width=SHAPE[1],
        height=SHAPE[0], goal_mask=f"{number}.png", person=person, kind=prompt.kind, points=points, stroke_px=3.0,
    )  # fmt: skip


class Mute:
    """Gives no prompt."""

    def next(self, turn: Turn):
        return None


class Broken:
    """Raises an error."""

    def next(self, turn: Turn):
        raise ValueError("no hands")

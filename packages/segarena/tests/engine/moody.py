"""Plug-ins whose answers depend on more than their prompts; used by path."""

import multiprocessing
import random

import numpy as np

_asked_here = 0


class Steady:
    """Answers with a square around each positive click."""

    def encode(self, sample):
        return sample.shape

    def predict(self, encoded, dialogues):
        return [
            self.answer(encoded, dialogue, self.side(place, len(dialogues)))
            for place, dialogue in enumerate(dialogues)
        ]

    def side(self, place, count):
        return 3

    def answer(self, shape, dialogue, side):
        mask = np.zeros(shape, dtype=bool)
        for row, column in (click.position for click in dialogue.clicks):
            mask[max(0, row - side) : row + side + 1, max(0, column - side) : column + side + 1] = (
                True
            )
        return mask


class Wider(Steady):
    def side(self, place, count):
        return 4


class Failing(Steady):
    def answer(self, shape, dialogue, side):
        raise RuntimeError("no answer for you")


class Random(Steady):
    def side(self, place, count):
        return random.randint(1, 40)


class OfBatch(Steady):
    def side(self, place, count):
        return 2 + count


class OfOrder(Steady):
    """Answers the first of a batch of several differently."""

    def side(self, place, count):
        return 3 if count == 1 or place else 4


class Counting(Steady):
    def __init__(self):
        self.asked = 0

    def side(self, place, count):
        self.asked += 1
        return 1 + self.asked


class CountingInModule(Steady):
    """Each instance continues the count of the previous one."""

    def __init__(self):
        global _asked_here
        _asked_here += 1
        self.made = _asked_here

    def side(self, place, count):
        return self.made


class OfProcess(Steady):
    def side(self, place, count):
        return 7 if multiprocessing.parent_process() is None else 13


class OfHashSeed(Steady):
    def side(self, place, count):
        return 1 + hash("segarena") % 50

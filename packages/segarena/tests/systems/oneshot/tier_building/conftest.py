"""A source of squares in two colours per class, whose measures are all known."""

from __future__ import annotations

import numpy as np
import pytest

from segarena.errors import InvalidMask
from segarena.systems.oneshot.pairs.image_sources import ClassMask

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (40, 40, 220)}


class Squares:
    """Grey noise with a square: of the class's colour in even images, a faint one in odd ones."""

    def __init__(self, classes=tuple(COLOURS), count=8, name="{}"):
        self._items = [
            (label, name.format(f"{label}{number}")) for label in classes for number in range(count)
        ]
        self._place = {image: number for number, (_, image) in enumerate(self._items)}
        self.broken = set()

    def items(self):
        return self._items

    def files(self, label, image):
        return ()

    def missing(self, label, image):
        return ()

    def title(self, label):
        return label

    def image(self, image):
        place = self._place[image]
        pixels = np.random.default_rng(place).normal(110, 6, (48, 64, 3))
        colour = np.array(list(COLOURS.values())[self._class(place) % len(COLOURS)])
        square = self._square(place)
        pixels[square] = colour if place % 2 == 0 else pixels[square] + 0.02 * (colour - 110)
        return pixels.clip(0, 255).astype(np.uint8)

    def mask(self, label, image):
        if image in self.broken:
            raise InvalidMask(f"mask of {image} is broken")
        mask = np.zeros((48, 64), bool)
        mask[self._square(self._place[image])] = True
        return ClassMask(mask=mask)

    def _class(self, place):
        return list(dict.fromkeys(label for label, _ in self._items)).index(self._items[place][0])

    def _square(self, place):
        top, left = 4 + place % 5 * 4, 6 + place % 7 * 5
        return slice(top, top + 14), slice(left, left + 16)


@pytest.fixture
def squares():
    return Squares

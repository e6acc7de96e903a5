"""Propagation, compared with its rules, with a model that answers each prompt differently."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from segarena.dialogue import Prediction
from segarena.prompts import Box, Click
from segarena.segmenters.volumes.lifting.propagation import propagate

SIDE = 12


def model(plane, prompts, empty_share):
    """Return a pseudorandom mask that depends only on slice and prompts."""
    rng = np.random.default_rng(zlib.crc32(repr((plane, prompts)).encode()))
    if rng.random() < empty_share:
        return np.zeros((SIDE, SIDE), dtype=bool)
    return ndimage.gaussian_filter(rng.random((SIDE, SIDE)), 1.0) > 0.53


def run(seeds, first, last, protocol, empty_share):
    """Run the propagation; every slice is predicted once."""
    conversation = propagate(seeds, first, last, protocol)
    answers, seen = None, []
    while True:
        try:
            asked = conversation.send(answers)
        except StopIteration as end:
            given_, said = end.value
            return {plane: answer.mask for plane, answer in given_.items()}, said
        seen += asked
        assert len(seen) == len(set(seen))
        answers = {
            plane: Prediction(model(plane, dialogue.rounds[0], empty_share))
            for plane, dialogue in asked.items()
        }


def tight(mask):
    rows, columns = np.nonzero(mask)
    return Box((int(rows.min()), int(columns.min())), (int(rows.max()) + 1, int(columns.max()) + 1))


def centre(mask, by):
    labels, count = ndimage.label(mask, np.ones((3, 3)))
    parts = [np.argwhere(labels == number) for number in range(1, count + 1)]
    pixels = max(parts, key=lambda part: (len(part), part[0].tolist()))
    middle = (pixels.min(axis=0) + pixels.max(axis=0)) / 2 if by == "box" else pixels.mean(axis=0)
    return tuple(int(i) for i in pixels[((pixels - np.rint(middle)) ** 2).sum(axis=1).argmin()])


def published_boxes(seed, plane, first, last, empty_share):
    said = {plane: seed}
    for step, end in ((1, last), (-1, first)):
        here = plane + step if plane != end else plane
        said[here] = seed
        while here != end:
            mask = model(here, said[here], empty_share)
            if not mask.any():
                break
            here += step
            said[here] = (tight(mask),)
    return said


def published_points(seed, plane, first, last, empty_share):
    lists = {1: [(plane, click) for click in seed], -1: [(plane, click) for click in seed]}
    for step, end in ((1, last), (-1, first)):
        here, prompts = plane, seed
        while here != end:
            mask = model(here, prompts, empty_share)
            if not mask.any():
                break
            here, prompts = here + step, (Click(centre(mask, "box")),)
            lists[step].append((here, prompts[0]))
    points = lists[1] + lists[-1][5:]
    return {where: tuple(click for there, click in points if there == where) for where, _ in points}


def corrected(seed, plane, first, last, empty_share):
    said = {plane: seed}
    for step, end in ((1, last), (-1, first)):
        here = plane
        while here != end:
            mask = model(here, said[here], empty_share)
            if not mask.any():
                break
            here += step
            said[here] = (tight(mask) if isinstance(seed[0], Box) else Click(centre(mask, "mass")),)
    return said


@given(
    st.tuples(*[st.integers(0, 8)] * 3).map(sorted),
    st.one_of(st.just("box"), st.integers(1, 5)),
    st.sampled_from(["careful", "published"]),
    st.sampled_from([0.0, 0.15]),
    st.integers(0, 99),
)
def test_each_slice_is_asked_what_the_rules_say(planes, kind, protocol, empty_share, number):
    first, plane, last = planes
    rng = np.random.default_rng(number)
    if kind == "box":
        row, column = rng.integers(0, 6, 2).tolist()
        seed = (Box((row, column), (row + 4, column + 5)),)
    else:
        pixels = rng.choice(SIDE * SIDE, kind, replace=False).tolist()
        seed = tuple(Click(divmod(pixel, SIDE)) for pixel in pixels)
    rules = (
        corrected
        if protocol == "careful"
        else published_boxes
        if kind == "box"
        else published_points
    )
    expected = rules(seed, plane, first, last, empty_share)
    answers, said = run({plane: seed}, first, last, protocol, empty_share)
    assert said == expected
    assert answers.keys() == expected.keys()
    for where, prompts in expected.items():
        assert np.array_equal(answers[where], model(where, prompts, empty_share))


@pytest.mark.parametrize("protocol", ["careful", "published"])
def test_of_slices_between_two_seeds_the_lower_one_has_the_middle(protocol):
    seeds = {2: tuple(Click((1, n)) for n in range(5)), 5: tuple(Click((9, n)) for n in range(5))}
    alone = {
        plane: run({plane: prompts}, 0, 8, protocol, 0.0)[1] for plane, prompts in seeds.items()
    }
    _, said = run(seeds, 0, 8, protocol, 0.0)
    assert said == {plane: alone[2 if plane <= 3 else 5][plane] for plane in range(9)}

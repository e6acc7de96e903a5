from __future__ import annotations

import os
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.users.stroke_model.model import (
    SHIPPED_BACKGROUND_MODEL,
    SHIPPED_MODEL,
    read_stroke_model,
)


def test_the_shipped_hand_comes_back_from_its_own_bytes(tmp_path):
    hand = read_stroke_model()
    file = tmp_path / "hand.npz"
    file.write_bytes(hand.packed())
    again = read_stroke_model(file)
    assert again.people == hand.people
    assert again.packed() == hand.packed()


def test_a_file_that_was_fitted_anew_is_read_again(tmp_path):
    file = tmp_path / "hand.npz"
    file.write_bytes(read_stroke_model().packed())
    assert read_stroke_model(file) is read_stroke_model(file)
    file.write_bytes(replace(read_stroke_model(), cohesion=3.0).packed())
    os.utime(file, ns=(1, 1))  # a clock may be too coarse to see that it was written twice
    assert read_stroke_model(file).cohesion == 3.0


def test_the_shipped_file_is_small_and_says_what_everybody_in_it_is_from():
    assert SHIPPED_MODEL.stat().st_size < 300_000
    sources = tomllib.loads(SHIPPED_MODEL.with_suffix(".toml").read_text(encoding="utf-8"))[
        "source"
    ]
    assert (
        tuple(sorted(name for source in sources for name in source["people"]))
        == read_stroke_model().people
    )
    assert all(source["terms"] for source in sources)


def test_the_same_people_draw_on_the_background():
    assert SHIPPED_BACKGROUND_MODEL.stat().st_size < 300_000
    assert read_stroke_model(SHIPPED_BACKGROUND_MODEL).people == read_stroke_model().people


def test_plans_are_whole_lines_within_what_was_seen():
    hand = read_stroke_model()
    habits = np.repeat(hand.habits_of("acdc-expert")[None], 500, axis=0)
    plans = hand.planning.sample(np.full(6, 99.0, np.float32), habits, np.random.default_rng(0))
    pieces = np.exp(plans[:, 1])
    assert np.allclose(pieces, np.rint(pieces), atol=1e-4)
    assert plans[:, 0].max() <= hand.planning.high[0, 0] + 1e-4


def test_a_number_in_place_of_the_people_is_refused(tmp_path):
    file = tmp_path / "model.npz"
    with np.load(SHIPPED_MODEL) as arrays:
        damaged = {**arrays, "people": np.array(1.5)}
    np.savez(file, **damaged)
    with pytest.raises(InvalidInput, match="segarena people fit scribbler"):
        read_stroke_model(file)


@pytest.mark.parametrize("content", [b"", b"no archive", None])
def test_files_that_are_no_hand(tmp_path, content):
    file = tmp_path / "hand.npz"
    if content is None:
        np.savez(file, people=np.array(["a"]))
    else:
        file.write_bytes(content)
    with pytest.raises(InvalidInput, match="segarena people fit scribbler"):
        read_stroke_model(file)

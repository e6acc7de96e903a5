from __future__ import annotations

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.systems.clicks.crowd.instances import Instance
from segarena.systems.clicks.crowd.practice import NO_CLICKS, crop_around, practice_instances


def photograph(seed):
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (8, 10, 3), dtype=np.uint8)
    return np.kron(coarse, np.ones((12, 12, 1), dtype=np.uint8))


def test_practice_is_determined_and_has_all_rounds_and_valid_clicks():
    photographs = {"a": photograph(0), "b": photograph(1)}
    made = practice_instances(photographs, 12, clicks=12)
    again = practice_instances(photographs, 12, clicks=12)
    assert len(made) >= 8
    assert [i.full_stem for i in made] == [i.full_stem for i in again]
    assert all(np.array_equal(a.positions, b.positions) for a, b in zip(made, again, strict=True))
    assert {i.click_type for i in made} == {"first", "fn", "fp"}
    for one in made:
        assert len(one.positions) >= 5
        assert (one.positions < one.target.shape).all()
        assert one.error.any()
    with pytest.raises(InvalidInput, match="at least one photograph"):
        practice_instances({}, 3)


def test_a_crop_holds_the_target_and_the_asked_for_margin():
    target = np.zeros((200, 300), dtype=bool)
    target[80:120, 100:160] = True
    whole = Instance(full_stem="a", image=np.zeros((200, 300, 3), np.uint8), target=target, positions=NO_CLICKS)
    crop = crop_around(whole, share=0.5, place=(0.5, 0.0))
    assert crop.target.shape == (80, 120)
    assert crop.image.shape == (80, 120, 3)
    assert crop.target[20:60, :60].all()
    assert crop.target.sum() == target.sum()
    assert crop_around(whole, share=1.0).target.all()
    assert crop_around(whole, share=0.05).target.sum() == target.sum()

from __future__ import annotations

import pytest

from segarena.users.habits.box_habits import BoxHabits
from segarena.users.habits.habit_files import SHIPPED_HABITS, read_habits
from segarena_people.fitting.published_boxes import published_boxes


@pytest.mark.long
@pytest.mark.parametrize("drawn", ["drag", "extreme"])
def test_the_habits_that_are_shipped_are_those_fitted_to_what_is_published(drawn):
    shipped = read_habits(SHIPPED_HABITS / f"boxes-{drawn}.toml", BoxHabits)
    fitted = published_boxes(drawn)
    assert (shipped.levels, shipped.correlation, shipped.tail) == (
        fitted.levels,
        fitted.correlation,
        fitted.tail,
    )
    for one, other in zip(shipped.sizes, fitted.sizes, strict=True):
        assert one.side_px == other.side_px
        assert one.quantiles[0] == pytest.approx(other.quantiles[0], rel=1e-2, abs=1e-4)

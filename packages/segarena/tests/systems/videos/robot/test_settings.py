from __future__ import annotations

import pytest

from segarena.errors import InvalidInput
from segarena.systems.videos.robot.settings import PRESETS, RobotSettings, robot_preset


def test_presets_are_the_three_published_sets():
    numbers = {
        name: (found.kernel_size, found.max_radius_px, found.min_nodes, found.max_points)
        for name, found in PRESETS.items()
    }
    assert numbers == {
        "default": (0.15, 16, 4, 1000),
        "local-1.0.4": (0.20, 16, 4, 1000),
        "server-2020": (0.10, 16, 2, 1000),
    }


def test_ties_are_as_published_where_the_mode_is_and_nothing_else_is_asked_for():
    assert robot_preset("default").ties == "raster"
    assert robot_preset("default", mode="published").ties == "permutation"
    assert robot_preset("default", mode="published", ties="raster").ties == "raster"
    assert robot_preset("server-2020", ties="permutation") == RobotSettings(
        kernel_size=0.1, min_nodes=2, mode="checked", ties="permutation"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel_size": 1.0}, "kernel_size: expected at least 0 and below 1, got 1.0"),
        ({"kernel_size": float("nan")}, "kernel_size: expected at least 0 and below 1, got nan"),
        ({"max_radius_px": -1}, "max_radius_px: expected at least 0 and below 1000, got -1"),
        ({"min_nodes": 0}, "min_nodes: expected 1 or more, got 0"),
        ({"max_points": 1}, "max_points: expected 2 or more, got 1"),
    ],
)
def test_settings_out_of_range_are_refused(options, message):
    with pytest.raises(InvalidInput) as error:
        RobotSettings(**options)
    assert str(error.value) == message

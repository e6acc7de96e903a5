"""Parameters of the robot. Three sets were published; results of different sets are not comparable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from segarena.errors import InvalidInput

RobotMode: TypeAlias = Literal["checked", "published"]
TieBreak: TypeAlias = Literal["raster", "permutation"]
RobotPreset: TypeAlias = Literal["default", "local-1.0.4", "server-2020"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotSettings:
    """Parameters of the robot.

    Attributes:
        kernel_size: diameter of the disk that opens an error, as a share of the square root of the
            error's area.
        max_radius_px: largest radius of that disk.
        min_nodes: skeletons with fewer pixels yield no line.
        max_points: maximum number of points in a line; published lines have exactly this many
            unless their path is longer.
        mode: "checked": lines stay on the true label, thin errors also get lines, and the points of
            a line are about half a pixel apart, unless `max_points` allows fewer. "published": as
            in the published code.
        ties: order in which thinning visits equally deep pixels: "raster" uses raster order,
            "permutation" the random order of scikit-image up to 0.18, with NumPy's
            `RandomState(0)`.
    """

    kernel_size: float = 0.15
    max_radius_px: float = 16.0
    min_nodes: int = 4
    max_points: int = 1000
    mode: RobotMode = "checked"
    ties: TieBreak = "raster"

    def __post_init__(self) -> None:
        """Raise InvalidInput unless every number is in its range."""
        _check("kernel_size", self.kernel_size, 0 <= self.kernel_size < 1, "at least 0 and below 1")
        _check(
            "max_radius_px",
            self.max_radius_px,
            0 <= self.max_radius_px < 1000,
            "at least 0 and below 1000",
        )
        _check("min_nodes", self.min_nodes, self.min_nodes >= 1, "1 or more")
        _check("max_points", self.max_points, self.max_points >= 2, "2 or more")


def _check(
    name: str,
    value: object,
    is_fine: bool,
    wanted: str,
) -> None:
    if not is_fine:
        raise InvalidInput(f"{name}: expected {wanted}, got {value!r}")


# The class, the local service and the challenge server of `davisinteractive` each set their own
# values, so local and leaderboard results are not comparable.
PRESETS: Mapping[RobotPreset, RobotSettings] = MappingProxyType(
    {
        "default": RobotSettings(),
        "local-1.0.4": RobotSettings(kernel_size=0.20),
        "server-2020": RobotSettings(kernel_size=0.10, min_nodes=2),
    }
)
"""The published parameter sets: the robot's defaults, those of a local session, and the challenge server's."""


def robot_preset(
    name: RobotPreset,
    *,
    mode: RobotMode = "checked",
    ties: TieBreak | None = None,
    **numbers: float | None,
) -> RobotSettings:
    """Return a published set of parameters, with some values overridden.

    Args:
        name: "default", "local-1.0.4" or "server-2020".
        mode: see `RobotSettings`.
        ties: see `RobotSettings`; None means "raster" in mode "checked" and "permutation" in mode
            "published".
        numbers: overriding values by attribute name of `RobotSettings`; None keeps the published
            value.

    Raises:
        InvalidInput: a number is out of its range.
    """
    replaced: dict[str, Any] = {key: value for key, value in numbers.items() if value is not None}
    # Published lines need the tie rule of scikit-image up to 0.18.
    if ties is None:
        ties = "permutation" if mode == "published" else "raster"
    return replace(PRESETS[name], mode=mode, ties=ties, **replaced)

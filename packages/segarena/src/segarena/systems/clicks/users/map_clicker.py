"""Users that sample their clicks from a map: uniform, by depth, or by a click model.

Source: the sampled clicks and the clicking groups of RClicks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from segarena.errors import InvalidInput
from segarena.prompts import Click
from segarena.registry import user
from segarena.roles import Turn
from segarena.systems.clicks.models.click_models import shared_map
from segarena.systems.clicks.sampling.error_weights import (
    ClickMap,
    DepthMap,
    FrameBorder,
    SharedMap,
    uniform_map,
)
from segarena.systems.clicks.sampling.weighted_draws import SamplingWeights
from segarena.users.centre import CentreClicker, SolvedBehaviour

Groups = Literal["exact", "published"]


class MapClicker:
    """User that samples clicks from a map of the error, or from a likelihood range of the map.

    The kind of error to click, missing or surplus, is chosen as by `CentreClicker`. The click is
    then sampled from the map over that error without the pixels clicked before, in proportion to
    the map. When the map is zero there, the click is that of `CentreClicker`.

    Bounds make clicking groups: with pixels sorted from the least to the most likely, only pixels
    between the shares `low` and `high` of the total can be drawn. So 0.0 to 0.1 is where the
    unlikeliest tenth of all clicks falls, 0.9 to 1.0 the likeliest.

    Args:
        click_map: the map, or one that several users share.
        low: lower bound, 0 to 1.
        high: upper bound, above `low`, at most 1.
        groups: "exact" cuts at the bounds themselves: a pixel across a bound is in both groups
            with its part of the mass, and equally likely pixels count in row-major order.
            "published" keeps every pixel whose value is between those of the pixels at the bounds,
            which are wholly in both groups with all their equals.
        when_solved: "stop" ends the dialogue when no error pixel is left to click; "published"
            goes on with negative clicks in the first pixel of the frame.

    Raises:
        InvalidInput: bounds out of range.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(
        self,
        click_map: ClickMap | SharedMap,
        *,
        low: float = 0.0,
        high: float = 1.0,
        groups: Groups = "exact",
        when_solved: SolvedBehaviour = "stop",
    ) -> None:
        if not 0.0 <= low < high <= 1.0:
            raise InvalidInput(f"expected 0 <= low < high <= 1, got low={low}, high={high}")
        self.shared = click_map if isinstance(click_map, SharedMap) else SharedMap(click_map)
        self._low = low
        self._high = high
        self._draw = SamplingWeights.draw if groups == "exact" else SamplingWeights.draw_published
        self._centre = CentreClicker(when_solved=when_solved)

    def next(self, turn: Turn) -> Sequence[Click] | None:
        """Return one click, or None if nothing is left to correct."""
        centre_click = self._centre.click(turn)
        if centre_click is None:
            return None
        error = self.shared.of(turn, centre_click.is_positive)
        clicked = [click.position for click in turn.dialogue.clicks]
        weights = error.without(clicked)
        if not weights.total > 0:
            return (centre_click,)
        index = self._draw(weights, self._low, self._high, turn.rng.random())
        return (Click(error.position(index), is_positive=centre_click.is_positive),)


@user("uniform")
def uniform_clicker(
    *,
    low: float = 0.0,
    high: float = 1.0,
    groups: Groups = "exact",
    when_solved: SolvedBehaviour = "stop",
) -> MapClicker:
    """Click any pixel of the error with equal likelihood; options are those of `MapClicker`."""
    return MapClicker(uniform_map, low=low, high=high, groups=groups, when_solved=when_solved)


@user("depth")
def depth_clicker(
    *,
    border: FrameBorder = "background",
    low: float = 0.0,
    high: float = 1.0,
    groups: Groups = "exact",
    when_solved: SolvedBehaviour = "stop",
) -> MapClicker:
    """Click deep in the error, with probability proportional to depth.

    Args:
        border: treatment of the frame. "background": the frame is an edge. "published", as in the
            published distance map: pixels along the frame are not near an edge, and an error that
            fills the frame is uniform.
        low: lower bound of the share of all clicks, 0 to 1.
        high: upper bound, above `low`, at most 1.
        groups: "exact" cuts at the bounds themselves; "published" keeps whole pixels on both sides
            of a bound.
        when_solved: "stop" ends the dialogue when no error pixel is left; "published" goes on in
            the first pixel.
    """
    return MapClicker(
        DepthMap(border=border), low=low, high=high, groups=groups, when_solved=when_solved
    )


@user("group")
def group_clicker(
    *,
    click_model: str = "depth",
    low: float = 0.0,
    high: float = 1.0,
    groups: Groups = "exact",
    when_solved: SolvedBehaviour = "stop",
) -> MapClicker:
    """Click where a click model expects people to click, within bounds of likelihood.

    All groups with the same click model share it, and its map of the first round.

    Args:
        click_model: as written, `depth` or `network(path='weights.pt')`; see
            `segarena list click-models`.
        low: lower bound of the share of all clicks, 0 to 1.
        high: upper bound, above `low`, at most 1.
        groups: "exact" cuts at the bounds themselves; "published" keeps whole pixels on both sides
            of a bound.
        when_solved: "stop" ends the dialogue when no error pixel is left; "published" goes on in
            the first pixel.
    """
    return MapClicker(
        shared_map(click_model), low=low, high=high, groups=groups, when_solved=when_solved
    )

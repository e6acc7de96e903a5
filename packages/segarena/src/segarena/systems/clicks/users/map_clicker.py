"""Users that sample their clicks from a map: uniform, by depth, or from a click model.

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
    """User that samples clicks from a map of the error, or from a range of the map's likelihoods.

    The kind of error to click, missing or surplus, is chosen in the same way as by `CentreClicker`.
    The click is then sampled in proportion to the map, among the pixels of that error that were not
    clicked before. If the map is zero there, the user clicks as `CentreClicker` does.

    The bounds define clicking groups: pixels are sorted from least to most likely, and only pixels
    between the shares `low` and `high` of the total mass can be sampled. So the group 0.0 to 0.1
    contains the least likely tenth of all clicks, and 0.9 to 1.0 the most likely tenth.

    Args:
        click_map: the click map, possibly shared by several users.
        low: lower bound, 0 to 1.
        high: upper bound, above `low`, at most 1.
        groups: "exact" cuts exactly at the bounds: a pixel that straddles a bound belongs to both
            groups with the corresponding parts of its mass, and equally likely pixels are ordered
            row by row. "published" keeps every pixel whose value lies between the values of the
            pixels at the bounds; those pixels, and all with equal values, belong to both groups
            entirely.
        when_solved: "stop" ends the dialogue when no error pixel is left to click; "published"
            continues with negative clicks on the first pixel of the image.

    Raises:
        InvalidInput: the bounds are out of range.
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
        """Return one click, or None if no error is left to correct."""
        centre_click = self._centre.click(turn)
        if centre_click is None:
            return None
        error = self.shared.of(turn, centre_click.is_positive)
        clicked = [click.position for click in turn.dialogue.clicks]
        weights = error.without(clicked)
        # As in the published code, a map without mass falls back to the centre click. The negated
        # comparison also covers NaN.
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
    """Click each pixel of the error with equal probability; the options are those of `MapClicker`."""
    return MapClicker(
        uniform_map,
        low=low,
        high=high,
        groups=groups,
        when_solved=when_solved,
    )


@user("depth")
def depth_clicker(
    *,
    border: FrameBorder = "background",
    low: float = 0.0,
    high: float = 1.0,
    groups: Groups = "exact",
    when_solved: SolvedBehaviour = "stop",
) -> MapClicker:
    """Click inside the error, with probability proportional to the distance from its edge.

    Args:
        border: whether the image border counts as an edge. "background": it does. "published": it
            does not, as in the published distance map, and an error that fills the whole image
            gives a uniform map.
        low: lower bound of the likelihood range, as a share of all clicks, 0 to 1.
        high: upper bound, above `low`, at most 1.
        groups: "exact" cuts exactly at the bounds; "published" assigns a pixel that straddles a
            bound to both groups entirely.
        when_solved: "stop" ends the dialogue when no error pixel is left; "published" continues
            clicking on the first pixel of the image.
    """
    return MapClicker(
        DepthMap(border=border),
        low=low,
        high=high,
        groups=groups,
        when_solved=when_solved,
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
    """Click where a click model expects people to click, within a range of likelihoods.

    All groups with the same click model share the model, and its map in the first round.

    Args:
        click_model: the click model, such as `depth` or `network(path='weights.pt')`; see `segarena
            list click-models`.
        low: lower bound of the likelihood range, as a share of all clicks, 0 to 1.
        high: upper bound, above `low`, at most 1.
        groups: "exact" cuts exactly at the bounds; "published" assigns a pixel that straddles a
            bound to both groups entirely.
        when_solved: "stop" ends the dialogue when no error pixel is left; "published" continues
            clicking on the first pixel of the image.
    """
    return MapClicker(
        shared_map(click_model),
        low=low,
        high=high,
        groups=groups,
        when_solved=when_solved,
    )

"""Clicking groups: users who click where people click, from the least likely places to the most likely.

Source: RClicks, section 3.4.
"""

from __future__ import annotations

from segarena.registry import user
from segarena.systems.clicks.models.by_name import shared_map
from segarena.systems.clicks.users.click_maps import Groups, MapClicker
from segarena.users.centre import WhenSolved


@user("group")
def group_clicker(
    *,
    click_model: str = "depth",
    low: float = 0.0,
    high: float = 1.0,
    groups: Groups = "exact",
    when_solved: WhenSolved = "stop",
) -> MapClicker:
    """Clicks where a click model expects people to click, within bounds of likelihood.

    All groups of one click model share it, and its map of the first round.

    Args:
        click_model: as written, `depth` or `network(path='weights.pt')`; see `segarena list click-models`.
        low: lower bound of the share of all clicks, 0 to 1.
        high: upper bound, above `low`, at most 1.
        groups: "exact" cuts at the bounds themselves; "published" keeps whole pixels on both sides of a bound.
        when_solved: "stop" ends the dialogue when no error pixel is left; "published" goes on in the first pixel.
    """
    return MapClicker(shared_map(click_model), low=low, high=high, groups=groups, when_solved=when_solved)

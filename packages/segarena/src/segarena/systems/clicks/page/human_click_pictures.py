"""Where people clicked first, beside models of that: both as heat over the photograph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from segarena.arrays.boxes import bounding_window
from segarena.reports.overlays import View, jpeg_uri, outline, view_of
from segarena.reports.page_parts import Card, Gallery
from segarena.reports.viewer import Pane, Plate, Stack, viewer_html
from segarena.reports.wording import count_text
from segarena.systems.clicks.crowd.instances import Instance
from segarena.systems.clicks.models.click_maps import ImageClickMap
from segarena.systems.clicks.page.heat_maps import click_density, heat_image, heat_legend
from segarena.systems.clicks.page.robustness_pictures import click_dot_svg, click_pane

MAX_PICTURES = 6
"""Targets, those with the most clicks."""

_LEAD = (
    '<p class="lead">Where people clicked first, with the density that their clicks have, and for each model of where '
    "people click its map, with the same clicks on it. NSS says how far above its mean the map is where they clicked, "
    "in standard deviations.</p>"
    f'<p class="keys">{heat_legend("few clicks, or unlikely", "many, or likely")}</p>'
)


class MostClickedTargets:
    """Keeps the few targets with the most clicks of all that go by."""

    def __init__(self) -> None:
        self.kept: list[Instance] = []
        self.count = 0

    def see(self, instance: Instance) -> Instance:
        """Take note of one, and return it."""
        self.count += 1
        ranked = sorted(
            [*self.kept, instance], key=lambda one: -len(one.positions)
        )  # the first ones, of as many
        self.kept = ranked[:MAX_PICTURES]
        return instance


def human_click_gallery(
    seen: MostClickedTargets,
    models: Mapping[str, ImageClickMap],
    nss: Mapping[tuple[str, str], float],
    anchor: str,
) -> Gallery:
    """Return cards of the targets with the most clicks.

    Args:
        seen: all targets went by there.
        models: by name; "uniform" has nothing to show.
        nss: by name of a model and full stem of a target; a model without one could not be judged there.
        anchor: that those of the cards begin with.
    """
    cards = [_card(one, models, nss, f"{anchor}-{place}") for place, one in enumerate(seen.kept, 1)]
    told = f"{len(cards)} of {count_text(seen.count, 'target')} are shown"
    return Gallery(lead=_LEAD, cards=cards, told=told)


def _card(
    one: Instance,
    models: Mapping[str, ImageClickMap],
    nss: Mapping[tuple[str, str], float],
    anchor: str,
) -> Card:
    shape = (one.target.shape[0], one.target.shape[1])
    places = [(float(row), float(column)) for row, column in one.positions]
    view = view_of(shape, [bounding_window(one.target)], places)
    dots = "".join(click_dot_svg(view, place, "person") for place in places)
    people = click_pane(
        "people",
        len(places),
        dots,
        heat_image(click_density(places, shape, view), view, is_fading=True),
    )
    maps = [
        _map_pane(name, one, model, nss[name, one.full_stem], view, dots)
        for name, model in models.items()
        if name != "uniform" and (name, one.full_stem) in nss
    ]
    plate = Plate(picture=jpeg_uri(one.image, view), targets=[outline(one.target, view)])
    return Card(
        anchor=anchor,
        name=one.object_stem,
        where=f"{one.dataset} / {one.image_stem} / {one.object_stem}",
        user="",
        viewers=[
            viewer_html(anchor, [Stack(view=view, plates=[plate], panes=[people, *maps])], "click")
        ],
    )


def _map_pane(
    name: str, one: Instance, model: ImageClickMap, nss: float, view: View, dots: str
) -> Pane:
    values = np.asarray(model(one.image, one.target, one.error), dtype=np.float64)
    heat = heat_image(values / max(values.max(), 1e-300), view, is_fading=True)
    return click_pane(name, len(one.positions), dots, heat, told=f"NSS {nss:.2f}")

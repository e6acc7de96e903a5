"""Pictures of people's first clicks beside click models, as heat on the photograph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from segarena.arrays.boxes import bounding_window
from segarena.reports.overlays import View, jpeg_uri, outline, view_of
from segarena.reports.page_parts import Card, Gallery
from segarena.reports.viewer import Pane, Plate, Stack, viewer_html
from segarena.reports.wording import count_text
from segarena.systems.clicks.click_maps import ImageClickMap
from segarena.systems.clicks.crowd.instances import Instance
from segarena.systems.clicks.page.heat_maps import click_density, heat_image, heat_legend
from segarena.systems.clicks.page.robustness_pictures import click_dot_svg, click_pane

MAX_PICTURES = 6
"""Number of pictured targets, those with the most clicks."""

_LEAD = (
    '<p class="lead">The density of people’s first clicks, and each click model’s map with the '
    "same clicks on it. NSS is the height of the map at their clicks above its mean, in standard "
    "deviations.</p>"
    f'<p class="keys">{heat_legend("few clicks, or unlikely", "many, or likely")}</p>'
)


class MostClickedTargets:
    """Collector of the few targets with the most clicks."""

    def __init__(self) -> None:
        self.kept: list[Instance] = []
        self.count = 0

    def add(self, instance: Instance) -> Instance:
        """Keep the instance if it is among those with the most clicks; return it."""
        self.count += 1
        # The sort is stable: among equally many clicks, earlier instances stay.
        ranked = sorted([*self.kept, instance], key=lambda one: -len(one.positions))
        self.kept = ranked[:MAX_PICTURES]
        return instance


def human_click_gallery(
    most_clicked: MostClickedTargets,
    models: Mapping[str, ImageClickMap],
    nss: Mapping[tuple[str, str], float],
    anchor: str,
) -> Gallery:
    """Return cards of the targets with the most clicks.

    Args:
        most_clicked: the targets.
        models: by name; "uniform" is not pictured.
        nss: by name of a model and full stem of a target; a missing entry means that the model
            could not be evaluated there.
        anchor: prefix of the cards' anchors.
    """
    cards: list[Card] = []
    for number, instance in enumerate(most_clicked.kept, 1):
        cards.append(_card(instance, models, nss, f"{anchor}-{number}"))
    count_note = f"{len(cards)} of {count_text(most_clicked.count, 'target')} are shown"
    return Gallery(lead=_LEAD, cards=cards, count_note=count_note)


def _card(
    instance: Instance,
    models: Mapping[str, ImageClickMap],
    nss: Mapping[tuple[str, str], float],
    anchor: str,
) -> Card:
    shape = (instance.target.shape[0], instance.target.shape[1])
    positions = [(float(row), float(column)) for row, column in instance.positions]
    view = view_of(shape, [bounding_window(instance.target)], positions)
    dots = "".join([click_dot_svg(view, position, "person") for position in positions])
    heat = heat_image(click_density(positions, shape, view), view, is_fading=True)
    panes = [click_pane("people", len(positions), dots, heat)]
    for name, model in models.items():
        value = nss.get((name, instance.full_stem))
        if name != "uniform" and value is not None:
            panes.append(_map_pane(name, instance, model, value, view, dots))
    plate = Plate(picture=jpeg_uri(instance.image, view), targets=[outline(instance.target, view)])
    stack = Stack(view=view, plates=[plate], panes=panes)
    return Card(
        anchor=anchor,
        name=instance.object_stem,
        where=f"{instance.dataset} / {instance.image_stem} / {instance.object_stem}",
        user="",
        viewers=[viewer_html(anchor, [stack], "click")],
    )


def _map_pane(
    name: str, instance: Instance, model: ImageClickMap, nss: float, view: View, dots: str
) -> Pane:
    click_map = model(instance.image, instance.target, instance.error)
    values = np.asarray(click_map, dtype=np.float64)
    # The tiny divisor keeps an all-zero map at zero.
    heat = heat_image(values / max(values.max(), 1e-300), view, is_fading=True)
    return click_pane(name, len(instance.positions), dots, heat, caption=f"NSS {nss:.2f}")

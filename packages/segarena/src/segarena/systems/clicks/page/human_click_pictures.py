"""Pictures of people's first clicks and of click models, as heat maps on the photograph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from segarena.arrays.boxes import bounding_window
from segarena.reports.overlays import View, view_of
from segarena.reports.page_parts import Card, Gallery
from segarena.reports.pictures import image_content, image_layers
from segarena.reports.viewer_content import DialogueContent, viewer_html
from segarena.reports.wording import count_text
from segarena.samples import Target
from segarena.systems.clicks.click_maps import ImageClickMap
from segarena.systems.clicks.crowd.instances import Instance
from segarena.systems.clicks.page.heat_maps import click_density, heat_image, heat_legend
from segarena.systems.clicks.page.robustness_pictures import click_pane, dot_prompt

MAX_PICTURES = 6
"""Number of targets shown in pictures: those with the most clicks."""

_LEAD = (
    '<p class="lead">The density of people’s first clicks, and each click model’s map with the '
    "same clicks on it. NSS is the height of the map at these clicks above its mean, in standard "
    "deviations.</p>"
    f'<p class="keys">{heat_legend("few clicks, or unlikely", "many, or likely")}</p>'
)


class MostClickedTargets:
    """Collector of the few targets with the most clicks."""

    def __init__(self) -> None:
        self.kept: list[Instance] = []
        self.count = 0

    def add(self, instance: Instance) -> Instance:
        """Keep the instance if it is among those with the most clicks; return it unchanged."""
        self.count += 1
        # The sort is stable: among instances with equally many clicks, earlier ones stay.
        ranked = sorted([*self.kept, instance], key=lambda one: -len(one.positions))
        self.kept = ranked[:MAX_PICTURES]
        return instance


def human_click_gallery(
    most_clicked: MostClickedTargets,
    models: Mapping[str, ImageClickMap],
    nss: Mapping[tuple[str, str], float],
    anchor: str,
) -> Gallery:
    """Return a gallery with a card for each of the targets with the most clicks.

    Args:
        most_clicked: the targets.
        models: the click models by name; "uniform" gets no picture.
        nss: NSS by model name and full stem; an entry is missing if the model could not be
            evaluated on that target.
        anchor: prefix of the cards' HTML anchors.
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
    dots = [dot_prompt(position) for position in positions]
    heat = heat_image(click_density(positions, shape, view), view, is_fading=True)
    panes = [click_pane("people", dots, heat)]
    for name, model in models.items():
        value = nss.get((name, instance.full_stem))
        if name != "uniform" and value is not None:
            panes.append(_map_pane(name, instance, model, value, view, dots))
    target = Target(id=instance.object_stem, mask=instance.target)
    numbered = [msgspec.structs.replace(pane, number=number) for number, pane in enumerate(panes)]
    content = image_content(
        instance.image, target, view, image_layers(view, target), numbered, word="click"
    )
    return Card(
        anchor=anchor,
        name=instance.object_stem,
        where=f"{instance.dataset} / {instance.image_stem} / {instance.object_stem}",
        user="",
        viewers=[viewer_html(content)],
    )


def _map_pane(
    name: str,
    instance: Instance,
    model: ImageClickMap,
    nss: float,
    view: View,
    dots: Sequence[Mapping[str, Any]],
) -> DialogueContent:
    click_map = model(instance.image, instance.target, instance.error)
    values = np.asarray(click_map, dtype=np.float64)
    # The tiny lower limit of the divisor keeps an all-zero map at zero.
    heat = heat_image(values / max(values.max(), 1e-300), view, is_fading=True)
    return click_pane(name, dots, heat, caption=f"NSS {nss:.2f}")

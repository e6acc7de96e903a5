"""Pictures of the rclicks report: first clicks on photographs, and the resulting mean masks.

Source: RClicks, Figures 4, 6, 10 (clicks) and 15, 16 (mean masks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window
from segarena.reports.chart_series import labelled_colours
from segarena.reports.charts import colour_class
from segarena.reports.dialogue_gallery import BUDGET_BYTES, open_run_dataset
from segarena.reports.overlays import View, outline, view_of
from segarena.reports.page_parts import Card, Gallery
from segarena.reports.pictures import image_content, image_layers
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import TargetKey
from segarena.reports.viewer_content import DialogueContent, viewer_html
from segarena.reports.wording import count_text
from segarena.roles import Dataset
from segarena.samples import ImageSample, Target
from segarena.systems.clicks.page.heat_maps import click_density, heat_image
from segarena.systems.clicks.page.robustness_charts import NUMBERED_TARGETS, group_colour
from segarena.systems.clicks.page.robustness_run_values import (
    first_click_positions,
    first_click_values,
    mean_first_mask,
    user_roles,
)
from segarena.systems.clicks.page.robustness_statistics import DatasetHardness
from segarena.systems.clicks.page.robustness_wording import USER_KIND_LABELS

STEADY_TARGETS = 3
"""Number of instances of each dataset that are shown because their result depends least on the click."""

PixelPoint = tuple[float, float]


def robustness_pictures(
    runs: Sequence[Run],
    hardness: Sequence[DatasetHardness],
    lead: str,
) -> Gallery:
    """Return a gallery with cards for the hardest and the most stable instances of each dataset, and with notes."""
    cards: list[Card] = []
    notes: list[str] = []
    colours = dict(labelled_colours(runs))
    for number, one in enumerate(hardness, 1):
        dataset_runs = [runs[index] for index in one.runs]
        dataset, problem = open_run_dataset(dataset_runs[0])
        if problem:
            notes.append(problem)
        if dataset is None:
            continue
        hard = one.ranking[:NUMBERED_TARGETS]
        for rank, index in enumerate([*hard, *_steady_targets(one)], 1):
            if _size_bytes(cards) > BUDGET_BYTES / 2:
                notes.append("Some instances are not shown, to keep this file small.")
                break
            title = f"{rank}. hard" if rank <= len(hard) else "steady"
            anchor = f"where-{number}-{rank}"
            card, problem = _card(dataset_runs, one, index, dataset, colours, anchor, title)
            if card:
                cards.append(card)
            if problem:
                notes.append(problem)
    total = sum(len(one.keys) for one in hardness)
    count_note = f"{len(cards)} of {count_text(total, 'target')} are shown"
    return Gallery(
        lead=lead,
        cards=cards,
        count_note=count_note,
        notes=list(dict.fromkeys(notes)),
    )


def _steady_targets(one: DatasetHardness) -> list[int]:
    """Return the instances with a mean IoU of at least 0.5 whose result depends least on the click."""
    easiest_first = reversed(one.ranking[NUMBERED_TARGETS:])
    # A target that no segmenter finds has no deviation either, but that is not a sign of
    # robustness.
    solved = [index for index in easiest_first if one.means[index] >= 0.5]
    return solved[:STEADY_TARGETS]


def _size_bytes(cards: Sequence[Card]) -> int:
    viewers = chain.from_iterable(card.viewers for card in cards)
    return sum(len(viewer) for viewer in viewers)


def _card(
    runs: Sequence[Run],
    one: DatasetHardness,
    index: int,
    dataset: Dataset,
    colours: Mapping[str, int],
    anchor: str,
    title: str,
) -> tuple[Card | None, str]:
    key = one.keys[index]
    sample_id, target_id = key
    try:
        sample = dataset.load(sample_id)
        target = next(target for target in sample.targets if target.id == target_id)
    except Exception as error:
        # A dataset is third-party code. If it fails, the report still shows its numbers.
        return None, f"Sample {sample_id} cannot be shown: {' '.join(str(error).split())}."
    if not isinstance(sample, ImageSample):
        return None, "Only photographs are shown; volumes and videos are left out."
    view = _view(runs, key, sample, target)
    layers = image_layers(view, target)
    panes = _click_panes(sample, view, runs[0], key)
    before = len(panes)
    for run in runs:
        mean_mask = _mean_mask(sample, run, one.user_kind, key)
        if mean_mask is not None:
            colour = colours.get(run.label)
            css = "c0" if colour is None else colour_class(colour)
            panes.append(_mask_pane(run, mean_mask, view, one.user_kind, key, css))
            layers[f"{len(panes) - 1}.1"] = [{"1": outline(mean_mask >= 0.5, view)}]
    missing = ""
    if len(panes) - before < len(runs):
        missing = (
            "Mean masks are missing, because some predictions of the first round were not kept."
        )
    numbered = [msgspec.structs.replace(pane, number=number) for number, pane in enumerate(panes)]
    content = image_content(sample.image, target, view, layers, numbered, word="click")
    mean = one.means[index]
    numbers = f"NSR {one.nsr[index]:.3f}, IoU@1 {mean:.3f} ± {one.stds[index]:.3f}"
    card = Card(
        anchor=anchor,
        name=f"{title}: {target.label or target.id}",
        where=f"{one.dataset} / {sample_id} / {target_id}: {numbers}",
        user="",
        viewers=[viewer_html(content)],
    )
    return card, missing


def _view(
    runs: Sequence[Run],
    key: TargetKey,
    sample: ImageSample,
    target: Target,
) -> View:
    """Return a view that contains the target and all first clicks."""
    roles = user_roles(runs[0])
    users = [user for user in (roles.base, *roles.groups, roles.real, roles.sampled) if user]
    positions: list[PixelPoint] = []
    for user in users:
        positions += first_click_positions(runs[0], user, key)
    shape = (sample.shape[0], sample.shape[1])
    return view_of(shape, [bounding_window(target.mask > 0)], positions)


def _click_panes(
    sample: ImageSample,
    view: View,
    run: Run,
    key: TargetKey,
) -> list[DialogueContent]:
    """Return panes with the first clicks of real people, the click model, the base user and the groups."""
    roles = user_roles(run)
    panes: list[DialogueContent] = []
    for user_kind, user in (("real", roles.real), ("sampled", roles.sampled)):
        positions = first_click_positions(run, user, key) if user else []
        if positions:
            density = click_density(positions, sample.shape, view)
            heat = heat_image(density, view, is_fading=True)
            label = USER_KIND_LABELS[user_kind].partition(" from ")[0]
            panes.append(click_pane(label, [dot_prompt(one) for one in positions], heat))
    dots: list[dict[str, Any]] = []
    for number, group in enumerate(roles.groups):
        colour = f"--{group_colour(number, len(roles.groups))}"
        positions = first_click_positions(run, group, key)
        dots += [dot_prompt(position, colour) for position in positions]
    # All repeats of the base user click the same pixel, so one cross is enough.
    base_positions = first_click_positions(run, roles.base, key)[:1] if roles.base else []
    crosses = [{"kind": "cross", "position": position} for position in base_positions]
    if dots or crosses:
        caption = count_text(len(dots), "click")
        panes.append(click_pane("groups; base user: +", [*dots, *crosses], caption=caption))
    return panes


def click_pane(
    label: str,
    prompts: Sequence[Mapping[str, Any]],
    heat: str = "",
    *,
    caption: str = "",
) -> DialogueContent:
    """Return a pane that shows the photograph with clicks and, optionally, heat.

    Args:
        label: title of the pane.
        prompts: the clicks.
        heat: heat map drawn beneath the clicks, as a data URI; "" for none.
        caption: caption; by default the number of clicks.
    """
    return DialogueContent(
        label=label,
        captions=[caption or count_text(len(prompts), "click")],
        prompts=[prompts],
        heat=heat,
        is_run=False,
    )


def dot_prompt(position: PixelPoint, colour: str = "--person") -> dict[str, Any]:
    """Return a click that is drawn as a dot instead of a numbered mark; `colour` is a CSS variable."""
    return {"kind": "dot", "position": position, "colour": colour}


def _mean_mask(
    sample: ImageSample,
    run: Run,
    user_kind: str,
    key: TargetKey,
) -> NDArray[np.float64] | None:
    """Return the mean of a run's first predictions; None if those of a user were not stored, or their size differs."""
    mean_mask = mean_first_mask(run, _clicking_users(run, user_kind), key)
    if mean_mask is None or mean_mask.shape != sample.shape:
        return None
    return mean_mask


def _clicking_users(run: Run, user_kind: str) -> list[str]:
    roles = user_roles(run)
    return [roles.real] if user_kind == "real" and roles.real else [*roles.groups]


def _mask_pane(
    run: Run,
    mean_mask: NDArray[np.float64],
    view: View,
    user_kind: str,
    key: TargetKey,
    css: str,
) -> DialogueContent:
    """Return a pane with the mean mask of a run and its outline at one half."""
    ious = first_click_values(run, _clicking_users(run, user_kind))[key]
    return DialogueContent(
        label=run.label,
        css=css,
        captions=[f"IoU {ious.mean():.2f} ± {ious.std():.2f}"],
        stored=[1],
        heat=heat_image(mean_mask, view, is_fading=False),
        is_grey=True,
    )

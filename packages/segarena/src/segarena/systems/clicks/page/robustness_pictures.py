"""Pictures of the rclicks report: first clicks on photographs, and mean masks after them.

Source: RClicks, Figures 4, 6, 10 (clicks) and 15, 16 (mean masks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from segarena.arrays.boxes import bounding_window
from segarena.reports.axes import px
from segarena.reports.chart_series import labelled_colours
from segarena.reports.gallery import BUDGET_BYTES, open_run_dataset
from segarena.reports.overlays import View, jpeg_uri, outline, view_of
from segarena.reports.page_parts import Card, Gallery
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import TargetKey
from segarena.reports.viewer import Pane, Plate, RoundMarks, Stack, viewer_html
from segarena.reports.wording import count_text
from segarena.roles import Dataset
from segarena.samples import ImageSample, Target
from segarena.systems.clicks.page.heat_maps import click_density, heat_image
from segarena.systems.clicks.page.robustness_charts import NUMBERED_TARGETS, group_colour
from segarena.systems.clicks.page.robustness_statistics import DatasetHardness
from segarena.systems.clicks.page.robustness_wording import USER_KIND_LABELS
from segarena.systems.clicks.page.run_values import (
    first_click_positions,
    first_click_values,
    mean_first_mask,
    user_roles,
)

STEADY_TARGETS = 3
"""Number of shown instances whose result depends least on the click."""

PixelPoint = tuple[float, float]


def robustness_pictures(
    runs: Sequence[Run], hardness: Sequence[DatasetHardness], lead: str
) -> Gallery:
    """Return cards of the hardest and the most stable instances of each dataset, with notes."""
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
    return Gallery(lead=lead, cards=cards, count_note=count_note, notes=list(dict.fromkeys(notes)))


def _steady_targets(one: DatasetHardness) -> list[int]:
    """Return the instances that depend least on the click and are at least half solved."""
    easiest_first = reversed(one.ranking[NUMBERED_TARGETS:])
    # A target that no segmenter finds has no deviation either, but that is not robustness.
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
        # A dataset is third-party code; the report keeps its numbers when it fails.
        return None, f"Sample {sample_id} cannot be shown: {' '.join(str(error).split())}."
    if not isinstance(sample, ImageSample):
        return None, "Only photographs are shown; volumes and videos are left out."
    view = _view(runs, key, sample, target)
    masks = _mask_panes(sample, view, runs, one.user_kind, key)
    missing = ""
    if len(masks) < len(runs):
        missing = "Some predictions of the first round were not kept: no mean mask."
    coloured = [replace(pane, colour=colours.get(pane.label)) for pane in masks]
    panes = [*_click_panes(sample, view, runs[0], key), *coloured]
    plate = Plate(
        picture=jpeg_uri(sample.image, view),
        targets=[outline(target.mask, view)],
        ignored="" if target.ignore is None else outline(target.ignore, view),
    )
    stack = Stack(view=view, plates=[plate], panes=panes)
    mean = one.means[index]
    numbers = f"NSR {one.nsr[index]:.3f}, IoU@1 {mean:.3f} ± {one.stds[index]:.3f}"
    card = Card(
        anchor=anchor,
        name=f"{title}: {target.label or target.id}",
        where=f"{one.dataset} / {sample_id} / {target_id}: {numbers}",
        user="",
        viewers=[viewer_html(anchor, [stack], "click")],
    )
    return card, missing


def _view(runs: Sequence[Run], key: TargetKey, sample: ImageSample, target: Target) -> View:
    """Return a view of the target and of all first clicks."""
    roles = user_roles(runs[0])
    users = [user for user in (roles.base, *roles.groups, roles.real, roles.sampled) if user]
    positions: list[PixelPoint] = []
    for user in users:
        positions += first_click_positions(runs[0], user, key)
    shape = (sample.shape[0], sample.shape[1])
    return view_of(shape, [bounding_window(target.mask > 0)], positions)


def _click_panes(sample: ImageSample, view: View, run: Run, key: TargetKey) -> list[Pane]:
    """Return the panes of first clicks: real people's, sampled, and those of base and groups."""
    roles = user_roles(run)
    panes: list[Pane] = []
    for user_kind, user in (("real", roles.real), ("sampled", roles.sampled)):
        positions = first_click_positions(run, user, key) if user else []
        if positions:
            density = click_density(positions, sample.shape, view)
            heat = heat_image(density, view, is_fading=True)
            dots = [click_dot_svg(view, position, "person") for position in positions]
            label = USER_KIND_LABELS[user_kind].partition(" from ")[0]
            panes.append(click_pane(label, len(positions), "".join(dots), heat))
    marks: list[str] = []
    for number, group in enumerate(roles.groups):
        css = f"person {group_colour(number, len(roles.groups))}"
        positions = first_click_positions(run, group, key)
        marks += [click_dot_svg(view, position, css) for position in positions]
    # Repeats of the base user click the same pixel, so one cross is enough.
    base_positions = first_click_positions(run, roles.base, key)[:1] if roles.base else []
    crosses = [_cross_svg(view, position) for position in base_positions]
    if marks or crosses:
        panes.append(click_pane("groups, base +", len(marks), "".join([*marks, *crosses])))
    return panes


def click_pane(label: str, count: int, svg: str, heat: str = "", *, caption: str = "") -> Pane:
    """Return the photograph with clicks, and optionally heat, on it.

    Args:
        label: name of the pane.
        count: number of clicks, for the caption.
        svg: marks of the clicks.
        heat: heat map under the marks.
        caption: text instead of the number of clicks.
    """
    values = [caption or count_text(count, "click")]
    return Pane(
        label=label,
        values=values,
        kept={},
        marks=[RoundMarks(round=1, svg=svg)],
        heat=heat,
        is_run=False,
    )


def _mask_panes(
    sample: ImageSample, view: View, runs: Sequence[Run], user_kind: str, key: TargetKey
) -> list[Pane]:
    """Return the mean mask of each run that kept its masks, outlined at one half."""
    panes: list[Pane] = []
    for run in runs:
        roles = user_roles(run)
        users = [roles.real] if user_kind == "real" and roles.real else [*roles.groups]
        mean_mask = mean_first_mask(run, users, key)
        if mean_mask is None or mean_mask.shape != sample.shape:
            continue
        ious = first_click_values(run, users)[key]
        pane = Pane(
            label=run.label,
            values=[f"IoU {ious.mean():.2f} ± {ious.std():.2f}"],
            kept={1: [[outline(mean_mask >= 0.5, view)]]},
            heat=heat_image(mean_mask, view, is_fading=False),
            is_grey=True,
        )
        panes.append(pane)
    return panes


def click_dot_svg(view: View, position: PixelPoint, css: str) -> str:
    """Return the SVG of a click."""
    x, y = view.place(*position)
    return f'<circle cx="{px(x)}" cy="{px(y)}" r="7" class="{css}"/>'


def _cross_svg(view: View, position: PixelPoint) -> str:
    x, y = view.place(*position)
    horizontal = f"M{px(x - 13)} {px(y)}H{px(x + 13)}"
    vertical = f"M{px(x)} {px(y - 13)}V{px(y + 13)}"
    line = horizontal + vertical
    return f'<path d="{line}" class="cross halo"/><path d="{line}" class="cross"/>'

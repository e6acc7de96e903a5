"""Pictures of the rclicks report: where people click, and what segmenters make of the first click.

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
"""Instances shown whose result depends least on the click."""

PixelPoint = tuple[float, float]


def robustness_pictures(
    runs: Sequence[Run], found: Sequence[DatasetHardness], lead: str
) -> Gallery:
    """Return the hardest and the steadiest instances of each dataset, and notes on what is missing."""
    cards: list[Card] = []
    notes: list[str] = []
    colours = dict(labelled_colours(runs))
    for number, one in enumerate(found, 1):
        mine = [runs[place] for place in one.runs]
        dataset, problem = open_run_dataset(mine[0])
        notes += [problem] if problem else []
        if dataset is None:
            continue
        hard = one.ranking[:NUMBERED_TARGETS]
        # The steadiest that are solved half at least: a target that nobody gets has no deviation either.
        steady = [i for i in reversed(one.ranking[NUMBERED_TARGETS:]) if one.means[i] >= 0.5][
            :STEADY_TARGETS
        ]
        for place, i in enumerate([*hard, *steady], 1):
            if (
                sum(map(len, chain.from_iterable(card.viewers for card in cards)))
                > BUDGET_BYTES / 2
            ):
                notes.append("Some instances are not shown, to keep this file small.")
                break
            title = f"{place}. hard" if place <= len(hard) else "steady"
            card, problem = _card(mine, one, i, dataset, colours, f"where-{number}-{place}", title)
            cards += [card] if card else []
            notes += [problem] if problem else []
    every = sum(len(one.keys) for one in found)
    told = f"{len(cards)} of {count_text(every, 'target')} are shown"
    return Gallery(lead=lead, cards=cards, told=told, notes=list(dict.fromkeys(notes)))


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
    try:
        sample = dataset.load(key[0])
        target = next(target for target in sample.targets if target.id == key[1])
    except (
        Exception
    ) as error:  # a dataset is foreign code; without it the report still has its numbers
        return None, f"Sample {key[0]} cannot be shown: {' '.join(str(error).split())}."
    if not isinstance(sample, ImageSample):
        return None, "Only photographs are shown; volumes and videos are left out."
    view = _view(runs, key, sample, target)
    masks = _mask_panes(sample, view, runs, one.who, key)
    if len(masks) == len(runs):
        missing = ""
    else:
        missing = "Some predictions of the first round were not kept: no mean mask."
    coloured = [replace(pane, colour=colours.get(pane.label)) for pane in masks]
    ignored = "" if target.ignore is None else outline(target.ignore, view)
    plate = Plate(
        picture=jpeg_uri(sample.image, view), targets=[outline(target.mask, view)], ignored=ignored
    )
    stack = Stack(
        view=view, plates=[plate], panes=[*_click_panes(sample, view, runs[0], key), *coloured]
    )
    numbers = f"NSR {one.nsr[index]:.3f}, IoU@1 {one.means[index]:.3f} ± {one.stds[index]:.3f}"
    return Card(
        anchor=anchor,
        name=f"{title}: {target.label or target.id}",
        where=f"{one.dataset} / {key[0]} / {key[1]}: {numbers}",
        user="",
        viewers=[viewer_html(anchor, [stack], "click")],
    ), missing


def _view(runs: Sequence[Run], key: TargetKey, sample: ImageSample, target: Target) -> View:
    """Return a view of the target, of what was predicted instead, and of all first clicks."""
    roles = user_roles(runs[0])
    users = [user for user in (roles.base, *roles.groups, roles.real, roles.sampled) if user]
    places = chain.from_iterable(first_click_positions(runs[0], user, key) for user in users)
    return view_of(
        (sample.shape[0], sample.shape[1]), [bounding_window(target.mask > 0)], list(places)
    )


def _click_panes(sample: ImageSample, view: View, run: Run, key: TargetKey) -> list[Pane]:
    """Return the panes of first clicks: those of real people, those sampled, those of base user and groups."""
    roles = user_roles(run)
    panes: list[Pane] = []
    for who, user in (("real", roles.real), ("sampled", roles.sampled)):
        places = first_click_positions(run, user, key) if user else []
        if places:
            heat = heat_image(click_density(places, sample.shape, view), view, is_fading=True)
            dots = "".join(click_dot_svg(view, place, "person") for place in places)
            panes.append(
                click_pane(USER_KIND_LABELS[who].partition(" from ")[0], len(places), dots, heat)
            )
    marks: list[str] = []
    for number, group in enumerate(roles.groups):
        css = f"person {group_colour(number, len(roles.groups))}"
        marks += [
            click_dot_svg(view, place, css) for place in first_click_positions(run, group, key)
        ]
    centre = [
        _cross(view, place)
        for place in (first_click_positions(run, roles.base, key)[:1] if roles.base else [])
    ]
    if marks or centre:
        panes.append(click_pane("groups, base +", len(marks), "".join([*marks, *centre])))
    return panes


def click_pane(label: str, count: int, svg: str, heat: str = "", *, told: str = "") -> Pane:
    """Return the photograph with clicks on it, and with heat; the caption tells how many, or something else."""
    values = [told or count_text(count, "click")]
    return Pane(
        label=label,
        values=values,
        kept={},
        marks=[RoundMarks(round=1, svg=svg)],
        heat=heat,
        is_run=False,
    )


def _mask_panes(
    sample: ImageSample, view: View, runs: Sequence[Run], who: str, key: TargetKey
) -> list[Pane]:
    """Return the mean mask of each run whose masks were kept, outlined where it is half at least."""
    panes: list[Pane] = []
    for run in runs:
        roles = user_roles(run)
        users = [roles.real] if who == "real" and roles.real else [*roles.groups]
        mean = mean_first_mask(run, users, key)
        if mean is None or mean.shape != sample.shape:
            continue
        values = first_click_values(run, users)[key]
        panes.append(
            Pane(
                label=run.label,
                values=[f"IoU {values.mean():.2f} ± {values.std():.2f}"],
                kept={1: [[outline(mean >= 0.5, view)]]},
                heat=heat_image(mean, view, is_fading=False),
                is_grey=True,
            )
        )
    return panes


def click_dot_svg(view: View, place: PixelPoint, css: str) -> str:
    """Return the SVG of a click."""
    x, y = view.place(*place)
    return f'<circle cx="{px(x)}" cy="{px(y)}" r="7" class="{css}"/>'


def _cross(view: View, place: PixelPoint) -> str:
    x, y = view.place(*place)
    line = f"M{px(x - 13)} {px(y)}H{px(x + 13)}M{px(x)} {px(y - 13)}V{px(y + 13)}"
    return f'<path d="{line}" class="cross halo"/><path d="{line}" class="cross"/>'

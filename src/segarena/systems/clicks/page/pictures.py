"""Pictures of the rclicks report: where people click, and what segmenters make of the first click.

Source: RClicks, Figures 4, 6, 10 (clicks) and 15, 16 (mean masks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from segarena.arrays.boxes import bounding_window
from segarena.reports.axes import px
from segarena.reports.gallery import BUDGET_BYTES, open_dataset
from segarena.reports.overlays import View, jpeg_uri, outline, view_of
from segarena.reports.reading import Run
from segarena.reports.rendering import macros
from segarena.reports.tables import TargetKey
from segarena.roles import Dataset
from segarena.samples import ImageSample, Target
from segarena.systems.clicks.page.figures import MARKED, group_colour
from segarena.systems.clicks.page.heat import density, heat_image
from segarena.systems.clicks.page.numbers import Hardness
from segarena.systems.clicks.page.runs import first_positions, first_values, mean_first_mask, roles_of
from segarena.systems.clicks.page.wording import WHO

STEADY = 3
"""Instances shown whose result depends least on the click."""

MOST_COLUMNS = 6
"""Pictures of an instance that stand side by side."""

Place = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """What is common to the pictures of one instance."""

    view: View
    sample: ImageSample


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """One picture: its name and number, and the SVG that is drawn between photograph and outline."""

    name: str
    number: str
    inside: str
    is_grey: bool = False


def robustness_pictures(runs: Sequence[Run], found: Sequence[Hardness]) -> tuple[str, list[str]]:
    """Return the HTML of the hardest and the steadiest instances of each dataset, and notes on what is missing."""
    parts: list[str] = []
    notes: list[str] = []
    for number, one in enumerate(found, 1):
        mine = [runs[place] for place in one.runs]
        dataset, problem = open_dataset(mine[0])
        notes += [problem] if problem else []
        if dataset is None:
            continue
        hard = one.ranking[:MARKED]
        # The steadiest that are solved half at least: a target that nobody gets has no deviation either.
        steady = [i for i in reversed(one.ranking[MARKED:]) if one.means[i] >= 0.5][:STEADY]
        for place, i in enumerate([*hard, *steady], 1):
            if sum(map(len, parts)) > BUDGET_BYTES / 2:
                notes.append("Some instances are not shown, to keep this file small.")
                break
            title = f"{place}. hard" if place <= len(hard) else "steady"
            card, problem = _card(mine, one, i, dataset, f"where-{number}-{place}", title)
            parts.append(card)
            notes += [problem] if problem else []
    return "".join(parts), list(dict.fromkeys(notes))


def _card(runs: Sequence[Run], one: Hardness, index: int, dataset: Dataset, anchor: str, title: str) -> tuple[str, str]:
    key = one.keys[index]
    try:
        sample = dataset.load(key[0])
        target = next(target for target in sample.targets if target.id == key[1])
    except Exception as error:  # a dataset is foreign code; without it the report still has its numbers
        return "", f"Sample {key[0]} cannot be shown: {' '.join(str(error).split())}."
    if not isinstance(sample, ImageSample):
        return "", "Only photographs are shown; volumes and videos are left out."
    scene = _Scene(view=_view(runs, key, sample, target), sample=sample)
    panels, missing = _mask_panels(scene, runs, one.who, key)
    clicked = _click_panels(scene, runs[0], key)
    card = macros("segarena.systems.clicks.page", "scene.html").card(
        anchor,
        f"{title}: {target.label or target.id}",
        f"{one.dataset} / {key[0]} / {key[1]}",
        f"NSR {one.nsr[index]:.3f}, IoU@1 {one.means[index]:.3f} ± {one.stds[index]:.3f}",
        min(MOST_COLUMNS, len(clicked) + len(panels)),
        scene.view,
        jpeg_uri(sample.image, scene.view),
        outline(target.mask, scene.view),
        [*clicked, *panels],
    )
    return str(card), missing


def _view(runs: Sequence[Run], key: TargetKey, sample: ImageSample, target: Target) -> View:
    """Return a view of the target, of what was predicted instead, and of all first clicks."""
    roles = roles_of(runs[0])
    users = [user for user in (roles.base, *roles.groups, roles.real, roles.sampled) if user]
    places = chain.from_iterable(first_positions(runs[0], user, key) for user in users)
    return view_of((sample.shape[0], sample.shape[1]), [bounding_window(target.mask > 0)], list(places))


def _click_panels(scene: _Scene, run: Run, key: TargetKey) -> list[_Panel]:
    """Return the panels of first clicks: those of real people, those sampled, those of base user and groups."""
    roles = roles_of(run)
    panels: list[_Panel] = []
    for who, user in (("real", roles.real), ("sampled", roles.sampled)):
        places = first_positions(run, user, key) if user else []
        if places:
            heat = heat_image(density(places, scene.sample.shape, scene.view), scene.view, is_fading=True)
            dots = "".join(_dot(scene.view, place, "person") for place in places)
            name = WHO[who].partition(" from ")[0]
            panels.append(_Panel(name=name, number=f"{len(places)} clicks", inside=heat + dots))
    marks: list[str] = []
    for number, group in enumerate(roles.groups):
        css = f"person {group_colour(number, len(roles.groups))}"
        marks += [_dot(scene.view, place, css) for place in first_positions(run, group, key)]
    centre = [_cross(scene.view, place) for place in (first_positions(run, roles.base, key)[:1] if roles.base else [])]
    if marks or centre:
        inside = "".join([*marks, *centre])
        panels.append(_Panel(name="groups, base +", number=f"{len(marks)} clicks", inside=inside))
    return panels


def _mask_panels(scene: _Scene, runs: Sequence[Run], who: str, key: TargetKey) -> tuple[list[_Panel], str]:
    """Return the mean mask of each run, and a line when some were not kept."""
    panels: list[_Panel] = []
    for run in runs:
        roles = roles_of(run)
        users = [roles.real] if who == "real" and roles.real else [*roles.groups]
        mean = mean_first_mask(run, users, key)
        if mean is None or mean.shape != scene.sample.shape:
            continue
        values = first_values(run, users)[key]
        panels.append(
            _Panel(
                name=f"mean, {run.segmenter}",
                number=f"{values.mean():.2f} ± {values.std():.2f}",
                inside=heat_image(mean, scene.view, is_fading=False),
                is_grey=True,
            )
        )
    missing = "" if len(panels) == len(runs) else "Some predictions of the first round were not kept: no mean mask."
    return panels, missing


def _dot(view: View, place: Place, css: str) -> str:
    x, y = view.place(*place)
    return f'<circle cx="{px(x)}" cy="{px(y)}" r="7" class="{css}"/>'


def _cross(view: View, place: Place) -> str:
    x, y = view.place(*place)
    line = f"M{px(x - 13)} {px(y)}H{px(x + 13)}M{px(x)} {px(y - 13)}V{px(y + 13)}"
    return f'<path d="{line}" class="cross halo"/><path d="{line}" class="cross"/>'

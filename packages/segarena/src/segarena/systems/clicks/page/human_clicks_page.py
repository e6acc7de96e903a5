"""What the report of the click benchmark has of people: where they clicked first, against models of that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from segarena.prompts import Click
from segarena.reports.gallery import open_run_dataset
from segarena.reports.page_parts import Note, Part
from segarena.reports.pages import Page, page
from segarena.reports.people_section import HumanRounds, human_rounds_of
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import TargetKey
from segarena.reports.sheets import Column, Sheet, Value
from segarena.roles import Dataset
from segarena.samples import ImageSample
from segarena.statistics.intervals import Interval
from segarena.systems.clicks.crowd.instances import Instance
from segarena.systems.clicks.models.click_maps import ImageClickMap
from segarena.systems.clicks.models.click_models import (
    depth_model,
    saliency_crop_model,
    uniform_model,
)
from segarena.systems.clicks.page.click_quality import (
    ALL_ROUNDS,
    evaluate_click_models,
    quality_rows,
)
from segarena.systems.clicks.page.human_click_pictures import (
    MostClickedTargets,
    human_click_gallery,
)

_FORMATS = {
    "nss": ".2f",
    "pde": ".2e",
    "pl1": ".3f",
    "wd": ".3f",
}  # KS says nothing of a single click

_NOTES = (
    "Each model's map read at the people's first clicks: NSS and PDE (higher is better); and as many clicks drawn from "
    "it beside theirs: PL1 and WD (lower is better). Further models, and one trained on such clicks: segarena clicks "
    "judge, segarena clicks train."
)


@page("clicks")
class HumanClicksPage(Page):
    """The general report, and where people clicked."""

    @classmethod
    def applies(cls, run: Run) -> bool:
        """Tell whether the run is one of the click benchmark that asked people."""
        return run.config.benchmark.name in cls.benchmarks and human_rounds_of(run) is not None

    def of_people(self) -> Sequence[Part]:
        """Return the maps at the people's clicks."""
        parts: list[Part] = []
        for number, asked in enumerate(filter(None, map(human_rounds_of, self.runs)), 1):
            dataset, problem = open_run_dataset(asked.run)
            parts += [Note(problem)] if problem else []
            parts += (
                click_model_parts(asked, dataset, f"people-{number}") if dataset is not None else []
            )
        return parts


def click_model_parts(asked: HumanRounds, dataset: Dataset, anchor: str = "people") -> list[Part]:
    """Return how well models without weights tell where a run's people clicked first, and pictures of both.

    Args:
        asked: the run.
        dataset: its data.
        anchor: that those of the pictures begin with.
    """
    models: Mapping[str, ImageClickMap] = {
        "uniform": uniform_model(),
        "depth": depth_model(),
        "saliency-crop": saliency_crop_model(),
    }
    skipped: list[str] = []

    def on_skip(name: str, why: str) -> None:
        skipped.append(f"{name}: {why}")

    seen = MostClickedTargets()
    instances = map(seen.see, _instances(asked, dataset, on_skip))
    judged = evaluate_click_models(instances, models, on_skip=on_skip)
    rows = [
        (
            row.names[2],
            row.instances,
            *(_value(row.means[name], form) for name, form in _FORMATS.items()),
        )
        for row in quality_rows(judged)
        if row.names[1] == ALL_ROUNDS
    ]
    if not rows:
        return []
    head = (
        "Click model",
        Column("Targets", "number"),
        *(
            Column(name.upper(), "interval", higher_is_better=name not in ("pl1", "wd"))
            for name in _FORMATS
        ),
    )
    left_out = f" Left out: {'; '.join(skipped[:3])}." if skipped else ""
    caption = "Where people clicked first: models of where people click, read there."
    sheet = Sheet(name="click-models", caption=caption, head=head, rows=tuple(rows))
    nss = {(one.model, one.full_stem): one.quality.nss for one in judged}
    return [sheet, Note(_NOTES + left_out), human_click_gallery(seen, models, nss, anchor)]


def _instances(
    asked: HumanRounds, dataset: Dataset, on_skip: Callable[[str, str], None]
) -> Iterator[Instance]:
    """Yield the targets of images on which people clicked first."""
    clicked = _first_clicks(asked)
    for name in dict.fromkeys(sample for sample, _ in clicked):
        try:
            sample = dataset.load(name)
        except (
            Exception
        ) as error:  # a dataset is foreign code; without it the report still has its other numbers
            on_skip(name, " ".join(str(error).split()))
            continue
        if not isinstance(sample, ImageSample):
            continue
        for target in sample.targets:
            positions = clicked.get((name, target.id), [])
            if positions:
                yield Instance(
                    full_stem=f"{name}/{target.id}",
                    image=sample.image,
                    target=target.mask.astype(np.bool_),
                    positions=np.array(positions, dtype=np.int64),
                    dataset=asked.run.data,
                    image_stem=name,
                    object_stem=target.id,
                )


def _first_clicks(asked: HumanRounds) -> dict[TargetKey, list[tuple[int, ...]]]:
    found: dict[TargetKey, list[tuple[int, ...]]] = {}
    for user in asked.users:
        for dialogue in asked.run.finished(user):
            own = [
                prompt.position
                for prompt in dialogue.prompts[0]
                if isinstance(prompt, Click) and prompt.is_positive
            ]
            found.setdefault(dialogue.key[:2], []).extend(own)
    return found


def _value(found: Interval, form: str) -> Value:
    bounds = "" if math.isnan(found.low) else f"{found.low:{form}} to {found.high:{form}}"
    return Value(
        mean=found.mean,
        low=found.low,
        high=found.high,
        printed=f"{found.mean:{form}}",
        printed_bounds=bounds,
    )

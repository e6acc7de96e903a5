"""Report section for click benchmarks: people's first clicks compared with click models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from segarena.prompts import Click
from segarena.reports.cells import Cell, Column, Value
from segarena.reports.dialogue_gallery import open_run_dataset
from segarena.reports.page_parts import Note, Part
from segarena.reports.pages import Page, page
from segarena.reports.people_section import HumanRounds, human_rounds_of
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import TargetKey
from segarena.reports.sheets import Sheet
from segarena.roles import Dataset
from segarena.samples import ImageSample
from segarena.statistics.intervals import Interval
from segarena.systems.clicks.click_maps import ImageClickMap
from segarena.systems.clicks.crowd.instances import Instance
from segarena.systems.clicks.models.click_models import (
    depth_model,
    saliency_crop_model,
    uniform_model,
)
from segarena.systems.clicks.page.click_comparisons import (
    ALL_ROUNDS,
    evaluate_click_models,
    quality_rows,
)
from segarena.systems.clicks.page.human_click_pictures import (
    MostClickedTargets,
    human_click_gallery,
)

_FORMATS = {"nss": ".2f", "pde": ".2e", "pl1": ".3f", "wd": ".3f"}
"""Number formats by metric; KS is omitted because it is undefined for single clicks, the usual case here."""


_LOWER_IS_BETTER = ("pl1", "wd")

_NOTES = (
    "NSS and PDE (higher is better) evaluate each model's map at people's first clicks; PL1 and WD "
    "(lower is better) compare these clicks with equally many clicks sampled from the map. To compare other "
    "models, run segarena click-data judge; to train one on such clicks, segarena click-data train."
)


@page("clicks")
class HumanClicksPage(Page):
    """The general report with an additional section on where people clicked."""

    @classmethod
    def applies(cls, run: Run) -> bool:
        """Test whether the run uses the click benchmark and has human users."""
        return run.config.benchmark.name in cls.benchmarks and human_rounds_of(run) is not None

    def of_people(self) -> Sequence[Part]:
        """Return tables and pictures that compare click models with people's clicks."""
        parts: list[Part] = []
        with_people = filter(None, map(human_rounds_of, self.runs))
        for number, rounds in enumerate(with_people, 1):
            dataset, problem = open_run_dataset(rounds.run)
            if problem:
                parts.append(Note(problem))
            if dataset is not None:
                parts += click_model_parts(rounds, dataset, f"people-{number}")
        return parts


def click_model_parts(
    rounds: HumanRounds,
    dataset: Dataset,
    anchor: str = "people",
) -> list[Part]:
    """Compare people's first clicks with models that need no weights, in a table, notes and pictures.

    If there are no usable clicks, the list is empty.

    Args:
        rounds: the run with human users.
        dataset: the dataset of the run.
        anchor: prefix of the pictures' HTML anchors.
    """
    models: Mapping[str, ImageClickMap] = {
        "uniform": uniform_model(),
        "depth": depth_model(),
        "saliency-crop": saliency_crop_model(),
    }
    skipped: list[str] = []

    def on_skip(name: str, reason: str) -> None:
        skipped.append(f"{name}: {reason}")

    most_clicked = MostClickedTargets()
    instances = map(most_clicked.add, _instances(rounds, dataset, on_skip))
    evaluations = evaluate_click_models(instances, models, on_skip=on_skip)
    rows: list[tuple[Cell, ...]] = []
    for row in quality_rows(evaluations):
        _, round_, model = row.names
        if round_ == ALL_ROUNDS:
            values = [_value(row.means[name], form) for name, form in _FORMATS.items()]
            rows.append((model, row.instances, *values))
    if not rows:
        return []
    metric_columns: list[Column] = []
    for name in _FORMATS:
        higher_is_better = name not in _LOWER_IS_BETTER
        metric_columns.append(Column(name.upper(), "interval", higher_is_better=higher_is_better))
    sheet = Sheet(
        name="click-models",
        caption="Click models compared with people’s first clicks.",
        head=("Click model", Column("Targets", "number"), *metric_columns),
        rows=tuple(rows),
    )
    left_out = f" Skipped, for example: {'; '.join(skipped[:3])}." if skipped else ""
    nss = {(one.model, one.full_stem): one.quality.nss for one in evaluations}
    gallery = human_click_gallery(most_clicked, models, nss, anchor)
    return [sheet, Note(_NOTES + left_out), gallery]


def _instances(
    rounds: HumanRounds,
    dataset: Dataset,
    on_skip: Callable[[str, str], None],
) -> Iterator[Instance]:
    """Yield the targets with people's first clicks; only image samples are considered."""
    positions_by_target = _first_clicks(rounds)
    for name in dict.fromkeys(sample for sample, _ in positions_by_target):
        try:
            sample = dataset.load(name)
        except Exception as error:
            # A dataset is third-party code. If it fails, the report still shows its other numbers.
            on_skip(name, " ".join(str(error).split()))
            continue
        if not isinstance(sample, ImageSample):
            continue
        for target in sample.targets:
            positions = positions_by_target.get((name, target.id), [])
            if positions:
                yield Instance(
                    full_stem=f"{name}/{target.id}",
                    image=sample.image,
                    target=target.mask.astype(np.bool_),
                    positions=np.array(positions, dtype=np.int64),
                    dataset=rounds.run.data,
                    image_stem=name,
                    object_stem=target.id,
                )


def _first_clicks(rounds: HumanRounds) -> dict[TargetKey, list[tuple[int, ...]]]:
    """Return people's positive clicks in the first round, grouped by target."""
    positions: dict[TargetKey, list[tuple[int, ...]]] = {}
    for user in rounds.users:
        for dialogue in rounds.run.finished(user):
            own = positions.setdefault(dialogue.key[:2], [])
            for prompt in dialogue.prompts[0]:
                if isinstance(prompt, Click) and prompt.is_positive:
                    own.append(prompt.position)
    return positions


def _value(interval: Interval, form: str) -> Value:
    bounds = ""
    if not math.isnan(interval.low):
        bounds = f"{interval.low:{form}} to {interval.high:{form}}"
    return Value(
        mean=interval.mean,
        low=interval.low,
        high=interval.high,
        printed=f"{interval.mean:{form}}",
        printed_bounds=bounds,
    )

"""Click models against real clicks, measured as Table 6 of the paper has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from segarena.errors import DatasetMissing, MissingExtra
from segarena.published.tables import Found, Measured, MeasurementRequest
from segarena.registry import build
from segarena.roles import Dataset
from segarena.specs import PluginSpec
from segarena.systems.clicks.crowd.clicks_table import read_clicks
from segarena.systems.clicks.crowd.dataset_instances import (
    clicked_instances,
    first_rounds,
    match_dataset,
    target_loader,
)
from segarena.systems.clicks.crowd.instances import ClickedInstances, Instance
from segarena.systems.clicks.crowd.synthetic_crowd import collect_clicks
from segarena.systems.clicks.models.click_maps import ImageClickMap
from segarena.systems.clicks.page.click_quality import (
    ALL_ROUNDS,
    evaluate_click_models,
    quality_rows,
)
from segarena.work.progress import Progress

PAPER_MODELS = {"UD": "uniform", "DT": "depth(border='published')"}
"""The paper's models that need no weights; its SI and SM stand on a network for saliency that we have not."""

DATASET_PLUGINS = {
    "GrabCut": "grabcut",
    "Berkeley": "berkeley",
    "DAVIS": "davis345",
    "COCO-MVal": "coco-mval",
    "TETRIS (val)": "tetris",
}
CLICKS_TABLE_NAMES = {"COCO-MVal": "COCO", "TETRIS (val)": "TETRIS"}
"""What the published clicks table calls datasets that it calls otherwise."""

STAND_IN_DATASET = "demo, synthetic crowd"
DRAWS = 100


def measure_click_models(asked: MeasurementRequest) -> Measured:
    """Return KS, PL1, WD, NSS and PDE of the click models that are there, over all rounds of real clicks.

    Raises:
        DatasetMissing: the clicks table is not there, or the masks of earlier answers that its later rounds need.
        DatasetError: a dataset or the table cannot be read.
    """
    models = _models(asked)
    found: dict[tuple[str, str, str, str], Found] = {}
    for dataset, instances in _instances(asked):
        judged = evaluate_click_models(
            _told(instances, asked), models, draws=DRAWS, protocol="published"
        )
        for row in quality_rows(judged):
            _, round_, model = row.names
            if round_ == ALL_ROUNDS:
                found |= {
                    (model, dataset, "", name): Found(
                        mean=value.mean, low=value.low, high=value.high
                    )
                    for name, value in row.means.items()
                }
    return found


def _models(asked: MeasurementRequest) -> dict[str, ImageClickMap]:
    wanted = {name: spec for name, spec in PAPER_MODELS.items() if name in asked.models}
    if "Ours" in asked.models and "click-network" in asked.inputs:
        wanted["Ours"] = f"network(path={str(asked.inputs['click-network'])!r})"
    models: dict[str, ImageClickMap] = {}
    for name, spec in wanted.items():
        with suppress(MissingExtra):  # without torch the others are measured
            models[name] = build("click-model", spec)
    return models


def _instances(asked: MeasurementRequest) -> Iterator[tuple[str, Sequence[Instance]]]:
    for dataset, folder in asked.folders.items():
        if not {"clicks", "previous-masks"} <= set(asked.inputs):
            raise DatasetMissing(
                "expected the published clicks.csv and the folder previous_masks in DATA: click models are held "
                "against the clicks of all rounds"
            )
        split = {"split": "TETRIS_val.txt"} if dataset == "TETRIS (val)" else {}
        images: Dataset = build(
            "dataset", PluginSpec(DATASET_PLUGINS[dataset], {"path": str(folder), **split})
        )
        rows = match_dataset(
            read_clicks(asked.inputs["clicks"]),
            images,
            rows_of=CLICKS_TABLE_NAMES.get(dataset, dataset),
        )
        masks = asked.inputs["previous-masks"]
        yield dataset, clicked_instances(rows.table, images, previous_masks=masks)[: asked.limit]
    if not asked.folders:
        demo: Dataset = build("dataset", "demo")
        table = collect_clicks(list(first_rounds(demo, limit=asked.limit or 1)), clicks=20)
        yield STAND_IN_DATASET, ClickedInstances(table, target_loader(demo))


def _told(instances: Sequence[Instance], asked: MeasurementRequest) -> Iterator[Instance]:
    """Yield the instances, and say after each how far it is."""
    for number, instance in enumerate(instances):
        asked.on_progress(Progress(units=len(instances), done=number))
        yield instance
    asked.on_progress(Progress(units=len(instances), done=len(instances)))

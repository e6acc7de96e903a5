"""Evaluation of click models against real clicks, as in Table 6 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from segarena.errors import DatasetMissing, MissingExtra
from segarena.plugin_spec import PluginSpec
from segarena.published.table_types import Measurement, MeasurementRequest, Measurements
from segarena.registry import build
from segarena.roles import Dataset
from segarena.systems.clicks.click_maps import ImageClickMap
from segarena.systems.clicks.crowd.clicks_table import read_clicks
from segarena.systems.clicks.crowd.clicks_table_matching import (
    clicked_instances,
    first_rounds,
    match_dataset,
    target_loader,
)
from segarena.systems.clicks.crowd.instances import ClickedInstances, Instance
from segarena.systems.clicks.crowd.synthetic_crowd import collect_clicks
from segarena.systems.clicks.page.click_comparisons import (
    ALL_ROUNDS,
    evaluate_click_models,
    quality_rows,
)
from segarena.work.progress import Progress

PAPER_MODELS = {"UD": "uniform", "DT": "depth(border='published')"}
"""The paper's models that need no weights; its SI and SM need a saliency network that segarena does not include."""

DATASET_PLUGINS = {
    "GrabCut": "grabcut",
    "Berkeley": "berkeley",
    "DAVIS": "davis345",
    "COCO-MVal": "coco-mval",
    "TETRIS (val)": "tetris",
}
CLICKS_TABLE_NAMES = {"COCO-MVal": "COCO", "TETRIS (val)": "TETRIS"}
"""Dataset names in the published clicks table, where they differ from the names used here."""

STAND_IN_DATASET = "demo, synthetic crowd"
DRAWS = 100


def measure_click_models(request: MeasurementRequest) -> Measurements:
    """Return KS, PL1, WD, NSS and PDE of the available click models over all rounds.

    Raises:
        DatasetMissing: the clicks table or the previous masks of its later rounds are missing.
        DatasetError: a dataset or the table cannot be read.
    """
    models = _build_models(request)
    measured: dict[tuple[str, str, str, str], Measurement] = {}
    for dataset, instances in _instances_by_dataset(request):
        tracked = _track_progress(instances, request)
        evaluations = evaluate_click_models(tracked, models, draws=DRAWS, protocol="published")
        for row in quality_rows(evaluations):
            _, round_, model = row.names
            if round_ != ALL_ROUNDS:
                continue
            for metric, mean in row.means.items():
                key = (model, dataset, "", metric)
                measured[key] = Measurement(mean=mean.mean, low=mean.low, high=mean.high)
    return measured


def _build_models(request: MeasurementRequest) -> dict[str, ImageClickMap]:
    specs = {name: spec for name, spec in PAPER_MODELS.items() if name in request.models}
    if "Ours" in request.models and "click-network" in request.inputs:
        path = str(request.inputs["click-network"])
        specs["Ours"] = f"network(path={path!r})"
    models: dict[str, ImageClickMap] = {}
    for name, spec in specs.items():
        # Without torch, the models that do not need it are still evaluated.
        with suppress(MissingExtra):
            models[name] = build("click-model", spec)
    return models


def _instances_by_dataset(
    request: MeasurementRequest,
) -> Iterator[tuple[str, Sequence[Instance]]]:
    """Yield each dataset with its clicked instances; without folders, the demo with clicks of the synthetic crowd."""
    for dataset, folder in request.folders.items():
        if not {"clicks", "previous-masks"} <= set(request.inputs):
            raise DatasetMissing(
                "expected the published clicks.csv and the folder previous_masks in DATA: "
                "click models are compared with real clicks of all rounds"
            )
        options = {"path": str(folder)}
        if dataset == "TETRIS (val)":
            options["split"] = "TETRIS_val.txt"
        images: Dataset = build("dataset", PluginSpec(DATASET_PLUGINS[dataset], options))
        clicks = read_clicks(request.inputs["clicks"])
        matched = match_dataset(clicks, images, rows_of=CLICKS_TABLE_NAMES.get(dataset, dataset))
        masks = request.inputs["previous-masks"]
        instances = clicked_instances(matched.table, images, previous_masks=masks)
        yield dataset, instances[: request.limit]
    if not request.folders:
        demo: Dataset = build("dataset", "demo")
        targets = list(first_rounds(demo, limit=request.limit or 1))
        table = collect_clicks(targets, clicks=20)
        yield STAND_IN_DATASET, ClickedInstances(table, target_loader(demo))


def _track_progress(
    instances: Sequence[Instance], request: MeasurementRequest
) -> Iterator[Instance]:
    """Yield the instances, and report progress before each of them and at the end."""
    for number, instance in enumerate(instances):
        request.on_progress(Progress(units=len(instances), done=number))
        yield instance
    request.on_progress(Progress(units=len(instances), done=len(instances)))

"""Measurements for Tables 1 and 3 of the paper: shapes of regions, and agreement of people on edges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from segarena.published.table_types import Measurement, MeasurementRequest, Measurements
from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.measures.agreement import ImageAgreement
from segarena.systems.scenes.measures.agreement_summary import summarise_agreement
from segarena.systems.scenes.measures.annotation_statistics import (
    AnnotationRecord,
    ShapeSummary,
    summarise_annotations,
)
from segarena.systems.scenes.measures.multi_annotator_images import HumanImage, find_images
from segarena.systems.scenes.measures.resumable_measurement import MeasurementJob

STAND_IN_DATASET = "generated scenes"
SPLITS = ("train", "val", "test")


def measure_shapes(request: MeasurementRequest) -> Measurements:
    """Measure simplicity, convexity and edge density of modal, amodal and original regions (Table 1).

    Raises:
        DatasetMissing: a folder contains no annotations.
        DatasetError, InvalidMask: a file is unreadable.
    """
    found: dict[CellKey, Measurement] = {}
    job = MeasurementJob.of_statistics()
    for dataset, source, images in _images(request):
        results = _measure(job, images, dataset, source, request)
        rows: list[Any] = []
        for result in results:
            rows += result["annotations"]
        annotations = msgspec.convert(rows, list[AnnotationRecord])
        summary = summarise_annotations(annotations)
        if images[0].scenes:
            found |= _shape_cells("modal", dataset, summary.modal)
            found |= _shape_cells("amodal", dataset, summary.amodal)
        else:
            # Label maps contain no hidden parts, so modal and amodal regions are the same.
            found |= _shape_cells("original", dataset, summary.modal)
    return found


def measure_humans(request: MeasurementRequest) -> Measurements:
    """Measure precision, recall and F of each annotator against all others (Table 3).

    For errors see `measure_shapes`.
    """
    found: dict[CellKey, Measurement] = {}
    job = MeasurementJob.of_agreement(with_regions=False)
    for dataset, source, images in _images(request):
        results = _measure(job, images, dataset, source, request)
        agreements = msgspec.convert(results, list[ImageAgreement])
        summary = summarise_agreement(agreements)
        values = {"precision": summary.precision, "recall": summary.recall, "f": summary.human_f}
        for name, value in values.items():
            cell = Measurement(mean=value.mean, low=value.low, high=value.high)
            found["people", dataset, "", name] = cell
    return found


def _images(request: MeasurementRequest) -> Iterator[tuple[str, str, list[HumanImage]]]:
    """Yield name, source and images of each dataset, limited to the split at the end of its name if there is one.

    Without folders, generated scenes are used.
    """
    for dataset, folder in request.folders.items():
        split = dataset.rpartition(" ")[2]
        splits: list[str] = []
        # Files of scenes have no splits; all scenes of a dataset are in one file.
        if split in SPLITS and not _is_scenes(folder):
            splits.append(split)
        images = find_images(folder, splits=splits)
        yield dataset, str(folder), images[: request.limit]
    if not request.folders:
        images = []
        for demo in demo_scenes(images=request.limit or 2):
            scenes = tuple(drawing.scene for drawing in demo.drawings)
            image_id = demo.truth.scene.image.id
            images.append(HumanImage(id=image_id, split="", scenes=scenes))
        yield STAND_IN_DATASET, STAND_IN_DATASET, images


def _measure(
    job: MeasurementJob,
    images: list[HumanImage],
    dataset: str,
    source: str,
    request: MeasurementRequest,
) -> list[dict[str, Any]]:
    folder_name = re.sub(r"\W+", "-", dataset).lower()
    out = request.out / folder_name
    results = job.run(
        images, out, data=source, workers=request.workers, on_progress=request.on_progress
    )
    return list(results.values())


def _shape_cells(
    model: str,
    dataset: str,
    shape: ShapeSummary,
) -> dict[CellKey, Measurement]:
    values = {
        "simplicity": shape.simplicity,
        "convexity": shape.convexity,
        "density": shape.edge_density,
    }
    cells: dict[CellKey, Measurement] = {}
    for name, value in values.items():
        cells[model, dataset, "", name] = Measurement(mean=value)
    return cells


def _is_scenes(folder: Path) -> bool:
    """Return whether a folder contains scenes rather than human segmentations."""
    has_segmentations = (folder / "human").is_dir() or (folder / "groundTruth").is_dir()
    return any(folder.glob("*.json")) and not has_segmentations


CellKey: TypeAlias = tuple[str, str, str, str]
"""Key of a measurement: model, dataset, condition, measure."""

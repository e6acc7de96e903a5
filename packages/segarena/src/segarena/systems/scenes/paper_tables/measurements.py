"""Shapes of regions and agreement of people, measured as Tables 1 and 3 of the paper have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from segarena.published.tables import Found, Measured, MeasurementRequest
from segarena.statistics.intervals import Interval
from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.measures.agreement import ImageAgreement
from segarena.systems.scenes.measures.agreement_summary import summarise_agreement
from segarena.systems.scenes.measures.annotation_statistics import (
    AnnotationRecord,
    ShapeSummary,
    summarise_annotations,
)
from segarena.systems.scenes.measures.human_images import HumanImage, find_images
from segarena.systems.scenes.measures.measurement_job import MeasurementJob

STAND_IN_DATASET = "generated scenes"
SPLITS = ("train", "val", "test")
Record = TypeVar("Record")


def measure_shapes(asked: MeasurementRequest) -> Measured:
    """Return simplicity, convexity and edge density of modal, amodal and original regions (Table 1).

    Raises:
        DatasetMissing: a folder holds no annotations.
        DatasetError, InvalidMask: a file cannot be read.
    """
    found: dict[tuple[str, str, str, str], Found] = {}
    for dataset, place, images in _images(asked):
        annotations = chain.from_iterable(
            result["annotations"]
            for result in _surveyed(MeasurementJob.of_statistics(), images, dataset, place, asked)
        )
        summary = summarise_annotations(msgspec.convert(list(annotations), list[AnnotationRecord]))
        kinds = {"modal": summary.modal, "amodal": summary.amodal}
        # People who drew label maps drew nothing that is hidden: there is one kind.
        for model, shape in kinds.items() if images[0].scenes else [("original", summary.modal)]:
            found |= _shape(model, dataset, shape)
    return found


def measure_humans(asked: MeasurementRequest) -> Measured:
    """Return precision, recall and F of each annotator against the others (Table 3); raises as `measure_shapes`."""
    found: dict[tuple[str, str, str, str], Found] = {}
    survey = MeasurementJob.of_agreement(with_regions=False)
    for dataset, place, images in _images(asked):
        results = _surveyed(survey, images, dataset, place, asked)
        summary = summarise_agreement(msgspec.convert(results, list[ImageAgreement]))
        values = {"precision": summary.precision, "recall": summary.recall, "f": summary.human_f}
        found |= {("people", dataset, "", name): _found(value) for name, value in values.items()}
    return found


def _images(asked: MeasurementRequest) -> Iterator[tuple[str, str, list[HumanImage]]]:
    """Yield each dataset's name, its place, and its images: of the split that the name ends in, else of all."""
    for dataset, folder in asked.folders.items():
        split = dataset.rpartition(" ")[2]
        splits = [split] if split in SPLITS and not _is_scenes(folder) else []
        yield dataset, str(folder), find_images(folder, splits=splits)[: asked.limit]
    if not asked.folders:
        scenes = demo_scenes(images=asked.limit or 2)
        images = [
            HumanImage(
                id=scene.truth.scene.image.id,
                split="",
                scenes=tuple(one.scene for one in scene.drawings),
            )
            for scene in scenes
        ]
        yield STAND_IN_DATASET, STAND_IN_DATASET, images


def _is_scenes(folder: Path) -> bool:
    return any(folder.glob("*.json")) and not any(
        (folder / name).is_dir() for name in ("human", "groundTruth")
    )


def _surveyed(
    survey: MeasurementJob,
    images: list[HumanImage],
    dataset: str,
    place: str,
    asked: MeasurementRequest,
) -> list[dict[str, Any]]:
    out = asked.out / re.sub(r"\W+", "-", dataset).lower()
    done = survey.run(images, out, data=place, workers=asked.workers, on_progress=asked.on_progress)
    return list(done.values())


def _shape(model: str, dataset: str, shape: ShapeSummary) -> dict[tuple[str, str, str, str], Found]:
    values = {
        "simplicity": shape.simplicity,
        "convexity": shape.convexity,
        "density": shape.edge_density,
    }
    return {(model, dataset, "", name): Found(mean=value) for name, value in values.items()}


def _found(value: Interval) -> Found:
    return Found(mean=value.mean, low=value.low, high=value.high)

"""Resumable measurement of statistics and agreement; each finished image adds a line to a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from segarena.errors import InvalidInput
from segarena.systems.scenes.measures.agreement import measure_agreement
from segarena.systems.scenes.measures.annotation_statistics import measure_annotation
from segarena.systems.scenes.measures.multi_annotator_images import HumanImage
from segarena.systems.scenes.model.shape_measures import Estimator
from segarena.work.executors import make_executor
from segarena.work.jobs import FunctionJob, Workers
from segarena.work.ledger import upgrade_ledger
from segarena.work.progress import OnProgress, ignore_progress
from segarena.work.resumable_work import do_pending
from segarena.work.sharing.shared_ledger import open_ledger

Item = TypeVar("Item")
Record = dict[str, Any]
LEDGER = "images.jsonl"


@dataclass(frozen=True, slots=True)
class MeasurementJob:
    """Resumable job that measures images one by one.

    Attributes:
        request: the measurement and its options, as plain values that a results folder stores.
        work: function that measures one image.
    """

    request: dict[str, Any]
    work: Callable[[HumanImage], dict[str, Any]]

    @classmethod
    def of_statistics(cls, estimator: str = "centres") -> MeasurementJob:
        """Return the job for statistics; each result has a list `annotations` with one record per annotation.

        Raises:
            InvalidInput: the estimator is unknown.
        """
        if estimator not in ("centres", "cracks"):
            raise InvalidInput(f"estimator {estimator!r}: expected centres or cracks")
        return cls(
            {"survey": "statistics", "estimator": estimator},
            partial(_statistics, estimator=estimator),
        )

    @classmethod
    def of_agreement(
        cls,
        *,
        is_strict: bool = False,
        with_regions: bool = True,
        with_edges: bool = True,
    ) -> MeasurementJob:
        """Return the job for agreement, whose results are the values of an `ImageAgreement`."""
        options = {"is_strict": is_strict, "with_regions": with_regions, "with_edges": with_edges}
        return cls({"survey": "agreement", **options}, partial(_agreement, **options))

    def run(
        self,
        images: Sequence[HumanImage],
        folder: Path | None = None,
        *,
        data: str = "",
        workers: Workers = 0,
        share: bool = False,
        on_progress: OnProgress = ignore_progress,
    ) -> dict[str, Record]:
        """Return the result of every image of `find_images`, keyed by split/id; see `measure_images`.

        `data` names the source of the images, so that results of another source are never reused.
        """
        items = {f"{image.split}/{image.id}": image for image in images}
        request = {**self.request, "data": data}
        return measure_images(
            items, self.work, request, folder, workers=workers, share=share, on_progress=on_progress
        )


def _statistics(image: HumanImage, *, estimator: Estimator) -> dict[str, Any]:
    annotations = [measure_annotation(drawing, estimator=estimator) for drawing in image.drawings()]
    return msgspec.to_builtins({"annotations": annotations})


def _agreement(
    image: HumanImage,
    *,
    is_strict: bool,
    with_regions: bool,
    with_edges: bool,
) -> dict[str, Any]:
    found = measure_agreement(
        image.drawings(), is_strict=is_strict, with_regions=with_regions, with_edges=with_edges
    )
    return msgspec.to_builtins(found)


def measure_images(
    items: Mapping[str, Item],
    work: Callable[[Item], Record],
    request: Record,
    folder: Path | None,
    *,
    workers: Workers = 0,
    share: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> dict[str, Record]:
    """Measure every item and return the results in order; results in the folder are reused.

    Args:
        items: the images, by key.
        work: function that measures an item; it must be a module-level function, so that it can be
            sent to another process.
        request: the measurement and its options, as plain values.
        folder: folder of `images.jsonl`; None stores nothing.
        workers: number of processes, or an executor; 0 works in this process.
        share: share the work with other processes that run the same request in this folder.
        on_progress: callback that receives the progress at the start and after every image.

    Raises:
        RunConflict: the folder contains the results of another request.
        StoreError: the folder is not writable.
        SegarenaError: images are unusable; has the type of the first error, and is raised after all
            other images are done.
    """
    file = folder and folder / LEDGER
    if file is not None:
        upgrade_ledger(file, _read_earlier)
    with open_ledger(file, request, share=share) as ledger:
        failures = do_pending(
            FunctionJob(work), items, ledger, make_executor(workers), on_progress=on_progress
        )
    for key, error in failures.items():
        if len(failures) == 1:
            kept = ""
        else:
            kept = f" ({len(failures)} images fail; the others are done)"
        raise type(error)(f"{key}: {error}{kept}")
    return {key: ledger.done[key] for key in items}


def _read_earlier(lines: list[Any]) -> tuple[Any, dict[str, Any]]:
    """Read the format of an earlier version: the request on the first line, then a key and a result per line."""
    request, *records = lines
    return request, {record["key"]: record["result"] for record in records}

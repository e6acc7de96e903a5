"""Statistics and agreement image by image, one line of a file for each that is done: interrupted work resumes."""

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
from segarena.systems.scenes.measures.human_images import HumanImage
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
    """What is asked of every image.

    Attributes:
        request: it in plain values, which a folder of results remembers.
        work: what one image gives.
    """

    request: dict[str, Any]
    work: Callable[[HumanImage], dict[str, Any]]

    @classmethod
    def of_statistics(cls, estimator: str = "centres") -> MeasurementJob:
        """Return the survey of statistics; results have `annotations`, one record each.

        Raises:
            InvalidInput: no such estimator.
        """
        if estimator not in ("centres", "cracks"):
            raise InvalidInput(f"estimator {estimator!r}: expected centres or cracks")
        return cls(
            {"survey": "statistics", "estimator": estimator},
            partial(_statistics, estimator=estimator),
        )

    @classmethod
    def of_agreement(
        cls, *, is_strict: bool = False, with_regions: bool = True, with_edges: bool = True
    ) -> MeasurementJob:
        """Return the survey of agreement; results are those of an `ImageAgreement`."""
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
        """Return the result of every image of `find_images` by split/id, see `work_on_images`.

        `data` says where the images come from: results of others are not taken for these.
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
    image: HumanImage, *, is_strict: bool, with_regions: bool, with_edges: bool
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
    """Return the result of every item, in their order; with a folder, those done before are not done again.

    Args:
        items: what to work on, by key.
        work: a function of a module, so that it can be sent to a process.
        request: what is asked for, in plain values.
        folder: where `images.jsonl` is kept; None keeps nothing.
        workers: processes, or an executor; 0 works in this one.
        share: take part in the work of other processes on the same request and folder.
        on_progress: called when it starts and after every image.

    Raises:
        RunConflict: the folder holds the results of another request.
        StoreError: nothing can be written there.
        SegarenaError: images that cannot be used, once all others are done; of the type that the first of them raised.
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
    """Read what an earlier version kept: the request in the first line, then a key and a result in each."""
    request, *records = lines
    return request, {record["key"]: record["result"] for record in records}

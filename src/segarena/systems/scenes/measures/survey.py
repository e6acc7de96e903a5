"""Statistics and agreement image by image: what one image gives, and all of them with resume."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from segarena.errors import InvalidInput
from segarena.systems.scenes.measures.agreement import measure_agreement
from segarena.systems.scenes.measures.sources import HumanImage
from segarena.systems.scenes.measures.statistics import measure_annotation
from segarena.systems.scenes.measures.working import work_on_images
from segarena.systems.scenes.model.shapes import Estimator
from segarena.work.progress import OnProgress, say_nothing


@dataclass(frozen=True, slots=True)
class Survey:
    """What is asked of every image.

    Attributes:
        request: it in plain values, which a folder of results remembers.
        work: what one image gives.
    """

    request: dict[str, Any]
    work: Callable[[HumanImage], dict[str, Any]]

    @classmethod
    def of_statistics(cls, estimator: str = "centres") -> Survey:
        """Return the survey of statistics; results have `annotations`, one record each.

        Raises:
            InvalidInput: no such estimator.
        """
        if estimator not in ("centres", "cracks"):
            raise InvalidInput(f"estimator {estimator!r}: expected centres or cracks")
        return cls({"survey": "statistics", "estimator": estimator}, partial(_statistics, estimator=estimator))

    @classmethod
    def of_agreement(cls, *, is_strict: bool = False, with_regions: bool = True, with_edges: bool = True) -> Survey:
        """Return the survey of agreement; results are those of an `ImageAgreement`."""
        options = {"is_strict": is_strict, "with_regions": with_regions, "with_edges": with_edges}
        return cls({"survey": "agreement", **options}, partial(_agreement, **options))

    def run(
        self,
        images: Sequence[HumanImage],
        folder: Path | None = None,
        *,
        data: str = "",
        workers: int = 0,
        on_progress: OnProgress = say_nothing,
    ) -> dict[str, dict[str, Any]]:
        """Return the result of every image by split/id; with a folder, those done before are not done again.

        Args:
            images: from `find_images`.
            folder: where `images.jsonl` is kept; None keeps nothing.
            data: where the images come from: results of others are not taken for these.
            workers: processes; 0 works in this one.
            on_progress: told when it starts and after every image.

        Raises:
            RunConflict: the folder holds results of another survey.
            InvalidMask: an image that cannot be used.
        """
        items = {f"{image.split}/{image.id}": image for image in images}
        request = {**self.request, "data": data}
        return work_on_images(items, self.work, request, folder, workers=workers, on_progress=on_progress)


def _statistics(image: HumanImage, *, estimator: Estimator) -> dict[str, Any]:
    annotations = [measure_annotation(drawing, estimator=estimator) for drawing in image.drawings()]
    return msgspec.to_builtins({"annotations": annotations})


def _agreement(image: HumanImage, *, is_strict: bool, with_regions: bool, with_edges: bool) -> dict[str, Any]:
    found = measure_agreement(image.drawings(), is_strict=is_strict, with_regions=with_regions, with_edges=with_edges)
    return msgspec.to_builtins(found)

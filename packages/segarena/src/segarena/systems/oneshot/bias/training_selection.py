"""SGTSS: which training images to keep, by how much of what stands out in them is of training classes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from segarena.samples import ImageSample, Mask
from segarena.systems.oneshot.pairs.image_sources import ClassImage, ImageSource
from segarena.systems.oneshot.saliency import SaliencyMap, build_saliency
from segarena.systems.oneshot.tier_building.stage_cache import (
    ItemMeasure,
    make_stage_job,
    run_stage,
)
from segarena.work.executors import make_executor
from segarena.work.jobs import Workers
from segarena.work.progress import OnProgress, ignore_progress


def training_share(
    salient: SaliencyMap, training: Mask, *, threshold: float = 0.5, is_soft: bool = False
) -> float | None:
    """Return which share of the salient region is of training classes, 0 to 1; None where nothing is salient.

    Args:
        salient: (H, W), 0 to 1; the region is where it reaches the threshold.
        training: bool (H, W), the union of the masks of all training classes.
        threshold: of the map.
        is_soft: weigh pixels by the map instead of cutting it.

    Source: TOSS, section 5 (K_i of SGTSS), which does not say whether the map is cut, nor what an empty region gives.
    """
    if is_soft:
        weights = salient.astype(np.float64)
    else:
        weights = (salient >= threshold).astype(np.float64)
    total = float(weights.sum())
    return float(weights[training].sum()) / total if total > 0 else None


def select_training_images(shares: pl.DataFrame) -> pl.DataFrame:
    """Return columns image and share with a further column `kept`: share at least the median, or none (null).

    At least half of the images remain, since those at the median stay.
    """
    known = shares["share"].drop_nulls().to_numpy()
    median = float(np.median(known)) if len(known) else 0.0
    return shares.with_columns(kept=pl.col("share").is_null() | (pl.col("share") >= median))


def measure_training_shares(
    source: ImageSource,
    fold_of: Callable[[str], int | None],
    fold: int,
    saliency: str,
    folder: Path,
    *,
    images: Collection[str] | None = None,
    threshold: float = 0.5,
    is_soft: bool = False,
    workers: Workers = 0,
    on_progress: OnProgress = ignore_progress,
) -> pl.DataFrame:
    """Return the share of each training image of a fold: images that hold a class that the fold does not test.

    Pixels of classes that it tests count as background. `fold_of` gives None for a class that is never tested;
    `images` are those that may be trained on, None all. What was measured is kept in `folder`.

    Returns:
        Columns image and share.
    """
    allowed = None if images is None else set(images)
    classes: dict[str, list[str]] = {}
    for label, image in source.items():
        if fold_of(label) != fold and (allowed is None or image in allowed):
            classes.setdefault(image, []).append(label)

    items: Sequence[ClassImage] = [("", image) for image in sorted(classes)]
    table = run_stage(
        folder,
        f"sgtss-fold{fold}",
        items,
        make_stage_job(
            training_share_measure, source, saliency, classes, threshold, is_soft=is_soft
        ),
        columns={"share": pl.Float64},
        parameters={"threshold": threshold, "is_soft": is_soft, "saliency": saliency, "fold": fold},
        executor=make_executor(workers),
        on_progress=on_progress,
    )
    return table.drop("class")


def training_share_measure(
    source: ImageSource,
    saliency: str,
    classes: Mapping[str, Sequence[str]],
    threshold: float,
    *,
    is_soft: bool,
) -> ItemMeasure:
    """Return the stage `sgtss-foldN`: `training_share` of an image, of which `classes` says what is trained on."""
    salient = build_saliency(saliency)

    def measure(_: str, image: str) -> dict[str, float | None]:
        sample = ImageSample(id=image, image=source.image(image))
        union = np.zeros(sample.shape, np.bool_)
        for label in classes[image]:
            union |= source.mask(label, image).mask
        return {
            "share": training_share(salient(sample), union, threshold=threshold, is_soft=is_soft)
        }

    return measure

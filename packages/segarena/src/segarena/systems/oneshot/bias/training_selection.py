"""SGTSS: keep training images whose salient region mostly belongs to training classes.

Source: TOSS, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from segarena.arrays.saliency import SaliencyMap
from segarena.samples import ImageSample, Mask
from segarena.systems.oneshot.pairs.image_sources import ClassImage, ImageSource
from segarena.systems.oneshot.saliency import build_saliency
from segarena.systems.oneshot.tier_building.stage_cache import (
    ItemMeasure,
    make_stage_job,
    run_stage,
)
from segarena.work.executors import make_executor
from segarena.work.jobs import Workers
from segarena.work.progress import OnProgress, ignore_progress


def training_share(
    salient: SaliencyMap,
    training: Mask,
    *,
    threshold: float = 0.5,
    is_soft: bool = False,
) -> float | None:
    """Return the share of the salient region that belongs to training classes, 0 to 1; None if nothing is salient.

    Args:
        salient: saliency map (H, W), 0 to 1.
        training: bool (H, W), the union of the masks of all training classes.
        threshold: minimum saliency of the salient region.
        is_soft: weight pixels by their saliency instead of thresholding the map.

    Source: TOSS, section 5 (K_i of SGTSS). The paper does not state whether the map is thresholded,
    or what value an empty salient region has.
    """
    if is_soft:
        weights = salient.astype(np.float64)
    else:
        weights = (salient >= threshold).astype(np.float64)
    total = float(weights.sum())
    if total <= 0:
        return None
    return float(weights[training].sum()) / total


def select_training_images(shares: pl.DataFrame) -> pl.DataFrame:
    """Add a column `kept`, which is true where the share is null or at least the median.

    At least half of the images remain, because images at the median are kept.
    """
    share = pl.col("share")
    known = shares["share"].drop_nulls().to_numpy()
    median = float(np.median(known)) if len(known) else 0.0
    # The share is null if nothing is salient. The paper has no rule for such images, so they are
    # kept.
    return shares.with_columns(kept=share.is_null() | (share >= median))


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
    """Return the `training_share` of each training image of a fold.

    The fold trains on all images that show a class it does not test. Pixels of the classes that it
    tests count as background.

    Args:
        source: images and masks.
        fold_of: function that returns the fold that tests a class, or None if no fold does.
        fold: fold whose training images are measured.
        saliency: see `segarena.systems.oneshot.saliency.build_saliency`.
        folder: folder of the table of measurements; an interrupted call resumes from it.
        images: allowed training images; None allows all.
        threshold: see `training_share`.
        is_soft: see `training_share`.
        workers: number of processes that measure; 0 measures in this process.
        on_progress: callback that receives the progress.

    Returns:
        Columns image and share.
    """
    allowed = None if images is None else set(images)
    classes: dict[str, list[str]] = {}
    for label, image in source.items():
        is_allowed = allowed is None or image in allowed
        if is_allowed and fold_of(label) != fold:
            classes.setdefault(image, []).append(label)
    # The share describes an image with all its classes, so these items have no class.
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
    """Return the measure of the stage `sgtss-foldN`, which computes the `training_share` of an image.

    `classes` maps each image to the training classes that it shows.
    """
    salient = build_saliency(saliency)

    def measure(_: str, image: str) -> dict[str, float | None]:
        sample = ImageSample(id=image, image=source.image(image))
        union = np.zeros(sample.shape, np.bool_)
        for label in classes[image]:
            union |= source.mask(label, image).mask
        share = training_share(salient(sample), union, threshold=threshold, is_soft=is_soft)
        return {"share": share}

    return measure

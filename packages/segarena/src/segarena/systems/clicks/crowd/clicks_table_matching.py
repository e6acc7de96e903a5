"""Matching of clicks tables with datasets: rows that refer to a dataset's images, and their instances.

In a clicks table, `image_stem` is the id of a sample and `object_stem` is the id of a target.
`object_stem` is empty when the image has one object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput, SampleInvalid
from segarena.roles import Dataset
from segarena.samples import ImageSample, Mask, Sample
from segarena.systems.clicks.crowd.clicks_table import OBJECT_SEPARATOR
from segarena.systems.clicks.crowd.instances import ClickedInstances, Instance, TargetLoader

if TYPE_CHECKING:
    import polars as pl

CACHED_IMAGES = 16
"""Number of images cached in memory, because training loads the instances of an image in random order."""
NO_CLICKS = np.zeros((0, 2), dtype=np.int64)


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class DatasetMatch:
    """Result of matching a clicks table with a dataset.

    Attributes:
        table: the rows that refer to images of the dataset.
        instances: number of instances in `table`.
        elsewhere: number of instances on images that are not in the dataset.
        without: ids of the dataset's samples that have no row in the table.
    """

    table: pl.DataFrame
    instances: int
    elsewhere: int
    without: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"instances on images of the dataset: {self.instances}, on others: {self.elsewhere}; "
            f"images of the dataset without clicks: {len(self.without)}"
        )


def match_dataset(
    table: pl.DataFrame,
    dataset: Dataset,
    *,
    rows_of: str | None = None,
) -> DatasetMatch:
    """Select the rows of a clicks table that refer to images of a dataset.

    Args:
        table: the clicks table.
        dataset: the dataset whose sample ids are compared with the column `image_stem`.
        rows_of: select only rows with this value in the column `dataset`; None selects all.

    Raises:
        InvalidInput: no row matches, or the matching rows belong to several datasets.
    """
    import polars as pl

    candidates = table if rows_of is None else table.filter(pl.col("dataset") == rows_of)
    matched = candidates.filter(pl.col("image_stem").is_in(list(dataset.sample_ids)))
    names = matched["dataset"].unique(maintain_order=True).to_list()
    if not names:
        examples = candidates["image_stem"].unique(maintain_order=True).head(3)
        listed = ", ".join(map(repr, examples)) or "no rows"
        raise InvalidInput(
            f"no row of the table refers to an image of {dataset.name}; the first images in the table are: {listed}"
        )
    if len(names) > 1:
        raise InvalidInput(
            f"rows of several datasets refer to images of {dataset.name}: {names}; "
            "choose one with rows_of"
        )
    clicked_images = set(matched["image_stem"].unique())
    instance_columns = ("dataset", "full_stem")
    all_instances = candidates.select(*instance_columns).n_unique()
    matched_instances = matched.select(*instance_columns).n_unique()
    unclicked = [image for image in dataset.sample_ids if image not in clicked_images]
    return DatasetMatch(
        table=matched,
        instances=matched_instances,
        elsewhere=all_instances - matched_instances,
        without=tuple(unclicked),
    )


def clicked_instances(
    table: pl.DataFrame,
    dataset: Dataset,
    *,
    previous_masks: Path | str | None = None,
) -> ClickedInstances:
    """Return the instances of `table`, in which every row must refer to an image of `dataset`.

    Args:
        table: the rows of the clicks table, see `match_dataset`.
        dataset: provides images and targets.
        previous_masks: the folder of previous masks; None when the table has only first rounds.
    """
    folders: Mapping[str, Path] = {}
    if previous_masks is not None:
        names = table["dataset"].unique().to_list()
        folders = dict.fromkeys(names, Path(previous_masks))
    return ClickedInstances(table, target_loader(dataset), previous_masks=folders)


def target_loader(dataset: Dataset) -> TargetLoader:
    """Return a function that loads an image and a target by their names in a clicks table.

    Without the name of an object, the mask contains all targets of the image. The function caches
    the most recently used images.
    """

    @lru_cache(maxsize=CACHED_IMAGES)
    def load_image(image_stem: str) -> ImageSample:
        return _require_image(dataset.load(image_stem))

    def load(
        _: str,
        image_stem: str,
        object_stem: str,
    ) -> tuple[NDArray[np.uint8], Mask]:
        sample = load_image(image_stem)
        chosen = [target for target in sample.targets if object_stem in ("", target.id)]
        masks = [np.asarray(target.mask > 0) for target in chosen]
        if not masks:
            ids = ", ".join(target.id for target in sample.targets) or "none"
            raise SampleInvalid(
                f"{image_stem}: the table names object {object_stem!r}, the image has {ids}"
            )
        return sample.image, np.logical_or.reduce(masks)

    return load


def first_rounds(dataset: Dataset, *, limit: int | None = None) -> Iterator[Instance]:
    """Yield every target of the first `limit` samples, or of all, as an instance without clicks."""
    for sample_id in list(dataset.sample_ids)[:limit]:
        sample = _require_image(dataset.load(sample_id))
        for target in sample.targets:
            object_stem = target.id if len(sample.targets) > 1 else ""
            full_stem = sample_id
            if object_stem:
                full_stem = f"{sample_id}{OBJECT_SEPARATOR}{object_stem}"
            yield Instance(
                full_stem=full_stem,
                image=sample.image,
                target=target.mask > 0,
                positions=NO_CLICKS,
                dataset=dataset.name,
                image_stem=sample_id,
                object_stem=object_stem,
            )


def _require_image(sample: Sample) -> ImageSample:
    if not isinstance(sample, ImageSample):
        raise SampleInvalid(
            f"sample {sample.id}: expected an image, got a {type(sample).__name__}; "
            "clicks tables are about images"
        )
    return sample

"""Clicks tables and datasets together: which rows belong to a dataset, and the instances of both.

A table names images by `image_stem`, which is the sample's id, and objects by `object_stem`, which is the target's id,
or empty when the image has one object.
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

KEPT_IMAGES = 16
"""So many images are kept: training asks for the instances of an image in random order."""
NO_CLICKS = np.zeros((0, 2), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DatasetMatch:
    """A clicks table compared with a dataset.

    Attributes:
        table: the rows on images of the dataset.
        instances: how many instances those are.
        elsewhere: instances on images that the dataset does not have.
        without: ids of the dataset's samples without a row.
    """

    table: pl.DataFrame
    instances: int
    elsewhere: int
    without: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.instances} instances lie on images of the dataset, {self.elsewhere} do not; "
            f"{len(self.without)} of its images have no clicks"
        )


def match_dataset(
    table: pl.DataFrame, dataset: Dataset, *, rows_of: str | None = None
) -> DatasetMatch:
    """Return the rows of a table that are about images of a dataset; with `rows_of` only those of this `dataset`.

    Raises:
        InvalidInput: no row is left, or rows of several datasets are.
    """
    import polars as pl

    chosen = table if rows_of is None else table.filter(pl.col("dataset") == rows_of)
    kept = chosen.filter(pl.col("image_stem").is_in(list(dataset.sample_ids)))
    names = kept["dataset"].unique(maintain_order=True).to_list()
    if not names:
        found = (
            ", ".join(map(repr, chosen["image_stem"].unique(maintain_order=True).head(3)))
            or "no rows"
        )
        raise InvalidInput(
            f"no click is on an image of {dataset.name}; its images are not those of the table: {found}"
        )
    if len(names) > 1:
        raise InvalidInput(
            f"clicks of several datasets are on images of {dataset.name}: {names}; say which are meant"
        )
    seen = set(kept["image_stem"].unique())
    total, here = (frame.select("dataset", "full_stem").n_unique() for frame in (chosen, kept))
    without = tuple(sample_id for sample_id in dataset.sample_ids if sample_id not in seen)
    return DatasetMatch(table=kept, instances=here, elsewhere=total - here, without=without)


def clicked_instances(
    table: pl.DataFrame, dataset: Dataset, *, previous_masks: Path | str | None = None
) -> ClickedInstances:
    """Return the instances of a table, which must be about images of `dataset`; see `match_dataset`.

    `previous_masks` is the folder of previous masks; None when there are only first rounds.
    """
    names = table["dataset"].unique().to_list()
    folders: Mapping[str, Path] = (
        {} if previous_masks is None else dict.fromkeys(names, Path(previous_masks))
    )
    return ClickedInstances(table, target_loader(dataset), previous_masks=folders)


def target_loader(dataset: Dataset) -> TargetLoader:
    """Return what loads image and object by the names of a clicks table; keeps the last few images."""

    @lru_cache(maxsize=KEPT_IMAGES)
    def sample_of(image_stem: str) -> ImageSample:
        return _image(dataset.load(image_stem))

    def load(_: str, image_stem: str, object_stem: str) -> tuple[NDArray[np.uint8], Mask]:
        sample = sample_of(image_stem)
        masks = [
            np.asarray(target.mask > 0)
            for target in sample.targets
            if object_stem in ("", target.id)
        ]
        if not masks:
            ids = ", ".join(target.id for target in sample.targets) or "none"
            raise SampleInvalid(
                f"{image_stem}: the table has clicks on object {object_stem!r}, the image has {ids}"
            )
        return sample.image, np.logical_or.reduce(masks)

    return load


def first_rounds(dataset: Dataset, *, limit: int | None = None) -> Iterator[Instance]:
    """Yield every target of the first `limit` samples as an instance without clicks, sample by sample."""
    for sample_id in list(dataset.sample_ids)[:limit]:
        sample = _image(dataset.load(sample_id))
        for target in sample.targets:
            code = target.id if len(sample.targets) > 1 else ""
            yield Instance(
                full_stem=f"{sample_id}{OBJECT_SEPARATOR}{code}" if code else sample_id,
                image=sample.image,
                target=target.mask > 0,
                positions=NO_CLICKS,
                dataset=dataset.name,
                image_stem=sample_id,
                object_stem=code,
            )


def _image(sample: Sample) -> ImageSample:
    if not isinstance(sample, ImageSample):
        raise SampleInvalid(
            f"sample {sample.id}: people clicked on images, this is a {type(sample).__name__}"
        )
    return sample

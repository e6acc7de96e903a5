"""Instances: one object of one image in one round, with the human clicks on it.

An *instance* is what an annotator saw: the image, the target and, after the first round, the mask
to correct. Its clicks are read from the clicks table, clipped to the image, and scaled to the size
at which the image is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from segarena.errors import DatasetMissing, InvalidImage, SampleInvalid
from segarena.files.hashes import fingerprint
from segarena.files.images import read_image
from segarena.files.safe_paths import safe_join
from segarena.samples import Mask
from segarena.systems.clicks.click_maps import ClickType, error_mask

if TYPE_CHECKING:
    import polars as pl

MAX_SIDE_PX: Mapping[str, int] = {"TETRIS": 2048}
"""Maximum length in pixels of the longer side, for datasets whose images are loaded at reduced size."""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class Instance:
    """One object of one image in one round.

    Attributes:
        full_stem: the instance's name, unique within the dataset.
        image: uint8 (H, W, 3), RGB.
        target: bool (H, W).
        previous: the mask to correct, float in [0, 1] (H, W); None in the first round.
        positions: int (n, 2), the (row, column) of every click; n may be 0.
        click_type: the kind of error that the clicks correct.
        dataset: the dataset of the image.
        image_stem: the image's name.
        object_stem: the object's code; empty when the image has one object.
        model_type: the model that made `previous`; empty in the first round.
    """

    full_stem: str
    image: NDArray[np.uint8]
    target: Mask
    previous: NDArray[np.float32] | None = None
    positions: NDArray[np.int64]
    click_type: ClickType = "first"
    dataset: str = ""
    image_stem: str = ""
    object_stem: str = ""
    model_type: str = ""

    @property
    def error(self) -> NDArray[np.float32]:
        """Error mask that the clicks correct, float32 (H, W) in [0, 1]."""
        return error_mask(self.target, self.previous, self.click_type)


INSTANCE_COLUMNS = (
    "full_stem",
    "dataset",
    "image_stem",
    "object_stem",
    "model_type",
    "click_type",
)

TargetLoader = Callable[[str, str, str], tuple[NDArray[np.uint8], Mask]]
"""Function from (dataset, image_stem, object_stem) to the image and the object's mask, of equal size."""


class ClickedInstances(Sequence[Instance]):
    """The instances of a clicks table in order of first appearance, loaded lazily.

    Args:
        table: the clicks table.
        load: function that returns the image and the object's mask; without an object code, the
            mask contains every label above 0.
        previous_masks: folder of previous masks for each dataset; may be empty if the table
            contains only first rounds.
    """

    def __init__(
        self,
        table: pl.DataFrame,
        load: TargetLoader,
        *,
        previous_masks: Mapping[str, Path] | None = None,
    ) -> None:
        self._load = load
        self._folders = previous_masks or {}
        grouped = group_clicks(place_clicks(table))
        self._rows = list(grouped.iter_rows(named=True))

    @cached_property
    def fingerprint(self) -> str:
        """Short hash of the names and clicks of all instances."""
        return fingerprint(repr(self._rows))

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Instance: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Instance]: ...
    def __getitem__(self, index: int | slice) -> Instance | Sequence[Instance]:
        if isinstance(index, slice):
            indices = range(*index.indices(len(self)))
            return [self[i] for i in indices]
        return self._read(self._rows[index])

    def __iter__(self) -> Iterator[Instance]:
        return map(self._read, self._rows)

    def _read(self, row: dict[str, Any]) -> Instance:
        image, target = self._load(row["dataset"], row["image_stem"], row["object_stem"])
        size = (row["height"], row["width"])
        if target.shape != size:
            raise SampleInvalid(
                f"{row['full_stem']}: expected a mask of size {size}, as in the clicks table, "
                f"got {target.shape}"
            )
        previous = None
        if row["click_type"] != "first":
            if row["dataset"] not in self._folders:
                raise DatasetMissing(
                    f"{row['full_stem']}: expected a folder of previous masks "
                    f"for {row['dataset']}, got none"
                )
            previous = read_previous_mask(self._folders[row["dataset"]], row["full_stem"], size)
        names = {column: row[column] for column in INSTANCE_COLUMNS}
        return Instance(
            image=image,
            target=target,
            previous=previous,
            positions=click_positions(row),
            **names,
        )


def place_clicks(
    table: pl.DataFrame, *, max_side_px: Mapping[str, int] = MAX_SIDE_PX
) -> pl.DataFrame:
    """Add click positions in the loaded image, and its size, as `row`, `column`, `height` and `width`.

    Clicks are clipped to the image size given in the first row of their instance, scaled with the
    image, and truncated to whole pixels. If the dataset has a `max_side_px`, images with a longer
    side are reduced to it; the shorter side keeps the aspect ratio and is rounded.

    Source: the published code of RClicks.
    """
    import polars as pl

    instance = ["dataset", "full_stem"]
    table = table.with_columns(
        width=pl.col("w").cast(pl.Int64).first().over(instance),
        height=pl.col("h").cast(pl.Int64).first().over(instance),
    )
    width = pl.col("width")
    height = pl.col("height")
    column = pl.min_horizontal(pl.col("x").clip(lower_bound=0), width - 1)
    row = pl.min_horizontal(pl.col("y").clip(lower_bound=0), height - 1)
    limits = [pl.when(pl.col("dataset") == name).then(limit) for name, limit in max_side_px.items()]
    longer = pl.max_horizontal(width, height)
    shorter = pl.min_horizontal(width, height)
    new_longer = pl.min_horizontal(longer, *limits)
    # Half a pixel rounds up, as in the published code.
    new_shorter = (shorter / longer * new_longer + 0.5).cast(pl.Int64)
    is_tall = height > width
    table = table.with_columns(
        new_height=pl.when(is_tall).then(new_longer).otherwise(new_shorter),
        new_width=pl.when(is_tall).then(new_shorter).otherwise(new_longer),
    )
    table = table.with_columns(
        # Truncated rather than rounded, so that a click never leaves the scaled image.
        row=row * pl.col("new_height") // height,
        column=column * pl.col("new_width") // width,
        height=pl.col("new_height"),
        width=pl.col("new_width"),
    )
    return table.drop("new_height", "new_width")


def group_clicks(placed: pl.DataFrame) -> pl.DataFrame:
    """Group the result of `place_clicks` by instance, in order of first appearance.

    The columns `row` and `column` become lists.
    """
    import polars as pl

    constant = ("image_stem", "object_stem", "model_type", "click_type", "height", "width")
    return placed.group_by("dataset", "full_stem", maintain_order=True).agg(
        pl.col(*constant).first(), pl.col("row", "column")
    )


def click_positions(row: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the clicks in one row of the result of `group_clicks` as (row, column), int (n, 2)."""
    return np.stack([row["row"], row["column"]], axis=1).astype(np.int64)


def read_previous_mask(
    folder: Path,
    full_stem: str,
    shape: tuple[int, int],
) -> NDArray[np.float32]:
    """Read the mask that people were asked to correct; float32 (H, W) in [0, 1].

    Raises:
        DatasetMissing: there is no `<full_stem>.png` in the folder.
        DatasetError: the file name points outside the folder.
        SampleInvalid: the file is unreadable, or the mask has a different size.
    """
    path = safe_join(folder, f"{full_stem}.png")
    if not path.is_file():
        raise DatasetMissing(f"expected the previous mask {path}, found no file")
    try:
        pixels = read_image(path)
    except InvalidImage as error:
        raise SampleInvalid(
            f"previous mask {path}: expected an image of {shape}, got an unreadable file: {error}"
        ) from error
    if pixels.shape[:2] != shape:
        raise SampleInvalid(
            f"previous mask {path}: expected an image of {shape}, got {pixels.shape[:2]}"
        )
    return pixels[:, :, 0].astype(np.float32) / np.float32(255)

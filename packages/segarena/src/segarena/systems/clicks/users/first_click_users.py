"""Users with one round: people's recorded first clicks, and as many clicks from a click model.

Source: RClicks, section 5 ("User", and the sampled clicks with which it is compared).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.prompts import Click
from segarena.registry import user
from segarena.roles import Turn
from segarena.samples import Sample, Target
from segarena.systems.clicks.crowd.clicks_table import read_clicks
from segarena.systems.clicks.crowd.instances import click_positions, group_clicks, place_clicks
from segarena.systems.clicks.models.click_models import shared_map
from segarena.systems.clicks.users.map_clicker import MapClicker

SizeMismatchRule = Literal["scale", "published"]


@dataclass(frozen=True, slots=True, eq=False)
class _Clicks:
    """First clicks on one instance.

    Attributes:
        dataset: dataset name in the clicks table.
        positions: int (n, 2), (row, column) of each click.
        shape: (height, width) of the image on which people clicked.
    """

    dataset: str
    positions: NDArray[np.int64]
    shape: tuple[int, int]


class FirstClickLookup:
    """Lookup of the first clicks in a clicks table, by sample and target.

    An instance belongs to the sample whose id is its `image_stem`, and to the target whose id is
    its `object_stem`. If the `object_stem` is empty, the instance belongs to the sample's only
    target.

    The arguments are those of `RealFirstClicks`.

    Raises:
        InvalidInput: the table cannot be read, or has no first clicks on images of `dataset`.
    """

    def __init__(
        self,
        path: str,
        *,
        dataset: str | None = None,
        other_size: SizeMismatchRule = "scale",
    ) -> None:
        file = Path(path)
        changed_ns = file.stat().st_mtime_ns if file.is_file() else 0
        self._clicks = _read_first_clicks(path, dataset, changed_ns)
        self._path = path
        self._is_scaling = other_size == "scale"

    def count(self, sample: Sample, target: Target) -> int:
        """Return the number of first clicks on this target; may be 0."""
        clicks = self._find(sample, target)
        return 0 if clicks is None else len(clicks.positions)

    def click(self, turn: Turn) -> Click:
        """Return the first click of the person with index `turn.repeat`.

        The click is always positive and inside the image, even if it missed the target.

        Raises:
            InvalidInput: there is no click on this target, or the image has a different aspect
                ratio than in the table and `other_size` is "scale".
        """
        clicks = self._find(turn.sample, turn.target)
        if clicks is None:
            raise InvalidInput(
                f"sample {turn.sample.id}, target {turn.target.id}: the table has no first click on this target"
            )
        position = clicks.positions[turn.repeat].tolist()
        return Click(self._fit_to_image(position, clicks.shape, turn.sample))

    def _find(self, sample: Sample, target: Target) -> _Clicks | None:
        candidates = list(self._clicks.get((sample.id, target.id), ()))
        if len(sample.targets) == 1:
            candidates += self._clicks.get((sample.id, ""), ())
        if len(candidates) > 1:
            names = " and ".join(repr(clicks.dataset) for clicks in candidates)
            raise InvalidInput(
                f"{self._path}: sample {sample.id} is in the datasets {names}; choose one with dataset=..."
            )
        return candidates[0] if candidates else None

    def _fit_to_image(
        self,
        position: Sequence[int],
        shape: tuple[int, int],
        sample: Sample,
    ) -> tuple[int, ...]:
        """Scale a position to the size of the image if requested, and clip it to the image."""
        size = sample.shape
        if self._is_scaling and size != shape:
            # Aspect ratios count as equal if the sides, rounded to whole pixels, differ by less
            # than one pixel.
            if len(size) != 2 or abs(size[0] * shape[1] - size[1] * shape[0]) > max(shape):
                raise InvalidInput(
                    f"sample {sample.id}: expected the aspect ratio of {shape}, the image size in the clicks table, "
                    f"got {size}; check that it is the same image. "
                    "other_size='published' uses the coordinates unchanged"
                )
            position = (position[0] * size[0] // shape[0], position[1] * size[1] // shape[1])
        clipped: list[int] = []
        for coordinate, side in zip(position, size, strict=True):
            clipped.append(min(coordinate, side - 1))
        return tuple(clipped)


@user("real-first")
class RealFirstClicks:
    """Replay people's first clicks, with one dialogue of one round per click.

    A target without clicks in the table has no dialogue with this user; `counts` in run.json
    gives the number of dialogues.

    Args:
        clicks: path of the clicks table.
        dataset: use only the table rows of this dataset; None uses all rows.
        other_size: what to do if an image has a different size than in the table. "scale" scales
            the clicks with the image, provided that the aspect ratio is the same; "published" clips
            the unchanged coordinates to the image.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(
        self,
        *,
        clicks: str,
        dataset: str | None = None,
        other_size: SizeMismatchRule = "scale",
    ) -> None:
        self._first = FirstClickLookup(clicks, dataset=dataset, other_size=other_size)
        self.repeats = self._first.count

    def next(self, turn: Turn) -> Sequence[Click] | None:
        """Return the person's click in the first round, and None afterwards."""
        return (self._first.click(turn),) if turn.round == 1 else None


@user("sampled-first")
class SampledFirstClicks:
    """Sample first clicks from a click model, as many as people made, for comparison with `real-first`.

    Args:
        clicks: path of the clicks table; only the number of clicks on each target is read.
        click_model: the click model, in the notation of `segarena list click-models`.
        dataset: use only the table rows of this dataset; None uses all rows.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(
        self,
        *,
        clicks: str,
        click_model: str = "depth",
        dataset: str | None = None,
    ) -> None:
        self.repeats = FirstClickLookup(clicks, dataset=dataset).count
        # The attribute is not called `shared`, because after the first round there is no map to
        # prepare.
        self._clicker = MapClicker(shared_map(click_model))

    def next(self, turn: Turn) -> Sequence[Click] | None:
        """Return a click sampled from the whole map in the first round, and None afterwards."""
        return self._clicker.next(turn) if turn.round == 1 else None


@cache
def _read_first_clicks(
    path: str,
    dataset: str | None,
    changed_ns: int,
) -> dict[tuple[str, str], list[_Clicks]]:
    """Return the first clicks of a table by image and object; cached until the file changes."""
    import polars as pl

    del changed_ns  # only a cache key
    table = read_clicks(path).filter(pl.col("click_type") == "first")
    names = table["dataset"].unique(maintain_order=True).head(8)
    listed = ", ".join(map(repr, names)) or "none at all"
    if dataset is not None:
        table = table.filter(pl.col("dataset") == dataset)
    if not table.height:
        wanted = "any dataset" if dataset is None else repr(dataset)
        raise InvalidInput(f"{path}: expected first clicks on {wanted}, found those of {listed}")
    # Users scale the clicks themselves, so no size limits apply here.
    grouped = group_clicks(place_clicks(table, max_side_px={}))
    by_target: dict[tuple[str, str], list[_Clicks]] = {}
    for row in grouped.iter_rows(named=True):
        clicks = _Clicks(row["dataset"], click_positions(row), (row["height"], row["width"]))
        target = (row["image_stem"], row["object_stem"])
        by_target.setdefault(target, []).append(clicks)
    return by_target

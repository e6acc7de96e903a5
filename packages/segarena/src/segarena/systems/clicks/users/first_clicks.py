"""First clicks of real people, and as many drawn from a click model: one round each.

Source: RClicks, section 5 ("User" and the sampled clicks it is compared with).
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
from segarena.systems.clicks.models.click_models import shared_map
from segarena.systems.clicks.users.map_clicker import MapClicker

SizeMismatchRule = Literal["scale", "published"]


@dataclass(frozen=True, slots=True, eq=False)
class _Clicks:
    """The first clicks on one instance: int (n, 2) in an image of `shape`."""

    dataset: str
    positions: NDArray[np.int64]
    shape: tuple[int, int]


class FirstClickLookup:
    """The first clicks of a clicks table, found by sample and target.

    An instance belongs to the sample whose id is its `image_stem`, and to the target whose id is its `object_stem`;
    without an `object_stem`, to the only target of a sample that has one.

    Args are those of `RealFirst`.

    Raises:
        InvalidInput: the table cannot be read, or has no first clicks (of that dataset).
    """

    def __init__(
        self, path: str, *, dataset: str | None = None, other_size: SizeMismatchRule = "scale"
    ) -> None:
        file = Path(path)
        self._clicks = _read(path, dataset, file.stat().st_mtime_ns if file.is_file() else 0)
        self._path = path
        self._is_scaling = other_size == "scale"

    def count(self, sample: Sample, target: Target) -> int:
        """Return how many people clicked first on this target; 0 when nobody did."""
        found = self._find(sample, target)
        return 0 if found is None else len(found.positions)

    def click(self, turn: Turn) -> Click:
        """Return the first click of person number `turn.repeat`: positive, wherever it fell, inside the image.

        Raises:
            InvalidInput: the image has other proportions than in the table.
        """
        found = self._find(turn.sample, turn.target)
        if found is None:
            raise InvalidInput(
                f"sample {turn.sample.id}, target {turn.target.id}: nobody clicked on it"
            )
        return Click(self._placed(found.positions[turn.repeat].tolist(), found.shape, turn.sample))

    def _find(self, sample: Sample, target: Target) -> _Clicks | None:
        found = list(self._clicks.get((sample.id, target.id), ()))
        if len(sample.targets) == 1:
            found += self._clicks.get((sample.id, ""), ())
        if len(found) > 1:
            names = " and ".join(repr(clicks.dataset) for clicks in found)
            raise InvalidInput(
                f"{self._path}: sample {sample.id} is in {names}; say which is meant with dataset=..."
            )
        return found[0] if found else None

    def _placed(
        self, position: Sequence[int], shape: tuple[int, int], sample: Sample
    ) -> tuple[int, ...]:
        size = sample.shape
        if self._is_scaling and size != shape:
            # The same proportions: sides that were rounded to whole pixels differ by less than one.
            if len(size) != 2 or abs(size[0] * shape[1] - size[1] * shape[0]) > max(shape):
                raise InvalidInput(
                    f"sample {sample.id}: its clicks were made on an image of {shape}, this one is {size}; "
                    "is it another image? other_size='published' takes the coordinates as they are"
                )
            position = (position[0] * size[0] // shape[0], position[1] * size[1] // shape[1])
        return tuple(min(p, n - 1) for p, n in zip(position, size, strict=True))


@user("real-first")
class RealFirstClicks:
    """The first clicks that real people made: a dialogue of one round for each of them.

    A target without clicks in the table has no dialogue with this user; the run's `counts` say how many there are.

    Args:
        clicks: path of the clicks table.
        dataset: only rows of this dataset of the table; None takes all.
        other_size: on an image of another size than in the table, "scale" moves the clicks with it, if the proportions
            are the same; "published" takes the coordinates as they are and clips them.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(
        self, *, clicks: str, dataset: str | None = None, other_size: SizeMismatchRule = "scale"
    ) -> None:
        self._first = FirstClickLookup(clicks, dataset=dataset, other_size=other_size)
        self.repeats = self._first.count

    def next(self, turn: Turn) -> Sequence[Click] | None:
        """Return the person's click, and None after it."""
        return (self._first.click(turn),) if turn.round == 1 else None


@user("sampled-first")
class SampledFirstClicks:
    """As many first clicks as real people made, drawn from a click model: what `real-first` is compared with.

    Args:
        clicks: path of the clicks table; only the number of clicks on each target is taken from it.
        click_model: where people click, as written in `segarena list click-models`.
        dataset: only rows of this dataset of the table; None takes all.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(
        self, *, clicks: str, click_model: str = "depth", dataset: str | None = None
    ) -> None:
        self.repeats = FirstClickLookup(clicks, dataset=dataset).count
        # Not offered as `shared`: there is nothing to prepare for after the first round.
        self._clicker = MapClicker(shared_map(click_model))

    def next(self, turn: Turn) -> Sequence[Click] | None:
        """Return a click drawn from the whole map, and None after it."""
        return self._clicker.next(turn) if turn.round == 1 else None


@cache
def _read(path: str, dataset: str | None, changed_ns: int) -> dict[tuple[str, str], list[_Clicks]]:
    """Read a table once in this process, and again when it has changed."""
    import polars as pl

    from segarena.systems.clicks.crowd.clicks_table import read_clicks
    from segarena.systems.clicks.crowd.instances import click_positions, group_clicks, place_clicks

    del changed_ns
    table = read_clicks(path).filter(pl.col("click_type") == "first")
    there = (
        ", ".join(map(repr, table["dataset"].unique(maintain_order=True).head(8))) or "none at all"
    )
    if dataset is not None:
        table = table.filter(pl.col("dataset") == dataset)
    if not table.height:
        raise InvalidInput(
            f"{path}: expected first clicks on {dataset or 'something'!r}, found those of {there}"
        )
    found: dict[tuple[str, str], list[_Clicks]] = {}
    for row in group_clicks(place_clicks(table, max_side_px={})).iter_rows(named=True):
        clicks = _Clicks(row["dataset"], click_positions(row), (row["height"], row["width"]))
        found.setdefault((row["image_stem"], row["object_stem"]), []).append(clicks)
    return found

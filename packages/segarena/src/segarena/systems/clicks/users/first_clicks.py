"""Users of one round: people's recorded first clicks, and as many samples from a click model.

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
from segarena.systems.clicks.crowd.clicks_table import read_clicks
from segarena.systems.clicks.crowd.instances import click_positions, group_clicks, place_clicks
from segarena.systems.clicks.models.click_models import shared_map
from segarena.systems.clicks.users.map_clicker import MapClicker

SizeMismatchRule = Literal["scale", "published"]


@dataclass(frozen=True, slots=True, eq=False)
class _Clicks:
    """First clicks on one instance.

    Attributes:
        dataset: the value in the clicks table.
        positions: int (n, 2), rows and columns.
        shape: (height, width) of the image that was clicked.
    """

    dataset: str
    positions: NDArray[np.int64]
    shape: tuple[int, int]


class FirstClickLookup:
    """First clicks of a clicks table, by sample and target.

    An instance belongs to the sample whose id is its `image_stem`, and to the target whose id is
    its `object_stem`; without an `object_stem`, to the only target of a sample that has one.

    Args are those of `RealFirstClicks`.

    Raises:
        InvalidInput: the table cannot be read, or has no first clicks (of that dataset).
    """

    def __init__(
        self, path: str, *, dataset: str | None = None, other_size: SizeMismatchRule = "scale"
    ) -> None:
        file = Path(path)
        changed_ns = file.stat().st_mtime_ns if file.is_file() else 0
        self._clicks = _read_first_clicks(path, dataset, changed_ns)
        self._path = path
        self._is_scaling = other_size == "scale"

    def count(self, sample: Sample, target: Target) -> int:
        """Return the number of first clicks on this target; 0 without any."""
        clicks = self._find(sample, target)
        return 0 if clicks is None else len(clicks.positions)

    def click(self, turn: Turn) -> Click:
        """Return the first click of person number `turn.repeat`.

        The click is always positive and inside the image, also where it missed the target.

        Raises:
            InvalidInput: the image has other proportions than in the table.
        """
        clicks = self._find(turn.sample, turn.target)
        if clicks is None:
            raise InvalidInput(
                f"sample {turn.sample.id}, target {turn.target.id}: nobody clicked on it"
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
                f"{self._path}: sample {sample.id} is in {names}; "
                "say which is meant with dataset=..."
            )
        return candidates[0] if candidates else None

    def _fit_to_image(
        self, position: Sequence[int], shape: tuple[int, int], sample: Sample
    ) -> tuple[int, ...]:
        """Scale a position to the image's size if asked to, and clip it to the image."""
        size = sample.shape
        if self._is_scaling and size != shape:
            # Equal proportions: sides rounded to whole pixels differ by less than one pixel.
            if len(size) != 2 or abs(size[0] * shape[1] - size[1] * shape[0]) > max(shape):
                raise InvalidInput(
                    f"sample {sample.id}: its clicks were made on an image of {shape}, "
                    f"this one is {size}; is it another image? "
                    "other_size='published' takes the coordinates as they are"
                )
            position = (position[0] * size[0] // shape[0], position[1] * size[1] // shape[1])
        clipped: list[int] = []
        for coordinate, side in zip(position, size, strict=True):
            clipped.append(min(coordinate, side - 1))
        return tuple(clipped)


@user("real-first")
class RealFirstClicks:
    """Replay people's first clicks: a dialogue of one round per click.

    A target without clicks in the table has no dialogue with this user; the run's `counts` tell
    the number of dialogues.

    Args:
        clicks: path of the clicks table.
        dataset: only rows of this dataset of the table; None takes all.
        other_size: on an image of another size than in the table, "scale" moves the clicks with
            it, if the proportions are the same; "published" takes the coordinates as they are and
            clips them.
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
    """Sample as many first clicks from a click model as people made, to compare with `real-first`.

    Args:
        clicks: path of the clicks table; only the number of clicks on each target is read.
        click_model: where people click, as written in `segarena list click-models`.
        dataset: only rows of this dataset of the table; None takes all.
    """

    prompt_kinds = frozenset({"click"})

    def __init__(
        self, *, clicks: str, click_model: str = "depth", dataset: str | None = None
    ) -> None:
        self.repeats = FirstClickLookup(clicks, dataset=dataset).count
        # Not an attribute `shared`: after the first round there is no map to prepare.
        self._clicker = MapClicker(shared_map(click_model))

    def next(self, turn: Turn) -> Sequence[Click] | None:
        """Return a click drawn from the whole map, and None after it."""
        return self._clicker.next(turn) if turn.round == 1 else None


@cache
def _read_first_clicks(
    path: str, dataset: str | None, changed_ns: int
) -> dict[tuple[str, str], list[_Clicks]]:
    """Read a table once in this process, and again when it has changed."""
    import polars as pl

    del changed_ns  # only a cache key
    table = read_clicks(path).filter(pl.col("click_type") == "first")
    names = table["dataset"].unique(maintain_order=True).head(8)
    listed = ", ".join(map(repr, names)) or "none at all"
    if dataset is not None:
        table = table.filter(pl.col("dataset") == dataset)
    if not table.height:
        raise InvalidInput(
            f"{path}: expected first clicks on {dataset or 'something'!r}, found those of {listed}"
        )
    # Users scale clicks themselves, so no side limits apply here.
    grouped = group_clicks(place_clicks(table, max_side_px={}))
    by_target: dict[tuple[str, str], list[_Clicks]] = {}
    for row in grouped.iter_rows(named=True):
        clicks = _Clicks(row["dataset"], click_positions(row), (row["height"], row["width"]))
        target = (row["image_stem"], row["object_stem"])
        by_target.setdefault(target, []).append(clicks)
    return by_target

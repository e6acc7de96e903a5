"""What participants see of a run's scores, and which runs look like one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from segarena.arrays.rle import decode_rle
from segarena.challenges.description import Challenge, Phase
from segarena.engine.store import RunFolder
from segarena.records.trust import reading
from segarena.reports.reading import Run, read_runs
from segarena.reports.tables import mean_of
from segarena.roles import Statistic

EQUAL_IOU = 0.99
"""Two masks that share so much are one mask with a few pixels changed."""

NEAR_SHARE = 0.5
"""Runs of which so large a share of masks is equal are pointed out: different models agree on far fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A mean over targets with its 95 % interval, as far as participants see it; None where it is not defined."""

    user: str
    statistic: str
    mean: float | None
    low: float | None
    high: float | None


def shows_own(phase: Phase, now: datetime) -> bool:
    """Tell whether participants see the scores of their own runs; once a phase is closed they do."""
    return phase.shows in ("own", "board") or phase.is_closed(now)


def shows_board(phase: Phase, now: datetime) -> bool:
    """Tell whether participants see those of all; once a phase is closed they do."""
    return phase.shows == "board" or phase.is_closed(now)


def board_until(challenge: Challenge, now: datetime) -> datetime | None:
    """Return up to which moment runs count on the board; None: all. It stands still from its freeze to the end."""
    is_over = all(phase.is_closed(now) for phase in challenge.phases)
    return None if challenge.frozen is None or is_over or now < challenge.frozen else challenge.frozen


def scores_of(folder: Path, phase: Phase) -> list[Score]:
    """Return the summary of a finished run, rounded as the phase says.

    Raises:
        RunMissing, StoreError: there is no such run, or it is damaged.
    """
    with reading(trust=False):
        (run,) = read_runs([folder])
        return [_score(run, user, statistic, phase.decimals) for user in run.users for statistic in run.summary]


def _score(run: Run, user: str, statistic: Statistic, decimals: int) -> Score:
    found = mean_of(run, user, statistic)
    ends = (found.mean, found.low, found.high)
    mean, low, high = (round(each, decimals) if isfinite(each) else None for each in ends)
    return Score(user=user, statistic=statistic.name, mean=mean, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """How alike two runs are.

    Attributes:
        share: of the masks of the same rounds of the same dialogues that are equal, few pixels apart.
        compared: how many there were; empty masks say nothing and are left out.
    """

    share: float
    compared: int

    @property
    def is_near(self) -> bool:
        """Whether somebody should look at these two."""
        return self.compared > 0 and self.share >= NEAR_SHARE


def likeness_of(one: Path, other: Path) -> Likeness:
    """Return how alike two runs are.

    Raises:
        RunMissing, StoreError: there is no such run, or it is damaged.
    """
    keys = ["sample", "target", "user", "repeat", "round", "object"]
    masks = [RunFolder.open(folder).read("masks", [*keys, "rle", "shape"]) for folder in (one, other)]
    both = masks[0].join(masks[1], on=keys, suffix="_other")
    equal = [is_equal for row in both.iter_rows(named=True) for is_equal in _compared(row)]
    return Likeness(share=sum(equal) / len(equal) if equal else 0.0, compared=len(equal))


def _compared(row: dict[str, Any]) -> Iterator[bool]:
    if list(row["shape"]) != list(row["shape_other"]):
        return
    first = decode_rle(row["rle"], tuple(row["shape"]))
    if not first.any():
        return
    second = first if row["rle"] == row["rle_other"] else decode_rle(row["rle_other"], tuple(row["shape"]))
    yield int(np.count_nonzero(first & second)) >= EQUAL_IOU * int(np.count_nonzero(first | second))

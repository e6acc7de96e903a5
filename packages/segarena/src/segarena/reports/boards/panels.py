"""The panels of a board: what its entries came to in one statistic, which are better than which, and their places."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.reports.boards.extracts import Extract
from segarena.reports.group_figures import group_order, target_groupings
from segarena.reports.run_statistics import TargetKey, image_clusters
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval, bootstrap_means
from segarena.statistics.pairs import all_pairs, places


class Panel(NamedTuple):
    """What entries came to in one statistic, on some data with one user, on all targets or those of a group.

    Attributes:
        entries: their numbers on the board; those without a value are left out.
        means: over targets, with intervals.
        ahead: bool (entries, entries), where the row is better than the column with all pairs tested together.
    """

    entries: tuple[int, ...]
    means: tuple[Interval, ...]
    ahead: NDArray[np.bool_]


class PanelKey(NamedTuple):
    """Which panel: data and user by name, "" or "attribute: group", and the name of the statistic."""

    data: str
    user: str
    group: str
    statistic: str


class BoardRank(NamedTuple):
    """A row: the number of the entry, its mean, its place by the mean, and the places that the tests leave open.

    Places are 0 where the entry has none; such rows come last.
    """

    entry: int
    mean: Interval
    place: int
    first: int
    last: int


def rank_panel(
    panel: Panel, shown: Sequence[int], *, higher_is_better: bool, unranked: Collection[int] = ()
) -> list[BoardRank]:
    """Return the rows of a panel that are shown, the best first; equal means have equal places, the earlier run first.

    Those that are `unranked` come last, without a place.

    The places that the tests leave open are those among the rows shown. They hold whichever rows these are, and whoever
    chose them after looking: all pairs of all entries were tested together.
    """
    wanted = set(shown)
    every = [place for place, entry in enumerate(panel.entries) if entry in wanted]
    sign = 1 if higher_is_better else -1
    values = {place: round_mean(panel.means[place].mean) for place in every}
    every.sort(key=lambda place: -sign * values[place])
    inside = [place for place in every if panel.entries[place] not in unranked]
    others = [place for place in every if panel.entries[place] in unranked]
    firsts, lasts = places(panel.ahead[np.ix_(inside, inside)])
    falling = [values[place] for place in inside]
    rows = [
        BoardRank(
            entry=panel.entries[place],
            mean=panel.means[place],
            place=1 + falling.index(values[place]),
            first=int(first),
            last=int(last),
        )
        for place, first, last in zip(inside, firsts, lasts, strict=True)
    ]
    return rows + [BoardRank(panel.entries[place], panel.means[place], 0, 0, 0) for place in others]


def round_mean(value: float) -> float:
    """Return a mean to nine digits: what differs by less differs by the order of a sum."""
    return float(f"{value:.9g}")


def shared_statistics(extracts: Sequence[Extract]) -> tuple[Statistic, ...]:
    """Return the statistics that all entries have, in the order of the first."""
    return tuple(
        one
        for one in extracts[0].summary
        if all(one in extract.summary for extract in extracts[1:])
    )


def panels_of(
    extracts: Sequence[Extract],
    data: Sequence[str],
    measure: Statistic,
    *,
    unranked: Collection[int] = (),
) -> Iterator[tuple[PanelKey, Panel]]:
    """Yield the panel of every statistic that all have, for each data and user; of groups that of `measure` alone.

    Args:
        extracts: of the entries, by number.
        data: what the data of each is called.
        measure: what the board is sorted by at first.
        unranked: those that are tested against nobody.
    """
    for name in dict.fromkeys(data):
        own = [number for number, other in enumerate(data) if other == name]
        for user in dict.fromkeys(user for number in own for user in extracts[number].users):
            table = _Table(
                extracts, [number for number in own if user in extracts[number].users], user
            )
            for statistic in shared_statistics(extracts):
                for group, where in table.groups.items():
                    if not group or statistic == measure:
                        yield (
                            PanelKey(name, user, group, statistic.name),
                            table.panel(statistic, where, unranked),
                        )


class _Table:
    """The values of some entries with one user, a column for each target that anyone has."""

    def __init__(self, extracts: Sequence[Extract], entries: Sequence[int], user: str) -> None:
        self._extracts = extracts
        self._entries = entries
        self._user = user
        attributes: dict[TargetKey, Mapping[str, str | float]] = {}
        self._keys: list[list[TargetKey]] = []
        for number in entries:
            targets = extracts[number].targets
            self._keys.append(list(zip(targets.sample, targets.target, strict=True)))
            for key, told in zip(self._keys[-1], targets.attributes, strict=True):
                attributes.setdefault(key, told)
        self._columns = {key: column for column, key in enumerate(attributes)}
        self._clusters = image_clusters(list(attributes))
        self.groups = {"": np.arange(len(attributes))}
        for name, (groups, _) in target_groupings(attributes).items():
            for group in group_order(groups):
                inside = [
                    column for key, column in self._columns.items() if groups.get(key) == group
                ]
                self.groups[f"{name.replace('_', ' ')}: {group}"] = np.array(inside)

    def panel(
        self, statistic: Statistic, where: NDArray[np.int64], unranked: Collection[int]
    ) -> Panel:
        values = self._values(statistic)[:, where]
        is_known = np.atleast_1d(np.isfinite(values).any(axis=1))
        values = values[is_known]
        clusters = self._clusters[where]
        shown = [
            number for number, known in zip(self._entries, is_known.tolist(), strict=True) if known
        ]
        tested = np.flatnonzero([number not in unranked for number in shown])
        ahead = np.zeros((len(shown), len(shown)), dtype=np.bool_)
        pairs = all_pairs(values[tested], clusters)
        ahead[np.ix_(tested, tested)] = pairs.ahead(higher_is_better=statistic.higher_is_better)
        return Panel(
            entries=tuple(shown), means=tuple(bootstrap_means(values, clusters)), ahead=ahead
        )

    def _values(self, statistic: Statistic) -> NDArray[np.float64]:
        values = np.full((len(self._entries), len(self._columns)), np.nan)
        for row, (number, keys) in enumerate(zip(self._entries, self._keys, strict=True)):
            column = self._extracts[number].values[self._user][statistic.name]
            values[row, [self._columns[key] for key in keys]] = np.array(column, dtype=np.float64)
        return values

"""Panels of a board: means, significant differences and ranks of its entries in one statistic."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.reports.boards.extracts import Extract
from segarena.reports.group_figures import group_order, target_groupings
from segarena.reports.run_statistics import TargetKey, image_clusters
from segarena.statistics.intervals import Interval, bootstrap_means
from segarena.statistics.pairs import all_pairs, places


class Panel(NamedTuple):
    """Means of the entries in one statistic, for some data, a user, and all targets or a group.

    Attributes:
        entries: numbers of the entries on the board, without those that have no value.
        means: means over targets with intervals.
        ahead: bool (entries, entries), whether the row is significantly better than the column with
            all pairs tested together.
    """

    entries: tuple[int, ...]
    means: tuple[Interval, ...]
    ahead: NDArray[np.bool_]


class PanelKey(NamedTuple):
    """Key of a panel: names of data and user, "" or "attribute: group", and name of the statistic."""

    data: str
    user: str
    group: str
    statistic: str


class BoardRank(NamedTuple):
    """A row of a board: entry number, mean, rank by the mean, and the range of possible ranks.

    Ranks of an unranked entry are 0; such rows come last.
    """

    entry: int
    mean: Interval
    place: int
    first: int
    last: int


def rank_panel(
    panel: Panel, shown: Sequence[int], *, higher_is_better: bool, unranked: Collection[int] = ()
) -> list[BoardRank]:
    """Return the shown rows of a panel, the best first and the `unranked` ones last.

    Equal means have equal ranks, and the earlier run comes first.

    Ranges of ranks refer to the shown rows. They are valid for any selection of rows, even one made
    after looking at the results, because all pairs of all entries were tested together.
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
    """Return a mean with nine digits, so that the order of summation cannot break ties."""
    return float(f"{value:.9g}")


def shared_statistics(extracts: Sequence[Extract]) -> tuple[Statistic, ...]:
    """Return the statistics that all extracts have, in the order of the first extract."""
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
    """Yield the panel of each shared statistic for each data and user; for groups only `measure`.

    Args:
        extracts: extracts of the entries by number.
        data: name of the data of each entry.
        measure: statistic of the initial order of the board.
        unranked: numbers of the entries that take no part in the tests.
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
    """The values of some entries with one user, with a column for each target of any of them."""

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
            columns = [self._columns[key] for key in keys]
            values[row, columns] = np.array(column, dtype=np.float64)
        return values

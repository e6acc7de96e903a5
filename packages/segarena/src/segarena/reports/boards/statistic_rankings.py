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
from segarena.statistics.pairwise_tests import compare_all_pairs, rank_ranges


class Panel(NamedTuple):
    """Means of the entries in one statistic, for one dataset and user, over all targets or one group.

    Attributes:
        entries: indices of the entries on the board; entries without a value are missing.
        means: means over targets with intervals.
        ahead: bool (entries, entries), whether the row is significantly better than the column when
            all pairs are tested together.
    """

    entries: tuple[int, ...]
    means: tuple[Interval, ...]
    ahead: NDArray[np.bool_]

    @property
    def mean_by_entry(self) -> dict[int, Interval]:
        """Mean of each entry by its index."""
        return dict(zip(self.entries, self.means, strict=True))


class PanelKey(NamedTuple):
    """Key of a panel: names of dataset and user, "" or "attribute: group", and name of the statistic."""

    data: str
    user: str
    group: str
    statistic: str


class BoardRank(NamedTuple):
    """A row of a board: entry index, mean, rank by the mean, and the range of possible ranks.

    The ranks of an unranked entry are 0; its row comes after all ranked rows.
    """

    entry: int
    mean: Interval
    place: int
    first: int
    last: int


def rank_panel(
    panel: Panel,
    shown: Sequence[int],
    *,
    higher_is_better: bool,
    unranked: Collection[int] = (),
) -> list[BoardRank]:
    """Rank the shown rows of a panel, best first and the `unranked` ones last.

    Entries with equal means share a rank; the earlier run comes first.

    Rank ranges refer to the shown rows. They are valid for any selection of rows, even one made
    after looking at the results, because all pairs of all entries were tested together.
    """
    shown_entries = set(shown)
    sign = 1 if higher_is_better else -1
    means: dict[int, float] = {}
    for row, entry in enumerate(panel.entries):
        if entry in shown_entries:
            means[row] = round_mean(panel.means[row].mean)
    # The sort is stable, so ties keep the earlier run first.
    best_first = sorted(means, key=lambda row: -sign * means[row])
    ranked: list[int] = []
    others: list[int] = []
    for row in best_first:
        if panel.entries[row] in unranked:
            others.append(row)
        else:
            ranked.append(row)
    firsts, lasts = rank_ranges(panel.ahead[np.ix_(ranked, ranked)])
    falling = [means[row] for row in ranked]
    board_ranks: list[BoardRank] = []
    for row, first, last in zip(ranked, firsts, lasts, strict=True):
        rank = BoardRank(
            entry=panel.entries[row],
            mean=panel.means[row],
            place=1 + falling.index(means[row]),
            first=int(first),
            last=int(last),
        )
        board_ranks.append(rank)
    for row in others:
        board_ranks.append(BoardRank(panel.entries[row], panel.means[row], 0, 0, 0))
    return board_ranks


def score_sign(statistic: Statistic) -> int:
    """Return the factor that makes the best value the highest: 1 if higher is better, else -1."""
    return 1 if statistic.higher_is_better else -1


def round_mean(value: float) -> float:
    """Round a mean to nine digits, so that rounding errors from the order of summation cannot break ties."""
    return float(f"{value:.9g}")


def shared_statistics(extracts: Sequence[Extract]) -> tuple[Statistic, ...]:
    """Return the statistics that all extracts have, in the order of the first extract."""
    first, *others = extracts
    shared = list(first.summary)
    for extract in others:
        shared = [statistic for statistic in shared if statistic in extract.summary]
    return tuple(shared)


def panels_of(
    extracts: Sequence[Extract],
    data: Sequence[str],
    measure: Statistic,
    *,
    unranked: Collection[int] = (),
) -> Iterator[tuple[PanelKey, Panel]]:
    """Yield the panel of each shared statistic for each dataset and user; for groups, only the panel of `measure`.

    Args:
        extracts: extract of each entry.
        data: name of the dataset of each entry.
        measure: statistic by which the board is sorted initially.
        unranked: indices of the entries that are excluded from the tests.
    """
    statistics = shared_statistics(extracts)
    for name, user in _data_and_users(extracts, data):
        entries: list[int] = []
        for number, extract in enumerate(extracts):
            if data[number] == name and user in extract.users:
                entries.append(number)
        table = _Table(extracts, entries, user)
        for statistic in statistics:
            for group, columns in table.groups.items():
                if group and statistic != measure:
                    continue
                key = PanelKey(name, user, group, statistic.name)
                yield key, table.panel(statistic, columns, unranked)


def _data_and_users(extracts: Sequence[Extract], data: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each dataset name with each of its users, in the order of the extracts."""
    users_by_data: dict[str, dict[str, None]] = {}
    for name, extract in zip(data, extracts, strict=True):
        # A dictionary serves as an ordered set.
        users = users_by_data.setdefault(name, {})
        for user in extract.users:
            users[user] = None
    for name, users in users_by_data.items():
        for user in users:
            yield name, user


class _Table:
    """Values of several entries with one user, with a column for each target that any entry has."""

    def __init__(
        self,
        extracts: Sequence[Extract],
        entries: Sequence[int],
        user: str,
    ) -> None:
        self._extracts = extracts
        self._entries = entries
        self._user = user
        attributes: dict[TargetKey, Mapping[str, str | float]] = {}
        columns: dict[TargetKey, int] = {}
        for number in entries:
            targets = extracts[number].targets
            for key, target_attributes in zip(targets.keys, targets.attributes, strict=True):
                if key not in columns:
                    columns[key] = len(columns)
                    attributes[key] = target_attributes
        self._columns = columns
        self._clusters = image_clusters(list(attributes))
        self.groups = {"": np.arange(len(attributes))}
        for name, (groups, _) in target_groupings(attributes).items():
            attribute = name.replace("_", " ")
            for group in group_order(groups):
                self.groups[f"{attribute}: {group}"] = self._columns_in(groups, group)

    def _columns_in(self, groups: Mapping[TargetKey, str], group: str) -> NDArray[np.int64]:
        columns: list[int] = []
        for key, column in self._columns.items():
            if groups.get(key) == group:
                columns.append(column)
        return np.array(columns)

    def panel(
        self,
        statistic: Statistic,
        where: NDArray[np.int64],
        unranked: Collection[int],
    ) -> Panel:
        """Return the panel of a statistic for the targets in the columns `where`."""
        values = self._values(statistic)[:, where]
        has_value = np.atleast_1d(np.isfinite(values).any(axis=1))
        values = values[has_value]
        clusters = self._clusters[where]
        shown: list[int] = []
        tested: list[int] = []
        for row in np.flatnonzero(has_value).tolist():
            number = self._entries[row]
            if number not in unranked:
                tested.append(len(shown))
            shown.append(number)
        ahead = np.zeros((len(shown), len(shown)), dtype=np.bool_)
        pairs = compare_all_pairs(values[tested], clusters)
        ahead[np.ix_(tested, tested)] = pairs.ahead(higher_is_better=statistic.higher_is_better)
        means = tuple(bootstrap_means(values, clusters))
        return Panel(entries=tuple(shown), means=means, ahead=ahead)

    def _values(self, statistic: Statistic) -> NDArray[np.float64]:
        """Return the values of a statistic, float64 (entries, targets); NaN if a value is missing."""
        values = np.full((len(self._entries), len(self._columns)), np.nan)
        for row, number in enumerate(self._entries):
            extract = self._extracts[number]
            values_of_user = extract.values[self._user]
            columns = list(map(self._columns.__getitem__, extract.targets.keys))
            # The conversion to float64 turns None into NaN.
            own_values = np.array(values_of_user[statistic.name], dtype=np.float64)
            values[row, columns] = own_values
        return values

"""A board as data: its runs, their participants, means, ranks and significant differences."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.errors import InvalidInput, RunConflict
from segarena.reports.boards.extracts import Extract
from segarena.reports.boards.panels import (
    BoardRank,
    Panel,
    PanelKey,
    panels_of,
    rank_panel,
    round_mean,
    shared_statistics,
)
from segarena.reports.display_names import dataset_names, distinct_names, run_labels, short_name
from segarena.reports.recorded_run import rule_difference

Choice = Literal["all", "best", "last", "chosen"]
"""Which runs of a participant a board shows."""

CHOICES: tuple[Choice, ...] = ("all", "best", "last", "chosen")

_FLOOR = "a control"
"""Reason why a floor has no rank."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """A run on a board.

    Attributes:
        extract: the extract of the run.
        participant: name of the participant; empty for a run without participant, such as a
            control, which is always shown.
        name: name of the run; empty for the distinct name of its segmenter.
        at: time when the run finished in ISO 8601, UTC if it has no zone; empty for the time in
            run.json.
        is_chosen: whether the participant chose this run.
        unranked: short reason why the run has no rank, for example because its mean covers fewer
            targets than the others; empty for a ranked run.
    """

    extract: Extract
    participant: str = ""
    name: str = ""
    at: str = ""
    is_chosen: bool = False
    unranked: str = ""

    @property
    def time(self) -> datetime:
        """Time when the run finished, in UTC; year 1 if it is unknown.

        Raises:
            InvalidInput: `at` is not a time.
        """
        return time_of(self.at or self.extract.finished or self.extract.created).astimezone(UTC)


@dataclass(frozen=True, kw_only=True, eq=False)
class Board:
    """Runs of one benchmark, ranked.

    Attributes:
        title: heading of the board.
        entries: the runs in order of time, without those after the freeze.
        names: distinct name of each entry.
        participants: participant of each entry.
        data: name of the data of each entry.
        measure: statistic of the initial order.
        panels: panels by key; groups have a panel only for `measure`.
        samples: by data and user, bool (entries, samples), whether an entry has a value for a
            sample.
        floors: numbers of the entries that are controls without image, which others must beat and
            which have no rank; empty if all entries are such controls.
        frozen: ISO 8601 time after which runs are not shown; empty for all.
    """

    title: str
    entries: tuple[Entry, ...]
    names: tuple[str, ...]
    participants: tuple[str, ...]
    data: tuple[str, ...]
    measure: Statistic
    panels: Mapping[PanelKey, Panel]
    samples: Mapping[tuple[str, str], NDArray[np.bool_]]
    floors: frozenset[int] = frozenset()
    frozen: str = ""

    @cached_property
    def unranked(self) -> Mapping[int, str]:
        """Reason why an entry has no rank, by number of the unranked entry."""
        return _unranked(self.entries, self.floors)

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """Statistics of the benchmark that all entries share and for which some entry has a value."""
        shown = {key.statistic for key, panel in self.panels.items() if panel.entries}
        extracts = [entry.extract for entry in self.entries]
        statistics: list[Statistic] = []
        for statistic in shared_statistics(extracts):
            if statistic.name in shown or statistic == self.measure:
                statistics.append(statistic)
        return tuple(statistics)

    @property
    def first_key(self) -> PanelKey:
        """Key of the initial panel: `measure` on the first data with the user of the best mean."""
        measured: list[PanelKey] = []
        for key in self.panels:
            if key.statistic == self.measure.name and not key.group:
                measured.append(key)
        candidates = [key for key in measured if key.data == measured[0].data]
        sign = 1 if self.measure.higher_is_better else -1

        def best_mean(key: PanelKey) -> float:
            means = [sign * interval.mean for interval in self.panels[key].means]
            return max(means, default=-math.inf)

        return max(candidates, key=best_mean)

    def rows(self, key: PanelKey, choice: Choice = "all") -> list[BoardRank]:
        """Return the rows of a panel for a choice of runs, the best first."""
        statistic = next(one for one in self.statistics if one.name == key.statistic)
        return rank_panel(
            self.panels[key],
            self.shown(key, choice),
            higher_is_better=statistic.higher_is_better,
            unranked=self.unranked,
        )

    def shown(self, key: PanelKey, choice: Choice) -> list[int]:
        """Return the entries of a panel for a choice of runs.

        The choice depends on the measure of the board, so that all panels show the same runs.
        """
        judged = self.panels[key._replace(group="", statistic=self.measure.name)]
        in_panel = self.panels[key].entries
        sign = 1 if self.measure.higher_is_better else -1
        scores: dict[int, float] = {}
        for entry, mean in zip(judged.entries, judged.means, strict=True):
            scores[entry] = sign * round_mean(mean.mean)
        chosen = self._chosen(judged.entries, choice, scores)
        return [entry for entry in chosen if entry in in_panel]

    def _chosen(
        self, entries: Sequence[int], choice: Choice, scores: Mapping[int, float]
    ) -> Iterator[int]:
        """Yield the chosen entries of each participant; a high score is good in every statistic."""
        for group in self._by_participant(entries):
            marked = [entry for entry in group if self.entries[entry].is_chosen]
            ranked = [entry for entry in group if entry not in self.unranked]
            candidates = ranked or group
            match choice:
                case "all":
                    yield from group
                case "best":
                    # `max` returns the first of several entries with the same mean.
                    yield max(candidates, key=lambda entry: scores.get(entry, -math.inf))
                case "last":
                    yield candidates[-1]
                case "chosen":
                    yield (marked or candidates)[-1]

    def _by_participant(self, entries: Sequence[int]) -> list[list[int]]:
        """Return the entries of each participant by time; those without participant separately."""
        groups: dict[str | int, list[int]] = {}
        for entry in sorted(entries):
            owner = self.participants[entry] or entry
            groups.setdefault(owner, []).append(entry)
        return list(groups.values())


def board_of(
    entries: Sequence[Entry],
    *,
    title: str = "",
    measure: str | None = None,
    freeze: str = "",
) -> Board:
    """Return the board of some entries.

    Args:
        entries: at least one entry, all of runs with the same rules.
        title: heading; by default the benchmark and the data.
        measure: name of the statistic of the initial order; by default that of the benchmark.
        freeze: ISO 8601 time; runs that finished later are not on the board and do not affect it.

    Raises:
        InvalidInput: no entry is left, the statistic does not exist, or a time is invalid.
        RunConflict: the runs followed different rules.
    """
    stop = time_of(freeze) if freeze else None
    kept = _entries_until(stop, entries)
    if not kept:
        late = f", got {len(entries)} finished later than {freeze}" if entries else ""
        raise InvalidInput(f"board: expected at least one run{late}")
    _refuse_other_rules(kept)
    extracts = [entry.extract for entry in kept]
    data = dataset_names([extract.dataset for extract in extracts])
    decides = _measure_of(extracts, measure)
    floors = _floors(extracts)
    panels = panels_of(extracts, data, decides, unranked=_unranked(kept, floors))
    benchmark = extracts[0].rules["name"]
    datasets = ", ".join(dict.fromkeys(data))
    return Board(
        title=title or f"{benchmark} on {datasets}",
        entries=tuple(kept),
        names=tuple(_run_names(kept, data)),
        participants=tuple(_printable(_participant(entry)) for entry in kept),
        data=tuple(data),
        measure=decides,
        panels=dict(panels),
        samples=dict(_samples(extracts, data)),
        floors=floors,
        frozen=stop.isoformat(timespec="minutes") if stop else "",
    )


def _entries_until(stop: datetime | None, entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries that finished by then in order of time; all of them for None."""
    kept: list[Entry] = []
    for entry in entries:
        if stop is None or entry.time <= stop:
            kept.append(entry)
    return sorted(kept, key=lambda entry: entry.time)


def _run_names(entries: Sequence[Entry], data: Sequence[str]) -> Sequence[str]:
    """Return a distinct name for each entry: its own name, or else that of its segmenter."""
    segmenters = distinct_names([entry.extract.segmenter for entry in entries])
    run_names: list[str] = []
    for entry, segmenter in zip(entries, segmenters, strict=True):
        run_names.append(_printable(entry.name) or segmenter)
    return run_labels(run_names, data)


def time_of(text: str) -> datetime:
    """Return the time of an ISO 8601 text, in UTC if it has no zone; year 1 for an empty text.

    Raises:
        InvalidInput: the text is not a time.
    """
    try:
        found = datetime.fromisoformat(text) if text else datetime.min
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        # Raises for a time whose conversion to UTC would be before year 1.
        found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"time: expected one like 2026-11-22 or 2026-11-22T18:00+01:00, got {text[:40]!r}"
        ) from error
    return found


def _printable(name: str) -> str:
    """Return a name on one line and without lone surrogates, so that it can be encoded."""
    return " ".join(name.encode("utf-8", "replace").decode().split())


def _floors(extracts: Sequence[Extract]) -> frozenset[int]:
    """Return the numbers of the controls that ignore the image; none if all runs are such controls."""
    found: set[int] = set()
    for number, extract in enumerate(extracts):
        if extract.ignores_image:
            found.add(number)
    if len(found) == len(extracts):
        # A board of controls alone ranks them like other runs.
        return frozenset()
    return frozenset(found)


def _unranked(entries: Sequence[Entry], floors: Collection[int]) -> Mapping[int, str]:
    reasons: dict[int, str] = {}
    for number, entry in enumerate(entries):
        if entry.unranked:
            reasons[number] = entry.unranked
        elif number in floors:
            reasons[number] = _FLOOR
    return reasons


def _participant(entry: Entry) -> str:
    """Return the participant of a run: by default its segmenter; none for a control."""
    if entry.participant:
        return entry.participant
    segmenter = entry.extract.segmenter
    is_control = segmenter.sees_truth or entry.extract.ignores_image
    return "" if is_control else short_name(segmenter.name)


def _refuse_other_rules(entries: Sequence[Entry]) -> None:
    first = entries[0].extract
    first_name = short_name(first.segmenter.name)
    for entry in entries[1:]:
        other = entry.extract
        other_name = short_name(other.segmenter.name)
        difference = rule_difference(first.rules, other.rules, first_name, other_name)
        if difference:
            raise RunConflict(
                f"these runs followed different rules and cannot share a board: {difference}"
            )


def _measure_of(extracts: Sequence[Extract], name: str | None) -> Statistic:
    known = {statistic.name: statistic for statistic in shared_statistics(extracts)}
    wanted = extracts[0].decides if name is None else name
    if wanted not in known:
        choices = ", ".join(known) or "none that all runs have"
        raise InvalidInput(f"measure: expected one of {choices}, got {wanted!r}")
    return known[wanted]


def _samples(
    extracts: Sequence[Extract], data: Sequence[str]
) -> Iterator[tuple[tuple[str, str], NDArray[np.bool_]]]:
    """Yield for each data and user whether each extract has a value for each sample."""
    data_and_users: set[tuple[str, str]] = set()
    for name, extract in zip(data, extracts, strict=True):
        data_and_users.update((name, user) for user in extract.users)
    for name, user in sorted(data_and_users):
        known: list[set[str]] = []
        for own_data, extract in zip(data, extracts, strict=True):
            # Runs on other data have no row of their own here, but keep their number.
            own_samples: set[str] = set()
            if own_data == name:
                own_samples = _known_samples(extract, user)
            known.append(own_samples)
        all_samples = sorted(set[str]().union(*known))
        columns = {sample: column for column, sample in enumerate(all_samples)}
        has = np.zeros((len(extracts), len(columns)), dtype=np.bool_)
        for row, samples in enumerate(known):
            has[row, [columns[sample] for sample in samples]] = True
        yield (name, user), has


def _known_samples(extract: Extract, user: str) -> set[str]:
    """Return the samples for which an extract has a value in any statistic with `user`."""
    samples: set[str] = set()
    for column in extract.values.get(user, {}).values():
        for sample, value in zip(extract.targets.sample, column, strict=True):
            if value is not None:
                samples.add(sample)
    return samples

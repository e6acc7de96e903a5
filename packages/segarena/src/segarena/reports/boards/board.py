"""A board as data: its runs with their participants, means, ranks and significant differences."""

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
from segarena.reports.boards.statistic_rankings import (
    BoardRank,
    Panel,
    PanelKey,
    panels_of,
    rank_panel,
    round_mean,
    score_sign,
    shared_statistics,
)
from segarena.reports.display_names import dataset_names, distinct_names, run_labels, short_name
from segarena.reports.recorded_run import rule_difference

Choice = Literal["all", "best", "last", "chosen"]
"""Which runs of each participant a board shows."""

CHOICES: tuple[Choice, ...] = ("all", "best", "last", "chosen")

_FLOOR = "a control"
"""Reason why a floor, that is, a control that ignores the image, is unranked."""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class Entry:
    """One run on a board.

    Attributes:
        extract: the extract of the run.
        participant: name of the participant; if empty, the name of the segmenter is shown, except
            for a control, which has no participant.
        name: name of the run; if empty, a distinct name of its segmenter is shown.
        at: time when the run finished in ISO 8601, UTC if it has no zone; if empty, the time in
            run.json is used.
        is_chosen: whether the participant chose this run.
        unranked: short reason why the run has no rank, for example because its mean covers fewer
            targets than those of other runs; empty for a ranked run.
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
            InvalidInput: `at` is not a valid time.
        """
        return time_of(self.at or self.extract.finished or self.extract.created).astimezone(UTC)


@dataclass(frozen=True, kw_only=True, eq=False)
class Board:
    """A ranking of runs of the same benchmark.

    Attributes:
        title: heading of the board.
        entries: the runs in order of time, without those after the freeze.
        names: distinct name of each entry.
        participants: participant of each entry; empty for a control without one.
        data: name of the dataset of each entry.
        measure: statistic by which the board is sorted initially.
        panels: panels by key; a group of targets has a panel only for `measure`.
        samples: bool (entries, samples) by dataset and user: whether an entry has a value for a
            sample.
        floors: indices of the entries that are controls which ignore the image. They are unranked
            baselines that other entries must beat. Empty if all entries are such controls.
        frozen: ISO 8601 time after which runs are hidden; empty to show all runs.
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
        """Reason why each unranked entry is unranked, by index of the entry."""
        return _unranked(self.entries, self.floors)

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """Statistics that all entries' benchmarks share and for which at least one entry has a value."""
        shown = {self.measure.name}
        for key, panel in self.panels.items():
            if panel.entries:
                shown.add(key.statistic)
        extracts = [entry.extract for entry in self.entries]
        statistics: list[Statistic] = []
        for statistic in shared_statistics(extracts):
            if statistic.name in shown:
                statistics.append(statistic)
        return tuple(statistics)

    @property
    def statistic_names(self) -> list[str]:
        """Names of `statistics`."""
        return [statistic.name for statistic in self.statistics]

    @property
    def shown_keys(self) -> list[PanelKey]:
        """Keys of the panels for the statistics in `statistics`."""
        shown = set(self.statistic_names)
        return [key for key in self.panels if key.statistic in shown]

    def statistic_of(self, key: PanelKey) -> Statistic:
        """Return the statistic of a panel.

        Raises:
            KeyError: the board has no such statistic.
        """
        for statistic in self.statistics:
            if statistic.name == key.statistic:
                return statistic
        raise KeyError(key.statistic)

    @property
    def first_key(self) -> PanelKey:
        """Key of the initial panel: `measure` on the first dataset, with the user that has the best mean."""
        candidates: list[PanelKey] = []
        for key in self.panels:
            is_measured = key.statistic == self.measure.name and not key.group
            if is_measured and key.data == self.data[0]:
                candidates.append(key)
        # If several users have equal means, `max` returns the first.
        return max(candidates, key=self._best_score)

    def _best_score(self, key: PanelKey) -> float:
        """Return the best mean of a panel, negated if lower is better; -inf for an empty panel."""
        sign = score_sign(self.measure)
        best = -math.inf
        for interval in self.panels[key].means:
            best = max(best, sign * interval.mean)
        return best

    def rows(self, key: PanelKey, choice: Choice = "all") -> list[BoardRank]:
        """Return the rows of a panel for the selected runs, best first."""
        return rank_panel(
            self.panels[key],
            self.shown(key, choice),
            higher_is_better=self.statistic_of(key).higher_is_better,
            unranked=self.unranked,
        )

    def shown(self, key: PanelKey, choice: Choice) -> list[int]:
        """Return the entries of a panel for the selected runs.

        The selection depends on the board's measure, so that all panels show the same runs.
        """
        measured_key = key._replace(group="", statistic=self.measure.name)
        measured = self.panels[measured_key]
        sign = score_sign(self.measure)
        scores: dict[int, float] = {}
        for entry, interval in measured.mean_by_entry.items():
            scores[entry] = sign * round_mean(interval.mean)
        chosen = self._chosen(measured.entries, choice, scores)
        in_panel = set(self.panels[key].entries)
        return [entry for entry in chosen if entry in in_panel]

    def _chosen(
        self,
        entries: Sequence[int],
        choice: Choice,
        scores: Mapping[int, float],
    ) -> Iterator[int]:
        """Yield the selected entries of each participant; scores are signed so that higher is better."""
        for group in self._by_participant(entries):
            marked: list[int] = []
            ranked: list[int] = []
            for entry in group:
                if self.entries[entry].is_chosen:
                    marked.append(entry)
                if entry not in self.unranked:
                    ranked.append(entry)
            # An unranked run represents its participant only if the participant has no ranked run.
            candidates = ranked or group
            match choice:
                case "all":
                    yield from group
                case "best":
                    # If several entries have the same mean, `max` returns the first.
                    yield max(candidates, key=lambda entry: scores.get(entry, -math.inf))
                case "last":
                    yield candidates[-1]
                case "chosen":
                    yield (marked or candidates)[-1]

    def _by_participant(self, entries: Sequence[int]) -> list[list[int]]:
        """Group the entries by participant, in order of time; each entry without a participant is its own group."""
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
    """Build a board from entries.

    Args:
        entries: at least one entry, all of runs with the same rules.
        title: heading; by default the names of the benchmark and the dataset.
        measure: name of the statistic by which the board is sorted initially; by default that of
            the benchmark.
        freeze: ISO 8601 time; runs that finished later are excluded and do not affect the board.

    Raises:
        InvalidInput: no entry is left, the statistic does not exist, or a time is invalid.
        RunConflict: the runs used different rules.
    """
    stop = time_of(freeze) if freeze else None
    kept = _entries_until(stop, entries)
    if not kept:
        late = f"; all {len(entries)} finished after {freeze}" if entries else ""
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
    """Return the entries that finished by `stop`, in order of time; all entries if `stop` is None."""
    kept: list[Entry] = []
    for entry in entries:
        if stop is None or entry.time <= stop:
            kept.append(entry)
    return sorted(kept, key=lambda entry: entry.time)


def _run_names(entries: Sequence[Entry], data: Sequence[str]) -> Sequence[str]:
    """Return a distinct name for each entry: its own name, or else the name of its segmenter."""
    segmenters = distinct_names([entry.extract.segmenter for entry in entries])
    run_names: list[str] = []
    for entry, segmenter in zip(entries, segmenters, strict=True):
        run_names.append(_printable(entry.name) or segmenter)
    return run_labels(run_names, data)


def time_of(text: str) -> datetime:
    """Parse an ISO 8601 time, in UTC if it has no zone; year 1 for an empty string.

    Raises:
        InvalidInput: the text is not a valid time.
    """
    try:
        found = datetime.fromisoformat(text) if text else datetime.min
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        # Raises an error if the conversion to UTC gives a time before year 1.
        found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"time: expected a time like 2026-11-22 or 2026-11-22T18:00+01:00, got {text[:40]!r}"
        ) from error
    return found


def _printable(name: str) -> str:
    """Return a name on one line, without lone surrogates, so that it can be encoded as UTF-8."""
    return " ".join(name.encode("utf-8", "replace").decode().split())


def _floors(extracts: Sequence[Extract]) -> frozenset[int]:
    """Return the indices of controls that ignore the image; none if all runs are such controls."""
    found: set[int] = set()
    for number, extract in enumerate(extracts):
        if extract.ignores_image:
            found.add(number)
    if len(found) == len(extracts):
        # A board that contains only controls ranks them like any other runs.
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
    """Return the participant of a run: by default its segmenter; empty for a control."""
    if entry.participant:
        return entry.participant
    segmenter = entry.extract.segmenter
    is_control = segmenter.sees_truth or entry.extract.ignores_image
    return "" if is_control else segmenter.display_name or short_name(segmenter.name)


def _refuse_other_rules(entries: Sequence[Entry]) -> None:
    first = entries[0].extract
    first_name = short_name(first.segmenter.name)
    for entry in entries[1:]:
        other = entry.extract
        other_name = short_name(other.segmenter.name)
        difference = rule_difference(first.rules, other.rules, first_name, other_name)
        if difference:
            more_rounds = ""
            if not rule_difference(
                first.rules, {**other.rules, "rounds": first.rules.get("rounds")}, "", ""
            ):
                more_rounds = (
                    ", or repeat the command of the run with fewer rounds and raise its --rounds"
                )
            raise RunConflict(
                f"these runs followed different rules and cannot share a board: {difference}; name only runs with the "
                f"same rules{more_rounds}"
            )


def _measure_of(extracts: Sequence[Extract], name: str | None) -> Statistic:
    wanted = extracts[0].decides if name is None else name
    shared = shared_statistics(extracts)
    for statistic in shared:
        if statistic.name == wanted:
            return statistic
    names = [statistic.name for statistic in shared]
    choices = ", ".join(names) or "none that all runs have"
    raise InvalidInput(f"measure: expected one of {choices}, got {wanted!r}")


def _samples(
    extracts: Sequence[Extract], data: Sequence[str]
) -> Iterator[tuple[tuple[str, str], NDArray[np.bool_]]]:
    """Yield, for each dataset and user, whether each extract has a value for each sample."""
    data_and_users: set[tuple[str, str]] = set()
    for name, extract in zip(data, extracts, strict=True):
        for user in extract.users:
            data_and_users.add((name, user))
    for name, user in sorted(data_and_users):
        known: list[set[str]] = []
        for own_data, extract in zip(data, extracts, strict=True):
            # Runs on other datasets contribute no values here, but keep their row index.
            own_samples: set[str] = set()
            if own_data == name:
                own_samples = _known_samples(extract, user)
            known.append(own_samples)
        all_samples = sorted(set[str]().union(*known))
        has = np.zeros((len(extracts), len(all_samples)), dtype=np.bool_)
        for row, samples in enumerate(known):
            for column, sample in enumerate(all_samples):
                has[row, column] = sample in samples
        yield (name, user), has


def _known_samples(extract: Extract, user: str) -> set[str]:
    """Return the samples for which an extract has a value of any statistic with `user`."""
    samples: set[str] = set()
    values_of_user = extract.values.get(user, {})
    for column in values_of_user.values():
        for sample, value in zip(extract.targets.sample, column, strict=True):
            if value is not None:
                samples.add(sample)
    return samples

"""A board as data: whose runs stand on it, what they came to, and which differences are more than chance. No HTML."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
from segarena.roles import Statistic

Choice = Literal["all", "best", "last", "chosen"]
"""Which runs of a participant stand on the board."""

CHOICES: tuple[Choice, ...] = ("all", "best", "last", "chosen")

_FLOOR = "a control"
"""Why a floor has no place."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """A run as somebody put it on a board.

    Attributes:
        extract: what is known of it.
        participant: whose it is; empty for one that is nobody's, such as a control: that one always stands.
        name: what it is called; empty for what tells its segmenter apart from the others.
        at: when it was finished, ISO 8601, without a zone UTC; empty for what its run.json says.
        is_chosen: whether the participant wants to be judged by it.
        unranked: why it has no place, in a few words: its mean is over less than the others'. Empty for a run that has.
    """

    extract: Extract
    participant: str = ""
    name: str = ""
    at: str = ""
    is_chosen: bool = False
    unranked: str = ""

    @property
    def time(self) -> datetime:
        """When it was finished, in UTC; the beginning of time where nobody says.

        Raises:
            InvalidInput: `at` is no time.
        """
        return time_of(self.at or self.extract.finished or self.extract.created).astimezone(UTC)


@dataclass(frozen=True, kw_only=True, eq=False)
class Board:
    """Runs of one benchmark, ranked.

    Attributes:
        title: above it.
        entries: in the order of time; what is frozen is not among them.
        names: what each is called, all different.
        participants: whose each is.
        data: what the data of each is called.
        measure: what it is sorted by at first.
        panels: by key; groups have that of `measure` alone.
        samples: by data and user, bool (entries, samples), about which samples each entry has a value.
        floors: numbers of the controls that look at no image: others must beat them, they have no place. None where
            nobody else is there.
        frozen: ISO 8601, after which runs are not shown; empty for all.
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
        """Why entries have no place, by number; those that have one are not in it."""
        return _unranked(self.entries, self.floors)

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """Those of the benchmark's summary that all entries have, as far as any has a value."""
        shown = {key.statistic for key, panel in self.panels.items() if panel.entries}
        shared = shared_statistics([entry.extract for entry in self.entries])
        return tuple(one for one in shared if one.name in shown or one == self.measure)

    @property
    def first_key(self) -> PanelKey:
        """The panel that is shown first: of the measure, on the first data, with the user who gets furthest."""
        every = [key for key in self.panels if key.statistic == self.measure.name and not key.group]
        sign = 1 if self.measure.higher_is_better else -1

        def best(key: PanelKey) -> float:
            return max((sign * mean.mean for mean in self.panels[key].means), default=-math.inf)

        return max((key for key in every if key.data == every[0].data), key=best)

    def rows(self, key: PanelKey, choice: Choice = "all") -> list[BoardRank]:
        """Return the rows of a panel with the runs of a choice, the best first."""
        panel = self.panels[key]
        higher = next(s for s in self.statistics if s.name == key.statistic).higher_is_better
        return rank_panel(
            panel, self.shown(key, choice), higher_is_better=higher, unranked=self.unranked
        )

    def shown(self, key: PanelKey, choice: Choice) -> list[int]:
        """Return the entries of a panel that a choice shows: the same in every panel, judged by the board's measure."""
        judged = self.panels[key._replace(group="", statistic=self.measure.name)]
        of_panel = self.panels[key].entries
        means = {
            entry: round_mean(mean.mean)
            for entry, mean in zip(judged.entries, judged.means, strict=True)
        }
        sign = 1 if self.measure.higher_is_better else -1
        return [
            entry
            for entry in self._chosen(judged.entries, choice, means, sign)
            if entry in of_panel
        ]

    def _chosen(
        self, entries: Sequence[int], choice: Choice, means: Mapping[int, float], sign: int
    ) -> Iterator[int]:
        for group in self._by_participant(entries):
            wished = [entry for entry in group if self.entries[entry].is_chosen]
            placed = [entry for entry in group if entry not in self.unranked]
            match choice:
                case "all":
                    yield from group
                case "best":  # of equal ones the first
                    yield max(
                        placed or group, key=lambda entry: sign * means.get(entry, -sign * math.inf)
                    )
                case "last":
                    yield (placed or group)[-1]
                case "chosen":
                    yield (wished or placed or group)[-1]

    def _by_participant(self, entries: Sequence[int]) -> list[list[int]]:
        """Return the entries of each participant by time; those of nobody by themselves."""
        groups: dict[str | int, list[int]] = {}
        for entry in sorted(entries):
            groups.setdefault(self.participants[entry] or entry, []).append(entry)
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
        entries: at least one, all of runs by the same rules.
        title: above it; by default what was judged on what.
        measure: name of the statistic that it is sorted by at first; by default what the benchmark says.
        freeze: ISO 8601: runs finished later are not on the board, and nothing on it depends on them.

    Raises:
        InvalidInput: no entry is left, no such statistic, or a time that is none.
        RunConflict: runs of different rules.
    """
    stop = time_of(freeze) if freeze else None
    kept = sorted(
        (e for e in entries if stop is None or e.time <= stop), key=lambda entry: entry.time
    )
    if not kept:
        late = f", got {len(entries)} finished later than {freeze}" if entries else ""
        raise InvalidInput(f"board: expected at least one run{late}")
    _refuse_other_rules(kept)
    extracts = [entry.extract for entry in kept]
    segmenters = distinct_names([extract.segmenter for extract in extracts])
    data = dataset_names([extract.dataset for extract in extracts])
    labels = run_labels(
        [_shown(e.name) or name for e, name in zip(kept, segmenters, strict=True)], data
    )
    decides = _measure_of(extracts, measure)
    rules = extracts[0].rules
    floors = _floors(extracts)
    return Board(
        title=title or f"{rules['name']} on {', '.join(dict.fromkeys(data))}",
        entries=tuple(kept),
        names=tuple(labels),
        participants=tuple(_shown(_participant(entry)) for entry in kept),
        data=tuple(data),
        measure=decides,
        panels=dict(panels_of(extracts, data, decides, unranked=_unranked(kept, floors))),
        samples=dict(_samples(extracts, data)),
        floors=floors,
        frozen=stop.isoformat(timespec="minutes") if stop else "",
    )


def time_of(text: str) -> datetime:
    """Return a time; one without a zone is UTC, no text the beginning of time.

    Raises:
        InvalidInput: the text is no time.
    """
    try:
        found = datetime.fromisoformat(text) if text else datetime.min
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        found.astimezone(UTC)  # one of which that is before the first day there is is none
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"time: expected one like 2026-11-22 or 2026-11-22T18:00+01:00, got {text[:40]!r}"
        ) from error
    return found


def _shown(name: str) -> str:
    """Return a name as it can be written: on one line, without halves of letters."""
    return " ".join(name.encode("utf-8", "replace").decode().split())


def _floors(extracts: Sequence[Extract]) -> frozenset[int]:
    """Return the numbers of those that look at no image; none where all do: then they are what is compared."""
    found = frozenset(number for number, extract in enumerate(extracts) if extract.ignores_image)
    return found if len(found) < len(extracts) else frozenset()


def _unranked(entries: Sequence[Entry], floors: Collection[int]) -> Mapping[int, str]:
    reasons = {
        number: entry.unranked or _FLOOR * (number in floors)
        for number, entry in enumerate(entries)
    }
    return {number: reason for number, reason in reasons.items() if reason}


def _participant(entry: Entry) -> str:
    """Return whose a run is: where nobody says, its segmenter's; a control is nobody's."""
    used = entry.extract.segmenter
    is_control = used.sees_truth or entry.extract.ignores_image
    return entry.participant or ("" if is_control else short_name(used.name))


def _refuse_other_rules(entries: Sequence[Entry]) -> None:
    first = entries[0].extract
    for other in (entry.extract for entry in entries[1:]):
        if why := rule_difference(
            first.rules, other.rules, *(short_name(e.segmenter.name) for e in (first, other))
        ):
            raise RunConflict(
                f"these runs followed different rules and cannot share a board: {why}"
            )


def _measure_of(extracts: Sequence[Extract], name: str | None) -> Statistic:
    known = {statistic.name: statistic for statistic in shared_statistics(extracts)}
    wanted = extracts[0].decides if name is None else name
    if wanted not in known:
        raise InvalidInput(
            f"measure: expected one of {', '.join(known) or 'none that all runs have'}, got {wanted!r}"
        )
    return known[wanted]


def _samples(
    extracts: Sequence[Extract], data: Sequence[str]
) -> Iterator[tuple[tuple[str, str], NDArray[np.bool_]]]:
    """Yield for each data and user which samples each extract has a value of."""
    users = {
        (name, user) for name, extract in zip(data, extracts, strict=True) for user in extract.users
    }
    for name, user in sorted(users):
        known = [
            _known_samples(one, user) if of == name else set[str]()
            for of, one in zip(data, extracts, strict=True)
        ]
        places = {sample: place for place, sample in enumerate(sorted(set[str]().union(*known)))}
        has = np.zeros((len(extracts), len(places)), dtype=np.bool_)
        for row, samples in enumerate(known):
            has[row, [places[sample] for sample in samples]] = True
        yield (name, user), has


def _known_samples(extract: Extract, user: str) -> set[str]:
    columns = extract.values.get(user, {}).values()
    return {
        sample
        for column in columns
        for sample, one in zip(extract.targets.sample, column, strict=True)
        if one is not None
    }

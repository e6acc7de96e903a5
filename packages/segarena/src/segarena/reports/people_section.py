"""People beside simulated users: who took part, quality against their seconds, how far simulated users are from them.

Only runs that asked people have any of it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.prompts import Click
from segarena.reports.chart_series import Figure, area_statistic, make_figure
from segarena.reports.charts import Curve, line_chart
from segarena.reports.general_tables import difference_value
from segarena.reports.page_parts import FigureRow, Note, Part
from segarena.reports.pages import Page
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.run_statistics import image_clusters, summary_metrics, target_values
from segarena.reports.sheets import Cell, Column, Sheet, Value
from segarena.reports.wording import count_text, metric_name, seconds_text
from segarena.statistics.intervals import (
    Interval,
    bootstrap_mean,
    bootstrap_means,
    paired_difference,
)

_MOMENTS = 40
"""Moments at which curves against seconds are drawn."""

_UNTIL = 0.95
"""They end when this share of the dialogues with people is over."""


@dataclass(frozen=True, slots=True, eq=False)
class HumanRounds:
    """What a run's people did.

    Attributes:
        rounds: a row per round that somebody gave; see `segarena.records.row_types.PersonRound`.
        users: the users who are people, in the order of the run.
    """

    run: Run
    rounds: pl.DataFrame
    users: tuple[str, ...]

    @property
    def simulated(self) -> tuple[str, ...]:
        """The other users who finished something."""
        return tuple(
            user for user in self.run.users if user not in self.users and self.run.finished(user)
        )

    def seconds_of(self, dialogue: DialogueRecord) -> NDArray[np.float64]:
        """Return after how many of their seconds each round of a dialogue was given."""
        sample, target, user, repeat = dialogue.key
        own = self.rounds.filter(sample=sample, target=target, user=user, repeat=repeat).sort(
            "round"
        )
        return np.cumsum(own["user_s"].to_numpy())[: dialogue.rounds]

    def pace_s(self, user: str) -> float:
        """Return the median seconds that people took for a round that was answered."""
        keys = [dialogue.key for dialogue in self.run.finished(user)]
        took = [
            np.diff(self.seconds_of(dialogue), prepend=0.0) for dialogue in self.run.finished(user)
        ]
        return float(np.median(np.concatenate(took))) if keys else math.nan


def human_rounds_of(run: Run) -> HumanRounds | None:
    """Return what a run's people did; None where it asked nobody, or nobody came."""
    what: Hashable = "people"
    if what not in run.computed:
        rounds = run.folder.people()
        there = set(rounds["user"])
        users = tuple(user for user in run.users if user in there and run.finished(user))
        run.computed[what] = HumanRounds(run, rounds, users) if users else None
    return run.computed[what]


def people_parts(own: Page) -> list[Part]:
    """Return what a report has of people; nothing where no run asked any."""
    found = [
        asked
        for run in map(own.whole, own.every_run)
        if (asked := human_rounds_of(run)) is not None
    ]
    if not found:
        return []
    people = {
        (place, person) for place, asked in enumerate(found) for person in asked.rounds["person"]
    }
    took = sum(float(asked.rounds["user_s"].sum()) for asked in found)
    given = sum(asked.rounds.height for asked in found)
    lead = f"{count_text(len(people), 'person', 'people')} gave {count_text(given, 'round')} in {_minutes(took)}."
    figures = [
        one for asked in found for one in [_against_seconds(asked, own.word)] if one is not None
    ]
    beside = simulation_gap_sheet(found)
    return [
        Note(f"{lead} Their seconds stand still while the model works.", is_lead=True),
        participants_sheet(found),
        *([beside, Note(_BESIDE_NOTES)] if beside.rows else []),
        FigureRow(figures),
        *own.of_people(),
    ]


_BESIDE_NOTES = (
    "Differences are simulated user minus people on the same targets (means over repeats), with 95 % intervals over "
    "images. “Apart” is the mean of their absolute values, so that a user who is sometimes better and sometimes worse "
    "does not pass for alike. First clicks apart: the distance between the first clicks about a target, in per cent of "
    "the picture's diagonal."
)


def participants_sheet(found: Sequence[HumanRounds]) -> Sheet:
    """Return a row per person: what they gave, and what it took."""
    rows: list[tuple[Cell, ...]] = []
    for asked in found:
        names = dict.fromkeys(asked.rounds["person"])
        for number, (person, user) in enumerate(product(names, asked.users), start=1):
            own = asked.rounds.filter(person=person, user=user)
            if own.height:
                rows.append((f"person {number}", user, asked.run.label, *_person_cells(own)))
    head = (
        "Person",
        "User",
        "Segmenter",
        Column("Dialogues", "number"),
        Column("Rounds", "number"),
        Column("Seconds / round", "interval"),
        Column("Median", "number"),
        Column("In all", "number"),
        Column("Drawn with", "words"),
    )
    return Sheet(
        name="people",
        caption="Who gave prompts, and how long they took.",
        head=head,
        rows=tuple(rows),
    )


def _person_cells(own: pl.DataFrame) -> tuple[Cell, ...]:
    dialogues = own.select("sample", "target", "repeat")
    seconds = own["user_s"].to_list()
    mean = bootstrap_mean(seconds, ["\0".join(map(str, row)) for row in dialogues.rows()])
    pointers = sorted({name for told in own["pointer"] for name in told.split("+") if name})
    median = statistics.median(seconds)
    return (
        dialogues.n_unique(),
        own.height,
        _interval(mean, seconds_text),
        Value(mean=median, printed=seconds_text(median)),
        Value(mean=sum(seconds), printed=_minutes(sum(seconds))),
        ", ".join(pointers) or "–",
    )


def simulation_gap_sheet(found: Sequence[HumanRounds]) -> Sheet:
    """Return a row per simulated user and user who is people, with how far apart they are; none without both."""
    rows: list[tuple[Cell, ...]] = []
    summary = found[0].run.summary
    for asked in found:
        for simulated, people in product(asked.simulated, asked.users):
            names = (simulated, people, asked.run.label)
            cells = [
                _difference(asked.run, simulated, people, place) for place in range(len(summary))
            ]
            rows.append(
                (
                    *names,
                    *cells,
                    _apart(asked.run, simulated, people),
                    _clicks_apart(asked.run, simulated, people),
                )
            )
    area = area_statistic(found[0].run)
    head = (
        "Simulated",
        "People",
        "Segmenter",
        *(
            Column(f"Δ {one.name}", "interval", higher_is_better=one.higher_is_better)
            for one in summary
        ),
        Column(f"Apart in {area.name}", "interval"),
        Column("First clicks apart", "interval"),
    )
    caption = "How far simulated users are from people, on the same targets."
    return Sheet(name="beside-people", caption=caption, head=head, rows=tuple(rows))


def _difference(run: Run, simulated: str, people: str, place: int) -> Cell:
    statistic = run.summary[place]
    first, second = (target_values(run, user, statistic) for user in (simulated, people))
    keys = [key for key in first if key in second]
    values = [[each[key] for key in keys] for each in (first, second)]
    better = statistic.higher_is_better
    found = paired_difference(values[0], values[1], image_clusters(keys), higher_is_better=better)
    return difference_value(statistic, found)


def _apart(run: Run, simulated: str, people: str) -> Cell:
    first, second = (target_values(run, user, area_statistic(run)) for user in (simulated, people))
    keys = [key for key in first if key in second]
    found = bootstrap_mean([abs(first[key] - second[key]) for key in keys], image_clusters(keys))
    return _interval(found, lambda value: f"{value:.3f}")


def _clicks_apart(run: Run, simulated: str, people: str) -> Cell:
    """Return the mean distance between the first clicks of two users about a target, in per cent of the diagonal."""
    first, second = (_first_clicks(run, user) for user in (simulated, people))
    shapes = dict(
        run.folder.read("masks", ["sample", "shape"])
        .unique("sample")
        .select("sample", "shape")
        .rows()
    )
    keys = [key for key in first if key in second]
    apart = [
        100
        * float(np.mean([math.dist(*pair) for pair in product(first[key], second[key])]))
        / math.hypot(*shapes[key[0]])
        for key in keys
    ]
    if keys:
        return _interval(
            bootstrap_mean(apart, image_clusters(keys)), lambda value: f"{value:.1f} %"
        )
    return "–"


def _first_clicks(run: Run, user: str) -> Mapping[tuple[str, str], list[tuple[int, ...]]]:
    """Return where a user's dialogues about each target began with a click."""
    found: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    for dialogue in run.finished(user):
        prompts = dialogue.prompts[0] if dialogue.prompts else ()
        if prompts and isinstance(prompts[0], Click):
            found.setdefault(dialogue.key[:2], []).append(prompts[0].position)
    return found


def _against_seconds(asked: HumanRounds, word: str) -> Figure | None:
    """Return quality against the seconds of people; simulated users as if each round took them as long."""
    run = asked.run
    metric = summary_metrics(run)[0]
    ends = [
        seconds[-1]
        for user in asked.users
        for d in run.finished(user)
        if len(seconds := asked.seconds_of(d))
    ]
    if not ends or not max(ends) > 0:
        return None
    moments = np.linspace(0.0, float(np.quantile(ends, _UNTIL)), _MOMENTS)
    pace = statistics.median([asked.pace_s(user) for user in asked.users])
    curves: list[Curve] = []
    for user in (*asked.users, *asked.simulated):
        is_asked = user in asked.users
        means = _means_at(asked, user, metric, moments, None if is_asked else pace)
        curves.append(
            Curve(
                label=user, colour=run.users.index(user), x=moments.tolist(), y=[mean.mean for mean in means],
                low=[mean.low for mean in means], high=[mean.high for mean in means],
            )
        )  # fmt: skip
    name = metric_name(metric)
    highest = max(
        (y for curve in curves for y in (*curve.y, *curve.high) if math.isfinite(y)), default=1.0
    )
    chart = line_chart(
        curves,
        title=f"{name} against seconds of people",
        x_label="seconds of a person",
        y_label=f"mean {name}",
        x_range=(0.0, float(moments[-1])),
        y_range=(0.0, max(1.0, highest)),
    )
    after = f"Mean {name} over targets after so many seconds of a person; 0 before the first answer"
    paced = f" Simulated users as if each {word} took them {seconds_text(pace)}, as it did people in the median."
    caption = f"{after}; bands are 95 % intervals.{paced if asked.simulated else ''}"
    return make_figure(f"{name[:1].upper()}{name[1:]} against real seconds", caption, [("", chart)])


def _means_at(
    asked: HumanRounds, user: str, metric: str, moments: NDArray[np.float64], pace_s: float | None
) -> list[Interval]:
    dialogues, values = asked.run.curves(user, metric)
    at = np.zeros((len(dialogues), len(moments)))
    for row, (dialogue, curve) in enumerate(zip(dialogues, values, strict=True)):
        if pace_s is None:
            seconds = asked.seconds_of(dialogue)
        else:
            seconds = pace_s * np.arange(1, dialogue.rounds + 1)
        last = np.searchsorted(seconds, moments, side="right") - 1
        at[row] = np.where(last < 0, 0.0, curve[np.maximum(last, 0)])
    return bootstrap_means(at.T, image_clusters([dialogue.key[:2] for dialogue in dialogues]))


def _interval(found: Interval, printed: Callable[[float], str]) -> Value:
    if math.isnan(found.low):
        bounds = ""
    else:
        bounds = f"{printed(found.low)} to {printed(found.high)}"
    return Value(
        mean=found.mean,
        low=found.low,
        high=found.high,
        printed=printed(found.mean),
        printed_bounds=bounds,
    )


def _minutes(seconds: float) -> str:
    return seconds_text(seconds) if seconds < 120 else f"{seconds / 60:.0f} min"

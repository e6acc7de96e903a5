"""Report section about human users: participants, quality against their time, gap to simulated users.

Only runs with human users have this section.
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

from segarena.benchmark_rules import Statistic
from segarena.prompts import Click
from segarena.reports.cells import Cell, Column, Value
from segarena.reports.chart_series import Figure, area_statistic, make_figure
from segarena.reports.charts import Curve, line_chart
from segarena.reports.display_names import metric_name
from segarena.reports.figures import highest_value
from segarena.reports.general_tables import difference_value
from segarena.reports.page_parts import FigureRow, Note, Part
from segarena.reports.pages import Page
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.run_statistics import (
    TargetKey,
    image_clusters,
    summary_metrics,
    target_values,
)
from segarena.reports.sheets import Sheet
from segarena.reports.wording import count_text, seconds_text
from segarena.statistics.intervals import (
    Interval,
    bootstrap_mean,
    bootstrap_means,
    paired_difference,
)

_MOMENTS = 40
"""Number of points of a curve against seconds."""

_UNTIL = 0.95
"""Curves end when this share of the dialogues with people has ended."""


@dataclass(frozen=True, slots=True, eq=False)
class HumanRounds:
    """The rounds of a run's human users.

    Attributes:
        run: the run.
        rounds: one row per human round; see `segarena.records.row_types.PersonRound`.
        users: the human users with finished dialogues, in the order of the run.
    """

    run: Run
    rounds: pl.DataFrame
    users: tuple[str, ...]

    @property
    def simulated(self) -> tuple[str, ...]:
        """Simulated users with finished dialogues."""
        simulated: list[str] = []
        for user in self.run.users:
            if user not in self.users and self.run.finished(user):
                simulated.append(user)
        return tuple(simulated)

    def seconds_of(self, dialogue: DialogueRecord) -> NDArray[np.float64]:
        """Return the human seconds until the end of each round of a dialogue, (rounds,)."""
        sample, target, user, repeat = dialogue.key
        own = self.rounds.filter(
            sample=sample,
            target=target,
            user=user,
            repeat=repeat,
        )
        in_order = own.sort("round")
        ends = np.cumsum(in_order["user_s"].to_numpy())
        return ends[: dialogue.rounds]

    def pace_s(self, user: str) -> float:
        """Return the median human seconds per round with a prompt; NaN without a finished dialogue."""
        dialogues = self.run.finished(user)
        if not dialogues:
            return math.nan
        seconds: list[NDArray[np.float64]] = []
        for dialogue in dialogues:
            ends = self.seconds_of(dialogue)
            seconds.append(np.diff(ends, prepend=0.0))
        return float(np.median(np.concatenate(seconds)))


def human_rounds_of(run: Run) -> HumanRounds | None:
    """Return the human rounds of a run; None if no person finished a dialogue."""
    what: Hashable = "people"
    if what not in run.computed:
        rounds = run.folder.people()
        there = set(rounds["user"])
        users = tuple(user for user in run.users if user in there and run.finished(user))
        run.computed[what] = HumanRounds(run, rounds, users) if users else None
    return run.computed[what]


def people_parts(own: Page) -> list[Part]:
    """Return the section about human users; empty if no person finished a dialogue."""
    found: list[HumanRounds] = []
    for run in own.every_run:
        human = human_rounds_of(own.whole(run))
        if human is not None:
            found.append(human)
    if not found:
        return []
    people: set[tuple[int, str]] = set()
    seconds = 0.0
    round_count = 0
    figures: list[Figure] = []
    for index, human in enumerate(found):
        # People are anonymous indices within a run, so count those of each run separately.
        people.update((index, person) for person in human.rounds["person"])
        seconds += float(human.rounds["user_s"].sum())
        round_count += human.rounds.height
        figure = _quality_against_seconds(human, own.word)
        if figure is not None:
            figures.append(figure)
    lead = (
        f"{count_text(len(people), 'person', 'people')} gave {count_text(round_count, 'round')} "
        f"in {_minutes(seconds)}. Their time does not include waiting for the model."
    )
    parts: list[Part] = [Note(lead, is_lead=True), participants_sheet(found)]
    gaps = simulation_gap_sheet(found)
    if gaps.rows:
        parts += [gaps, Note(_GAP_NOTE)]
    return [*parts, FigureRow(figures), *own.of_people()]


_GAP_NOTE = (
    "Differences are simulated user minus people on the same targets (means over repeats), with 95 % intervals over "
    "images. “Gap” is the mean absolute difference, in which better and worse targets do not cancel out. First-click "
    "gap: the distance between the first clicks for a target, in per cent of the image diagonal."
)


def participants_sheet(found: Sequence[HumanRounds]) -> Sheet:
    """Tabulate dialogues, rounds, seconds and pointers, one row per person and human user."""
    rows: list[tuple[Cell, ...]] = []
    for human in found:
        people = dict.fromkeys(human.rounds["person"])
        numbers = {person: number for number, person in enumerate(people, start=1)}
        for person, user in product(people, human.users):
            own = human.rounds.filter(person=person, user=user)
            if own.height:
                label = f"person {numbers[person]}"
                rows.append((label, user, human.run.label, *_person_cells(own)))
    head = (
        "Person",
        "User",
        "Segmenter",
        Column("Dialogues", "number"),
        Column("Rounds", "number"),
        Column("Seconds / round", "interval"),
        Column("Median", "number"),
        Column("Total", "number"),
        Column("Pointer", "words"),
    )
    return Sheet(
        name="people",
        caption="Participants and the time that they took.",
        head=head,
        rows=tuple(rows),
    )


def _person_cells(own: pl.DataFrame) -> tuple[Cell, ...]:
    dialogues = own.select("sample", "target", "repeat")
    seconds = own["user_s"].to_list()
    # Resample whole dialogues, because the rounds of a dialogue are dependent.
    clusters = ["\0".join(map(str, row)) for row in dialogues.rows()]
    mean = bootstrap_mean(seconds, clusters)
    pointers: set[str] = set()
    for names in own["pointer"]:
        # If a round was given with several pointers, their names are joined by "+".
        pointers.update(name for name in names.split("+") if name)
    median = statistics.median(seconds)
    total = sum(seconds)
    return (
        dialogues.n_unique(),
        own.height,
        _interval_value(mean, seconds_text),
        Value(mean=median, printed=seconds_text(median)),
        Value(mean=total, printed=_minutes(total)),
        ", ".join(sorted(pointers)) or "–",
    )


def simulation_gap_sheet(found: Sequence[HumanRounds]) -> Sheet:
    """Tabulate the gap between each pair of a simulated and a human user."""
    rows: list[tuple[Cell, ...]] = []
    summary = found[0].run.summary
    for human in found:
        run = human.run
        for simulated, people in product(human.simulated, human.users):
            differences = [_difference(run, simulated, people, one) for one in run.summary]
            gap = _gap(run, simulated, people)
            first_click_gap = _first_click_gap(run, simulated, people)
            rows.append((simulated, people, run.label, *differences, gap, first_click_gap))
    difference_columns: list[Column] = []
    for statistic in summary:
        heading = f"Δ {statistic.name}"
        column = Column(heading, "interval", higher_is_better=statistic.higher_is_better)
        difference_columns.append(column)
    area = area_statistic(found[0].run)
    head = (
        "Simulated",
        "People",
        "Segmenter",
        *difference_columns,
        Column(f"Gap in {area.name}", "interval"),
        Column("First-click gap", "interval"),
    )
    caption = "Gap between simulated users and people on the same targets."
    return Sheet(
        name="beside-people",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )


def _difference(
    run: Run,
    simulated: str,
    people: str,
    statistic: Statistic,
) -> Cell:
    keys, first, second = _values_of_both(run, simulated, people, statistic)
    found = paired_difference(
        first, second, image_clusters(keys), higher_is_better=statistic.higher_is_better
    )
    return difference_value(statistic, found)


def _values_of_both(
    run: Run,
    simulated: str,
    people: str,
    statistic: Statistic,
) -> tuple[list[TargetKey], list[float], list[float]]:
    """Return the targets that both users finished, with the values of each."""
    value_by_target = target_values(run, people, statistic)
    keys: list[TargetKey] = []
    first: list[float] = []
    second: list[float] = []
    for key, value in target_values(run, simulated, statistic).items():
        if key in value_by_target:
            keys.append(key)
            first.append(value)
            second.append(value_by_target[key])
    return keys, first, second


def _gap(
    run: Run,
    simulated: str,
    people: str,
) -> Cell:
    keys, first, second = _values_of_both(run, simulated, people, area_statistic(run))
    gaps = np.abs(np.subtract(first, second))
    found = bootstrap_mean(gaps.tolist(), image_clusters(keys))
    return _interval_value(found, lambda value: f"{value:.3f}")


def _first_click_gap(
    run: Run,
    simulated: str,
    people: str,
) -> Cell:
    """Return the mean distance between the first clicks of two users, in per cent of the diagonal."""
    first = _first_clicks(run, simulated)
    second = _first_clicks(run, people)
    keys = [key for key in first if key in second]
    if not keys:
        return "–"
    masks = run.folder.read("masks", ["sample", "shape"]).unique("sample")
    shapes = dict(masks.select("sample", "shape").rows())
    gaps: list[float] = []
    for key in keys:
        distances = [math.dist(*pair) for pair in product(first[key], second[key])]
        diagonal = math.hypot(*shapes[key[0]])
        gaps.append(100 * float(np.mean(distances)) / diagonal)
    found = bootstrap_mean(gaps, image_clusters(keys))
    return _interval_value(found, lambda value: f"{value:.1f} %")


def _first_clicks(run: Run, user: str) -> Mapping[tuple[str, str], list[tuple[int, ...]]]:
    """Return, by target, the positions of the first clicks of a user's dialogues that begin with a click."""
    found: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    for dialogue in run.finished(user):
        if not dialogue.prompts or not dialogue.prompts[0]:
            continue
        first_prompt = dialogue.prompts[0][0]
        if isinstance(first_prompt, Click):
            target = (dialogue.sample, dialogue.target)
            found.setdefault(target, []).append(first_prompt.position)
    return found


def _quality_against_seconds(human: HumanRounds, word: str) -> Figure | None:
    """Draw quality against human seconds; None if no dialogue of a person took time.

    For simulated users, every round is drawn with the median time of people.
    """
    run = human.run
    metric = summary_metrics(run)[0]
    ends: list[float] = []
    for user in human.users:
        for dialogue in run.finished(user):
            seconds = human.seconds_of(dialogue)
            if len(seconds):
                ends.append(seconds[-1])
    if not ends or not max(ends) > 0:
        return None
    moments = np.linspace(0.0, float(np.quantile(ends, _UNTIL)), _MOMENTS)
    pace = statistics.median([human.pace_s(user) for user in human.users])
    curves: list[Curve] = []
    for user in (*human.users, *human.simulated):
        pace_s = pace if user in human.simulated else None
        means = _means_at(human, user, metric, moments, pace_s)
        curve = Curve.from_intervals(user, run.users.index(user), moments.tolist(), means)
        curves.append(curve)
    name = metric_name(metric)
    chart = line_chart(
        curves,
        title=f"{name} against seconds of people",
        x_label="seconds of a person",
        y_label=f"mean {name}",
        x_range=(0.0, float(moments[-1])),
        y_range=(0.0, max(1.0, highest_value(curves))),
    )
    caption = (
        f"Mean {name} over targets against the seconds of a person; 0 before the first answer; "
        "bands show 95 % intervals."
    )
    if human.simulated:
        caption += (
            f" Simulated users are drawn as if each {word} took them {seconds_text(pace)}, "
            "the median time of people."
        )
    return make_figure(f"{name[:1].upper()}{name[1:]} against real seconds", caption, [("", chart)])


def _means_at(
    human: HumanRounds,
    user: str,
    metric: str,
    moments: NDArray[np.float64],
    pace_s: float | None,
) -> list[Interval]:
    """Return the mean of a metric at each time; `pace_s`, if given, replaces the recorded seconds per round."""
    dialogues, values = human.run.curves(user, metric)
    at_moments = np.zeros((len(dialogues), len(moments)))
    for row, (dialogue, curve) in enumerate(zip(dialogues, values, strict=True)):
        if pace_s is None:
            seconds = human.seconds_of(dialogue)
        else:
            seconds = pace_s * np.arange(1, dialogue.rounds + 1)
        # Index of the last prediction before each time; -1 before the first prediction.
        last = np.searchsorted(seconds, moments, side="right") - 1
        at_moments[row] = np.where(last < 0, 0.0, curve[np.maximum(last, 0)])
    targets = [dialogue.key[:2] for dialogue in dialogues]
    return bootstrap_means(at_moments.T, image_clusters(targets))


def _interval_value(found: Interval, printed: Callable[[float], str]) -> Value:
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

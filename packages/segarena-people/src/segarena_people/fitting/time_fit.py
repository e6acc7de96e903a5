"""Fit of time habits to prompts with times.

Times of a prompt count from the moment when it was allowed. Until the first press a person looks,
decides and moves; then they draw. Speeds of moving and pressing stay as published, because tables
do not record where a pointer came from; the remaining time is looking. Acts without prompts of
their kind in the table stay as published too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np

from segarena.errors import InvalidInput
from segarena.users.habits.prompt_time import REST_DISTANCE, PromptTimeModel
from segarena.users.habits.time_habits import (
    ActTime,
    LogNormalSeconds,
    PointerSpeed,
    TimeHabits,
    sum_seconds,
)
from segarena_people.fitting.person_effects import estimate_person_effects
from segarena_people.prompts import PersonPrompt, PointerSample

FEWEST_TIMED_PROMPTS = 10
"""Least number of prompts to which an act is fitted."""

_LEAST_S = 0.05
_ONE_SIGMA_QUANTILES = (0.1587, 0.5, 0.8413)
"""Shares of a normal distribution one standard deviation below, at, and above its mean."""
_LEAST_SPREAD = 0.05


class TimedAct(NamedTuple):
    """Measured seconds, and the predicted part of them that belongs to other acts."""

    seconds: float
    known: LogNormalSeconds
    person: str


def fit_seconds(
    prompts: Iterable[PersonPrompt], source: str, start: TimeHabits | None = None
) -> TimeHabits:
    """Fit time habits to prompts.

    Args:
        prompts: prompts; those without times are skipped.
        source: origin, as written into the file.
        start: habits for acts without enough prompts; by default the published ones.

    Raises:
        InvalidInput: fewer than 10 prompts have times.
    """
    habits = start or PromptTimeModel().habits
    timed = [prompt for prompt in prompts if has_times(prompt)]
    if len(timed) < FEWEST_TIMED_PROMPTS:
        raise InvalidInput(
            f"prompts: expected times of {FEWEST_TIMED_PROMPTS} at least, got those of {len(timed)}"
        )
    leads = {
        "first": [_time_to_press(prompt, habits) for prompt in timed if prompt.round == 1],
        "correction": [_time_to_press(prompt, habits) for prompt in timed if prompt.round > 1],
        "another": [gap for prompt in timed for gap in _stroke_gaps(prompt, habits)],
    }
    all_leads = [*leads["first"], *leads["correction"]]
    log_seconds = np.log([lead.seconds for lead in all_leads])
    between, _ = estimate_person_effects(log_seconds, [lead.person for lead in all_leads])
    speeds = [speed for prompt in timed for speed in _stroke_speeds(prompt)]
    drags: list[TimedAct] = []
    for prompt in timed:
        is_drag = prompt.kind == "box" and len(prompt.meant) == 1 and len(prompt.points) > 1
        if is_drag:
            drags.append(_drag_time(prompt, habits))
    if len(speeds) >= FEWEST_TIMED_PROMPTS:
        speed = _fit_log_normal(speeds)
    else:
        speed = LogNormalSeconds(habits.draw_per_s, habits.draw_spread)
    return msgspec.structs.replace(
        habits,
        source=source,
        between_people=round(between, 4),
        look={
            reason: _fit_act(leads[reason], published, between)
            for reason, published in habits.look.items()
        },
        adjust=_fit_act(drags, habits.adjust, between),
        draw_per_s=round(speed.median, 5),
        draw_spread=round(speed.spread, 4),
    )


def has_times(prompt: PersonPrompt) -> bool:
    """Tell whether the points of a prompt have times, none of which run backwards."""
    times = [point.time_ms for point in prompt.points]
    return bool(times) and times[0] > 0 and all(one <= two for one, two in pairwise(times))


def pointer_speed(prompt: PersonPrompt, habits: TimeHabits) -> PointerSpeed:
    """Return the speed of a prompt's device; that of a mouse where the device is unknown."""
    return habits.pointers.get(prompt.pointer, habits.pointers["mouse"])


def _diagonal(prompt: PersonPrompt) -> float:
    return math.hypot(prompt.width, prompt.height)


def _time_to_press(prompt: PersonPrompt, habits: TimeHabits) -> TimedAct:
    """Return the time until the first press that counts; the assumed movement is its known part."""
    aim = habits.aim_edge if prompt.kind == "box" else habits.aim
    move = pointer_speed(prompt, habits).point(REST_DISTANCE, aim)
    known = sum_seconds([move, habits.press.seconds])
    return TimedAct(prompt.meant[0][0].time_ms / 1000, known, prompt.person)


def _stroke_gaps(prompt: PersonPrompt, habits: TimeHabits) -> Iterable[TimedAct]:
    """Yield the times between strokes; the movement from one to the next is the known part."""
    aim = habits.aim_edge if prompt.kind == "box" else habits.aim
    for one, two in pairwise(prompt.meant):
        way = _distance(one[-1], two[0]) / _diagonal(prompt)
        move = pointer_speed(prompt, habits).point(way, aim)
        known = sum_seconds([move, habits.press.seconds])
        seconds = (two[0].time_ms - one[-1].time_ms) / 1000
        if seconds > 0:
            yield TimedAct(seconds, known, prompt.person)


def _drag_time(prompt: PersonPrompt, habits: TimeHabits) -> TimedAct:
    """Return the time from press to release of a box; the drag is its known part."""
    (stroke,) = prompt.meant
    way = _distance(stroke[0], stroke[-1]) / _diagonal(prompt)
    known = pointer_speed(prompt, habits).drag(way, habits.aim_edge)
    return TimedAct(_duration_s(stroke), known, prompt.person)


def _stroke_speeds(prompt: PersonPrompt) -> list[float]:
    """Return the speeds of the strokes of a scribble or lasso, in picture diagonals per second."""
    if prompt.kind not in ("scribble", "lasso"):
        return []
    speeds: list[float] = []
    for stroke in prompt.meant:
        duration_s = _duration_s(stroke)
        length = _length(stroke)
        if duration_s > 0 and length > 0:
            speeds.append(length / _diagonal(prompt) / duration_s)
    return speeds


def _length(stroke: Sequence[PointerSample]) -> float:
    return sum(_distance(one, two) for one, two in pairwise(stroke))


def _distance(one: PointerSample, two: PointerSample) -> float:
    return math.dist((one.x, one.y), (two.x, two.y))


def _duration_s(stroke: Sequence[PointerSample]) -> float:
    return (stroke[-1].time_ms - stroke[0].time_ms) / 1000


def _fit_act(timed: Sequence[TimedAct], published: ActTime, between: float) -> ActTime:
    """Fit an act to the unexplained part of times; return the published habits if too few."""
    if len(timed) < FEWEST_TIMED_PROMPTS:
        return published
    whole = _fit_log_normal([act.seconds for act in timed])
    within = math.sqrt(max(whole.spread**2 - between**2, _LEAST_SPREAD**2))
    one_person = LogNormalSeconds(whole.median, within)
    known_mean = float(np.mean([act.known.mean for act in timed]))
    known_variance = float(np.mean([act.known.variance for act in timed]))
    mean = one_person.mean - known_mean
    variance = one_person.variance - known_variance
    if mean <= _LEAST_S:
        return ActTime(median_s=_LEAST_S, spread=_LEAST_SPREAD, source=f"{len(timed)} prompts")
    least_variance = (_LEAST_SPREAD * mean) ** 2
    spread = math.sqrt(math.log1p(max(variance, least_variance) / mean**2))
    median = mean / math.exp(spread**2 / 2)
    return ActTime(
        median_s=round(median, 4), spread=round(spread, 4), source=f"{len(timed)} prompts"
    )


def _fit_log_normal(values: Sequence[float]) -> LogNormalSeconds:
    """Return the log-normal distribution with the median of values and the spread of their middle two thirds.

    Quantiles rather than moments: a break of a person yields an outlier.
    """
    logs = np.log(np.asarray(values, dtype=np.float64))
    low, median, high = np.quantile(logs, _ONE_SIGMA_QUANTILES)
    return LogNormalSeconds(math.exp(float(median)), max(float(high - low) / 2, _LEAST_SPREAD))

"""Fit the model of prompting times to prompts whose times were recorded.

The clock of a prompt starts when the page allows it. Until the first press, a person looks, decides
and moves the pointer; then they draw. The speeds of moving and pressing keep their published
values, because tables do not record where the pointer started; the remaining time is attributed to
looking. Acts for which the table has too few prompts keep their published values too.
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
"""Minimum number of prompts for fitting an act."""

# Lower bound, shorter than any human reaction: after subtracting the known parts, the remainder may
# be 0 or negative.
_LEAST_S = 0.05
# Values of the normal distribution function one standard deviation below, at, and above the mean.
_ONE_SIGMA_QUANTILES = (0.1587, 0.5, 0.8413)
_LEAST_SPREAD = 0.05


class TimedAct(NamedTuple):
    """Measured seconds of an act, and the predicted time of other acts that they include."""

    seconds: float
    known: LogNormalSeconds
    person: str


def fit_seconds(
    prompts: Iterable[PersonPrompt],
    source: str,
    start: TimeHabits | None = None,
) -> TimeHabits:
    """Fit prompting times.

    Args:
        prompts: prompts; those without times are skipped.
        source: description of the data's origin, stored in the result.
        start: initial model, kept for acts with too few prompts; the published one by default.

    Raises:
        InvalidInput: fewer than 10 prompts have times.
    """
    habits = start or PromptTimeModel().habits
    timed = [prompt for prompt in prompts if has_times(prompt)]
    if len(timed) < FEWEST_TIMED_PROMPTS:
        raise InvalidInput(
            f"expected at least {FEWEST_TIMED_PROMPTS} prompts with times, got {len(timed)}; collect more"
        )
    leads: dict[str, list[TimedAct]] = {"first": [], "correction": [], "another": []}
    speeds: list[float] = []
    for prompt in timed:
        reason = "first" if prompt.round == 1 else "correction"
        leads[reason].append(_time_to_press(prompt, habits))
        leads["another"] += _stroke_gaps(prompt, habits)
        speeds += _stroke_speeds(prompt)
    all_leads = [*leads["first"], *leads["correction"]]
    log_seconds = np.log([lead.seconds for lead in all_leads])
    between, _ = estimate_person_effects(log_seconds, [lead.person for lead in all_leads])
    drags: list[TimedAct] = []
    for prompt in timed:
        # Boxes drawn by extreme clicks have four strokes and no drag.
        is_one_stroke = len(prompt.meant) == 1 and len(prompt.points) > 1
        if prompt.kind == "box" and is_one_stroke:
            drags.append(_drag_time(prompt, habits))
    if len(speeds) >= FEWEST_TIMED_PROMPTS:
        speed = _fit_log_normal(speeds)
    else:
        speed = LogNormalSeconds(habits.draw_per_s, habits.draw_spread)
    look = {
        reason: _fit_act(leads[reason], published, between)
        for reason, published in habits.look.items()
    }
    return msgspec.structs.replace(
        habits,
        source=source,
        between_people=round(between, 4),
        look=look,
        adjust=_fit_act(drags, habits.adjust, between),
        draw_per_s=round(speed.median, 5),
        draw_spread=round(speed.spread, 4),
    )


def has_times(prompt: PersonPrompt) -> bool:
    """Return whether the points of a prompt have times, which are above 0 and never decrease."""
    times = [point.time_ms for point in prompt.points]
    # Tables without times store 0 instead.
    if not times or times[0] <= 0:
        return False
    return all(one <= two for one, two in pairwise(times))


def pointer_speed(prompt: PersonPrompt, habits: TimeHabits) -> PointerSpeed:
    """Return the pointer speed of a prompt's device; the speed of a mouse if the device is unknown."""
    return habits.pointers.get(prompt.pointer, habits.pointers["mouse"])


def _diagonal(prompt: PersonPrompt) -> float:
    return math.hypot(prompt.width, prompt.height)


def _time_to_press(prompt: PersonPrompt, habits: TimeHabits) -> TimedAct:
    """Return the time until the first press that counts; the pointer movement and the press are its known part."""
    aim = habits.aim_edge if prompt.kind == "box" else habits.aim
    move = pointer_speed(prompt, habits).point(REST_DISTANCE, aim)
    known = sum_seconds([move, habits.press.seconds])
    first_press = prompt.meant[0][0]
    return TimedAct(first_press.time_ms / 1000, known, prompt.person)


def _stroke_gaps(prompt: PersonPrompt, habits: TimeHabits) -> Iterable[TimedAct]:
    """Yield the times between strokes; the pointer movement and the press are their known part."""
    aim = habits.aim_edge if prompt.kind == "box" else habits.aim
    for one, two in pairwise(prompt.meant):
        way = _distance(one[-1], two[0]) / _diagonal(prompt)
        move = pointer_speed(prompt, habits).point(way, aim)
        known = sum_seconds([move, habits.press.seconds])
        seconds = (two[0].time_ms - one[-1].time_ms) / 1000
        # A gap of 0 ms, below the resolution of browser clocks, has no logarithm.
        if seconds > 0:
            yield TimedAct(seconds, known, prompt.person)


def _drag_time(prompt: PersonPrompt, habits: TimeHabits) -> TimedAct:
    """Return the time from press to release of a box; the drag movement is its known part."""
    (stroke,) = prompt.meant
    way = _distance(stroke[0], stroke[-1]) / _diagonal(prompt)
    known = pointer_speed(prompt, habits).drag(way, habits.aim_edge)
    return TimedAct(_duration_s(stroke), known, prompt.person)


def _stroke_speeds(prompt: PersonPrompt) -> list[float]:
    """Return the drawing speeds of a scribble's or lasso's strokes, in picture diagonals per second."""
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


def _fit_act(
    timed: Sequence[TimedAct],
    published: ActTime,
    between: float,
) -> ActTime:
    """Fit an act to the time that other acts do not explain; keep the published values if data are scarce."""
    if len(timed) < FEWEST_TIMED_PROMPTS:
        return published
    whole = _fit_log_normal([act.seconds for act in timed])
    # Variances add: the total spread includes the spread between people.
    within_variance = whole.spread**2 - between**2
    within = math.sqrt(max(within_variance, _LEAST_SPREAD**2))
    one_person = LogNormalSeconds(whole.median, within)
    known_mean = float(np.mean([act.known.mean for act in timed]))
    known_variance = float(np.mean([act.known.variance for act in timed]))
    # Means and variances of independent parts add, so subtract those of the known parts.
    mean = one_person.mean - known_mean
    variance = one_person.variance - known_variance
    if mean <= _LEAST_S:
        return ActTime(
            median_s=_LEAST_S,
            spread=_LEAST_SPREAD,
            source=f"{len(timed)} prompts",
        )
    least_variance = (_LEAST_SPREAD * mean) ** 2
    spread = math.sqrt(math.log1p(max(variance, least_variance) / mean**2))
    # The mean of a log-normal distribution is its median times exp(spread² / 2).
    median = mean / math.exp(spread**2 / 2)
    return ActTime(
        median_s=round(median, 4),
        spread=round(spread, 4),
        source=f"{len(timed)} prompts",
    )


def _fit_log_normal(values: Sequence[float]) -> LogNormalSeconds:
    """Fit a log-normal distribution to the median of the values and the spread of the middle two thirds.

    Quantiles are used instead of moments because a person's break produces an outlier.
    """
    logs = np.log(np.asarray(values, dtype=np.float64))
    low, median, high = np.quantile(logs, _ONE_SIGMA_QUANTILES)
    spread = max(float(high - low) / 2, _LEAST_SPREAD)
    return LogNormalSeconds(math.exp(float(median)), spread)

"""How long people take, fitted to prompts whose times are known.

Times of a prompt are from when it was allowed. Until the first press somebody looks, decides and moves; then they draw.
How quickly hands move and press is left as published, since tables do not tell where a pointer came from; what is left
beside that is looking. Acts without prompts of their kind in the table stay as published too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
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
"""Prompts that an act is fitted to."""

_LEAST_S = 0.05
_LEAST_SPREAD = 0.05


class TimedAct(NamedTuple):
    """Seconds that were measured, beside what of them is known to go into other acts."""

    seconds: float
    known: LogNormalSeconds
    person: str


def fit_seconds(
    prompts: Iterable[PersonPrompt], source: str, start: TimeHabits | None = None
) -> TimeHabits:
    """Return the habits of those who gave some prompts.

    Args:
        prompts: with the times of their points; others are passed over.
        source: what the file says of where it comes from.
        start: of what the prompts do not tell; by default what is published.

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
        "first": [_lead(one, habits) for one in timed if one.round == 1],
        "correction": [_lead(one, habits) for one in timed if one.round > 1],
        "another": list(chain.from_iterable(_gaps(one, habits) for one in timed)),
    }
    every = [*leads["first"], *leads["correction"]]
    between, _ = estimate_person_effects(
        np.log([one.seconds for one in every]), [one.person for one in every]
    )
    speeds = list(chain.from_iterable(map(_speeds, timed)))
    drags = [
        _drag(one, habits)
        for one in timed
        if one.kind == "box" and len(one.meant) == 1 and len(one.points) > 1
    ]
    if len(speeds) >= FEWEST_TIMED_PROMPTS:
        drawn = _typical(speeds)
    else:
        drawn = LogNormalSeconds(habits.draw_per_s, habits.draw_spread)
    return msgspec.structs.replace(
        habits,
        source=source,
        between_people=round(between, 4),
        look={why: _act(leads[why], habits.look[why], between) for why in habits.look},
        adjust=_act(drags, habits.adjust, between),
        draw_per_s=round(drawn.median, 5),
        draw_spread=round(drawn.spread, 4),
    )


def has_times(prompt: PersonPrompt) -> bool:
    """Tell whether a prompt has times that can be used: of its points, none of them running backwards."""
    times = [point.time_ms for point in prompt.points]
    return bool(times) and times[0] > 0 and all(one <= two for one, two in pairwise(times))


def pointer_speed(prompt: PersonPrompt, habits: TimeHabits) -> PointerSpeed:
    """Return the habits of the device that a prompt was given with; of one that nothing is known of, a mouse."""
    return habits.pointers.get(prompt.pointer, habits.pointers["mouse"])


def _diagonal(prompt: PersonPrompt) -> float:
    return math.hypot(prompt.width, prompt.height)


def _lead(prompt: PersonPrompt, habits: TimeHabits) -> TimedAct:
    """Return the time until the first press that counts, with a movement from somewhere."""
    aim = habits.aim_edge if prompt.kind == "box" else habits.aim
    move = pointer_speed(prompt, habits).point(REST_DISTANCE, aim)
    return TimedAct(
        prompt.meant[0][0].time_ms / 1000, sum_seconds([move, habits.press.seconds]), prompt.person
    )


def _gaps(prompt: PersonPrompt, habits: TimeHabits) -> Iterable[TimedAct]:
    """Yield the times between strokes, with the movement from the end of one to the beginning of the next."""
    aim = habits.aim_edge if prompt.kind == "box" else habits.aim
    for one, two in pairwise(prompt.meant):
        way = math.dist((one[-1].x, one[-1].y), (two[0].x, two[0].y)) / _diagonal(prompt)
        known = sum_seconds([pointer_speed(prompt, habits).point(way, aim), habits.press.seconds])
        seconds = (two[0].time_ms - one[-1].time_ms) / 1000
        if seconds > 0:
            yield TimedAct(seconds, known, prompt.person)


def _drag(prompt: PersonPrompt, habits: TimeHabits) -> TimedAct:
    """Return the time from press to release of a box, with the drag from corner to corner."""
    (stroke,) = prompt.meant
    way = math.dist((stroke[0].x, stroke[0].y), (stroke[-1].x, stroke[-1].y)) / _diagonal(prompt)
    return TimedAct(
        _seconds(stroke), pointer_speed(prompt, habits).drag(way, habits.aim_edge), prompt.person
    )


def _speeds(prompt: PersonPrompt) -> list[float]:
    """Return how much of the diagonal was drawn in a second, of each stroke of a line."""
    if prompt.kind not in ("scribble", "lasso"):
        return []
    drawn = [stroke for stroke in prompt.meant if _seconds(stroke) > 0]
    return [
        _length(stroke) / _diagonal(prompt) / _seconds(stroke)
        for stroke in drawn
        if _length(stroke) > 0
    ]


def _length(stroke: Sequence[PointerSample]) -> float:
    return sum(math.dist((one.x, one.y), (two.x, two.y)) for one, two in pairwise(stroke))


def _seconds(stroke: Sequence[PointerSample]) -> float:
    return (stroke[-1].time_ms - stroke[0].time_ms) / 1000


def _act(timed: Sequence[TimedAct], published: ActTime, between: float) -> ActTime:
    """Return the act that is left of some times beside what is known of them; as published where there are too few."""
    if len(timed) < FEWEST_TIMED_PROMPTS:
        return published
    whole = _typical([one.seconds for one in timed])
    within = math.sqrt(max(whole.spread**2 - between**2, _LEAST_SPREAD**2))
    one_person = LogNormalSeconds(whole.median, within)
    mean = one_person.mean - float(np.mean([one.known.mean for one in timed]))
    variance = one_person.variance - float(np.mean([one.known.variance for one in timed]))
    if mean <= _LEAST_S:
        return ActTime(median_s=_LEAST_S, spread=_LEAST_SPREAD, source=f"{len(timed)} prompts")
    spread = math.sqrt(math.log1p(max(variance, (_LEAST_SPREAD * mean) ** 2) / mean**2))
    median = mean / math.exp(spread**2 / 2)
    return ActTime(
        median_s=round(median, 4), spread=round(spread, 4), source=f"{len(timed)} prompts"
    )


def _typical(values: Sequence[float]) -> LogNormalSeconds:
    """Return the log-normal distribution with the median of some values, and the spread of their middle two thirds."""
    logs = np.log(np.asarray(values, dtype=np.float64))
    low, median, high = np.quantile(logs, [0.1587, 0.5, 0.8413])
    return LogNormalSeconds(math.exp(float(median)), max(float(high - low) / 2, _LEAST_SPREAD))

"""The status of a dialogue after a turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueStatus:
    """The status of a dialogue after a turn, for organisers only.

    Attributes:
        number: index of the dialogue among those about the sample.
        target, user, repeat: as in the records of the run.
        rounds: number of answered rounds.
        replayed: number of requested rounds whose prompts come from an earlier run.
        values: metrics of the last answer evaluated in this turn.
        seconds: seconds charged for that answer.
        is_over: whether no further prompts will follow.
        is_late: whether the dialogue ended because its time was up.
        failure: why the dialogue ended early, if not because its time was up; otherwise "".
        heard: number of answered rounds as the participant counts them. They include rounds of an earlier run that
            are repeated after the rules have ended the dialogue, although these do not affect the score.
        repeated: number of requested rounds, as the participant counts them, with prompts of an
            earlier run.
        is_given_up: whether the participant had no answer, perhaps in a round that does not affect the score.
    """

    number: int
    target: str
    user: str
    repeat: int
    rounds: int
    replayed: int
    values: Mapping[str, float]
    seconds: float
    is_over: bool
    is_late: bool
    failure: str
    heard: int = 0
    repeated: int = 0
    is_given_up: bool = False

"""A challenge as participants see it: the part of its description that a server sends."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

PhaseKind: TypeAlias = Literal["practice", "test"]
"""Whether the ground truth is open or hidden. Only a test limits how much prompts may reveal."""

ScoreVisibility: TypeAlias = Literal["prompts", "own", "board"]
"""What participants see before the phase closes: only prompts; also the scores of their own runs; also the board."""

ParticipationMode: TypeAlias = Literal["dialogue", "masks", "run", "worker"]
"""How a team takes part: in dialogues with the server; with one mask per dialogue, after its first prompts; with the
folder of a run of its own, where the ground truth is open; or with a program that the server runs without a network."""

LateRuns: TypeAlias = Literal["refuse", "finish"]
"""Whether runs that are unfinished when the phase closes end there, or may still be finished."""


class PhaseInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A phase as participants see it: a `Phase` without its seed and sample pool, and the rules in force.

    Attributes:
        dataset, seed: for a run on the participant's machine, as `segarena run` takes them; "" and None if the phase
            accepts no such runs.
        sample_kind: "image", "volume" or "video".
        adapter: the specification of the segmenter that lets an image segmenter take part; "" for none.
    """

    name: str
    kind: PhaseKind
    opens: datetime | None
    closes: datetime | None
    samples_per_run: int | None
    runs_per_day: int | None
    runs_in_all: int | None
    runs_at_once: int
    rounds: int
    seconds_per_object: float | None
    seconds_per_answer: float | None
    bank_s: float
    seconds_per_run: float | None
    shows: ScoreVisibility
    decimals: int
    late: LateRuns
    sample_kind: str
    adapter: str
    ladder: bool = False
    takes: tuple[ParticipationMode, ...] = ("dialogue",)
    dataset: str = ""
    seed: int | None = None


class UserInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A simulated user: its name in participants' records, and the kinds of prompts it gives; None if undeclared."""

    name: str
    prompt_kinds: list[str] | None = None


class ChallengeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge as participants see it: a `Challenge` without those options of the benchmark that name files."""

    slug: str
    title: str
    text: str
    benchmark: str
    is_public: bool
    frozen: datetime | None
    users: tuple[UserInfo, ...]
    phases: tuple[PhaseInfo, ...]

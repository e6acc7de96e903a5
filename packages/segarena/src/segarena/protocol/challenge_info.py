"""A challenge as participants see it: the part of its description that a server sends."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

PhaseKind: TypeAlias = Literal["practice", "test"]
"""Whether the truth is open, or hidden: only in a test are prompts a budget."""

ScoreVisibility: TypeAlias = Literal["prompts", "own", "board"]
"""What participants see before the phase closes: prompts alone, also the scores of their own runs, also the board."""

ParticipationMode: TypeAlias = Literal["dialogue", "masks", "run", "worker"]
"""How one takes part: a dialogue with the server; a mask for each dialogue, after its first prompts; the folder of a
run that was held elsewhere, where the truth is open; a program that the server starts, without a network."""

LateRuns: TypeAlias = Literal["refuse", "finish"]
"""What becomes of runs that are not over when the phase closes: they end there, or may still be finished."""


class PhaseInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A phase as participants see it: see `Phase`, without its seed and its pool; and the rules in force.

    Attributes:
        dataset, seed: of a run of one's own, as for `segarena run`; "" and None where the phase takes none.
        sample_kind: "image", "volume" or "video".
        adapter: the segmenter, as written, that lets one of images take part; "" for none.
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
    """A user: what records of participants call them, and the kinds of prompts they give; None: they do not say."""

    name: str
    prompt_kinds: list[str] | None = None


class ChallengeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge as participants see it; see `Challenge`. Options of the benchmark that name files are left out."""

    slug: str
    title: str
    text: str
    benchmark: str
    is_public: bool
    frozen: datetime | None
    users: tuple[UserInfo, ...]
    phases: tuple[PhaseInfo, ...]

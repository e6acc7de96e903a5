"""A challenge as participants see it: the part of its description that the server sends to them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import msgspec

from segarena.protocol.field_description import FieldDescription

Slug: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?\Z")]
DateTime: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e7)]

PhaseKind: TypeAlias = Literal["practice", "test"]
"""Whether the ground truth is open or hidden. Prompts are limited only if the ground truth is hidden."""

ScoreVisibility: TypeAlias = Literal["prompts", "own", "board"]
"""Information for participants before the phase closes: prompts alone; prompts and the scores of their
own runs; or also the leaderboard."""

ParticipationMode: TypeAlias = Literal["dialogue", "masks", "run", "worker"]
"""How a team takes part: in dialogues with the server; with one mask per dialogue, after its first
prompts; with the folder of its own run, if the ground truth is open; or with a program that the
server runs without a network."""

LateRuns: TypeAlias = Literal["refuse", "finish"]
"""Whether runs that are unfinished when the phase closes end at that time, or may still be finished."""


class PhaseRules(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of a phase that organisers set and participants see.

    None sets no limit, or leaves the choice to the benchmark.

    The annotation of a field is its only description: command-line options, the organiser's page,
    the rules for participants and the tables in the docs are generated from it.
    """

    name: Annotated[
        Slug, FieldDescription(label="Name", meaning="Name of the phase, used in addresses", option="phase",
                               is_fixed=True, has_rule=False,)
    ]  # fmt: skip
    kind: Annotated[
        PhaseKind,
        FieldDescription(
            label="Kind",
            meaning="Whether the ground truth is hidden (test) or open (practice)",
            words={
                "test": "test: hidden ground truth",
                "practice": "practice: open ground truth",
            },
            is_fixed=True,
            topic="Ground truth",
            rules={
                "practice": "The ground truth is open: all runs have the same samples, and prompts are not limited.",
                "test": "The ground truth is hidden: if you get a sample again, its prompts are the same as before.",
            },
        ),
    ] = "test"
    takes: Annotated[
        Annotated[tuple[ParticipationMode, ...], msgspec.Meta(min_length=1, max_length=4)],
        FieldDescription(
            label="Teams take part by",
            meaning="Ways to take part: dialogue, masks (cannot be combined), run (only in a practice phase), worker",
            words={
                "dialogue": "dialogues over the network",
                "dialogue, worker": "dialogues, or programs that the server runs",
                "worker": "programs that the server runs",
                "masks": "one mask for each dialogue, all at once",
                "dialogue, run": "dialogues, or runs on their own machine (practice phase)",
                "run": "runs on their own machine (practice phase)",
            },
            is_fixed=True,
            topic="You can submit",
            rules={
                "masks": "One mask for each dialogue.",
                "run": "Runs that you made yourself.",
                "worker": "Programs that the server runs.",
                "dialogue, worker": "Dialogues over the network, and programs that the server runs.",
                "dialogue, run": "Dialogues over the network, and runs that you made yourself.",
            },
        ),
    ] = ("dialogue",)
    opens: Annotated[
        DateTime | None,
        FieldDescription(
            label="Opens",
            meaning="When runs may begin",
            unset="at once",
            has_rule=False,
        ),
    ] = None
    closes: Annotated[
        DateTime | None,
        FieldDescription(
            label="Closes",
            meaning="When the phase ends",
            unset="never",
            has_rule=False,
        ),
    ] = None
    late: Annotated[
        LateRuns,
        FieldDescription(
            label="Unfinished runs at the end",
            meaning="Whether unfinished runs end when the phase closes (refuse) or may continue (finish)",
            words={"refuse": "end with the phase", "finish": "may be finished"},
            topic="At the end",
            rules={
                "refuse": "An unfinished run ends when the phase closes.",
                "finish": "An unfinished run may still be finished after the phase has closed.",
            },
        ),
    ] = "refuse"
    shows: Annotated[
        ScoreVisibility,
        FieldDescription(
            label="Until it closes, participants see",
            meaning="What participants see while the phase is open: prompts, own (also their own scores), or board",
            words={
                "prompts": "only the prompts",
                "own": "the scores of their own runs",
                "board": "their scores and the board",
            },
            topic="You see",
            rules={
                "prompts": "Only the prompts; everything else when the phase closes.",
                "own": "The scores of your own runs; the board when the phase closes.",
                "board": "The scores of your own runs, and the board.",
            },
        ),
    ] = "board"
    ladder: Annotated[
        bool,
        FieldDescription(
            label="A new run counts",
            meaning="In a test phase, count a run and show its scores only if it is better than the team's best by "
            "more than chance",
            words={"false": "always", "true": "if significantly better (ladder)"},
            is_fixed=True,
            topic="Ladder",
            rules={
                "true": "A run counts, and its scores are shown, when it is better than your best one by more than "
                "chance."
            },
        ),
    ] = True
    decimals: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=6)],
        FieldDescription(
            label="Decimals of scores",
            meaning="Decimals of the scores that participants see; an open test phase shows no decimals finer than the "
            "score's interval",
            topic="You see",
            rule="Scores are rounded to {}; in a test phase, scores with a wide interval have fewer.",
            noun="decimal",
        ),
    ] = 2
    runs_per_day: Annotated[
        Count | None,
        FieldDescription(
            label="Runs per day",
            meaning="Runs that a team may begin in 24 hours",
            unset="no limit",
            topic="Runs",
            rule="Your team may start {} in 24 hours.",
            noun="run",
        ),
    ] = None
    runs_in_all: Annotated[
        Count | None,
        FieldDescription(
            label="Runs in total",
            meaning="Runs that a team may begin in total",
            unset="no limit",
            topic="Runs",
            rule="Your team may start {} in total.",
            unset_rule="The total number of your team's runs is not limited.",
            noun="run",
        ),
    ] = None
    runs_at_once: Annotated[
        Count,
        FieldDescription(
            label="Unfinished runs at the same time",
            meaning="Unfinished runs that a team may have at the same time",
            topic="Runs",
            rule="Your team may have at most {} unfinished at the same time.",
            noun="run",
        ),
    ] = 1
    samples_per_run: Annotated[
        Count | None,
        FieldDescription(
            label="Samples per run",
            meaning="Number of samples of a run, drawn from the dataset",
            unset="chosen so that the samples last for several ranked runs",
            option="samples",
            section="details",
            is_fixed=True,
            topic="A run",
            rule="A run has {}.",
            unset_rule="A run has all samples.",
            noun="sample",
        ),
    ] = None
    ranked_runs: Annotated[
        Count | None,
        FieldDescription(
            label="Ranked runs",
            meaning="Number of a team's runs that are ranked; later runs are shown only to the team",
            unset="as many as the samples last for",
            section="details",
            is_fixed=True,
            topic="Ranked",
            rule="Your team has {}; later runs are shown only to your team.",
            noun="ranked run",
        ),
    ] = None
    unlimited_ranked_runs: Annotated[
        bool,
        FieldDescription(
            label="A run with samples that the team has seen before",
            meaning="Rank every run, although a team can then answer with the prompts that its earlier runs received",
            words={
                "false": "is a repeat: not ranked",
                "true": "is ranked, although the team can answer from memory",
            },
            section="details",
            is_fixed=True,
            topic="Ranked",
            rules={
                "false": "A run is ranked if your team has received no prompts about its samples before. "
                "Any other run is a repeat: only your team sees it, and no board counts it.",
                "true": "Every run is ranked, even if your team has seen its samples before.",
            },
        ),
    ] = False
    rounds: Annotated[
        Count | None,
        FieldDescription(
            label="Rounds per dialogue",
            meaning="Maximum number of rounds of a dialogue",
            unset="the benchmark's value",
            section="details",
            is_fixed=True,
            topic="A run",
            rule="A dialogue has at most {}.",
            noun="round",
        ),
    ] = None
    seconds_per_object: Annotated[
        Seconds | None,
        FieldDescription(
            label="Seconds per object",
            meaning="Time limit for all answers of a dialogue together, in seconds per object of its target",
            unset="the benchmark's value",
            section="details",
            is_fixed=True,
            topic="Time",
            rule="All answers of a dialogue together may take {} s per object.",
        ),
    ] = None
    seconds_per_answer: Annotated[
        Seconds | None,
        FieldDescription(
            label="Seconds per answer",
            meaning="Time limit for one answer, in seconds per object; slower answers use up the reserve",
            unset="no limit",
            section="details",
            is_fixed=True,
            topic="Time",
            rule="Each answer may take {} s per object.",
        ),
    ] = None
    bank_s: Annotated[
        Annotated[float, msgspec.Meta(ge=0, le=1e7)],
        FieldDescription(
            label="Seconds in reserve",
            meaning="Time in reserve for the slower answers of a dialogue, in seconds; needs seconds_per_answer",
            section="details",
            is_fixed=True,
            topic="Time",
            rule="Slower answers use up a reserve of {} s per dialogue.",
            rules={"0": ""},
        ),
    ] = 0.0
    seconds_per_run: Annotated[
        Seconds | None,
        FieldDescription(
            label="Seconds per run",
            meaning="Time limit for all answers of a run together, in seconds",
            unset="no limit",
            section="details",
            is_fixed=True,
            topic="Time",
            rule="All answers of a run together may take {} s.",
        ),
    ] = None


class PhaseInfo(PhaseRules, frozen=True, kw_only=True):
    """A phase as participants see it: the rules in force, without its seed and sample pool.

    Attributes:
        rounds: rounds of a dialogue, set by the phase or else by the benchmark.
        dataset, seed: options of `segarena run` for a run on the participant's machine; "" and None if the phase
            accepts no such runs.
        sample_kind: "image", "volume" or "video".
        adapter: the specification of the segmenter that lets an image segmenter take part; "" for none.
    """

    rounds: int  # pyright: ignore[reportGeneralTypeIssues] - always set, so it has no default
    sample_kind: str
    adapter: str
    dataset: str = ""
    seed: int | None = None


class UserInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A simulated user: its name in participants' records, and the prompt kinds that it gives; None if undeclared."""

    name: str
    prompt_kinds: list[str] | None = None


class ChallengeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge as participants see it: a `Challenge` without benchmark options that name files."""

    slug: str
    title: str
    text: str
    benchmark: str
    is_public: bool
    frozen: datetime | None
    users: tuple[UserInfo, ...]
    phases: tuple[PhaseInfo, ...]

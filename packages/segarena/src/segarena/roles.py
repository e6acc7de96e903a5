"""The five roles: segmenter, user, metric, dataset, benchmark. Read this first.

An evaluation is a dialogue between a user and a segmenter about a target in a sample, judged by metrics, under
the rules of a benchmark. A plug-in is any class with these methods; nothing needs to be inherited.
`segarena.registry` finds it by name, by entry point, or by path (`my_model.py:MyModel`). What varies is a
constructor argument with a default: it becomes an option, and a run records it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from segarena.benchmark_rules import Statistic, TimeBudget
from segarena.comparison import Comparison
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput
from segarena.multi_object import AnyComparison
from segarena.plugin_spec import PluginSpec
from segarena.prompts import Prompt
from segarena.samples import Sample, Target

MOST_PROMPTS = 10_000
"""What a user may give in one round, unless the benchmark says otherwise."""


@runtime_checkable
class Segmenter(Protocol):
    """Answers prompts with masks.

    The engine calls `encode` once per sample, then `predict` once per round with every dialogue about that
    sample that still goes on: different targets, users and repeats. Dialogues have nothing to do with
    each other, and nothing may be kept between calls: what the next round needs travels in
    `Prediction.logits` and comes back as `dialogue.previous.logits`.

    What else it can do (prompts and samples it takes, encodings that can be kept, ...): see `segarena.capabilities`.
    """

    def encode(self, sample: Sample) -> Any:
        """Do the expensive work that does not depend on prompts; return anything."""
        ...

    def predict(self, encoded: Any, dialogues: Sequence[Dialogue]) -> Sequence[Prediction | Any]:
        """Answer each dialogue, in order: a `Prediction`, or just a bool mask of the sample's shape."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Turn:
    """All that a simulated user may look at when it is their turn.

    Attributes:
        sample: the sample.
        target: the ground truth.
        dialogue: prompts so far, and the last prediction.
        comparison: the last prediction against the target; the empty prediction in the first round. When several
            objects are judged together, all of them (`segarena.multi_object`), for users who correct several at once.
        repeat: the number of this dialogue among the user's dialogues about the target, from 0.
        rng: this round's own random generator. It depends only on seed, benchmark, sample, target, user,
            repeat and round, never on what ran before.
    """

    sample: Sample
    target: Target
    dialogue: Dialogue
    comparison: AnyComparison
    rng: np.random.Generator
    repeat: int = 0

    @property
    def round(self) -> int:
        """The round these prompts open, counted from 1."""
        return len(self.dialogue.rounds) + 1

    @property
    def of_one(self) -> Comparison:
        """The comparison of a target of one object; raises `InvalidInput` when several are judged together."""
        if isinstance(self.comparison, Comparison):
            return self.comparison
        raise InvalidInput(
            f"target {self.target.id} has several objects judged together, expected one"
        )


@runtime_checkable
class User(Protocol):
    """A simulated user: looks at the last prediction and gives the next prompts.

    Must be pure: the same turn gives the same prompts; randomness only from `turn.rng`.
    What else a user can do (correct several objects, be silent, share work, ...): see `segarena.capabilities`.
    """

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Return the prompts of this round, or None when there is nothing left to correct."""
        ...


@runtime_checkable
class Metric(Protocol):
    """A value for a prediction held against its target.

    Of several objects judged together the mean over the objects is taken, unless `judges_objects` is True: then the
    metric is given `segarena.multi_object.ObjectsComparison`.

    Attributes:
        columns: the names of the values it gives, as they appear in the records.
        titles: optional; what reports call the columns that are not called by their name: {"iou": "IoU"}.
        shown: optional; which columns reports show of it beside a benchmark's own; all by default.
        lower_is_better: optional; the columns in which less is better.
        parts: optional; `parts(comparison) -> {column: array (objects, frames)}`, kept in a table of their own.
        contradicts: optional; which recorded values cannot be, see `segarena.capabilities.ValueChecker`.
    """

    columns: tuple[str, ...]

    def __call__(self, comparison: Comparison) -> float | Mapping[str, float]:
        """Return the value, or one per column; NaN where it is not defined, and say when in the docstring."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that `Dataset.check` noticed."""

    is_error: bool
    message: str


@runtime_checkable
class Dataset(Protocol):
    """Samples with targets, loaded one at a time.

    Attributes:
        name: as it appears in records and tables.
        sample_ids: in the order of evaluation, all distinct.
        fingerprint: changes whenever the data or the rules that make targets of them change.
    """

    name: str

    @property
    def sample_ids(self) -> Sequence[str]:
        """All sample ids, in order."""
        ...

    @property
    def fingerprint(self) -> str:
        """A short hash of the data as found."""
        ...

    def load(self, sample_id: str) -> Sample:
        """Read one sample; raise `SampleInvalid` when it cannot be used."""
        ...

    def check(self) -> Sequence[Finding]:
        """Look at every file and say what is found, what is odd and exactly what is missing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """The rules of an evaluation, as data.

    Attributes:
        name: as registered.
        users: who takes part; records call a user by the specification's name. Plug-ins may be given as text.
        metrics: what is measured after each round.
        rounds: how many rounds a dialogue has at most.
        summary: what the report's first table shows.
        dataset: the dataset when none is named.
        stop_at: (column, value): end a dialogue as soon as the value is reached; None goes on.
        budget: what time a dialogue has; an answer that comes later is dropped and ends it. None: no limit.
        most_prompts: that a user may give in one round; more is a failure of the user.
        protocol: "careful" for the rules a careful reader would want, "published" for the published numbers.
        paper: where the protocol comes from.
        options: whatever else the summary needs to know; printed in reports.
        sample_kind: what its datasets hold: "image", "volume" or "video".
        adapter: the segmenter that is put around one that takes images only, as its option `segmenter`; None
            refuses such segmenters.
    """

    name: str
    users: tuple[PluginSpec, ...]
    metrics: tuple[PluginSpec, ...]
    rounds: int
    summary: tuple[Statistic, ...]
    dataset: PluginSpec = field(default_factory=lambda: PluginSpec("demo"))
    stop_at: tuple[str, float] | None = None
    budget: TimeBudget | None = None
    most_prompts: int = MOST_PROMPTS
    protocol: str = "careful"
    paper: str = ""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sample_kind: str = "image"
    adapter: PluginSpec | None = None

    def __post_init__(self) -> None:
        """Read what was given as text; raise `PluginInvalid` where it is no plug-in."""
        read = {
            "users": tuple(map(PluginSpec.named, self.users)),
            "metrics": tuple(map(PluginSpec.of, self.metrics)),
            "dataset": PluginSpec.of(self.dataset),
            "adapter": PluginSpec.of(self.adapter) if self.adapter else None,
        }
        for name, value in read.items():
            object.__setattr__(self, name, value)

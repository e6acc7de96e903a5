"""The five roles: segmenter, user, metric, dataset, benchmark. Read this first.

An evaluation is a dialogue between a user and a segmenter about a target in a sample, scored by
metrics, under the rules of a benchmark. A plug-in is any class with these methods; no base class is
needed. `segarena.registry` finds it by name, by entry point, or by path (`my_model.py:MyModel`).
Constructor arguments with defaults are its options, and a run records them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from segarena.benchmark_rules import Statistic, TimeBudget, check_types
from segarena.comparison import Comparison
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput
from segarena.multi_object import AnyComparison
from segarena.plugin_spec import PluginSpec
from segarena.prompts import Prompt
from segarena.samples import Sample, Target

MOST_PROMPTS = 10_000
"""Maximum prompts from a user in one round, unless the benchmark sets another limit."""


@runtime_checkable
class Segmenter(Protocol):
    """Answers prompts with masks.

    The engine calls `encode` once per sample, and `predict` once per round with all open dialogues
    about that sample: different targets, users and repeats. If this call fails, `predict` is called
    again for each of the dialogues alone. Dialogues are independent, and a segmenter must keep no
    state between calls. Return state for the next round in `Prediction.logits`; the next call
    receives it as `dialogue.previous.logits`.

    For optional capabilities (accepted prompts and samples, cacheable encodings, ...) see
    `segarena.plugin_capabilities`.
    """

    def encode(self, sample: Sample) -> Any:
        """Compute everything that does not depend on prompts; return it as an object of any type."""
        ...

    def predict(self, encoded: Any, dialogues: Sequence[Dialogue]) -> Sequence[Prediction | Any]:
        """Answer each dialogue, in order, with a `Prediction` or a bool mask of the sample's shape."""
        ...


class LazyGenerator:
    """The field `rng` of a turn: a generator, or a function that makes it when the user first reads it.

    Many users never read it, and making one takes as long as a click in a small image.
    """

    def __get__(self, turn: Any, owner: type[Any]) -> np.random.Generator:
        """Return the generator."""
        if turn is None:
            # Tells `dataclass` that the field has no default.
            raise AttributeError("rng")
        given = vars(turn)["rng"]
        if callable(given):
            vars(turn)["rng"] = given()
        return vars(turn)["rng"]

    def __set__(
        self, turn: Any, given: np.random.Generator | Callable[[], np.random.Generator]
    ) -> None:
        vars(turn)["rng"] = given


@dataclass(frozen=True, kw_only=True, eq=False)
class Turn:
    """The input of a simulated user in one round.

    Attributes:
        sample: the sample.
        target: the ground truth.
        dialogue: prompts so far, and the last prediction.
        comparison: the last prediction compared with the target; the empty prediction in the first
            round. If several objects are scored together, it covers all of them
            (`segarena.multi_object`), for users that correct several at once.
        repeat: index of this dialogue among the user's dialogues about the target, from 0.
        rng: this round's own random generator. It depends only on seed, benchmark, sample, target, user,
            repeat and round, never on earlier work.
    """

    sample: Sample
    target: Target
    dialogue: Dialogue
    comparison: AnyComparison
    rng: LazyGenerator = LazyGenerator()
    repeat: int = 0

    @property
    def round(self) -> int:
        """Number of the round that the next prompts begin, counted from 1."""
        return len(self.dialogue.rounds) + 1

    @property
    def of_one(self) -> Comparison:
        """The comparison of a single object; raises `InvalidInput` if there are several objects."""
        if isinstance(self.comparison, Comparison):
            return self.comparison
        raise InvalidInput(
            f"target {self.target.id}: expected one object, got several objects that are scored together"
        )


@runtime_checkable
class User(Protocol):
    """A simulated user that reads the last prediction and gives the next prompts.

    A user must be deterministic: the same turn gives the same prompts. Take random numbers only
    from `turn.rng`. For optional capabilities (correcting several objects, giving no prompts,
    sharing work, ...) see `segarena.plugin_capabilities`.
    """

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Return the prompts of this round, or None if nothing is left to correct."""
        ...


@runtime_checkable
class Metric(Protocol):
    """Scores a prediction by comparing it with its target.

    If several objects are scored together, the value is the mean over the objects, unless
    `judges_objects` is True: then the metric receives a `segarena.multi_object.ObjectsComparison`.

    Attributes:
        columns: names of its values in the records.
        titles: optional; titles of columns in reports, by default their names: {"iou": "IoU"}.
        shown: optional; columns shown in reports in addition to those of the benchmark; by default
            all.
        lower_is_better: optional; columns in which lower values are better.
        parts: optional; `parts(comparison) -> {column: array (objects, frames)}`, stored in a
            separate table.
        contradicts: optional; detects impossible recorded values, see
            `segarena.plugin_capabilities.ValueChecker`.
    """

    columns: tuple[str, ...]

    def __call__(self, comparison: Comparison) -> float | Mapping[str, float]:
        """Return the value, or one value per column; NaN if undefined (the docstring should say when)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An error or observation reported by `Dataset.check`."""

    is_error: bool
    message: str


@runtime_checkable
class Dataset(Protocol):
    """Samples with targets, loaded one at a time.

    Attributes:
        name: name in records and tables.
        sample_ids: distinct ids, in the order of evaluation.
        fingerprint: hash that changes with the data and with the rules that derive targets from
            them.
    """

    name: str

    @property
    def sample_ids(self) -> Sequence[str]:
        """All sample ids, in order."""
        ...

    @property
    def fingerprint(self) -> str:
        """A short hash of the data on disk."""
        ...

    def load(self, sample_id: str) -> Sample:
        """Read one sample; raise `SampleInvalid` if it is unusable."""
        ...

    def check(self) -> Sequence[Finding]:
        """Check every file; report counts, anomalies, and exactly which files are missing or unusable."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """The rules of an evaluation, as data.

    Attributes:
        name: name in the registry.
        users: specifications of the users, or their text; records identify a user by the name of its
            specification.
        metrics: metrics computed after each round.
        rounds: maximum number of rounds in a dialogue.
        summary: statistics in the first table of the report.
        dataset: default dataset.
        stop_at: (column, value): a dialogue ends as soon as the column reaches the value; None: no
            early stop.
        budget: time budget of a dialogue; an answer that exceeds it is discarded and ends the dialogue. None: no
            limit.
        most_prompts: maximum number of prompts in one round; if a user gives more, the dialogue
            fails.
        protocol: "careful" for corrected rules, "published" for exactly those behind the published
            numbers.
        paper: source of the protocol.
        options: further parameters of the summary; printed in reports.
        sample_kind: kind of samples that the benchmark accepts: "image", "volume" or "video".
        adapter: segmenter that wraps an image segmenter, passed as its option `segmenter`; None
            rejects image segmenters.
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
        """Parse specifications given as text; raise `PluginInvalid` for an invalid one, or a value of another type."""
        check_types(self)
        read = {
            "users": tuple(map(PluginSpec.named, self.users)),
            "metrics": tuple(map(PluginSpec.of, self.metrics)),
            "dataset": PluginSpec.of(self.dataset),
            "adapter": PluginSpec.of(self.adapter) if self.adapter else None,
        }
        for name, value in read.items():
            object.__setattr__(self, name, value)

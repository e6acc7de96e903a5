"""What the records of one-shot runs say: counts of pixels by segmenter and user, and how they are to be scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import polars as pl

from segarena.errors import InvalidInput
from segarena.records.prompts import GivenSupport
from segarena.reports.recorded_run import Run
from segarena.systems.oneshot.bias.spurious_supports import SUPPORT_KINDS
from segarena.systems.oneshot.scoring.pixel_counts import PixelCounts, counts_from_records
from segarena.systems.oneshot.scoring.run_scores import ScoreOverRuns, score_runs
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings

_LAST = r"/([^/]+)$"
NEGATIVE_LEVELS = ("L4", "L5", "L6")
"""Levels whose right answer is nothing."""
SUMMARY_CAPTION = "mean IoU of pairs whose support shows the class"
SUPPORT_KIND_COLUMN = pl.when(pl.col("list").str.extract(_LAST).is_in(list(SUPPORT_KINDS))).then(
    pl.col("list").str.extract(_LAST)
)
"""What supports were changed to (see `kind_of`), as counts have it; null in other lists."""
COGNIZANCE = "support-cognizance"
TIER_ORDER = ("query-complexity", COGNIZANCE, "generalization", "pairs")


@dataclass(frozen=True, kw_only=True, eq=False)
class SegmenterCounts:
    """One segmenter with one user, over one or several runs."""

    segmenter: str
    user: str
    runs: tuple[pl.DataFrame, ...]
    failed: int  # pairs and samples that are in no score
    pairs: pl.DataFrame  # list, tier, fold and class of all that were asked

    @property
    def counts(self) -> pl.DataFrame:
        """The counts of all runs."""
        return pl.concat(self.runs)

    def only(self, keep: pl.Expr) -> tuple[pl.DataFrame, ...]:
        """Return the counts of each run for which `keep` holds, without runs that have none."""
        return tuple(part for run in self.runs if (part := run.filter(keep)).height)


@dataclass(frozen=True, slots=True)
class TierSelection:
    """A tier of a dataset."""

    name: str
    dataset: str = ""  # where the pairs are from; empty where no other dataset has this tier

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.of(self.name)

    @property
    def keep(self) -> pl.Expr:
        """Which counts belong to it."""
        here = pl.col("tier") == self.name
        return here & (pl.col("dataset") == self.dataset) if self.dataset else here

    def of(self, what: str) -> str:
        """Return what tables call something of this tier."""
        return f"{what} of {self.dataset}" if self.dataset else what


def without_negative_pairs(run: Run) -> Run:
    """Return a run without pairs whose right answer is nothing, or whose support was changed."""

    def is_asked(told: Mapping[str, Any]) -> bool:
        return told.get("level") not in NEGATIVE_LEVELS and support_kind(
            str(told.get("list", ""))
        ) in (
            "",
            "normal",
        )

    return replace(run, dialogues=tuple(d for d in run.dialogues if is_asked(d.attributes)))


def run_settings(run: Run) -> ScoreSettings:
    """Return how the run's benchmark scores."""
    options = run.config.benchmark.options
    given: dict[str, Any] = {
        field.name: options[field.name] for field in fields(ScoreSettings) if field.name in options
    }
    for name in ("weights", "scs_weights"):
        if isinstance(given.get(name), list):
            given[name] = tuple(given[name])
    return ScoreSettings(**given)


def mode_text(runs: Sequence[Run]) -> str:
    """Say in one line by which conventions all tables were made, and how many examples were shown."""
    shown = sorted({len(names) for _, names in _supports(runs)})
    if not shown:
        shots = ""
    else:
        shots = f", K = {shown[0]}" + (f" to {shown[-1]}" if len(shown) > 1 else "")
    return f"{runs[0].config.benchmark.protocol} protocol, {run_settings(runs[0]).mode}{shots}"


@lru_cache(maxsize=2)  # the page and the files of one report read the same
def counts_by_segmenter(runs: tuple[Run, ...]) -> tuple[SegmenterCounts, ...]:
    """Return an entry per segmenter and user of whom something was answered.

    Runs of one segmenter over several lists are one entry; of several repeats the first counts.
    """
    found: dict[tuple[str, str], list[PixelCounts]] = {}
    for run in runs:
        records = run.folder.records()
        for user in run.users:
            own = records.filter(
                ((pl.col("user") == user) & (pl.col("repeat") == 0)) | (pl.col("target") == "")
            )
            try:
                counted = counts_from_records(own)
            except InvalidInput:  # nothing was answered yet; the header says so
                continue
            found.setdefault((run.segmenter, user), []).append(counted)
    made: list[SegmenterCounts] = []
    for (segmenter, user), parts in found.items():
        runs_of = tuple(one.counts for one in parts)
        pairs = pl.concat([one.pairs for one in parts]).unique()
        failed = sum(len(one.left_out) for one in parts)
        made.append(
            SegmenterCounts(
                segmenter=segmenter, user=user, runs=runs_of, failed=failed, pairs=pairs
            )
        )
    return tuple(made)


def unchanged_counts(runs: Sequence[Run]) -> list[SegmenterCounts]:
    """Return the entries of each segmenter's first user, with the pairs whose supports are as they were listed."""
    first = {run.segmenter: run.users[0] for run in reversed(runs)}
    own = [
        entry for entry in counts_by_segmenter(tuple(runs)) if first[entry.segmenter] == entry.user
    ]
    plain = [
        replace(
            entry,
            runs=entry.only(SUPPORT_KIND_COLUMN.is_null() | (SUPPORT_KIND_COLUMN == "normal")),
        )
        for entry in own
    ]
    return [entry for entry in plain if entry.runs]


def available_tiers(found: Sequence[SegmenterCounts]) -> list[TierSelection]:
    """Return the tiers that any entry has pairs of, in the order of the paper; of several datasets apart."""
    pairs = pl.concat([entry.counts.select("tier", "dataset").unique() for entry in found]).unique()
    tiers: list[TierSelection] = []
    for name in sorted(
        pairs["tier"].unique().to_list(), key=lambda name: (*TIER_ORDER, name).index(name)
    ):
        datasets = sorted(pairs.filter(tier=name)["dataset"].to_list())
        tiers += (
            [TierSelection(name, dataset) for dataset in datasets]
            if len(datasets) > 1
            else [TierSelection(name)]
        )
    return tiers


def score_tier(
    parts: Sequence[pl.DataFrame], settings: ScoreSettings, pairs: pl.DataFrame
) -> tuple[dict[tuple[str, int | None], ScoreOverRuns], str]:
    """Return the scores of one tier by name and fold, and why there are none, if so."""
    if not parts:
        return {}, ""
    try:
        found, _ = score_runs(parts, settings, pairs)
    except InvalidInput as error:
        return {}, str(error)
    return {(one.score.name, one.score.fold): one for one in found}, ""


def count_encoder_passes(runs: Sequence[Run]) -> tuple[int, int, int, int]:
    """Return how many query images, passes over them, supports, and passes over their images all runs have."""
    queries: set[tuple[str, str]] = set()
    for run in runs:
        queries.update((run.label, dialogue.sample) for dialogue in run.finished())
    shown: set[tuple[str, str]] = set()
    for run, names in _supports(runs):
        shown.update((run.label, name) for name in names)
    passes = [run.timings.filter(pl.col("round") == 0) for run in runs]
    own = sum(table.filter(pl.col("target") == "").height for table in passes)
    return len(queries), own, len(shown), sum(table.height for table in passes) - own


def failed_text(found: Sequence[SegmenterCounts]) -> str:
    """Say how many pairs are in no score; empty when none is missing."""
    texts = [f"{entry.segmenter} ({entry.user}): {entry.failed}" for entry in found if entry.failed]
    return f"Failed, and in no score: {', '.join(texts)} pairs or samples." if texts else ""


def support_kind(list_name: str) -> str:
    """Return what supports were changed to in a list called LIST/KIND, "normal" for nothing; empty in other lists."""
    last = list_name.rpartition("/")[2]
    return last if "/" in list_name and last in SUPPORT_KINDS else ""


def _supports(runs: Sequence[Run]) -> Iterator[tuple[Run, list[str]]]:
    """Yield the run and the names of the supports that each round of a finished dialogue was given."""
    for run in runs:
        for dialogue in run.finished():
            for prompts in dialogue.prompts:
                yield run, [prompt.sample for prompt in prompts if isinstance(prompt, GivenSupport)]

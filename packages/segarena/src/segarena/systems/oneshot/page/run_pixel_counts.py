"""Pixel counts of one-shot runs by segmenter and user, and the settings for scoring them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

import polars as pl

from segarena.errors import InvalidInput
from segarena.records.prompts import RecordedSupport
from segarena.reports.recorded_run import Run
from segarena.systems.oneshot.bias.spurious_supports import SUPPORT_KINDS
from segarena.systems.oneshot.scoring.pixel_counts import PixelCounts, counts_from_records
from segarena.systems.oneshot.scoring.run_scores import ScoreOverRuns, score_runs
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings

_LAST_NAME_PART = r"/([^/]+)$"
NEGATIVE_LEVELS = ("L4", "L5", "L6")
"""Levels whose correct prediction is an empty mask."""
SUMMARY_CAPTION = "mean IoU of pairs whose support shows the class"
SUPPORT_KIND_COLUMN = pl.when(
    pl.col("list").str.extract(_LAST_NAME_PART).is_in(list(SUPPORT_KINDS))
).then(pl.col("list").str.extract(_LAST_NAME_PART))
"""Kind of support in each row of counts (see `support_kind`); null in lists without kinds."""
COGNIZANCE = "support-cognizance"
TIER_ORDER = ("query-complexity", COGNIZANCE, "generalization", "pairs")


@dataclass(frozen=True, kw_only=True, eq=False)
class SegmenterCounts:
    """Counts of one segmenter with one user over one or more runs."""

    segmenter: str
    user: str
    runs: tuple[pl.DataFrame, ...]  # a table of counts per run
    failed: int  # number of pairs and samples that are in no score
    pairs: pl.DataFrame  # list, tier, fold and class of all requested pairs

    @property
    def counts(self) -> pl.DataFrame:
        """The counts of all runs in one table."""
        return pl.concat(self.runs)

    def filter_runs(self, condition: pl.Expr) -> tuple[pl.DataFrame, ...]:
        """Return the counts of each run that meet a condition; runs without such counts are dropped."""
        # A run over one tier has no counts for the other tiers.
        filtered = [run.filter(condition) for run in self.runs]
        return tuple(run for run in filtered if run.height)


@dataclass(frozen=True, slots=True)
class TierSelection:
    """A tier, restricted to one dataset if several datasets have it."""

    name: str
    dataset: str = ""  # empty where only one dataset has this tier

    @property
    def label(self) -> str:
        """The tier's name in tables."""
        return self.qualify(self.name)

    @property
    def condition(self) -> pl.Expr:
        """Polars expression that selects the counts of this tier."""
        is_tier = pl.col("tier") == self.name
        if not self.dataset:
            return is_tier
        return is_tier & (pl.col("dataset") == self.dataset)

    def qualify(self, text: str) -> str:
        """Append the dataset's name to a text if the tier is restricted to one dataset."""
        return f"{text} of {self.dataset}" if self.dataset else text


def without_negative_pairs(run: Run) -> Run:
    """Return a run without pairs whose correct mask is empty or whose support was changed."""
    dialogues = [dialogue for dialogue in run.dialogues if _expects_object(dialogue.attributes)]
    return replace(run, dialogues=tuple(dialogues))


def _expects_object(attributes: Mapping[str, Any]) -> bool:
    if attributes.get("level") in NEGATIVE_LEVELS:
        return False
    return support_kind(str(attributes.get("list", ""))) in ("", "normal")


def run_settings(run: Run) -> ScoreSettings:
    """Return the scoring settings that the run's benchmark recorded."""
    options = run.config.benchmark.options
    names = [field.name for field in fields(ScoreSettings)]
    recorded: dict[str, Any] = {name: options[name] for name in names if name in options}
    # JSON has no tuples, so run.json holds weights as lists.
    for name in ("weights", "scs_weights"):
        if isinstance(recorded.get(name), list):
            recorded[name] = tuple(recorded[name])
    return ScoreSettings(**recorded)


def mode_text(runs: Sequence[Run]) -> str:
    """Return a line with the protocol, the scoring conventions and the number of supports per pair."""
    counts = sorted({len(names) for _, names in _given_supports(runs)})
    if not counts:
        shots = ""
    elif len(counts) == 1:
        shots = f", K = {counts[0]}"
    else:
        shots = f", K = {counts[0]} to {counts[-1]}"
    return f"{runs[0].config.benchmark.protocol} protocol, {run_settings(runs[0]).mode}{shots}"


@lru_cache(maxsize=2)  # the page and the files of one report read the same runs
def counts_by_segmenter(runs: tuple[Run, ...]) -> tuple[SegmenterCounts, ...]:
    """Return the counts of each combination of segmenter and user with at least one prediction.

    Runs of one segmenter over several lists are merged. If a run has several repeats, only the
    first counts.
    """
    parts_by_key: dict[tuple[str, str], list[PixelCounts]] = {}
    for run in runs:
        records = run.folder.records()
        for user in run.users:
            # Records without a target belong to samples that failed to load, so they count for
            # every user.
            is_first_repeat = (pl.col("user") == user) & (pl.col("repeat") == 0)
            own = records.filter(is_first_repeat | (pl.col("target") == ""))
            try:
                part = counts_from_records(own)
            except InvalidInput:
                # The run has no prediction yet, which the header of the report states.
                continue
            parts_by_key.setdefault((run.segmenter, user), []).append(part)
    merged: list[SegmenterCounts] = []
    for (segmenter, user), parts in parts_by_key.items():
        pairs = pl.concat([part.pairs for part in parts]).unique()
        failed = 0
        for part in parts:
            failed += len(part.left_out)
        counts = SegmenterCounts(
            segmenter=segmenter,
            user=user,
            runs=tuple(part.counts for part in parts),
            failed=failed,
            pairs=pairs,
        )
        merged.append(counts)
    return tuple(merged)


def unchanged_counts(runs: Sequence[Run]) -> list[SegmenterCounts]:
    """Return the counts of each segmenter's first user, over pairs with unchanged supports."""
    # The first run of a segmenter decides: iterating in reverse lets it overwrite later runs.
    first_user = {run.segmenter: run.users[0] for run in reversed(runs)}
    is_unchanged = SUPPORT_KIND_COLUMN.is_null() | (SUPPORT_KIND_COLUMN == "normal")
    found: list[SegmenterCounts] = []
    for counts in counts_by_segmenter(tuple(runs)):
        if counts.user != first_user[counts.segmenter]:
            continue
        filtered = counts.filter_runs(is_unchanged)
        if filtered:
            found.append(replace(counts, runs=filtered))
    return found


def available_tiers(found: Sequence[SegmenterCounts]) -> list[TierSelection]:
    """Return the tiers that have counts, in the paper's order; a tier of several datasets once for each."""
    tables = [counts.counts.select("tier", "dataset").unique() for counts in found]
    pairs = pl.concat(tables).unique()
    names: list[str] = pairs["tier"].unique().to_list()
    tiers: list[TierSelection] = []
    for name in sorted(names, key=_tier_rank):
        datasets = sorted(pairs.filter(tier=name)["dataset"].to_list())
        if len(datasets) > 1:
            tiers += [TierSelection(name, dataset) for dataset in datasets]
        else:
            tiers.append(TierSelection(name))
    return tiers


def _tier_rank(name: str) -> int:
    return (*TIER_ORDER, name).index(name)


def score_tier(
    runs: Sequence[pl.DataFrame],
    settings: ScoreSettings,
    pairs: pl.DataFrame,
) -> tuple[dict[tuple[str, int | None], ScoreOverRuns], str]:
    """Return the scores of one tier by name and fold, and the reason if there are none.

    Args:
        runs: counts of the tier, one table per run; without tables, both results are empty.
        settings: see `ScoreSettings`.
        pairs: list, tier, fold and class of all requested pairs.
    """
    if not runs:
        return {}, ""
    try:
        scores, _ = score_runs(runs, settings, pairs)
    except InvalidInput as error:
        return {}, str(error)
    return {(over_runs.score.name, over_runs.score.fold): over_runs for over_runs in scores}, ""


class EncoderPasses(NamedTuple):
    """Numbers of distinct images and of encoder passes, added up over all runs."""

    queries: int
    transformed_queries: int
    query_passes: int
    supports: int
    support_passes: int


def count_encoder_passes(runs: Sequence[Run]) -> EncoderPasses:
    """Count the query images and the support images, and the encoder passes over each kind."""
    queries: set[tuple[str, str]] = set()
    transformed: set[tuple[str, str]] = set()
    for run in runs:
        for dialogue in run.finished():
            queries.add((run.label, dialogue.sample))
            # The sample of a transformed query is named after the photograph and the transform.
            if dialogue.attributes.get("query", dialogue.sample) != dialogue.sample:
                transformed.add((run.label, dialogue.sample))
    supports: set[tuple[str, str]] = set()
    for run, names in _given_supports(runs):
        supports.update((run.label, name) for name in names)
    all_passes = 0
    query_passes = 0
    for run in runs:
        # Encoder passes are recorded as timings of round 0; those of supports also name their
        # target.
        passes = run.timings.filter(pl.col("round") == 0)
        all_passes += passes.height
        query_passes += passes.filter(pl.col("target") == "").height
    return EncoderPasses(
        queries=len(queries),
        transformed_queries=len(transformed),
        query_passes=query_passes,
        supports=len(supports),
        support_passes=all_passes - query_passes,
    )


def failed_text(found: Sequence[SegmenterCounts]) -> str:
    """Return a sentence with the number of failed pairs or samples of each segmenter; empty if none failed."""
    texts: list[str] = []
    for counts in found:
        if counts.failed:
            texts.append(f"{counts.segmenter} ({counts.user}): {counts.failed}")
    if not texts:
        return ""
    return f"Failed pairs or samples, which are in no score: {', '.join(texts)}."


def support_kind(list_name: str) -> str:
    """Return the kind of support in a list named LIST/KIND ("normal" means unchanged), or "" for other lists."""
    last = list_name.rpartition("/")[2]
    is_kind = "/" in list_name and last in SUPPORT_KINDS
    return last if is_kind else ""


def _given_supports(runs: Sequence[Run]) -> Iterator[tuple[Run, list[str]]]:
    """Yield the run and the support names, for each round of each finished dialogue."""
    for run in runs:
        for dialogue in run.finished():
            for prompts in dialogue.prompts:
                names = [prompt.sample for prompt in prompts if isinstance(prompt, RecordedSupport)]
                yield run, names

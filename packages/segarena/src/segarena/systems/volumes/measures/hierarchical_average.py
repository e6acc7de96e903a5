"""Means over volumes: instance, case, class, dataset, all; never over different sets silently.

The mean over the instances of a class in a case is the case's value, the mean over cases the class's, the mean over
classes the dataset's, the mean over datasets the last one. Each level counts its members equally, however many there
are below. Rows that are to be compared (users, segmenters, rounds) are averaged over the targets that all of them
have, unless told otherwise, and what each lacks is always said. Source: RadioActive, section 4; its tables average each
row over whatever it has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import check_bootstrap, percentile_interval, times_drawn

FloatArray: TypeAlias = NDArray[np.float64]
TargetSelection: TypeAlias = Literal["common", "own", "same"]

DIALOGUE_COLUMNS = ("benchmark", "dataset", "sample", "target", "user", "repeat")

_TARGET = ("dataset", "class", "sample", "target")
_TABLE = ("level", "dataset", "class", "mean", "low", "high", "cases", "targets")
_WHOLE = "\0"  # a name that no column and no class has
_MISSING = ("dataset", "class", "cases", "targets", "cases_of", "targets_of")


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """What `average` returns.

    Attributes:
        table: one row per group, level, dataset and class: the columns of `split` and `rows`, then "level" ("class",
            "dataset", "all"), "dataset" and "class" ("" above their level), "mean", "low", "high" (NaN where there
            is nothing, or no spread can be seen), "cases" and "targets" that went in.
        missing: one row per group, dataset and class of which the group lacks targets that another one has: "cases"
            and "targets" that are missing, out of "cases_of" and "targets_of". Empty when all have the same.
    """

    table: pl.DataFrame
    missing: pl.DataFrame


def add_class_column(
    records: pl.DataFrame, attributes: Sequence[str] = ("modality", "kind")
) -> pl.DataFrame:
    """Return records with a column "class" and one for each of `attributes` of the target, "" where it has none.

    The class is the target's attribute "class", or its label where there is none. Samples that could not be used at
    all (no target) are left out.
    """

    def attribute(name: str) -> pl.Expr:
        return pl.col("attributes").str.json_path_match(f"$.{name}")

    of_class = pl.coalesce(attribute("class"), pl.col("label")).alias("class")
    others = [attribute(name).fill_null("").alias(name) for name in attributes]
    return records.filter(pl.col("target") != "").with_columns(of_class, *others)


def repeat_last_round(
    records: pl.DataFrame, rounds: int, *, dialogue: Sequence[str] = DIALOGUE_COLUMNS
) -> pl.DataFrame:
    """Return records in which every dialogue goes on to round `rounds`: one that ended early repeats its last line.

    One that failed does not, and rounds beyond `rounds` are left out. Repeated lines come last and have no prompts.
    `dialogue` are the columns that tell dialogues apart; with several runs in one frame, also what tells those apart.

    Raises:
        InvalidInput: `rounds` below 1.
    """
    if rounds < 1:
        raise InvalidInput(f"rounds: expected at least 1, got {rounds}")
    within = records.filter(pl.col("target") != "", pl.col("round") <= rounds)
    last = (
        within.sort("round")
        .group_by(list(dialogue), maintain_order=True)
        .last()
        .select(records.columns)
    )
    ended = last.filter(pl.col("failure").is_null(), pl.col("round") < rounds)
    later = pl.int_ranges(pl.col("round") + 1, rounds + 1).alias("round")
    held = ended.with_columns(later, pl.lit("[]").alias("prompts")).explode("round")
    return pl.concat([within, held.cast({"round": records.schema["round"]})])


def average(
    values: pl.DataFrame,
    column: str,
    *,
    rows: Sequence[str] = ("user",),
    split: Sequence[str] = (),
    over: TargetSelection = "common",
    repeats: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Averages:
    """Return the means of `column` at every level, with bootstrap intervals over cases.

    Whole cases are drawn with replacement within each dataset, with all their classes and targets; a class that a
    draw has no case of is left out of that draw. A class or dataset with one case has no interval, nor has a mean
    over datasets one of which has none. Rows over the same cases share their draws.

    Args:
        values: one line per target and repetition, with the columns "dataset", "sample", "target", "class" and those
            named here. Null (failed) and NaN (not defined) are no values, and the target is missing. When rounds are
            rows, see `repeat_last_round`.
        column: what is averaged. Repetitions of a target are averaged first.
        rows: columns that tell apart what is compared.
        split: columns whose values are kept apart before anything is compared ("modality", "kind").
        over: "common": what every row of its split has, rows without any value excepted. "own": each row over what it
            has, as published; such means are not comparable. "same": all must have the same.
        repeats: bootstrap samples.
        level: share of them inside the interval.
        seed: of the resampling.

    Raises:
        InvalidInput: nothing to average, a column missing, named twice or null (`column` excepted), another word for
            `over`, `repeats` below 1, `level` not in (0, 1), or `over="same"` and some row lacks a target.
    """
    _check(values, column, [*split, *rows], over)
    bootstrap = _Bootstrap(repeats, level, seed)
    # A column of one value makes averages without a split no special case.
    every = values.with_columns(
        pl.col(column).cast(pl.Float64).fill_nan(None), pl.lit(0).alias(_WHOLE)
    )
    within = [_WHOLE, *split]
    groups = [_WHOLE, *split, *rows]
    of_targets = (
        every.drop_nulls(column)
        .group_by(*groups, *_TARGET)
        .agg(pl.col(column).mean().alias("value"))
    )
    of_targets = of_targets.sort(*groups, *_TARGET)
    missing = _missing(every, of_targets, groups, within)
    if over == "same" and missing.height:
        raise InvalidInput(_refusal(missing.row(0, named=True), column, [*split, *rows]))
    kept = of_targets if over == "own" else _common(of_targets, groups, within)
    lines: list[dict[str, Any]] = []
    for key in every.select(groups).unique().sort(groups).iter_rows():
        named = dict(zip(groups, key, strict=True))
        of_group = kept.filter(*(pl.col(name) == value for name, value in named.items()))
        lines.extend(named | line for line in _levels(of_group, bootstrap))
    table = pl.DataFrame(lines, infer_schema_length=None)
    return Averages(table.select(*split, *rows, *_TABLE), missing.drop(_WHOLE))


def _check(values: pl.DataFrame, column: str, groups: list[str], over: str) -> None:
    needed = [*_TARGET, *groups, column]
    absent = [name for name in needed if name not in values.columns]
    if absent or len(set(needed)) != len(needed):
        raise InvalidInput(
            f"average: expected the columns {', '.join(needed)}, each once; "
            f"{'missing: ' + ', '.join(absent) if absent else 'one is named twice'}"
        )
    if over not in get_args(TargetSelection):
        raise InvalidInput(
            f"over: expected one of {', '.join(get_args(TargetSelection))}, got {over!r}"
        )
    if not values.height:
        raise InvalidInput("average: expected at least one line of values, got none")
    blank = next((name for name in needed[:-1] if values[name].null_count()), None)
    if blank is not None:
        raise InvalidInput(
            f"average: expected a {blank} in every line, got null; fill it in or leave the line out"
        )


def _refusal(first: dict[str, Any], column: str, groups: list[str]) -> str:
    who = ", ".join(f"{name} {first[name]}" for name in groups) or "the only row"
    return (
        f"average over the same targets: {who} has no {column} for {first['targets']} of {first['targets_of']} targets "
        f"of {first['dataset']}, {first['class']}; complete the run or average over what is common"
    )


def _missing(
    every: pl.DataFrame, of_targets: pl.DataFrame, groups: list[str], within: list[str]
) -> pl.DataFrame:
    """Return how much of what any row of its split was asked about each row has no value for."""
    universe = every.select(*within, *_TARGET).unique()
    wanted = every.select(groups).unique().join(universe, on=within)
    absent = wanted.join(of_targets, on=[*groups, *_TARGET], how="anti")
    by = [*groups, "dataset", "class"]
    cases = pl.col("sample").n_unique()
    targets = pl.struct("sample", "target").n_unique()
    total = wanted.group_by(by).agg(cases.alias("cases_of"), targets.alias("targets_of"))
    lacking = absent.group_by(by).agg(cases.alias("cases"), targets.alias("targets"))
    return lacking.join(total, on=by).select(*groups, *_MISSING).sort(by)


def _common(of_targets: pl.DataFrame, groups: list[str], within: list[str]) -> pl.DataFrame:
    """Return the targets that every row of their split has a value for."""
    row = pl.struct(groups).n_unique()
    have = of_targets.group_by(*within, *_TARGET).agg(row.alias("have"))
    there_are = of_targets.group_by(within).agg(row.alias("there_are"))
    shared = have.join(there_are, on=within).filter(pl.col("have") == pl.col("there_are"))
    return of_targets.join(shared, on=[*within, *_TARGET], how="semi")


class _Bootstrap:
    """How often each case is drawn; the same for all rows that have equally many cases of a dataset."""

    def __init__(self, repeats: int, level: float, seed: int) -> None:
        check_bootstrap(repeats, level)
        self._repeats = repeats
        self._level = level
        self._seed = seed
        self._drawn: dict[tuple[str, int], FloatArray] = {}

    def of_classes(self, dataset: str, matrix: FloatArray) -> FloatArray:
        """Return the mean of each class in each draw, (draws, classes), from (cases, classes); NaN of no case."""
        key = (dataset, len(matrix))
        if key not in self._drawn:
            rng = np.random.default_rng([self._seed, *dataset.encode()])
            (self._drawn[key],) = times_drawn(len(matrix), self._repeats, rng, stream="multinomial")
        times = self._drawn[key]
        sums = times @ np.nan_to_num(matrix)
        counts = times @ (~np.isnan(matrix)).astype(np.float64)
        return np.divide(sums, counts, out=np.full_like(sums, math.nan), where=counts > 0)

    def interval(self, draws: FloatArray, cases: int) -> tuple[float, float]:
        """Return the percentile interval of the draws that are not NaN; NaN when there were fewer than two cases."""
        return percentile_interval(draws, self._level) if cases > 1 else (math.nan, math.nan)


def _levels(of_group: pl.DataFrame, bootstrap: _Bootstrap) -> list[dict[str, Any]]:
    """Return the lines of one row of the table: every class, every dataset, all."""
    lines: list[dict[str, Any]] = []
    means: list[float] = []
    draws: list[FloatArray] = []
    fewest = 0
    for (dataset,), of_dataset in of_group.group_by("dataset", maintain_order=True):
        of_cases = of_dataset.group_by("class", "sample", maintain_order=True).agg(
            pl.col("value").mean()
        )
        table = (
            of_cases.rename({"sample": _WHOLE})
            .pivot("class", index=_WHOLE, values="value")
            .drop(_WHOLE)
        )
        matrix = table.to_numpy().astype(np.float64)
        targets = dict(of_dataset.group_by("class").len().iter_rows())
        of_classes = bootstrap.of_classes(str(dataset), matrix)
        class_means: list[float] = []
        for name, values, drawn in zip(table.columns, matrix.T, of_classes.T, strict=True):
            cases = int(np.count_nonzero(~np.isnan(values)))
            class_means.append(float(np.nanmean(values)))
            ends = bootstrap.interval(drawn, cases)
            lines.append(
                _line("class", str(dataset), name, class_means[-1], ends, cases, targets[name])
            )
        means.append(float(np.mean(class_means)))
        draws.append(np.nanmean(of_classes, axis=1))
        fewest = min(fewest or len(matrix), len(matrix))
        ends = bootstrap.interval(draws[-1], len(matrix))
        lines.append(
            _line("dataset", str(dataset), "", means[-1], ends, len(matrix), of_dataset.height)
        )
    mean = float(np.mean(means)) if means else math.nan
    cases = of_group.select("dataset", "sample").n_unique()
    ends = bootstrap.interval(np.mean(draws, axis=0) if draws else np.empty(0), fewest)
    return [*lines, _line("all", "", "", mean, ends, cases, of_group.height)]


def _line(
    level: str,
    dataset: str,
    name: str,
    mean: float,
    ends: tuple[float, float],
    cases: int,
    targets: int,
) -> dict[str, Any]:
    return dict(zip(_TABLE, (level, dataset, name, mean, *ends, cases, targets), strict=True))

"""Means over volumes at five levels: instance, case, class, dataset, all.

The mean over the instances of a class in a case is the case's value, the mean over cases the class's, the mean over
classes the dataset's, and the mean over datasets the last one. Each level weighs its members equally, however many
instances they have. Rows that are compared (users, segmenters, rounds) are averaged over the targets that all of them
have, unless an option says otherwise, and the result always lists what each row lacks. Source: RadioActive, section 4;
its tables average each row over whatever it has.
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
from segarena.statistics.bootstrap import check_bootstrap, draw_counts, percentile_interval

FloatArray: TypeAlias = NDArray[np.float64]
TargetSelection: TypeAlias = Literal["common", "own", "same"]

DIALOGUE_COLUMNS = ("benchmark", "dataset", "sample", "target", "user", "repeat")

_TARGET = ("dataset", "class", "sample", "target")
_TABLE = ("level", "dataset", "class", "mean", "low", "high", "cases", "targets")
_WHOLE = "\0"  # a name that no column and no class has
_MISSING = ("dataset", "class", "cases", "targets", "cases_of", "targets_of")


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """Result of `average`.

    Attributes:
        table: one row per group, level, dataset and class: the columns of `split` and `rows`, then "level" ("class",
            "dataset", "all"), "dataset" and "class" ("" above their level), "mean", "low", "high" (NaN without a
            value, or where no spread can be estimated), "cases" and "targets" that went in.
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

    class_column = pl.coalesce(attribute("class"), pl.col("label")).alias("class")
    other_columns = [attribute(name).fill_null("").alias(name) for name in attributes]
    return records.filter(pl.col("target") != "").with_columns(class_column, *other_columns)


def repeat_last_round(
    records: pl.DataFrame, rounds: int, *, dialogue: Sequence[str] = DIALOGUE_COLUMNS
) -> pl.DataFrame:
    """Return records in which every dialogue reaches round `rounds`: one that ended early repeats its last row.

    Failed dialogues are not extended, and rounds beyond `rounds` are left out. Repeated rows come last and have no
    prompts. `dialogue` are the columns that identify a dialogue; with several runs in one frame, add the run's columns.

    Raises:
        InvalidInput: `rounds` is below 1.
    """
    if rounds < 1:
        raise InvalidInput(f"rounds: expected at least 1, got {rounds}")
    within = records.filter(pl.col("target") != "", pl.col("round") <= rounds)
    by_dialogue = within.sort("round").group_by(list(dialogue), maintain_order=True)
    last = by_dialogue.last().select(records.columns)
    ended = last.filter(pl.col("failure").is_null(), pl.col("round") < rounds)
    later_rounds = pl.int_ranges(pl.col("round") + 1, rounds + 1).alias("round")
    no_prompts = pl.lit("[]").alias("prompts")
    repeated = ended.with_columns(later_rounds, no_prompts).explode("round")
    return pl.concat([within, repeated.cast({"round": records.schema["round"]})])


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

    Whole cases are drawn with replacement within each dataset, with all their classes and targets; a draw without any
    case of a class leaves that class out. A class or dataset with one case has no interval, nor has a mean over
    datasets one of which has none. Rows over the same cases share their draws.

    Args:
        values: one row per target and repetition, with the columns "dataset", "sample", "target", "class" and those
            named here. Null (failed) and NaN (not defined) count as missing. When rounds are rows, see
            `repeat_last_round`.
        column: the column to average. Repetitions of a target are averaged first.
        rows: columns whose combinations are compared.
        split: columns whose values are kept apart before anything is compared ("modality", "kind").
        over: "common": the targets that every row of the split has, rows without any value excepted. "own": each row
            over its own targets, as published; such means are not comparable. "same": all must have the same.
        repeats: bootstrap samples.
        level: share of them inside the interval.
        seed: of the resampling.

    Raises:
        InvalidInput: nothing to average, a column missing, named twice or null (`column` excepted), another word for
            `over`, `repeats` below 1, `level` not in (0, 1), or `over="same"` and some row lacks a target.
    """
    _check(values, column, [*split, *rows], over)
    bootstrap = _Bootstrap(repeats, level, seed)
    # A column with one value spares a special case for averages without a split.
    number = pl.col(column).cast(pl.Float64).fill_nan(None)
    every = values.with_columns(number, pl.lit(0).alias(_WHOLE))
    within = [_WHOLE, *split]
    groups = [_WHOLE, *split, *rows]
    target_columns = [*groups, *_TARGET]
    by_target = every.drop_nulls(column).group_by(*target_columns)
    of_targets = by_target.agg(pl.col(column).mean().alias("value")).sort(*target_columns)
    missing = _missing(every, of_targets, groups, within)
    if over == "same" and missing.height:
        raise InvalidInput(_missing_message(missing.row(0, named=True), column, [*split, *rows]))
    kept = of_targets if over == "own" else _common(of_targets, groups, within)
    lines: list[dict[str, Any]] = []
    for key in every.select(groups).unique().sort(groups).iter_rows():
        named = dict(zip(groups, key, strict=True))
        conditions = [pl.col(name) == value for name, value in named.items()]
        of_group = kept.filter(*conditions)
        lines.extend(named | line for line in _levels(of_group, bootstrap))
    table = pl.DataFrame(lines, infer_schema_length=None)
    return Averages(table.select(*split, *rows, *_TABLE), missing.drop(_WHOLE))


def _check(values: pl.DataFrame, column: str, groups: list[str], over: str) -> None:
    needed = [*_TARGET, *groups, column]
    absent = [name for name in needed if name not in values.columns]
    if absent or len(set(needed)) != len(needed):
        problem = f"missing: {', '.join(absent)}" if absent else "one is named twice"
        raise InvalidInput(
            f"average: expected the columns {', '.join(needed)}, each once; {problem}"
        )
    if over not in get_args(TargetSelection):
        raise InvalidInput(
            f"over: expected one of {', '.join(get_args(TargetSelection))}, got {over!r}"
        )
    if not values.height:
        raise InvalidInput("average: expected at least one line of values, got none")
    for name in needed[:-1]:
        if values[name].null_count():
            raise InvalidInput(
                f"average: expected a {name} in every line, got null; fill it in or leave the line out"
            )


def _missing_message(first: dict[str, Any], column: str, groups: list[str]) -> str:
    row = ", ".join(f"{name} {first[name]}" for name in groups) or "the only row"
    return (
        f"average over the same targets: {row} has no {column} for {first['targets']} of {first['targets_of']} targets "
        f"of {first['dataset']}, {first['class']}; complete the run or average over what is common"
    )


def _missing(
    every: pl.DataFrame, of_targets: pl.DataFrame, groups: list[str], within: list[str]
) -> pl.DataFrame:
    """Return for each row the number of targets that occur in its split and have no value in it."""
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
    """Return the targets with a value in every row of their split."""
    rows = pl.struct(groups).n_unique()
    rows_with_target = of_targets.group_by(*within, *_TARGET).agg(rows.alias("with_target"))
    all_rows = of_targets.group_by(within).agg(rows.alias("in_split"))
    joined = rows_with_target.join(all_rows, on=within)
    shared = joined.filter(pl.col("with_target") == pl.col("in_split"))
    return of_targets.join(shared, on=[*within, *_TARGET], how="semi")


class _Bootstrap:
    """Bootstrap draws of cases; the same for all rows that have equally many cases of a dataset."""

    def __init__(self, repeats: int, level: float, seed: int) -> None:
        check_bootstrap(repeats, level)
        self._repeats = repeats
        self._level = level
        self._seed = seed
        self._times_drawn: dict[tuple[str, int], FloatArray] = {}

    def class_means(self, dataset: str, matrix: FloatArray) -> FloatArray:
        """Return the mean of each class in each draw, (draws, classes), from (cases, classes); NaN of no case."""
        key = (dataset, len(matrix))
        if key not in self._times_drawn:
            rng = np.random.default_rng([self._seed, *dataset.encode()])
            (drawn,) = draw_counts(len(matrix), self._repeats, rng, stream="multinomial")
            self._times_drawn[key] = drawn
        times = self._times_drawn[key]
        is_known = (~np.isnan(matrix)).astype(np.float64)
        sums = times @ np.nan_to_num(matrix)
        counts = times @ is_known
        return np.divide(sums, counts, out=np.full_like(sums, math.nan), where=counts > 0)

    def interval(self, draws: FloatArray, cases: int) -> tuple[float, float]:
        """Return the percentile interval of the draws that are not NaN; NaN for fewer than two cases."""
        if cases < 2:
            return math.nan, math.nan
        return percentile_interval(draws, self._level)


def _levels(of_group: pl.DataFrame, bootstrap: _Bootstrap) -> list[dict[str, Any]]:
    """Return the lines of one row of the table: every class, every dataset, all."""
    lines: list[dict[str, Any]] = []
    dataset_means: list[float] = []
    dataset_draws: list[FloatArray] = []
    fewest_cases = 0
    for (dataset,), of_dataset in of_group.group_by("dataset", maintain_order=True):
        name = str(dataset)
        classes, matrix = _case_matrix(of_dataset)
        class_draws = bootstrap.class_means(name, matrix)
        class_lines = _class_lines(of_dataset, name, classes, matrix, class_draws, bootstrap)
        mean = float(np.mean([line["mean"] for line in class_lines]))
        draws = np.nanmean(class_draws, axis=1)
        cases = len(matrix)
        ends = bootstrap.interval(draws, cases)
        lines += class_lines
        lines.append(_line("dataset", name, "", mean, ends, cases, of_dataset.height))
        dataset_means.append(mean)
        dataset_draws.append(draws)
        fewest_cases = min(fewest_cases or cases, cases)
    mean = float(np.mean(dataset_means)) if dataset_means else math.nan
    draws = np.mean(dataset_draws, axis=0) if dataset_draws else np.empty(0)
    cases = of_group.select("dataset", "sample").n_unique()
    ends = bootstrap.interval(draws, fewest_cases)
    return [*lines, _line("all", "", "", mean, ends, cases, of_group.height)]


def _case_matrix(of_dataset: pl.DataFrame) -> tuple[list[str], FloatArray]:
    """Return the classes of a dataset, and the mean over targets of each case and class, (cases, classes)."""
    by_case = of_dataset.group_by("class", "sample", maintain_order=True)
    of_cases = by_case.agg(pl.col("value").mean()).rename({"sample": _WHOLE})
    table = of_cases.pivot("class", index=_WHOLE, values="value").drop(_WHOLE)
    return table.columns, table.to_numpy().astype(np.float64)


def _class_lines(
    of_dataset: pl.DataFrame,
    dataset: str,
    classes: list[str],
    matrix: FloatArray,
    class_draws: FloatArray,
    bootstrap: _Bootstrap,
) -> list[dict[str, Any]]:
    targets = dict(of_dataset.group_by("class").len().iter_rows())
    lines: list[dict[str, Any]] = []
    for name, values, draws in zip(classes, matrix.T, class_draws.T, strict=True):
        cases = int(np.count_nonzero(~np.isnan(values)))
        mean = float(np.nanmean(values))
        ends = bootstrap.interval(draws, cases)
        lines.append(_line("class", dataset, name, mean, ends, cases, targets[name]))
    return lines


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

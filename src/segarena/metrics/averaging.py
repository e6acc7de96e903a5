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
from segarena.metrics.intervals import Interval, bootstrap_mean

Over: TypeAlias = Literal["common", "own", "same"]

_TARGET = ("dataset", "class", "sample", "target")
_TABLE = ("level", "dataset", "class", "mean", "low", "high", "cases", "targets")
_WHOLE = "\0whole"  # a column of one value, so that nothing to split by is no special case
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


def with_class(records: pl.DataFrame, attributes: Sequence[str] = ("modality", "kind")) -> pl.DataFrame:
    """Return records with a column "class" and one for each of `attributes` of the target, "" where it has none.

    The class is the target's attribute "class", or its label where there is none. Samples that could not be used at
    all (no target) are left out.
    """

    def attribute(name: str) -> pl.Expr:
        return pl.col("attributes").str.json_path_match(f"$.{name}")

    of_class = pl.coalesce(attribute("class"), pl.col("label")).alias("class")
    others = [attribute(name).fill_null("").alias(name) for name in attributes]
    return records.filter(pl.col("target") != "").with_columns(of_class, *others)


def average(
    values: pl.DataFrame,
    column: str,
    *,
    rows: Sequence[str] = ("user",),
    split: Sequence[str] = (),
    over: Over = "common",
    repeats: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Averages:
    """Return the means of `column` at every level, with bootstrap intervals over cases.

    Whole cases are drawn with replacement within each dataset, with all their classes and targets; a class that a
    draw has no case of is left out of that draw. A dataset with one case has no interval, nor has a mean over
    datasets one of which has none. Rows over the same cases share their draws.

    Args:
        values: one line per target and repetition, with the columns "dataset", "sample", "target", "class" and those
            named here. Null (failed) and NaN (not defined) are no values, and the target is missing. When rounds are
            rows, a dialogue that ended early must hold its last value in the later ones.
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
            `over`, or `over="same"` and some row lacks a target.
    """
    _check(values, column, [*split, *rows], over)
    every = values.with_columns(pl.col(column).cast(pl.Float64).fill_nan(None), pl.lit(0).alias(_WHOLE))
    within, groups = [_WHOLE, *split], [_WHOLE, *split, *rows]
    of_targets = every.drop_nulls(column).group_by(*groups, *_TARGET).agg(pl.col(column).mean().alias("value"))
    of_targets = of_targets.sort(*groups, *_TARGET)
    missing = _missing(every, of_targets, groups, within)
    if over == "same" and missing.height:
        raise InvalidInput(_refusal(missing.row(0, named=True), column, [*split, *rows]))
    kept = of_targets if over == "own" else _common(of_targets, groups, within)
    lines: list[dict[str, Any]] = []
    for key in every.select(groups).unique().sort(groups).iter_rows():
        named = dict(zip(groups, key, strict=True))
        of_group = kept.filter(*(pl.col(name) == value for name, value in named.items()))
        lines.extend(named | line for line in _levels(of_group, repeats, level, seed))
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
    if over not in get_args(Over):
        raise InvalidInput(f"over: expected one of {', '.join(get_args(Over))}, got {over!r}")
    if not values.height:
        raise InvalidInput("average: expected at least one line of values, got none")
    blank = next((name for name in needed[:-1] if values[name].null_count()), None)
    if blank is not None:
        raise InvalidInput(f"average: expected a {blank} in every line, got null; fill it in or leave the line out")


def _refusal(first: dict[str, Any], column: str, groups: list[str]) -> str:
    who = ", ".join(f"{name} {first[name]}" for name in groups) or "the only row"
    return (
        f"average over the same targets: {who} has no {column} for {first['targets']} of {first['targets_of']} targets "
        f"of {first['dataset']}, {first['class']}; complete the run or average over what is common"
    )


def _missing(every: pl.DataFrame, of_targets: pl.DataFrame, groups: list[str], within: list[str]) -> pl.DataFrame:
    """Return how much of what any row of its split was asked about each row has no value for."""
    universe = every.select(*within, *_TARGET).unique()
    wanted = every.select(groups).unique().join(universe, on=within)
    absent = wanted.join(of_targets, on=[*groups, *_TARGET], how="anti")
    by = [*groups, "dataset", "class"]
    cases, targets = pl.col("sample").n_unique(), pl.struct("sample", "target").n_unique()
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


def _levels(of_group: pl.DataFrame, repeats: int, level: float, seed: int) -> list[dict[str, Any]]:
    """Return the lines of one row of the table: every class, every dataset, all."""
    lines: list[dict[str, Any]] = []
    means: list[float] = []
    draws: list[NDArray[np.float64]] = []
    for number, ((dataset,), of_dataset) in enumerate(of_group.group_by("dataset", maintain_order=True)):
        cases = of_dataset.group_by("class", "sample", maintain_order=True).agg(pl.col("value").mean())
        for (name,), of_class in cases.group_by("class", maintain_order=True):
            interval = bootstrap_mean(of_class["value"].to_numpy(), repeats=repeats, level=level, seed=seed)
            targets = of_dataset.filter(pl.col("class") == name).height
            lines.append(_line("class", str(dataset), str(name), interval, of_class.height, targets))
        matrix = cases.pivot("class", index="sample", values="value").drop("sample").to_numpy().astype(np.float64)
        mean = float(np.mean([column[~np.isnan(column)].mean() for column in matrix.T]))
        drawn = _draws(matrix, repeats, np.random.default_rng([seed, number]))
        lines.append(_line("dataset", str(dataset), "", _interval(mean, drawn, level), len(matrix), of_dataset.height))
        means.append(mean)
        draws.append(drawn)
    both = np.mean(draws, axis=0) if draws else np.full(1, math.nan)
    overall = _interval(float(np.mean(means)) if means else math.nan, both, level)
    lines.append(_line("all", "", "", overall, of_group.select("dataset", "sample").n_unique(), of_group.height))
    return lines


def _draws(matrix: NDArray[np.float64], repeats: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return for each draw of cases the mean over classes of their means, from (cases, classes); NaN with one case."""
    cases = len(matrix)
    if cases < 2:
        return np.full(repeats, math.nan)
    times = rng.multinomial(cases, np.full(cases, 1 / cases), size=repeats).astype(np.float64)
    sums, counts = times @ np.nan_to_num(matrix), times @ ~np.isnan(matrix)
    of_classes = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
    return of_classes.sum(axis=1) / (counts > 0).sum(axis=1)


def _interval(mean: float, draws: NDArray[np.float64], level: float) -> Interval:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean, float(low), float(high), 0)


def _line(level: str, dataset: str, name: str, interval: Interval, cases: int, targets: int) -> dict[str, Any]:
    found = (level, dataset, name, interval.mean, interval.low, interval.high, cases, targets)
    return dict(zip(_TABLE, found, strict=True))

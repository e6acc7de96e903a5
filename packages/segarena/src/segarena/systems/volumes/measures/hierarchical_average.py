"""Means over volumes at five levels: instance, case, class, dataset, and overall.

The value of a class in a case is the mean over its instances, the value of a class is the mean over
cases, the value of a dataset is the mean over classes, and the overall value is the mean over
datasets. Each level gives its members equal weight, regardless of how many instances they have.
Rows that are compared (users, segmenters, rounds) are averaged over the targets that all of them
share, unless an option says otherwise, and the result always counts the targets that a row lacks.
Source: RadioActive, section 4; its tables average each row over whatever targets it has.
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
        table: one row per group, level, dataset and class: the columns of `split` and `rows`, then
            "level" ("class", "dataset", "all"), "dataset" and "class" ("" above their level),
            "mean", "low", "high" (NaN without a value, or if no spread can be estimated), and the
            numbers of "cases" and "targets" averaged.
        missing: one row for each group, dataset and class in which the group has no value for some
            targets of its split: the numbers of these "targets" and of their "cases", out of
            "targets_of" and "cases_of". Empty if no group lacks a value.
    """

    table: pl.DataFrame
    missing: pl.DataFrame


def add_class_column(
    records: pl.DataFrame, attributes: Sequence[str] = ("modality", "kind")
) -> pl.DataFrame:
    """Add a column "class" and a column for each of `attributes`; "" if the target lacks the attribute.

    The class is the target's attribute "class", or otherwise its label. Samples that could not be
    loaded, which have no target, are omitted.
    """

    def attribute(name: str) -> pl.Expr:
        return pl.col("attributes").str.json_path_match(f"$.{name}")

    class_column = pl.coalesce(attribute("class"), pl.col("label")).alias("class")
    other_columns = [attribute(name).fill_null("").alias(name) for name in attributes]
    return records.filter(pl.col("target") != "").with_columns(class_column, *other_columns)


def repeat_last_round(
    records: pl.DataFrame,
    rounds: int,
    *,
    dialogue: Sequence[str] = DIALOGUE_COLUMNS,
) -> pl.DataFrame:
    """Return records in which every dialogue reaches round `rounds`; shorter dialogues repeat their last row.

    Failed dialogues are not extended. Rounds beyond `rounds` are omitted, and so are samples that
    could not be loaded. Repeated rows come last and have no prompts. `dialogue` lists the columns
    that identify a dialogue; if the frame contains several runs, include the run's columns.

    Raises:
        InvalidInput: `rounds` is below 1.
    """
    if rounds < 1:
        raise InvalidInput(f"rounds: expected at least 1, got {rounds}")
    # Rows without a target stand for samples that could not be loaded.
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
    """Return the means of `column` at every level, with bootstrap confidence intervals over cases.

    Whole cases are resampled with replacement within each dataset, with all their classes and
    targets. A resample that contains no case of a class omits that class. A class or dataset with a
    single case has no interval, and neither has a mean over datasets if one of them has none. Rows
    over the same cases share their resamples.

    Args:
        values: one row per target and repetition, with the columns "dataset", "sample", "target",
            "class" and those named here. Null (failed) and NaN (not defined) count as missing. If
            rounds are rows, see `repeat_last_round`.
        column: the column to average. Repetitions of a target are averaged first.
        rows: columns whose combinations are compared.
        split: columns by whose values the data is split before rows are compared ("modality",
            "kind").
        over: which targets are averaged. "common": the targets that all rows of the split share,
            ignoring rows without any value. "own": each row's own targets, as published; such means
            are not comparable. "same": all rows must have the same targets.
        repeats: number of bootstrap resamples.
        level: confidence level of the interval.
        seed: seed for resampling.

    Raises:
        InvalidInput: there are no values; a column is missing, named twice, or contains null
            (except `column`); `over` is unknown; `repeats` is below 1; `level` is not in (0, 1); or
            a row lacks a target with `over="same"`.
    """
    _check(values, column, [*split, *rows], over)
    bootstrap = _Bootstrap(repeats, level, seed)
    # A constant column avoids a special case for averages without a split.
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
    # Means over different targets are not comparable, although the paper's tables contain such
    # means.
    kept = of_targets if over == "own" else _common(of_targets, groups, within)
    lines: list[dict[str, Any]] = []
    for key in every.select(groups).unique().sort(groups).iter_rows():
        named = dict(zip(groups, key, strict=True))
        conditions = [pl.col(name) == value for name, value in named.items()]
        of_group = kept.filter(*conditions)
        lines.extend(named | line for line in _levels(of_group, bootstrap))
    table = pl.DataFrame(lines, infer_schema_length=None)
    return Averages(table.select(*split, *rows, *_TABLE), missing.drop(_WHOLE))


def _check(
    values: pl.DataFrame,
    column: str,
    groups: list[str],
    over: str,
) -> None:
    needed = [*_TARGET, *groups, column]
    absent = [name for name in needed if name not in values.columns]
    if absent or len(set(needed)) != len(needed):
        problem = f"missing: {', '.join(absent)}" if absent else "one column is named twice"
        raise InvalidInput(
            f"average: expected the columns {', '.join(needed)}, each once; {problem}"
        )
    if over not in get_args(TargetSelection):
        raise InvalidInput(
            f"over: expected one of {', '.join(get_args(TargetSelection))}, got {over!r}"
        )
    if not values.height:
        raise InvalidInput("average: expected at least one row of values, got none")
    for name in needed[:-1]:
        if values[name].null_count():
            raise InvalidInput(
                f"average: expected a {name} in every row, got null; fill it in or leave the row out"
            )


def _missing_message(
    first: dict[str, Any],
    column: str,
    groups: list[str],
) -> str:
    row = ", ".join(f"{name} {first[name]}" for name in groups) or "the only row"
    return (
        f"average over the same targets: {row} has no {column} for {first['targets']} of {first['targets_of']} targets "
        f"of {first['dataset']}, {first['class']}; complete the run or use over='common'"
    )


def _missing(
    every: pl.DataFrame,
    of_targets: pl.DataFrame,
    groups: list[str],
    within: list[str],
) -> pl.DataFrame:
    """Return, for each row, the number of targets that occur in its split but have no value in the row."""
    target_keys = [*groups, *_TARGET]
    occurring = every.select(*within, *_TARGET).unique()
    rows = every.select(groups).unique()
    expected = rows.join(occurring, on=within)
    absent = expected.join(of_targets, on=target_keys, how="anti")
    by_class = [*groups, "dataset", "class"]
    cases = pl.col("sample").n_unique()
    # A target's id is unique only within its sample.
    targets = pl.struct("sample", "target").n_unique()
    total = expected.group_by(by_class).agg(
        cases.alias("cases_of"),
        targets.alias("targets_of"),
    )
    lacking = absent.group_by(by_class).agg(
        cases.alias("cases"),
        targets.alias("targets"),
    )
    joined = lacking.join(total, on=by_class)
    return joined.select(*groups, *_MISSING).sort(by_class)


def _common(
    of_targets: pl.DataFrame,
    groups: list[str],
    within: list[str],
) -> pl.DataFrame:
    """Return the targets that have a value in every row of their split."""
    target_keys = [*within, *_TARGET]
    rows = pl.struct(groups).n_unique()
    rows_with_target = of_targets.group_by(target_keys).agg(rows.alias("with_target"))
    rows_in_split = of_targets.group_by(within).agg(rows.alias("in_split"))
    joined = rows_with_target.join(rows_in_split, on=within)
    shared = joined.filter(pl.col("with_target") == pl.col("in_split"))
    return of_targets.join(shared, on=target_keys, how="semi")


class _Bootstrap:
    """Bootstrap resamples of cases, identical for all rows with the same number of cases in a dataset."""

    def __init__(
        self,
        repeats: int,
        level: float,
        seed: int,
    ) -> None:
        check_bootstrap(repeats, level)
        self._repeats = repeats
        self._level = level
        self._seed = seed
        self._times_drawn: dict[tuple[str, int], FloatArray] = {}

    def class_means(self, dataset: str, matrix: FloatArray) -> FloatArray:
        """Return class means, (resamples, classes), from (cases, classes); NaN if no case has a value."""
        times = self._draws(dataset, len(matrix))
        is_known = (~np.isnan(matrix)).astype(np.float64)
        sums = times @ np.nan_to_num(matrix)
        counts = times @ is_known
        undefined = np.full_like(sums, math.nan)
        return np.divide(sums, counts, out=undefined, where=counts > 0)

    def _draws(self, dataset: str, cases: int) -> Any:
        """Return how often each case occurs in each resample, (resamples, cases)."""
        key = (dataset, cases)
        if key not in self._times_drawn:
            # Seeded by the dataset name, so that rows over the same cases share their resamples.
            rng = np.random.default_rng([self._seed, *dataset.encode()])
            (drawn,) = draw_counts(cases, self._repeats, rng, stream="multinomial")
            self._times_drawn[key] = drawn
        return self._times_drawn[key]

    def interval(self, draws: FloatArray, cases: int) -> tuple[float, float]:
        """Return the percentile interval of the resamples that are not NaN; NaN for fewer than two cases."""
        if cases < 2:
            return math.nan, math.nan
        return percentile_interval(draws, self._level)


def _levels(of_group: pl.DataFrame, bootstrap: _Bootstrap) -> list[dict[str, Any]]:
    """Return the table rows of one group: one for each class, one for each dataset, and the overall mean."""
    lines: list[dict[str, Any]] = []
    dataset_means: list[float] = []
    dataset_draws: list[FloatArray] = []
    fewest_cases = 0
    for (dataset,), of_dataset in of_group.group_by("dataset", maintain_order=True):
        name = str(dataset)
        classes, matrix = _case_matrix(of_dataset)
        class_draws = bootstrap.class_means(name, matrix)
        class_lines = _class_lines(of_dataset, name, classes, matrix, class_draws, bootstrap)
        # All classes have equal weight in a dataset, however many cases they have.
        mean = float(np.mean([line["mean"] for line in class_lines]))
        draws = np.nanmean(class_draws, axis=1)
        cases = len(matrix)
        ends = bootstrap.interval(draws, cases)
        lines += class_lines
        lines.append(_line("dataset", name, "", mean, ends, cases, of_dataset.height))
        dataset_means.append(mean)
        dataset_draws.append(draws)
        # A single case has no spread, so including its dataset would make the interval too narrow.
        fewest_cases = min(fewest_cases or cases, cases)
    # All datasets have equal weight, however many classes they have.
    mean = float(np.mean(dataset_means)) if dataset_means else math.nan
    draws = np.mean(dataset_draws, axis=0) if dataset_draws else np.empty(0)
    cases = of_group.select("dataset", "sample").n_unique()
    ends = bootstrap.interval(draws, fewest_cases)
    return [*lines, _line("all", "", "", mean, ends, cases, of_group.height)]


def _case_matrix(of_dataset: pl.DataFrame) -> tuple[list[str], FloatArray]:
    """Return the classes of a dataset, and the mean over targets for each case and class, (cases, classes)."""
    by_case = of_dataset.group_by("class", "sample", maintain_order=True)
    mean = pl.col("value").mean()
    # Renamed because a class may itself be called "sample".
    of_cases = by_case.agg(mean).rename({"sample": _WHOLE})
    table = of_cases.pivot("class", index=_WHOLE, values="value")
    values = table.drop(_WHOLE)
    return values.columns, values.to_numpy().astype(np.float64)


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

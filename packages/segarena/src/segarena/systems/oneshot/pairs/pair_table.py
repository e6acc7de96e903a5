"""The table of pairs: one row for each time that a query image is segmented by the example of others.

Every list, whatever its format, becomes this table; audits, datasets, scores and builders read no other one. Names of
images are without class and without ending (`2009_001426`), classes are texts (`11`, `abacus`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from segarena.errors import DatasetError, DatasetMissing, InvalidInput
from segarena.files.parquet import read_parquet
from segarena.files.whole import write_whole
from segarena.records.parquet_tables import parquet_bytes

TierName: TypeAlias = Literal["pairs", "query-complexity", "support-cognizance", "generalization"]
SupportKind: TypeAlias = Literal["shown", "null-mask", "empty", "no-image"]
"""As it is; with a mask that shows nothing; with a black image as well; with a black image alone."""

PARTITIONS = ("easy_sal", "hard_sal", "easy_nsal", "hard_nsal")
"""Of the Query Complexity tier, in the paper's order."""
LEVELS = ("L0", "L1", "L2", "L3", "L4", "L5", "L6")
"""Of the Support Cognizance tier: identical, transformed, similar, dissimilar, other class, null mask, empty."""
POOLED_LEVEL = "L2+L3"
"""Same class, other image, in lists that do not tell similar from dissimilar."""

PAIR_COLUMNS: dict[str, Any] = {
    "list": pl.String,  # which list the pair is from: "split0_tier2"
    "row": pl.Int64,  # its place there, from 0
    "dataset": pl.String,  # "pascal5i", "coco20i", "fss1000", or another name
    "tier": pl.String,  # see Tier
    "fold": pl.Int64,  # from 0; null where there are none
    "partition": pl.String,  # of query complexity; null elsewhere
    "level": pl.String,  # of support cognizance; null elsewhere
    "code": pl.Int64,  # weight times type of the published support cognizance lists: 10, 5, 1, -1; null elsewhere
    "class": pl.String,  # what is to be found in the query
    "query": pl.String,  # query image
    "transform": pl.String,  # what is done to the query image and its mask first; "" nothing
    "supports": pl.List(pl.String),  # support images, one or several
    "support_classes": pl.List(pl.String),  # of which class the mask of each is
    "support_kind": pl.String,  # see SupportKind
    "salience": pl.Float64,  # of the query's target, 0 to 1; null when unknown
    "difficulty": pl.Float64,  # IoU that a reference method reaches on it (high is easy); null when unknown
    "similarity": pl.Float64,  # of support and query; null when unknown
    "cross_class": pl.Boolean,  # a support shows another class than asked for
}
PAIR_KEY = ("list", "row")
TABLE_SUFFIXES = (".parquet", ".jsonl", ".csv")

_NEVER_NULL = (
    "list",
    "row",
    "tier",
    "class",
    "query",
    "supports",
    "support_classes",
    "cross_class",
)
_DEFAULTS: dict[str, Any] = {
    "list": "pairs",
    "dataset": "",
    "tier": "pairs",
    "transform": "",
    "support_kind": "shown",
}
_JOIN = " "


def pairs_table(rows: Iterable[Mapping[str, Any]] | pl.DataFrame) -> pl.DataFrame:
    """Return rows, or a table with some of the columns, as a table of pairs that is complete and valid.

    `class`, `query` and `supports` are needed. By default `list` is "pairs", `row` the place, `support_classes` the
    class of the query, `cross_class` is computed, and the rest is empty. Rows stay in order.

    Raises:
        DatasetError: unknown columns, missing values, unknown tier, partition, level or kind, a row without
            support, or two rows with the same name.
    """
    if isinstance(rows, pl.DataFrame):
        given = rows
    else:
        given = pl.DataFrame(list(rows), infer_schema_length=None)
    unknown = sorted(set(given.columns) - set(PAIR_COLUMNS))
    lacking = [name for name in ("class", "query", "supports") if name not in given.columns]
    if given.width and (unknown or lacking):
        raise DatasetError(
            f"pairs: expected columns class, query, supports and others of {', '.join(PAIR_COLUMNS)}; "
            f"missing: {', '.join(lacking) or 'none'}, unknown: {', '.join(unknown) or 'none'}"
        )
    table = _completed(given)
    _check(table)
    return table


def pair_ids(pairs: pl.DataFrame) -> pl.Series:
    """Return the name of each pair, LIST/ROW: the target's id in records, the name of a file of a predicted mask."""
    return pairs.select(pl.concat_str(*PAIR_KEY, separator="/").alias("pair"))["pair"]


def is_self_pair(pairs: pl.DataFrame) -> pl.Series:
    """Return which rows show the query image itself, as it is, although they are not of level L0 or another kind."""
    shown = (
        (pl.col("support_kind") == "shown") & (pl.col("transform") == "") & ~pl.col("cross_class")
    )
    meant = pairs.select(shown & (pl.col("level").fill_null("") != "L0")).to_series()
    columns = zip(pairs["query"].to_list(), pairs["supports"].to_list(), strict=True)
    return meant & pl.Series(
        "self", [query in supports for query, supports in columns], dtype=pl.Boolean
    )


def drop_cross_class(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the rows without those that show another class, except where a level is about that (L4)."""
    return pairs.filter(~pl.col("cross_class") | (pl.col("level").fill_null("") == "L4"))


def read_pairs(path: str | Path) -> pl.DataFrame:
    """Read a table of pairs that `write_pairs` wrote, or that has at least its columns class, query and supports.

    Raises:
        DatasetMissing: there is no such file.
        DatasetError: it cannot be read as such a table.
    """
    file = Path(path)
    if not file.is_file():
        raise DatasetMissing(
            f"{file}: expected a table of pairs, found none; see docs/toss.md for how to make one"
        )
    _check_suffix(file)
    given = read_parquet(file, error=DatasetError) if file.suffix == ".parquet" else None
    try:
        return pairs_table(_read_text(file) if given is None else given)
    except DatasetError as error:
        raise DatasetError(f"{file}: {error}") from error
    except (pl.exceptions.PolarsError, ValueError, OSError) as error:
        raise DatasetError(
            f"{file}: expected a table of pairs, got: {str(error).splitlines()[0]}"
        ) from error


def write_pairs(pairs: pl.DataFrame, path: str | Path) -> None:
    """Write a table of pairs as Parquet, JSON lines or CSV, by the ending; in CSV, lists are joined by spaces.

    Raises:
        InvalidInput: another ending.
        DatasetError: it is no table of pairs, or (CSV) a name holds a space.
    """
    file = Path(path)
    table = pairs_table(pairs)
    _check_suffix(file)
    if file.suffix == ".parquet":
        write_whole(file, parquet_bytes(table))
    elif file.suffix == ".jsonl":
        write_whole(file, table.write_ndjson())
    else:
        lists = ("supports", "support_classes")
        if table.select(
            pl.any_horizontal(
                pl.col(*lists).list.eval(pl.element().str.contains(_JOIN)).list.any()
            ).any()
        ).item():
            raise DatasetError(
                f"{file}: names of images or classes hold spaces; write .jsonl or .parquet instead"
            )
        write_whole(file, table.with_columns(pl.col(*lists).list.join(_JOIN)).write_csv())


def _read_text(file: Path) -> pl.DataFrame:
    if file.suffix == ".jsonl":
        return pl.read_ndjson(file, infer_schema_length=None)
    table = pl.read_csv(file, infer_schema=False)
    lists = [name for name in ("supports", "support_classes") if name in table.columns]
    flags = [name for name in ("cross_class",) if name in table.columns]
    return table.with_columns(pl.col(lists).str.split(_JOIN), pl.col(flags) == "true")


def _check_suffix(file: Path) -> None:
    if file.suffix not in TABLE_SUFFIXES:
        raise InvalidInput(f"{file}: expected a name ending in {', '.join(TABLE_SUFFIXES)}")


def _completed(given: pl.DataFrame) -> pl.DataFrame:
    if not given.width:
        return pl.DataFrame(schema=PAIR_COLUMNS)
    absent = {
        name: pl.lit(None, kind) for name, kind in PAIR_COLUMNS.items() if name not in given.columns
    }
    table = given.with_columns(**absent)
    try:
        table = table.with_columns(pl.col(name).cast(kind) for name, kind in PAIR_COLUMNS.items())
    except pl.exceptions.PolarsError as error:
        raise DatasetError(
            f"pairs: a column has values of another type: {str(error).splitlines()[0]}"
        ) from error
    table = table.with_columns(
        *(pl.col(name).fill_null(value) for name, value in _DEFAULTS.items()),
        pl.col("row").fill_null(pl.int_range(pl.len(), dtype=pl.Int64)),
        pl.col("support_classes").fill_null(
            pl.col("class").repeat_by(pl.col("supports").list.len())
        ),
    )
    other = pl.col("support_classes").list.n_unique() > 1
    first = pl.col("support_classes").list.first() != pl.col("class")
    return table.with_columns(cross_class=(other | first)).select(*PAIR_COLUMNS)


def _check(table: pl.DataFrame) -> None:
    lengths = table.select(n=pl.col("supports").list.len(), m=pl.col("support_classes").list.len())
    wrong = (lengths["n"] == 0) | (lengths["n"] != lengths["m"])
    if wrong.any():
        raise DatasetError(
            f"pairs: row {wrong.arg_max()} needs at least one support and a class for each"
        )
    for name in _NEVER_NULL:
        if table[name].null_count():
            raise DatasetError(
                f"pairs: row {table[name].is_null().arg_max()} has no {name}; every row needs one"
            )
    allowed: dict[str, Sequence[str]] = {
        "tier": get_args(TierName),
        "partition": PARTITIONS,
        "level": (*LEVELS, POOLED_LEVEL),
        "support_kind": get_args(SupportKind),
    }
    for name, values in allowed.items():
        bad = table.filter(~pl.col(name).is_in(values))
        if bad.height:
            raise DatasetError(
                f"pairs: {name} {bad[name][0]!r} is unknown; expected one of {', '.join(values)}"
            )
    if table.select(PAIR_KEY).is_duplicated().any():
        twice = table.filter(table.select(PAIR_KEY).is_duplicated()).row(0, named=True)
        raise DatasetError(
            f"pairs: two rows are called {twice['list']}/{twice['row']}; rows of a list are numbered"
        )

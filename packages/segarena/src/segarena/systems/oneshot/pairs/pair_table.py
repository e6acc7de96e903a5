"""Table of pairs; each pair is a query image to segment and its supports.

Lists of every format are read into this table, and audits, datasets, scores and builds use no other
form of pairs. Image names have no ending (`2009_001426`), and contain the class only where images
are sorted by class (`sundial/9`). Class labels are strings (`11`, `abacus`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from segarena.errors import DatasetError, DatasetMissing, InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.files.parquet import read_parquet
from segarena.records.parquet_tables import parquet_bytes

TierName: TypeAlias = Literal["pairs", "query-complexity", "support-cognizance", "generalization"]
SupportKind: TypeAlias = Literal["shown", "null-mask", "empty", "no-image"]
"""Kinds of support.

In this order: unchanged; the image with an empty mask; a black image with an empty mask; a black
image with the unchanged mask.
"""

PARTITIONS = ("easy_sal", "hard_sal", "easy_nsal", "hard_nsal")
"""Partitions of the Query Complexity tier, in the paper's order."""
LEVELS = ("L0", "L1", "L2", "L3", "L4", "L5", "L6")
"""Levels of the Support Cognizance tier.

The supports are, in this order: identical, transformed, similar, dissimilar, of another class, with
a null mask, empty.
"""
POOLED_LEVEL = "L2+L3"
"""Level of lists that do not separate similar (L2) from dissimilar (L3) supports of the class."""

PAIR_COLUMNS: dict[str, Any] = {
    "list": pl.String,  # name of the list: "split0_tier2"
    "row": pl.Int64,  # index of the row in the list, from 0
    "dataset": pl.String,  # "pascal5i", "coco20i", "fss1000", or another name
    "tier": pl.String,  # see TierName
    "fold": pl.Int64,  # from 0; null if there are none
    "partition": pl.String,  # of query complexity; null elsewhere
    "level": pl.String,  # of support cognizance; null elsewhere
    # Weight times type of a row in the published Support Cognizance lists: 10, 5, 1 or -1; null
    # elsewhere.
    "code": pl.Int64,
    "class": pl.String,  # class to segment in the query
    "query": pl.String,  # query image
    "transform": pl.String,  # of the query image and its mask; "" for none
    "supports": pl.List(pl.String),  # support images, one or several
    "support_classes": pl.List(pl.String),  # class of each support's mask
    "support_kind": pl.String,  # see SupportKind
    "salience": pl.Float64,  # of the query's target, 0 to 1; null when unknown
    "difficulty": pl.Float64,  # IoU of a reference method (high is easy); null when unknown
    "similarity": pl.Float64,  # of support and query; null when unknown
    "cross_class": pl.Boolean,  # a support shows a class other than the requested one
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
_LIST_COLUMNS = ("supports", "support_classes")
_SEPARATOR = " "  # of list elements in CSV


def pairs_table(rows: Iterable[Mapping[str, Any]] | pl.DataFrame) -> pl.DataFrame:
    """Return rows, or a table with some of the columns, as a complete and validated table of pairs.

    `class`, `query` and `supports` are required. By default `list` and `tier` are "pairs", `row`
    is the row index, `support_classes` repeats the class of the query, `support_kind` is "shown",
    `dataset` and `transform` are "", and the other columns are null. `cross_class` is always
    computed. The order of rows stays the same.

    Raises:
        DatasetError: a column is unknown or has values of another type; a required value is
            missing; a tier, partition, level or kind of support is unknown; a row has no support,
            or not one class for each; or two rows have the same list and row index.
    """
    if isinstance(rows, pl.DataFrame):
        partial_table = rows
    else:
        partial_table = pl.DataFrame(list(rows), infer_schema_length=None)
    columns = partial_table.columns
    unknown = sorted(set(columns) - set(PAIR_COLUMNS))
    missing = [name for name in ("class", "query", "supports") if name not in columns]
    if columns and (unknown or missing):
        raise DatasetError(
            "pairs: expected the columns class, query and supports, and no other columns than "
            f"{', '.join(PAIR_COLUMNS)}; missing: {', '.join(missing) or 'none'}, "
            f"unknown: {', '.join(unknown) or 'none'}"
        )
    table = _complete_columns(partial_table)
    _check_rows(table)
    _check_words(table)
    return table


def pair_ids(pairs: pl.DataFrame) -> pl.Series:
    """Return the name of each pair, LIST/ROW, which is the target id in records and the name of its mask file."""
    name = pl.concat_str(*PAIR_KEY, separator="/")
    return pairs.select(name.alias("pair"))["pair"]


def is_self_pair(pairs: pl.DataFrame) -> pl.Series:
    """Return, for each row, whether the query image serves unchanged as its own support by mistake.

    In level L0 the query is its own support on purpose. A row whose support shows another class is
    no self pair, even in the same image.
    """
    is_shown = pl.col("support_kind") == "shown"
    is_untransformed = pl.col("transform") == ""
    is_identical_level = pl.col("level").fill_null("") == "L0"
    is_candidate = is_shown & is_untransformed & ~pl.col("cross_class") & ~is_identical_level
    candidates = pairs.select(is_candidate).to_series()
    queries = pairs["query"].to_list()
    supports = pairs["supports"].to_list()
    shows_query = [query in shown for query, shown in zip(queries, supports, strict=True)]
    return candidates & pl.Series("self", shows_query, dtype=pl.Boolean)


def drop_cross_class(pairs: pl.DataFrame) -> pl.DataFrame:
    """Drop rows whose support shows another class, except in level L4, where that is intended."""
    is_intended = pl.col("level").fill_null("") == "L4"
    return pairs.filter(~pl.col("cross_class") | is_intended)


def read_pairs(path: str | Path) -> pl.DataFrame:
    """Read a table of pairs from Parquet, JSON lines or CSV with at least the columns class, query and supports.

    Raises:
        DatasetMissing: the file does not exist.
        InvalidInput: the ending is unknown.
        DatasetError: the file does not contain a table of pairs.
    """
    file = Path(path)
    if not file.is_file():
        raise DatasetMissing(
            f"{file}: expected a table of pairs, found none; see docs/toss.md for how to make one"
        )
    _check_suffix(file)
    table = None
    if file.suffix == ".parquet":
        table = read_parquet(file, error=DatasetError)
    try:
        if table is None:
            table = _read_text(file)
        return pairs_table(table)
    except DatasetError as error:
        raise DatasetError(f"{file}: {error}") from error
    except (pl.exceptions.PolarsError, ValueError, OSError) as error:
        raise DatasetError(
            f"{file}: expected a table of pairs, got: {str(error).splitlines()[0]}"
        ) from error


def write_pairs(pairs: pl.DataFrame, path: str | Path) -> None:
    """Write a table of pairs as Parquet, JSON lines or CSV, depending on the file name's ending.

    In CSV, spaces separate the elements of lists.

    Raises:
        InvalidInput: the ending is unknown.
        DatasetError: the table is not a table of pairs; or, for CSV, the name of a support image
            or its class contains a space.
    """
    file = Path(path)
    table = pairs_table(pairs)
    _check_suffix(file)
    if file.suffix == ".parquet":
        write_atomic(file, parquet_bytes(table))
    elif file.suffix == ".jsonl":
        write_atomic(file, table.write_ndjson())
    else:
        lists = pl.col(*_LIST_COLUMNS).list
        has_separator = lists.eval(pl.element().str.contains(_SEPARATOR)).list.any()
        if table.select(pl.any_horizontal(has_separator).any()).item():
            raise DatasetError(
                f"{file}: names of images or classes contain spaces; write .jsonl or .parquet instead"
            )
        write_atomic(file, table.with_columns(lists.join(_SEPARATOR)).write_csv())


def _read_text(file: Path) -> pl.DataFrame:
    if file.suffix == ".jsonl":
        try:
            return pl.read_ndjson(file, infer_schema_length=None)
        except pl.exceptions.ComputeError as error:
            raise DatasetError(
                "expected one JSON object per line, all with the same columns, got something else; write the file again"
            ) from error
    table = pl.read_csv(file, infer_schema=False)
    lists = [name for name in _LIST_COLUMNS if name in table.columns]
    table = table.with_columns(pl.col(lists).str.split(_SEPARATOR))
    if "cross_class" in table.columns:
        table = table.with_columns(pl.col("cross_class") == "true")
    return table


def _check_suffix(file: Path) -> None:
    if file.suffix not in TABLE_SUFFIXES:
        raise InvalidInput(f"{file}: expected a name ending in {', '.join(TABLE_SUFFIXES)}")


def _complete_columns(partial_table: pl.DataFrame) -> pl.DataFrame:
    """Add missing columns with their defaults, cast the others, and compute `cross_class`."""
    if not partial_table.width:
        return pl.DataFrame(schema=PAIR_COLUMNS)
    missing = {
        name: pl.lit(None, dtype)
        for name, dtype in PAIR_COLUMNS.items()
        if name not in partial_table.columns
    }
    table = partial_table.with_columns(**missing)
    try:
        table = table.with_columns(pl.col(name).cast(dtype) for name, dtype in PAIR_COLUMNS.items())
    except pl.exceptions.PolarsError as error:
        raise DatasetError(
            f"pairs: a column has values of another type: {str(error).splitlines()[0]}"
        ) from error
    own_class = pl.col("class").repeat_by(pl.col("supports").list.len())
    table = table.with_columns(
        *(pl.col(name).fill_null(value) for name, value in _DEFAULTS.items()),
        pl.col("row").fill_null(pl.int_range(pl.len(), dtype=pl.Int64)),
        pl.col("support_classes").fill_null(own_class),
    )
    classes = pl.col("support_classes").list
    # A pair is cross-class if any support shows another class, or if its supports differ in class.
    shows_other = (classes.n_unique() > 1) | (classes.first() != pl.col("class"))
    return table.with_columns(cross_class=shows_other).select(*PAIR_COLUMNS)


def _check_rows(table: pl.DataFrame) -> None:
    supports = table["supports"].list.len()
    is_wrong = (supports == 0) | (supports != table["support_classes"].list.len())
    if is_wrong.any():
        raise DatasetError(
            f"pairs: row {is_wrong.arg_max()} needs at least one support and a class for each"
        )
    for name in _NEVER_NULL:
        if table[name].null_count():
            raise DatasetError(
                f"pairs: row {table[name].is_null().arg_max()} has no {name}; every row needs one"
            )
    is_repeated = table.select(PAIR_KEY).is_duplicated()
    if is_repeated.any():
        row = table.filter(is_repeated).row(0, named=True)
        raise DatasetError(
            f"pairs: two rows are called {row['list']}/{row['row']}; number the rows of each list"
        )


def _check_words(table: pl.DataFrame) -> None:
    allowed: dict[str, Sequence[str]] = {
        "tier": get_args(TierName),
        "partition": PARTITIONS,
        "level": (*LEVELS, POOLED_LEVEL),
        "support_kind": get_args(SupportKind),
    }
    for name, values in allowed.items():
        unknown = table.filter(~pl.col(name).is_in(values))
        if unknown.height:
            raise DatasetError(
                f"pairs: {name} {unknown[name][0]!r} is unknown; expected one of "
                f"{', '.join(values)}"
            )

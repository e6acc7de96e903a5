"""What is wrong, odd or fragile in lists of pairs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol

import polars as pl

from segarena.datasets.listing import some
from segarena.systems.oneshot.pairs.folds import FoldRule, fold_classes
from segarena.systems.oneshot.pairs.table import KEY, PARTITIONS, POOLED_LEVEL, pair_id, self_pairs

TINY = 5
"""A cell with no more distinct query images than this is named."""

_CELL = ("partition", "level", "class")
_UNEVEN = 0.8  # classes with fewer rows than this share of the median are named
_REPLACED = re.compile(r"[a-z]0[a-z]")  # a zero within letters


class Files(Protocol):
    """Where the files of a dataset are."""

    def missing(self, label: str, image: str) -> Sequence[Path]:
        """Return which files of an image and its mask of a class are not there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFinding:
    """One thing that an audit noticed.

    Attributes:
        kind: "cross-class", "self-pairs", "duplicates", "tiny-cell", "missing-files", ...; see docs/toss.md.
        list: in which list; "" for what concerns several.
        count: of rows, cells or names, as the message says.
        message: one line.
    """

    kind: str
    list: str
    count: int
    message: str


def audit(
    pairs: pl.DataFrame,
    *,
    tiny: int = TINY,
    train_classes: Sequence[str] = (),
    class_list: Sequence[str] | None = None,
    files: Files | None = None,
) -> list[ListFinding]:
    """Return all findings, list by list, then those that concern several lists.

    Args:
        pairs: of any number of lists; see `segarena.systems.oneshot.pairs.table`.
        tiny: see `TINY`.
        train_classes: classes that a model was trained on; pairs that ask for one are leaks.
        class_list: the classes that the list says it has, to compare with those it has.
        files: where images and masks are, to look for each; None does not.
    """
    findings: list[ListFinding] = []
    for table in pairs.partition_by("list", maintain_order=True):
        for look in (_cross_class, _selves, _duplicates, _uneven, _foreign_folds, _odd_names, _levels):
            findings.extend(look(table))
        findings.extend(_tiny(table, tiny))
        findings.extend(_leaks(table, train_classes))
        findings.extend(_classes(table, class_list))
        findings.extend(_missing(table, files))
    return [*findings, *_shared_queries(pairs), *_queries_of_levels(pairs)]


def findings_table(findings: Sequence[ListFinding]) -> pl.DataFrame:
    """Return findings as a table with columns kind, list, count, message."""
    schema = {"kind": pl.String, "list": pl.String, "count": pl.Int64, "message": pl.String}
    return pl.DataFrame([asdict(finding) for finding in findings], schema=schema)


def count_table(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return how many pairs, distinct query images and classes each list and level has, and the least of a class."""
    by = ("list", "dataset", "tier", "fold", "partition", "level")
    classes = pairs.group_by(*by, "class").agg(pairs=pl.len(), queries=pl.col("query").n_unique())
    least = classes.group_by(by).agg(
        classes=pl.len(),
        fewest_pairs=pl.col("pairs").min(),
        most_pairs=pl.col("pairs").max(),
        fewest_queries=pl.col("queries").min(),
    )
    return (
        pairs.group_by(by, maintain_order=True)
        .agg(pairs=pl.len(), queries=pl.col("query").n_unique())
        .join(least, on=by, nulls_equal=True, maintain_order="left")
        .sort("list", "level", maintain_order=True)
    )


def _finding(kind: str, table: pl.DataFrame, count: int, message: str) -> ListFinding:
    return ListFinding(kind=kind, list=table["list"][0], count=count, message=message)


def _cross_class(table: pl.DataFrame) -> Iterator[ListFinding]:
    rows = table.filter(pl.col("cross_class") & (pl.col("level").fill_null("") != "L4"))
    if rows.height:
        couples = (
            rows.select(pl.concat_str("class", pl.col("support_classes").list.first(), separator="/"))
            .to_series()
            .unique()
        )
        share = 100 * rows.height / table.height
        yield _finding(
            "cross-class",
            table,
            rows.height,
            f"{rows.height} rows ({share:.1f} %) show another class than they ask for, {len(couples)} couples: "
            f"{some(sorted(couples.to_list()), 8)}; leave them out with drop_cross_class",
        )


def _selves(table: pl.DataFrame) -> Iterator[ListFinding]:
    rows = table.filter(self_pairs(table))
    if rows.height:
        yield _finding(
            "self-pairs",
            table,
            rows.height,
            f"{rows.height} rows show the query image itself: {some(pair_id(rows).to_list(), 3)}",
        )


def _duplicates(table: pl.DataFrame) -> Iterator[ListFinding]:
    content = [name for name in table.columns if name not in KEY]
    surplus = table.height - table.select(content).n_unique()
    if surplus:
        distinct = table.filter(table.select(content).is_duplicated()).select(content).n_unique()
        yield _finding(
            "duplicates", table, surplus, f"{surplus} surplus rows: {distinct} pairs are there more than once"
        )


def _tiny(table: pl.DataFrame, tiny: int) -> Iterator[ListFinding]:
    cells = table.group_by(_CELL).agg(pairs=pl.len(), queries=pl.col("query").n_unique())
    for cell in cells.filter(pl.col("queries") <= tiny).sort("queries", *_CELL).iter_rows(named=True):
        where = " ".join(str(cell[name]) for name in ("partition", "level") if cell[name] is not None)
        images = "ONE query image" if cell["queries"] == 1 else f"{cell['queries']} query images"
        yield _finding(
            "tiny-cell",
            table,
            cell["queries"],
            f"{where} class {cell['class']}: {cell['pairs']} pairs of {images}".strip(),
        )


def _uneven(table: pl.DataFrame) -> Iterator[ListFinding]:
    sizes = table.group_by("class").len().sort("len", "class")
    few = sizes.filter(pl.col("len") < _UNEVEN * pl.col("len").median())
    if few.height:
        typical = sizes["len"].median()
        named = [f"{label} ({count})" for label, count in few.iter_rows()]
        message = f"{few.height} classes have far fewer rows than most ({typical:.0f}): {some(named, 8)}"
        yield _finding("uneven-classes", table, few.height, message)


def _foreign_folds(table: pl.DataFrame) -> Iterator[ListFinding]:
    """Name the convention of folds, and rows whose class another fold tests: a model of this fold is trained on it."""
    fold = table["fold"][0]
    rules: dict[str, tuple[FoldRule, ...]] = {"pascal5i": ("pascal",), "coco20i": ("interleaved", "blocks")}
    known = rules.get(table["dataset"][0])
    if fold is None or known is None:
        return
    outside: dict[FoldRule, pl.DataFrame] = {}
    for rule in known:
        own = [str(label) for label in fold_classes(fold, rule)]
        outside[rule] = table.filter(~pl.col("class").is_in(own))
    rule = min(known, key=lambda name: outside[name].height)
    if len(known) > 1:
        fits = "fit" if not outside[rule].height else "come nearest to"
        yield _finding("fold-convention", table, table.height, f"the classes {fits} the convention {rule!r}")
    if outside[rule].height:
        labels = sorted(outside[rule]["class"].unique().to_list(), key=int)
        message = f"{outside[rule].height} rows ask for classes that fold {fold} ({rule}) trains on: {some(labels, 8)}"
        yield _finding("train-class-leak", table, outside[rule].height, message)


def _odd_names(table: pl.DataFrame) -> Iterator[ListFinding]:
    labels = sorted(table["class"].unique().to_list())
    odd = [label for label in labels if _REPLACED.search(label) or not re.fullmatch(r"[\w .-]+", label)]
    if odd:
        message = f"{len(odd)} class names with odd characters, or a 0 in place of one: {some(odd, 8)}"
        yield _finding("odd-names", table, len(odd), message)


def _levels(table: pl.DataFrame) -> Iterator[ListFinding]:
    if table["tier"][0] != "support-cognizance":
        return
    per_class = table.group_by("class", "level").len()
    least, most = per_class["len"].min(), per_class["len"].max()
    if least != most:
        counts = ", ".join(
            f"{level} {count}" for level, count in table.group_by("level").len().sort("level").iter_rows()
        )
        message = f"levels differ in size, {least} to {most} rows per class; {counts}"
        yield _finding("uneven-levels", table, table.height, message)
    pooled = table.filter(pl.col("level") == POOLED_LEVEL).height
    if pooled:
        yield _finding("levels-not-told", table, pooled, f"{pooled} rows are L2 or L3; the list does not tell which")
    marked = table.filter((pl.col("level") == "L6") & pl.col("code").is_not_null()).height
    if marked:
        message = f"{marked} rows are taken for L6 by their ending .jpg only; nothing marks them"
        yield _finding("levels-not-told", table, marked, message)
    named = table.filter(pl.col("transform").str.starts_with("xf"))
    if named.height:
        message = f"{named.height} queries are transformed in a way that the list names but does not describe"
        yield _finding("transforms-not-told", table, named.height, message)
    bases, identical = (set(table.filter(pl.col("level") == level)["query"].to_list()) for level in ("L1", "L0"))
    if bases and identical and bases != identical:
        message = (
            f"{len(identical - bases)} of {len(identical)} query images of L0 are not among "
            f"the {len(bases)} of L1, so the two levels differ in images too"
        )
        yield _finding("levels-of-other-images", table, len(identical - bases), message)


def _leaks(table: pl.DataFrame, train_classes: Sequence[str]) -> Iterator[ListFinding]:
    rows = table.filter(pl.col("class").is_in(list(train_classes)))
    if rows.height:
        labels = sorted(rows["class"].unique().to_list())
        of = table["class"].n_unique()
        message = (
            f"{rows.height} rows ask for {len(labels)} of {of} classes that the model was trained on: {some(labels, 8)}"
        )
        yield _finding("train-class-leak", table, rows.height, message)


def _classes(table: pl.DataFrame, class_list: Sequence[str] | None) -> Iterator[ListFinding]:
    if class_list is None:
        return
    there, said = set(table["class"].to_list()), set(class_list)
    strangers = sorted(said - there)
    named = [f"{name} ({', '.join(near)}?)" if (near := _nearest(name, there - said)) else name for name in strangers]
    if strangers:
        message = f"{len(strangers)} names of the class list are in no pair: {some(named, 12)}"
        yield _finding("class-list", table, len(strangers), message)
    if there - said:
        message = f"{len(there - said)} classes of pairs are not in the class list: {some(sorted(there - said), 12)}"
        yield _finding("class-list", table, len(there - said), message)
    surplus = len(class_list) - len(said)
    if surplus:
        message = f"the class list repeats names: {len(class_list)} lines, {len(said)} names"
        yield _finding("class-list", table, surplus, message)


def _nearest(name: str, names: set[str]) -> list[str]:
    return difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.5)


def _missing(table: pl.DataFrame, files: Files | None) -> Iterator[ListFinding]:
    if files is None:
        return
    shown = table.select("supports", "support_classes").explode("supports", "support_classes")
    needed = {*table.select("class", "query").iter_rows(), *((label, image) for image, label in shown.iter_rows())}
    missing = chain.from_iterable(files.missing(label, image) for label, image in needed)
    absent = sorted(set(map(str, missing)))
    if absent:
        yield _finding("missing-files", table, len(absent), f"{len(absent)} files are not there: {some(absent, 3)}")


def _shared_queries(pairs: pl.DataFrame) -> Iterator[ListFinding]:
    """Name (class, query) that are in several partitions of a fold: partitions are meant to be disjoint."""
    rows = pairs.filter(pl.col("tier") == "query-complexity")
    places = rows.group_by("dataset", "fold", "class", "query").agg(pl.col("partition").n_unique())
    shared = places.filter(pl.col("partition") > 1).height
    if shared:
        message = f"{shared} query images are in several partitions"
        yield ListFinding(kind="shared-queries", list="", count=shared, message=message)


def _queries_of_levels(pairs: pl.DataFrame) -> Iterator[ListFinding]:
    """Name levels whose queries are not of all partitions, where lists of both tiers are given."""
    complexity = pairs.filter(pl.col("tier") == "query-complexity").select("class", "query", "partition").unique()
    levels = pairs.filter(pl.col("tier") == "support-cognizance").select("level", "class", "query")
    found = levels.join(complexity, on=["class", "query"]).group_by("level").agg(pl.col("partition").unique())
    for level, partitions in found.sort("level").iter_rows():
        if len(partitions) < len(PARTITIONS):
            kinds = ", ".join(sorted(partitions))
            message = f"all queries of {level} are {kinds}"
            yield ListFinding(kind="level-of-one-kind", list="", count=len(partitions), message=message)

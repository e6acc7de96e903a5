"""What is wrong, odd or fragile in lists of pairs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from typing import Any, TypeAlias, get_args

import polars as pl

from segarena.datasets.listing import some
from segarena.systems.oneshot.pairs.folds import FOLD_RULES, FoldRule, fold_classes
from segarena.systems.oneshot.pairs.image_sources import ImageSource
from segarena.systems.oneshot.pairs.item_names import NameConvention
from segarena.systems.oneshot.pairs.pair_table import (
    PAIR_KEY,
    PARTITIONS,
    POOLED_LEVEL,
    is_self_pair,
    pair_ids,
)

TINY_CELL_QUERIES = 5
"""A cell with no more distinct query images than this is named."""

FindingParts: TypeAlias = tuple[str, int, str]
"""Kind, count and message of a finding about one list."""

_CELL = ("partition", "level", "class")
_UNEVEN = 0.8  # classes with fewer rows than this share of the median are named
_REPLACED = re.compile(r"[a-z]0[a-z]")  # a zero within letters


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFinding:
    """One thing that an audit noticed."""

    kind: str  # "cross-class", "self-pairs", "duplicates", "tiny-cell", "missing-files", ...; see docs/toss.md
    list: str  # in which list; "" for what concerns several
    count: int  # of rows, cells or names, as the message says
    message: str  # one line


def audit_lists(
    pairs: pl.DataFrame,
    *,
    tiny: int = TINY_CELL_QUERIES,
    train_classes: Sequence[str] = (),
    class_list: Sequence[str] | None = None,
    files: ImageSource | None = None,
    dataset: str = "",
) -> list[ListFinding]:
    """Return all findings, list by list, then those that concern several lists.

    Args:
        pairs: of any number of lists; see `segarena.systems.oneshot.pairs.pair_table`.
        tiny: see `TINY`.
        train_classes: classes that a model was trained on; pairs that ask for one are leaks.
        class_list: the classes that the list says it has, to compare with those that its data set has in these pairs.
        files: where images and masks are, to look for each; None does not.
        dataset: whose files these are: lists of another data set of those published are passed over.
    """
    looks = (
        *(_cross_class, _selves, _duplicates, _uneven, _foreign_folds, _odd_names, _levels),
        partial(_tiny, tiny=tiny),
        partial(_leaks, train_classes=train_classes),
        partial(_missing, files=files, dataset=dataset),
    )
    findings: list[ListFinding] = []
    for table in pairs.partition_by("list", maintain_order=True):
        name = table["list"][0]
        noticed = chain.from_iterable(look(table) for look in looks)
        findings += [
            ListFinding(kind=kind, list=name, count=count, message=text)
            for kind, count, text in noticed
        ]
    named = _named_in(pairs, class_list or ())
    several = (
        (named, _classes(named, class_list)),
        (pairs, _shared_queries(pairs)),
        (pairs, _queries_of_levels(pairs)),
    )
    for table, noticed in several:
        name = table["list"][0] if table["list"].n_unique() == 1 else ""
        findings += [
            ListFinding(kind=kind, list=name, count=count, message=text)
            for kind, count, text in noticed
        ]
    return findings


def findings_table(findings: Sequence[ListFinding]) -> pl.DataFrame:
    """Return findings as a table with columns kind, list, count, message."""
    schema = {"kind": pl.String, "list": pl.String, "count": pl.Int64, "message": pl.String}
    return pl.DataFrame([asdict(finding) for finding in findings], schema=schema)


def list_count_table(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return how much each list and level has, and the least of a class.

    `queries` are distinct query images, `targets` distinct classes in query images: an image with two classes that are
    asked for is one query and two targets.
    """
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
        .agg(
            pairs=pl.len(),
            queries=pl.col("query").n_unique(),
            targets=pl.struct("class", "query").n_unique(),
        )
        .join(least, on=by, nulls_equal=True, maintain_order="left")
        .sort("list", "level", maintain_order=True)
    )


def _labels(table: pl.DataFrame, key: Any = None) -> list[str]:
    return sorted(table["class"].unique().to_list(), key=key)


def _cross_class(table: pl.DataFrame) -> Iterator[FindingParts]:
    rows = table.filter(pl.col("cross_class") & (pl.col("level").fill_null("") != "L4"))
    if rows.height:
        couple = pl.concat_str("class", pl.col("support_classes").list.first(), separator="/")
        couples = sorted(rows.select(couple).to_series().unique().to_list())
        yield (
            "cross-class",
            rows.height,
            (
                f"{rows.height} rows ({100 * rows.height / table.height:.1f} %) show another class than they ask for, "
                f"{len(couples)} couples: {some(couples, 8)}; leave them out with drop_cross_class"
            ),
        )


def _selves(table: pl.DataFrame) -> Iterator[FindingParts]:
    rows = table.filter(is_self_pair(table))
    if rows.height:
        named = some(pair_ids(rows).to_list(), 3)
        yield "self-pairs", rows.height, f"{rows.height} rows show the query image itself: {named}"


def _duplicates(table: pl.DataFrame) -> Iterator[FindingParts]:
    content = table.select(pl.exclude(PAIR_KEY))
    surplus = table.height - content.n_unique()
    if surplus:
        distinct = content.filter(content.is_duplicated()).n_unique()
        yield (
            "duplicates",
            surplus,
            f"{surplus} surplus rows: {distinct} pairs are there more than once",
        )


def _tiny(table: pl.DataFrame, tiny: int) -> Iterator[FindingParts]:
    cells = table.group_by(_CELL).agg(pairs=pl.len(), queries=pl.col("query").n_unique())
    for cell in (
        cells.filter(pl.col("queries") <= tiny).sort("queries", *_CELL).iter_rows(named=True)
    ):
        where = " ".join(
            str(cell[name]) for name in ("partition", "level") if cell[name] is not None
        )
        if cell["queries"] == 1:
            images = "ONE query image"
        else:
            images = f"{cell['queries']} query images"
        text = f"{where} class {cell['class']}: {cell['pairs']} pairs of {images}"
        yield "tiny-cell", cell["queries"], text.strip()


def _uneven(table: pl.DataFrame) -> Iterator[FindingParts]:
    sizes = table.group_by("class").len().sort("len", "class")
    few = sizes.filter(pl.col("len") < _UNEVEN * pl.col("len").median())
    if few.height:
        typical = sizes["len"].median()
        named = [f"{label} ({count})" for label, count in few.iter_rows()]
        message = (
            f"{few.height} classes have far fewer rows than most ({typical:.0f}): {some(named, 8)}"
        )
        yield "uneven-classes", few.height, message


def _foreign_folds(table: pl.DataFrame) -> Iterator[FindingParts]:
    """Name the convention of folds, and rows whose class another fold tests: a model of this fold is trained on it."""
    fold = table["fold"][0]
    known = FOLD_RULES.get(table["dataset"][0])
    if fold is None or known is None:
        return
    outside: dict[FoldRule, pl.DataFrame] = {}
    for rule in known:
        own = [str(label) for label in fold_classes(fold, rule)]
        outside[rule] = table.filter(~pl.col("class").is_in(own))
    rule = min(known, key=lambda name: outside[name].height)
    if len(known) > 1:
        fits = "fit" if not outside[rule].height else "come nearest to"
        yield "fold-convention", table.height, f"the classes {fits} the convention {rule!r}"
    if outside[rule].height:
        labels = some(_labels(outside[rule], int), 8)
        message = f"{outside[rule].height} rows ask for classes that fold {fold} ({rule}) trains on: {labels}"
        yield "train-class-leak", outside[rule].height, message


def _odd_names(table: pl.DataFrame) -> Iterator[FindingParts]:
    odd = [
        label
        for label in _labels(table)
        if _REPLACED.search(label) or not re.fullmatch(r"[\w .-]+", label)
    ]
    if odd:
        message = (
            f"{len(odd)} class names with odd characters, or a 0 in place of one: {some(odd, 8)}"
        )
        yield "odd-names", len(odd), message


def _levels(table: pl.DataFrame) -> Iterator[FindingParts]:
    if table["tier"][0] != "support-cognizance":
        return
    per_class = table.group_by("class", "level").len()
    least = per_class["len"].min()
    most = per_class["len"].max()
    if least != most:
        sizes = table.group_by("level").len().sort("level")
        counts = ", ".join(f"{level} {count}" for level, count in sizes.iter_rows())
        message = f"levels differ in size, {least} to {most} rows per class; {counts}"
        yield "uneven-levels", table.height, message
    pooled = table.filter(pl.col("level") == POOLED_LEVEL).height
    if pooled:
        yield "levels-not-told", pooled, f"{pooled} rows are L2 or L3; the list does not tell which"
    marked = table.filter((pl.col("level") == "L6") & pl.col("code").is_not_null()).height
    if marked:
        message = f"{marked} rows are taken for L6 by their ending .jpg only; nothing marks them"
        yield "levels-not-told", marked, message
    named = table.filter(pl.col("transform").str.starts_with("xf"))
    if named.height:
        message = f"{named.height} queries are transformed in a way that the list names but does not describe"
        yield "transforms-not-told", named.height, message
    bases, identical = (
        set(table.filter(pl.col("level") == level)["query"].to_list()) for level in ("L1", "L0")
    )
    if bases and identical and bases != identical:
        message = (
            f"{len(identical - bases)} of {len(identical)} query images of L0 are not among "
            f"the {len(bases)} of L1, so the two levels differ in images too"
        )
        yield "levels-of-other-images", len(identical - bases), message


def _leaks(table: pl.DataFrame, train_classes: Sequence[str]) -> Iterator[FindingParts]:
    rows = table.filter(pl.col("class").is_in(list(train_classes)))
    if rows.height:
        labels = _labels(rows)
        of = table["class"].n_unique()
        which = f"{len(labels)} of {of} classes that the model was trained on: {some(labels, 8)}"
        message = f"{rows.height} rows ask for {which}"
        yield "train-class-leak", rows.height, message


def _named_in(pairs: pl.DataFrame, class_list: Sequence[str]) -> pl.DataFrame:
    """Return the pairs of the data sets that a class list names classes of; all where it names none."""
    is_named = pl.col("class").is_in(list(class_list)).any().over("dataset")
    named = pairs.filter(is_named)
    return named if named.height else pairs


def _classes(table: pl.DataFrame, class_list: Sequence[str] | None) -> Iterator[FindingParts]:
    if class_list is None:
        return
    there = set(table["class"].to_list())
    said = set(class_list)
    strangers = sorted(said - there)
    named = [
        f"{name} ({', '.join(near)}?)"
        if (near := difflib.get_close_matches(name, sorted(there - said), n=1, cutoff=0.5))
        else name
        for name in strangers
    ]
    if strangers:
        message = f"{len(strangers)} names of the class list are in no pair: {some(named, 12)}"
        yield "class-list", len(strangers), message
    if there - said:
        message = f"{len(there - said)} classes of pairs are not in the class list: {some(sorted(there - said), 12)}"
        yield "class-list", len(there - said), message
    surplus = len(class_list) - len(said)
    if surplus:
        message = f"the class list repeats names: {len(class_list)} lines, {len(said)} names"
        yield "class-list", surplus, message


def _missing(
    table: pl.DataFrame, files: ImageSource | None, dataset: str
) -> Iterator[FindingParts]:
    published = get_args(NameConvention)
    if files is None or (
        dataset in published and table["dataset"][0] in set(published) - {dataset}
    ):
        return
    shown = table.select("supports", "support_classes").explode("supports", "support_classes")
    needed = {
        *table.select("class", "query").iter_rows(),
        *((label, image) for image, label in shown.iter_rows()),
    }
    missing = chain.from_iterable(files.missing(label, image) for label, image in needed)
    absent = sorted(set(map(str, missing)))
    if absent:
        yield "missing-files", len(absent), f"{len(absent)} files are not there: {some(absent, 3)}"


def _shared_queries(pairs: pl.DataFrame) -> Iterator[FindingParts]:
    """Name (class, query) that are in several partitions of a fold: partitions are meant to be disjoint."""
    rows = pairs.filter(pl.col("tier") == "query-complexity")
    places = rows.group_by("dataset", "fold", "class", "query").agg(pl.col("partition").n_unique())
    shared = places.filter(pl.col("partition") > 1).height
    if shared:
        message = f"{shared} targets (a class in a query image) are in several partitions"
        yield "shared-queries", shared, message


def _queries_of_levels(pairs: pl.DataFrame) -> Iterator[FindingParts]:
    """Name levels whose queries are not of all partitions, where lists of both tiers are given."""
    complexity = (
        pairs.filter(pl.col("tier") == "query-complexity")
        .select("class", "query", "partition")
        .unique()
    )
    levels = pairs.filter(pl.col("tier") == "support-cognizance").select("level", "class", "query")
    found = (
        levels.join(complexity, on=["class", "query"])
        .group_by("level")
        .agg(pl.col("partition").unique())
    )
    for level, partitions in found.sort("level").iter_rows():
        if len(partitions) < len(PARTITIONS):
            kinds = ", ".join(sorted(partitions))
            message = f"all queries of {level} are {kinds}"
            yield "level-of-one-kind", len(partitions), message

"""Audit of lists of pairs: errors, oddities and cells with few query images."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, TypeAlias, get_args

import polars as pl

from segarena.datasets.listed_dataset import abbreviate_names
from segarena.reports.wording import count_text
from segarena.systems.oneshot.pairs.folds import FOLD_RULES, FoldRule, fold_classes
from segarena.systems.oneshot.pairs.image_sources import ImageSource
from segarena.systems.oneshot.pairs.list_item_names import NameConvention
from segarena.systems.oneshot.pairs.pair_table import (
    PAIR_KEY,
    PARTITIONS,
    POOLED_LEVEL,
    is_self_pair,
    pair_ids,
)

TINY_CELL_QUERIES = 5
"""Maximum number of distinct query images of a tiny cell."""

FindingParts: TypeAlias = tuple[str, int, str]
"""Kind, count and message of one finding in one list."""

_CELL = ("partition", "level", "class")
# Detects the three short classes of the published COCO-20i splits: 29, 79 and 379 rows instead of
# 500.
_UNEVEN_BELOW = 0.8  # share of the median number of rows below which a class is uneven
# The published lists of FSS-1000 write 0 for an apostrophe or a hyphen.
_REPLACED_LETTER = re.compile(r"[a-z]0[a-z]")
_USUAL_NAME = re.compile(r"[\w .-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFinding:
    """Finding of an audit in one list or across lists."""

    kind: str  # "cross-class", "self-pairs", "duplicates", ...; see docs/toss.md
    list: str  # name of the list; "" for a finding across lists
    count: int  # number of rows, names, images or files; the message states which
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
    """Return the findings of each list, followed by the findings across lists.

    Args:
        pairs: pairs of any number of lists; see `segarena.systems.oneshot.pairs.pair_table`.
        tiny: see `TINY_CELL_QUERIES`.
        train_classes: classes on which a model was trained; a pair that requests one is a leak.
        class_list: classes that the lists claim to cover. They are compared with the classes of
            pairs, in the datasets with at least one of these classes (in all if none has one).
            None compares nothing.
        files: images and masks whose files must exist; None checks no files.
        dataset: dataset of these files; if it is a published one, the files of lists of another
            published dataset are not checked.
    """
    findings: list[ListFinding] = []
    for table in pairs.partition_by("list", maintain_order=True):
        found = chain(
            _find_cross_class(table),
            _find_self_pairs(table),
            _find_duplicates(table),
            _find_uneven_classes(table),
            _find_foreign_folds(table),
            _find_odd_names(table),
            _find_level_defects(table),
            _find_tiny_cells(table, tiny),
            _find_train_leaks(table, train_classes),
            _find_missing_files(table, files, dataset),
        )
        findings += _label_findings(found, table)
    claimed = _pairs_of_class_list(pairs, class_list or ())
    findings += _label_findings(_find_class_list_defects(claimed, class_list), claimed)
    findings += _label_findings(_find_shared_queries(pairs), pairs)
    findings += _label_findings(_find_levels_of_one_kind(pairs), pairs)
    return findings


def _label_findings(found: Iterable[FindingParts], pairs: pl.DataFrame) -> list[ListFinding]:
    """Return findings labelled with their list; findings across several lists have no label."""
    name = pairs["list"][0] if pairs["list"].n_unique() == 1 else ""
    findings: list[ListFinding] = []
    for kind, count, text in found:
        findings.append(
            ListFinding(
                kind=kind,
                list=name,
                count=count,
                message=text,
            )
        )
    return findings


def findings_table(findings: Sequence[ListFinding]) -> pl.DataFrame:
    """Return the findings as a table with columns kind, list, count, message."""
    schema = {"kind": pl.String, "list": pl.String, "count": pl.Int64, "message": pl.String}
    return pl.DataFrame([asdict(finding) for finding in findings], schema=schema)


def list_count_table(pairs: pl.DataFrame) -> pl.DataFrame:
    """Count the pairs, images and classes of each list, by tier, fold, partition and level.

    `queries` counts distinct query images, and `targets` distinct combinations of query image and
    class: an image with two requested classes is one query and two targets. `fewest_pairs` and
    `most_pairs` are the smallest and the largest number of pairs of a class, and `fewest_queries`
    is the smallest number of query images of a class.
    """
    by = ("list", "dataset", "tier", "fold", "partition", "level")
    distinct_queries = pl.col("query").n_unique()
    classes = pairs.group_by(*by, "class").agg(pairs=pl.len(), queries=distinct_queries)
    extremes = classes.group_by(by).agg(
        classes=pl.len(),
        fewest_pairs=pl.col("pairs").min(),
        most_pairs=pl.col("pairs").max(),
        fewest_queries=pl.col("queries").min(),
    )
    totals = pairs.group_by(by, maintain_order=True).agg(
        pairs=pl.len(), queries=distinct_queries, targets=pl.struct("class", "query").n_unique()
    )
    table = totals.join(extremes, on=by, nulls_equal=True, maintain_order="left")
    return table.sort("list", "level", maintain_order=True)


def _class_names(table: pl.DataFrame, key: Callable[[str], Any] | None = None) -> list[str]:
    return sorted(table["class"].unique().to_list(), key=key)


def _find_cross_class(table: pl.DataFrame) -> Iterator[FindingParts]:
    # Only level L4 shows another class on purpose.
    rows = table.filter(pl.col("cross_class") & (pl.col("level").fill_null("") != "L4"))
    if not rows.height:
        return
    shown = rows.explode("support_classes").filter(pl.col("support_classes") != pl.col("class"))
    couple = pl.concat_str("class", "support_classes", separator="/")
    couples = sorted(shown.select(couple).to_series().unique().to_list())
    percent = 100 * rows.height / table.height
    message = (
        f"{rows.height} rows ({percent:.1f} %) show a class other than the requested one, "
        f"{count_text(len(couples), 'pair')} of classes: {abbreviate_names(couples, 8)}; "
        "leave them out with drop_cross_class"
    )
    yield "cross-class", rows.height, message


def _find_self_pairs(table: pl.DataFrame) -> Iterator[FindingParts]:
    rows = table.filter(is_self_pair(table))
    if rows.height:
        names = abbreviate_names(pair_ids(rows).to_list(), 3)
        yield "self-pairs", rows.height, f"{rows.height} rows show the query image itself: {names}"


def _find_duplicates(table: pl.DataFrame) -> Iterator[FindingParts]:
    content = table.select(pl.exclude(PAIR_KEY))
    surplus = table.height - content.n_unique()
    if surplus:
        repeated = content.filter(content.is_duplicated()).n_unique()
        message = f"{surplus} surplus rows: {repeated} pairs occur more than once"
        yield "duplicates", surplus, message


def _find_tiny_cells(table: pl.DataFrame, tiny: int) -> Iterator[FindingParts]:
    # Hard, salient queries of class 11 (dining table) are a single image in the published lists.
    cells = table.group_by(_CELL).agg(pairs=pl.len(), queries=pl.col("query").n_unique())
    tiny_cells = cells.filter(pl.col("queries") <= tiny).sort("queries", *_CELL)
    for cell in tiny_cells.iter_rows(named=True):
        known = (cell["partition"], cell["level"])
        parts = [part for part in known if part is not None]
        images = f"{cell['queries']} query images"
        if cell["queries"] == 1:
            images = "ONE query image"
        message = f"{' '.join(parts)} class {cell['class']}: {cell['pairs']} pairs of {images}"
        yield "tiny-cell", cell["queries"], message.strip()


def _find_uneven_classes(table: pl.DataFrame) -> Iterator[FindingParts]:
    sizes = table.group_by("class").len().sort("len", "class")
    small = sizes.filter(pl.col("len") < _UNEVEN_BELOW * pl.col("len").median())
    if small.height:
        typical = sizes["len"].median()
        names = [f"{label} ({count})" for label, count in small.iter_rows()]
        message = (
            f"{small.height} classes have far fewer rows than the median of {typical:.0f}: "
            f"{abbreviate_names(names, 8)}"
        )
        yield "uneven-classes", small.height, message


def _find_foreign_folds(table: pl.DataFrame) -> Iterator[FindingParts]:
    """Report the fold convention, and rows with a class that another fold tests.

    A model that was trained for this fold has seen such a class.
    """
    fold = table["fold"][0]
    rules = FOLD_RULES.get(table["dataset"][0])
    if fold is None or rules is None:
        return
    foreign: dict[FoldRule, pl.DataFrame] = {}
    for rule in rules:
        tested = [str(label) for label in fold_classes(fold, rule)]
        foreign[rule] = table.filter(~pl.col("class").is_in(tested))
    rule = min(rules, key=lambda rule: foreign[rule].height)
    if len(rules) > 1:
        fits = "come nearest to" if foreign[rule].height else "fit"
        message = f"the classes {fits} the convention {rule!r}"
        yield "fold-convention", table.height, message
    if foreign[rule].height:
        labels = abbreviate_names(_class_names(foreign[rule], int), 8)
        message = (
            f"{foreign[rule].height} rows request classes that fold {fold} ({rule}) trains on: "
            f"{labels}"
        )
        yield "train-class-leak", foreign[rule].height, message


def _find_odd_names(table: pl.DataFrame) -> Iterator[FindingParts]:
    odd = [label for label in _class_names(table) if _is_odd(label)]
    if odd:
        names = abbreviate_names(odd, 8)
        message = (
            f"class names with unusual characters, or a 0 in place of one ({len(odd)}): {names}"
        )
        yield "odd-names", len(odd), message


def _is_odd(label: str) -> bool:
    return bool(_REPLACED_LETTER.search(label)) or not _USUAL_NAME.fullmatch(label)


def _find_level_defects(table: pl.DataFrame) -> Iterator[FindingParts]:
    """Report uneven levels and ambiguities in a Support Cognizance list."""
    if table["tier"][0] != "support-cognizance":
        return
    class_sizes = table.group_by("class", "level").len()["len"]
    if class_sizes.min() != class_sizes.max():
        level_sizes = table.group_by("level").len().sort("level")
        counts = ", ".join(f"{level} {count}" for level, count in level_sizes.iter_rows())
        message = (
            f"levels differ in size, {class_sizes.min()} to {class_sizes.max()} rows per class and "
            f"level; rows per level: {counts}"
        )
        yield "uneven-levels", table.height, message
    pooled = table.filter(pl.col("level") == POOLED_LEVEL).height
    if pooled:
        message = f"{pooled} rows are L2 or L3; the list does not say which"
        yield "levels-not-told", pooled, message
    by_ending = table.filter((pl.col("level") == "L6") & pl.col("code").is_not_null()).height
    if by_ending:
        message = f"{by_ending} rows are marked as L6 only by the ending .jpg, not by a code"
        yield "levels-not-told", by_ending, message
    transformed = table.filter(pl.col("transform").str.starts_with("xf")).height
    if transformed:
        message = (
            f"{transformed} queries are transformed, but the list does not describe the transforms"
        )
        yield "transforms-not-told", transformed, message
    identical = set(table.filter(pl.col("level") == "L0")["query"].to_list())
    bases = set(table.filter(pl.col("level") == "L1")["query"].to_list())
    absent = len(identical - bases)
    if bases and identical and bases != identical:
        message = (
            f"{absent} of {len(identical)} query images of L0 are not among "
            f"the {len(bases)} of L1, so the two levels differ in images too"
        )
        yield "levels-of-other-images", absent, message


def _find_train_leaks(table: pl.DataFrame, train_classes: Sequence[str]) -> Iterator[FindingParts]:
    rows = table.filter(pl.col("class").is_in(list(train_classes)))
    if rows.height:
        labels = _class_names(rows)
        message = (
            f"{rows.height} rows request {len(labels)} of {table['class'].n_unique()} classes that "
            f"the model was trained on: {abbreviate_names(labels, 8)}"
        )
        yield "train-class-leak", rows.height, message


def _pairs_of_class_list(pairs: pl.DataFrame, class_list: Sequence[str]) -> pl.DataFrame:
    """Return the pairs of datasets with a class in the class list; all pairs if no dataset has one."""
    # A class list belongs to one dataset, while the audited lists may cover several.
    is_listed = pl.col("class").is_in(list(class_list))
    dataset_has_listed = is_listed.any().over("dataset")
    listed = pairs.filter(dataset_has_listed)
    return listed if listed.height else pairs


def _find_class_list_defects(
    table: pl.DataFrame, class_list: Sequence[str] | None
) -> Iterator[FindingParts]:
    if class_list is None:
        return
    present = set(table["class"].to_list())
    claimed = set(class_list)
    unlisted = sorted(present - claimed)
    unused = sorted(claimed - present)
    if unused:
        names = [_with_close_match(name, unlisted) for name in unused]
        message = f"names of the class list that are not in any pair ({len(unused)}): {abbreviate_names(names, 12)}"
        yield "class-list", len(unused), message
    if unlisted:
        message = f"classes of pairs that are not in the class list ({len(unlisted)}): {abbreviate_names(unlisted, 12)}"
        yield "class-list", len(unlisted), message
    surplus = len(class_list) - len(claimed)
    if surplus:
        message = f"the class list repeats names: {len(class_list)} lines, {len(claimed)} names"
        yield "class-list", surplus, message


def _with_close_match(name: str, candidates: Sequence[str]) -> str:
    """Return a name, followed by the most similar candidate if one is similar enough."""
    # Seven names in the published class list are misspelt.
    matches = difflib.get_close_matches(name, candidates, n=1, cutoff=0.5)
    return f"{name} ({matches[0]}?)" if matches else name


def _find_missing_files(
    table: pl.DataFrame,
    files: ImageSource | None,
    dataset: str,
) -> Iterator[FindingParts]:
    if files is None:
        return
    published = get_args(NameConvention)
    list_dataset = table["dataset"][0]
    if dataset in published and list_dataset in published and list_dataset != dataset:
        return
    supports = table.select("support_classes", "supports").explode("support_classes", "supports")
    needed: set[tuple[str, str]] = set(table.select("class", "query").iter_rows())
    needed.update(supports.iter_rows())
    missing: set[str] = set()
    for label, image in needed:
        missing.update(str(file) for file in files.missing(label, image))
    if missing:
        message = f"{len(missing)} files do not exist: {abbreviate_names(sorted(missing), 3)}"
        yield "missing-files", len(missing), message


def _find_shared_queries(pairs: pl.DataFrame) -> Iterator[FindingParts]:
    """Report the number of targets (class and query) in more than one partition of a fold."""
    # Only the Query Complexity tier has partitions.
    rows = pairs.filter(pl.col("tier") == "query-complexity")
    targets = rows.group_by("dataset", "fold", "class", "query")
    partitions = targets.agg(pl.col("partition").n_unique())
    shared = partitions.filter(pl.col("partition") > 1).height
    if shared:
        message = f"{shared} targets (a class in a query image) are in several partitions"
        yield "shared-queries", shared, message


def _find_levels_of_one_kind(pairs: pl.DataFrame) -> Iterator[FindingParts]:
    """Report levels whose queries do not cover all partitions.

    This needs lists of Support Cognizance, and lists of Query Complexity with the same queries.
    """
    complexity = pairs.filter(pl.col("tier") == "query-complexity")
    partitions_of_query = complexity.select("class", "query", "partition").unique()
    cognizance = pairs.filter(pl.col("tier") == "support-cognizance")
    queries_of_level = cognizance.select("level", "class", "query")
    partitions_of_level = (
        queries_of_level.join(partitions_of_query, on=["class", "query"])
        .group_by("level")
        .agg(pl.col("partition").unique())
        .sort("level")
    )
    for level, partitions in partitions_of_level.iter_rows():
        if len(partitions) < len(PARTITIONS):
            message = f"all queries of {level} are {', '.join(sorted(partitions))}"
            yield "level-of-one-kind", len(partitions), message

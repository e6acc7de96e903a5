"""The table of counts: how many pixels each pair's prediction and truth share. Every score is read off it.

It holds the columns of the pairs that scores group by, and `intersection` and `union` without void pixels;
`frame_px`, `void_px` and `predicted_void_px` where they are known, for FB-IoU and other rules for void.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from segarena.comparison import Comparison
from segarena.errors import DatasetError, DatasetMissing, InvalidInput, InvalidMask
from segarena.files.images import read_values
from segarena.files.within import within
from segarena.records.row_types import read_attributes
from segarena.samples import Target
from segarena.systems.oneshot.measures.void_pixels import VoidPixelCounts
from segarena.systems.oneshot.pairs.pair_dataset import PairDataset
from segarena.systems.oneshot.pairs.pair_table import PAIR_COLUMNS, PAIR_KEY

GROUP_COLUMNS = (
    *("dataset", "tier", "fold", "partition", "level", "code", "class", "query"),
    *("salience", "difficulty", "cross_class"),
)
"""Columns of a pair that scores group by; they travel through a run as attributes of its targets."""
PIXEL_COLUMNS = ("intersection", "union", "frame_px", "void_px", "predicted_void_px")
REQUESTED_COLUMNS = ("list", "tier", "fold", "class")
COUNT_COLUMNS: dict[str, Any] = {
    **{name: PAIR_COLUMNS[name] for name in (*PAIR_KEY, *GROUP_COLUMNS)},
    **dict.fromkeys(PIXEL_COLUMNS, pl.Float64),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PixelCounts:
    """Counts, one row per pair with the columns `COLUMNS`; and why pairs have none, by their names.

    Attributes:
        pairs: all that were asked: columns `ASKED`.
    """

    counts: pl.DataFrame
    left_out: dict[str, str]
    pairs: pl.DataFrame


def counts_from_records(records: pl.DataFrame) -> PixelCounts:
    """Return the counts that a run left: the last answered round of each pair. Failed pairs are left out and named.

    Raises:
        InvalidInput: no records, not of pairs, without the metric `iou`, or several users or repeats.
    """
    if "intersection" not in records.columns:
        raise InvalidInput("these records hold no counts; run with the metrics iou and void")
    held = records.filter(pl.col("target") != "")
    if held.select("user", "repeat").n_unique() > 1:
        raise InvalidInput(
            "expected one user and one repeat, got several; run again with --user support alone"
        )
    failed = records.filter(pl.col("failure").is_not_null())
    done = held.filter(pl.col("failure").is_null()).unique(
        ["sample", "target"], keep="last", maintain_order=True
    )
    if not done.height:
        raise InvalidInput(f"no pair was answered ({failed.height} failed); look at the records")
    known = [name for name in PIXEL_COLUMNS if name in done.columns]
    table = _told(done)
    asked = (
        pl.concat([table, _told(failed.filter(pl.col("target") != ""))])
        .select(REQUESTED_COLUMNS)
        .unique()
    )
    names = {
        row["target"] or f"sample {row['sample']}": str(row["failure"])
        for row in failed.iter_rows(named=True)
    }
    return PixelCounts(
        counts=counts_table(table.hstack(done.select(known))), left_out=names, pairs=asked
    )


def counts_from_csv(path: str | Path, pairs: pl.DataFrame) -> PixelCounts:
    """Return the counts of a CSV with columns row, inter, union (or intersection), as a script elsewhere wrote them.

    `list` is needed as well when `pairs` holds several lists. Pairs without a row in the file are left out and named.

    Raises:
        DatasetMissing: there is no such file.
        DatasetError: other columns, rows that are in no list, a row twice, or impossible counts.
    """
    file = Path(path)
    if not file.is_file():
        raise DatasetMissing(f"{file}: expected a table of counts, found none")
    try:
        given = pl.read_csv(file)
        given = given.rename({"inter": "intersection"} if "inter" in given.columns else {})
    except pl.exceptions.PolarsError as error:
        raise DatasetError(f"{file}: expected CSV, got: {str(error).splitlines()[0]}") from error
    several = pairs["list"].n_unique() > 1
    needed = ["row", "intersection", "union", *(["list"] if several else [])]
    lacking = [name for name in needed if name not in given.columns]
    if lacking:
        raise DatasetError(
            f"{file}: expected columns {', '.join(needed)}; missing: {', '.join(lacking)}"
        )
    if not several:
        given = given.with_columns(list=pl.lit(pairs["list"][0]))
    try:
        given = given.select(
            pl.col(name).cast(COUNT_COLUMNS[name])
            for name in (*PAIR_KEY, *PIXEL_COLUMNS)
            if name in given.columns
        )
    except pl.exceptions.PolarsError as error:
        raise DatasetError(
            f"{file}: expected numbers, got: {str(error).splitlines()[0]}"
        ) from error
    if given.select(PAIR_KEY).is_duplicated().any():
        raise DatasetError(f"{file}: a row is there twice; expected each pair once")
    strangers = given.join(pairs, on=PAIR_KEY, how="anti")
    if strangers.height:
        raise DatasetError(
            f"{file}: row {strangers['list'][0]}/{strangers['row'][0]} is in no list of pairs"
        )
    table = pairs.select(*PAIR_KEY, *GROUP_COLUMNS).join(
        given, on=PAIR_KEY, how="inner", maintain_order="left"
    )
    absent = (
        pairs.join(given, on=PAIR_KEY, how="anti")
        .select(pl.concat_str(*PAIR_KEY, separator="/"))
        .to_series()
        .to_list()
    )
    left_out = dict.fromkeys(absent, f"no row in {file.name}")
    return PixelCounts(
        counts=counts_table(table),
        left_out=left_out,
        pairs=pairs.select(REQUESTED_COLUMNS).unique(),
    )


def counts_from_mask_folder(folder: str | Path, dataset: PairDataset) -> PixelCounts:
    """Return the counts of a folder of predicted masks, LIST/ROW.png, or ROW.png when there is one list.

    A mask holds 0 and one other value. Pairs without a mask, or with one that cannot be used, are left out and named.

    Raises:
        DatasetMissing: there is no such folder, or no mask of any pair in it.
    """
    root = Path(folder)
    is_one = dataset.pairs["list"].n_unique() == 1
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for sample_id in dataset.sample_ids:
        sample = dataset.load(sample_id)
        for target in sample.targets:
            short = within(root, f"{target.id.rpartition('/')[2]}.png")
            file = short if is_one and short.is_file() else within(root, f"{target.id}.png")
            try:
                rows.append({**_attributes(target.attributes), **_count(file, target)})
            except InvalidMask as error:
                left_out[target.id] = str(error)
    if not rows:
        first = next(iter(left_out.values()), "there are no pairs")
        raise DatasetMissing(
            f"{root}: expected masks called LIST/ROW.png, none can be used; the first: {first}"
        )
    counts = counts_table(pl.DataFrame(rows, infer_schema_length=None))
    return PixelCounts(
        counts=counts, left_out=left_out, pairs=dataset.pairs.select(REQUESTED_COLUMNS).unique()
    )


def counts_from_arrays(
    pairs: pl.DataFrame,
    predictions: Iterable[Any],
    targets: Iterable[Any],
    ignore: Iterable[Any] | None = None,
) -> pl.DataFrame:
    """Return the counts of masks in memory, one prediction and target for each row of a table of pairs, in its order.

    Args:
        pairs: a table with the columns of `segarena.systems.oneshot.pairs.pair_table.pairs_table`.
        predictions: bool (or 0 and 1), (H, W).
        targets: same shape.
        ignore: same shape, True where pixels count nowhere; None when all count.

    Raises:
        InvalidInput: another number of masks than of pairs.
        InvalidMask: shapes differ, or values other than 0 and 1.
    """
    voids = [None] * pairs.height if ignore is None else ignore
    columns = [list(masks) for masks in (predictions, targets, voids)]
    if any(len(column) != pairs.height for column in columns):
        lengths = [len(column) for column in columns]
        raise InvalidInput(
            f"expected a prediction and a target for each of {pairs.height} pairs, got {lengths}"
        )
    counted = [_pixels(Comparison.of(*masks)) for masks in zip(*columns, strict=True)]
    return counts_table(pairs.select(*PAIR_KEY, *GROUP_COLUMNS).hstack(pl.DataFrame(counted)))


def counts_table(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with the columns of `COLUMNS`; those that are not given are null.

    Raises:
        DatasetError: intersection or union is missing, negative, or the first larger than the second.
    """
    full = table.with_columns(
        *(
            pl.lit(None, kind).alias(name)
            for name, kind in COUNT_COLUMNS.items()
            if name not in table.columns
        )
    ).select(pl.col(name).cast(kind) for name, kind in COUNT_COLUMNS.items())
    inter = pl.col("intersection")
    union = pl.col("union")
    fits = (inter >= 0) & (inter <= union) & union.is_finite()
    wrong = full.filter(~fits.fill_null(value=False))
    if wrong.height:
        row = wrong.row(0, named=True)
        raise DatasetError(
            f"pair {row['list']}/{row['row']}: expected 0 <= intersection <= union, "
            f"got {row['intersection']} and {row['union']}"
        )
    return full


def _told(records: pl.DataFrame) -> pl.DataFrame:
    """Return what the targets of records say of their pairs."""
    rows: list[dict[str, Any]] = []
    for text, target in records.select("attributes", "target").iter_rows():
        told = read_attributes(text)
        if "list" not in told:
            raise InvalidInput(f"target {target!r} is no pair; score runs over one-shot datasets")
        rows.append(_attributes(told))
    return pl.DataFrame(
        rows,
        schema={name: COUNT_COLUMNS[name] for name in (*PAIR_KEY, *GROUP_COLUMNS)},
        strict=False,
    )


def _attributes(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a pair from its target's attributes, whose numbers are all floats."""
    kinds = {"row": int, "fold": int, "code": int, "cross_class": bool}
    found = {name: told.get(name) for name in (*PAIR_KEY, *GROUP_COLUMNS)}
    return found | {name: kind(told[name]) for name, kind in kinds.items() if name in told}


def _count(file: Path, target: Target) -> dict[str, float]:
    values = read_values(file)
    if values.shape != target.mask.shape:
        raise InvalidMask(
            f"{file}: expected a mask of shape {target.mask.shape}, got {values.shape}"
        )
    if not ((values == 0) | (values == values.max())).all():
        raise InvalidMask(f"{file}: expected 0 and one other value; threshold it first")
    comparison = Comparison.of(values != 0, target.mask, target.ignore)
    return _pixels(comparison)


def _pixels(comparison: Comparison) -> dict[str, float]:
    return {
        "intersection": comparison.intersection,
        "union": comparison.union,
        **VoidPixelCounts()(comparison),
    }

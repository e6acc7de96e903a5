"""Table of pixel counts per pair, from which all scores are computed.

The table has the grouping columns of the pairs, and `intersection` and `union`, both without void
pixels. Its columns `frame_px`, `void_px` and `predicted_void_px` are null where they are unknown.
FB-IoU needs `frame_px`, and under the void rule "ignore" also `void_px`. Every score under the rule
"script" needs `void_px`, and under "background" `predicted_void_px`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from segarena.comparison import Comparison
from segarena.errors import DatasetError, DatasetMissing, InvalidInput, InvalidMask
from segarena.files.images import read_mask_values
from segarena.files.safe_paths import safe_join
from segarena.records.row_types import read_attributes
from segarena.samples import Target
from segarena.systems.oneshot.measures.void_pixels import VoidPixelCounts
from segarena.systems.oneshot.pairs.pair_dataset import PairDataset
from segarena.systems.oneshot.pairs.pair_table import PAIR_COLUMNS, PAIR_KEY

GROUP_COLUMNS = (
    "dataset",
    "tier",
    "fold",
    "partition",
    "level",
    "code",
    "class",
    "query",
    "salience",
    "difficulty",
    "cross_class",
)
"""Columns by which scores group pairs; runs record them as attributes of the targets."""
PIXEL_COLUMNS = ("intersection", "union", "frame_px", "void_px", "predicted_void_px")
REQUESTED_COLUMNS = ("list", "tier", "fold", "class")
COUNT_COLUMNS: dict[str, Any] = {
    **{name: PAIR_COLUMNS[name] for name in (*PAIR_KEY, *GROUP_COLUMNS)},
    **dict.fromkeys(PIXEL_COLUMNS, pl.Float64),
}
# Records store all numbers as floats, so these columns are cast back to their types.
_ATTRIBUTE_TYPES = {"row": int, "fold": int, "code": int, "cross_class": bool}


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class PixelCounts:
    """Pixel counts of a run, a file or a folder of masks.

    Attributes:
        counts: one row per pair with the columns `COUNT_COLUMNS`.
        left_out: the reason for each pair or sample without counts, by its name.
        pairs: all requested pairs, with the columns `REQUESTED_COLUMNS`.
    """

    counts: pl.DataFrame
    left_out: dict[str, str]
    pairs: pl.DataFrame


def counts_from_records(records: pl.DataFrame) -> PixelCounts:
    """Return the counts in a run's records, from the last predicted round of each pair.

    Failed pairs are left out.

    Raises:
        InvalidInput: no pair was answered, the records are not of pairs, the metric `iou` is
            missing, or there are several users or repeats.
    """
    if "intersection" not in records.columns:
        raise InvalidInput("these records contain no counts; run with the metrics iou and void")
    has_target = pl.col("target") != ""
    with_target = records.filter(has_target)
    if with_target.select("user", "repeat").n_unique() > 1:
        raise InvalidInput(
            "expected one user and one repeat, got several; run again with --user support alone"
        )
    failed = records.filter(pl.col("failure").is_not_null())
    answered = with_target.filter(pl.col("failure").is_null())
    # A pair that failed after some rounds has failed.
    answered = answered.join(failed, on=["sample", "target"], how="anti", maintain_order="left")
    answered = answered.unique(["sample", "target"], keep="last", maintain_order=True)
    if not answered.height:
        raise InvalidInput(f"no pair was answered ({failed.height} failed); the records state why")
    pairs = _pairs_of_records(answered)
    failed_pairs = _pairs_of_records(failed.filter(has_target))
    pixels = answered.select([name for name in PIXEL_COLUMNS if name in answered.columns])
    left_out: dict[str, str] = {}
    for row in failed.iter_rows(named=True):
        name = row["target"] or f"sample {row['sample']}"
        left_out[name] = str(row["failure"])
    return PixelCounts(
        counts=counts_table(pairs.hstack(pixels)),
        left_out=left_out,
        pairs=pl.concat([pairs, failed_pairs]).select(REQUESTED_COLUMNS).unique(),
    )


def counts_from_csv(path: str | Path, pairs: pl.DataFrame) -> PixelCounts:
    """Read counts from a CSV file that another tool wrote.

    The file has the columns `row`, `inter` (or `intersection`) and `union`, and also `list` if
    `pairs` contains several lists. The columns `frame_px`, `void_px` and `predicted_void_px` are
    optional. Pairs without a row in the file are left out.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: the file is not CSV or a column is missing, a row is in no list or occurs
            twice, or a count is no number or impossible.
    """
    file = Path(path)
    has_several_lists = pairs["list"].n_unique() > 1
    rows = _read_count_rows(file, has_list=has_several_lists)
    if not has_several_lists:
        rows = rows.with_columns(list=pl.lit(pairs["list"][0]))
    known = [name for name in (*PAIR_KEY, *PIXEL_COLUMNS) if name in rows.columns]
    try:
        rows = rows.select(pl.col(name).cast(COUNT_COLUMNS[name]) for name in known)
    except pl.exceptions.PolarsError as error:
        raise DatasetError(
            f"{file}: expected numbers, got: {str(error).splitlines()[0]}"
        ) from error
    if rows.select(PAIR_KEY).is_duplicated().any():
        raise DatasetError(f"{file}: expected each pair once, got a row twice")
    unknown = rows.join(pairs, on=PAIR_KEY, how="anti")
    if unknown.height:
        raise DatasetError(
            f"{file}: row {unknown['list'][0]}/{unknown['row'][0]} is not in any list of pairs"
        )
    grouping = pairs.select(*PAIR_KEY, *GROUP_COLUMNS)
    table = grouping.join(rows, on=PAIR_KEY, how="inner", maintain_order="left")
    missing = pairs.join(rows, on=PAIR_KEY, how="anti")
    missing_names = missing.select(pl.concat_str(*PAIR_KEY, separator="/")).to_series()
    return PixelCounts(
        counts=counts_table(table),
        left_out=dict.fromkeys(missing_names.to_list(), f"no row in {file.name}"),
        pairs=pairs.select(REQUESTED_COLUMNS).unique(),
    )


def _read_count_rows(file: Path, *, has_list: bool) -> pl.DataFrame:
    if not file.is_file():
        raise DatasetMissing(f"{file}: expected a table of counts, found none")
    try:
        # The scripts of TOSS call the column "inter".
        rows = pl.read_csv(file).rename({"inter": "intersection"}, strict=False)
    except pl.exceptions.PolarsError as error:
        raise DatasetError(f"{file}: expected CSV, got: {str(error).splitlines()[0]}") from error
    required = ["row", "intersection", "union"]
    if has_list:
        required.append("list")
    missing = [name for name in required if name not in rows.columns]
    if missing:
        raise DatasetError(
            f"{file}: expected columns {', '.join(required)}; missing: {', '.join(missing)}"
        )
    return rows


def counts_from_mask_folder(folder: str | Path, dataset: PairDataset) -> PixelCounts:
    """Count the pixels of a folder of predicted masks.

    Masks are named LIST/ROW.png and contain 0 and one other value. If there is only one list,
    ROW.png is accepted too. Pairs whose mask is missing or unusable are left out.

    Raises:
        DatasetMissing: the folder does not exist or contains no usable mask.
    """
    root = Path(folder)
    has_one_list = dataset.pairs["list"].n_unique() == 1
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for sample_id in dataset.sample_ids:
        sample = dataset.load(sample_id)
        for target in sample.targets:
            file = safe_join(root, f"{target.id}.png")
            if has_one_list:
                row_number = target.id.rpartition("/")[2]
                short = safe_join(root, f"{row_number}.png")
                file = short if short.is_file() else file
            try:
                pixels = _count_mask_file(file, target)
            except InvalidMask as error:
                left_out[target.id] = str(error)
                continue
            rows.append({**_pair_columns(target.attributes), **pixels})
    if not rows:
        first = next(iter(left_out.values()), "there are no pairs")
        raise DatasetMissing(
            f"{root}: expected masks called LIST/ROW.png, but none is usable; the first: {first}"
        )
    return PixelCounts(
        counts=counts_table(pl.DataFrame(rows, infer_schema_length=None)),
        left_out=left_out,
        pairs=dataset.pairs.select(REQUESTED_COLUMNS).unique(),
    )


def counts_from_arrays(
    pairs: pl.DataFrame,
    predictions: Iterable[Any],
    targets: Iterable[Any],
    ignore: Iterable[Any] | None = None,
) -> pl.DataFrame:
    """Count the pixels of masks in memory, one prediction and target per row of `pairs`, in order.

    Args:
        pairs: a table with the columns of
            `segarena.systems.oneshot.pairs.pair_table.pairs_table`.
        predictions: predicted masks, bool (or 0 and 1), (H, W).
        targets: correct masks of the same shape.
        ignore: masks of the same shape, True for void pixels; None if all pixels count.

    Raises:
        InvalidInput: the numbers of masks and pairs differ.
        InvalidMask: shapes differ, or a mask has values other than 0 and 1.
    """
    voids = [None] * pairs.height if ignore is None else ignore
    columns = [list(masks) for masks in (predictions, targets, voids)]
    lengths = [len(column) for column in columns]
    if any(length != pairs.height for length in lengths):
        raise InvalidInput(
            f"expected a prediction and a target for each of {pairs.height} pairs, got {lengths}"
        )
    comparisons = [Comparison.of(*masks) for masks in zip(*columns, strict=True)]
    pixels = pl.DataFrame([_count_pixels(comparison) for comparison in comparisons])
    return counts_table(pairs.select(*PAIR_KEY, *GROUP_COLUMNS).hstack(pixels))


def counts_table(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with all columns of `COUNT_COLUMNS`; missing ones are null.

    Raises:
        DatasetError: an intersection or union is missing, negative or infinite, or an intersection
            exceeds its union.
    """
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in COUNT_COLUMNS.items()
        if name not in table.columns
    ]
    casts = [pl.col(name).cast(dtype) for name, dtype in COUNT_COLUMNS.items()]
    full = table.with_columns(missing).select(casts)
    intersection = pl.col("intersection")
    union = pl.col("union")
    is_valid = (intersection >= 0) & (intersection <= union) & union.is_finite()
    invalid = full.filter(~is_valid.fill_null(value=False))
    if invalid.height:
        row = invalid.row(0, named=True)
        raise DatasetError(
            f"pair {row['list']}/{row['row']}: expected 0 <= intersection <= union, "
            f"got {row['intersection']} and {row['union']}"
        )
    return full


def _pairs_of_records(records: pl.DataFrame) -> pl.DataFrame:
    """Return the pair columns of each record, read from the attributes of its target."""
    rows: list[dict[str, Any]] = []
    for text, target in records.select("attributes", "target").iter_rows():
        attributes = read_attributes(text)
        if "list" not in attributes:
            raise InvalidInput(
                f"target {target!r} is not a pair; score runs over one-shot datasets"
            )
        rows.append(_pair_columns(attributes))
    schema = {name: COUNT_COLUMNS[name] for name in (*PAIR_KEY, *GROUP_COLUMNS)}
    return pl.DataFrame(rows, schema=schema, strict=False)


def _pair_columns(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pair columns of one pair, read from the attributes of its target."""
    columns = {name: attributes.get(name) for name in (*PAIR_KEY, *GROUP_COLUMNS)}
    for name, convert in _ATTRIBUTE_TYPES.items():
        if name in attributes:
            columns[name] = convert(attributes[name])
    return columns


def _count_mask_file(file: Path, target: Target) -> dict[str, float]:
    values = read_mask_values(file)
    if values.shape != target.mask.shape:
        raise InvalidMask(
            f"{file}: expected a mask of shape {target.mask.shape}, got {values.shape}"
        )
    if not ((values == 0) | (values == values.max())).all():
        raise InvalidMask(f"{file}: expected 0 and one other value; threshold it first")
    return _count_pixels(Comparison.of(values != 0, target.mask, target.ignore))


def _count_pixels(comparison: Comparison) -> dict[str, float]:
    return {
        "intersection": comparison.intersection,
        "union": comparison.union,
        **VoidPixelCounts()(comparison),
    }

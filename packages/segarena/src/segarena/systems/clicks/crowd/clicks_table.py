"""The clicks table, which has one row per human click: reading, checking, writing and counting.

The string columns, empty where they do not apply, are `dataset`, `image_stem`, `object_stem` (the
object's code, empty when the image has one object), `model_type` (the model whose mask is
corrected, empty in the first round), `click_type` (first, fn, fp), `full_stem` (the *instance*: one
object in one round, the unit of all statistics) and `device` (pc, mobile). The integer columns are
`x`, `y`, measured from the top-left corner of the image, and `w`, `h`, the size of the image in
pixels. Additional columns are kept.

Source: the published clicks.csv of RClicks; the paper does not describe its columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.roles import Finding

if TYPE_CHECKING:
    import polars as pl

TEXT_COLUMNS = (
    "dataset",
    "image_stem",
    "object_stem",
    "model_type",
    "click_type",
    "full_stem",
    "device",
)
CLICK_NUMBER_COLUMNS = ("x", "y", "w", "h")
CLICK_COLUMNS = (*TEXT_COLUMNS, *CLICK_NUMBER_COLUMNS)
DATASETS = ("GrabCut", "Berkeley", "DAVIS", "COCO", "TETRIS")
CLICK_TYPES = ("first", "fn", "fp")
DEVICES = ("pc", "mobile")
DISPLAY_MODES = (
    "Text_Description",
    "Object_CutOut",
    "Shifted_CutOut",
    "Silhouette_Mask",
    "Highlighted_Instance",
)
# The published stems separate image and object by exactly seven underscores.
OBJECT_SEPARATOR = "_" * 7
# The models whose masks were corrected. The paper does not mention MiVOS, but the data contains it.
MODEL_MARKS = ("_ritm", "_sam", "_simple", "_mivos")

Stems = Literal["columns", "published"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClicksTableReport:
    """Counts of rows and problems in a clicks table; `findings` describes the problems.

    Attributes:
        rows: number of clicks.
        instances: distinct (dataset, full_stem).
        duplicates: rows that repeat an earlier row in all columns. This is not an error, because
            two people may click the same pixel, and the table does not identify people.
        outside: number of clicks outside [0, w - 1] x [0, h - 1], which readers clip.
        changing_sizes: instances whose rows differ in w or h.
        changing_instances: instances whose rows differ in image, object, model or click type.
        without_size: rows with w or h below 1.
        without_stem: rows with an empty dataset, image_stem or full_stem.
        unknown_click_types: number of rows for each unknown value.
        unknown_devices: number of rows for each unknown value.
        without_clicks: expected instances that have no row.
    """

    rows: int
    instances: int
    duplicates: int
    outside: int
    changing_sizes: int
    changing_instances: int
    without_size: int
    without_stem: int
    unknown_click_types: dict[str, int]
    unknown_devices: dict[str, int]
    without_clicks: tuple[str, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All problems that occur at least once, errors before warnings."""
        types = self.unknown_click_types
        devices = self.unknown_devices
        examples = ", ".join(self.without_clicks[:3])
        errors = [
            (
                sum(types.values()),
                f"rows with a click_type other than {', '.join(CLICK_TYPES)}: {types}",
            ),
            (
                sum(devices.values()),
                f"rows with a device other than {', '.join(DEVICES)}: {devices}",
            ),
            (self.without_size, "rows with w or h below 1"),
            (self.without_stem, "rows with an empty dataset, image_stem or full_stem"),
            (
                self.changing_instances,
                "instances whose rows differ in image, object, model or click type",
            ),
        ]
        warnings = [
            (
                self.changing_sizes,
                "instances whose rows differ in w or h; the values of the first row are used",
            ),
            (self.outside, "clicks outside the image; they are clipped"),
            (self.duplicates, "rows that repeat an earlier row"),
            (len(self.without_clicks), f"instances without clicks: {examples}"),
        ]
        findings: list[Finding] = []
        for is_error, counts in ((True, errors), (False, warnings)):
            for count, text in counts:
                if count:
                    findings.append(Finding(is_error=is_error, message=f"{count} {text}"))
        return tuple(findings)


def read_clicks(
    path: Path | str,
    *,
    stems: Stems = "columns",
    is_checked: bool = True,
) -> pl.DataFrame:
    """Read a clicks table from a CSV file.

    Args:
        path: the CSV file.
        stems: source of the image names. "columns" reads the column image_stem. "published" derives
            the name from full_stem by the rule of the published code, which cuts at the first model
            name after an underscore or at the first object separator, so that `my_simple_photo`
            becomes `my`.
        is_checked: if False, errors found by `check_clicks` are not raised, so that the caller can
            list them all.

    Raises:
        InvalidInput: missing file or columns, coordinates that are not whole numbers, or any error
            of `check_clicks`; warnings, such as duplicates, are not raised.
    """
    import polars as pl

    if not Path(path).is_file():
        raise InvalidInput(f"{path}: expected a clicks table, found no file")
    types: dict[str, Any] = {
        **dict.fromkeys(TEXT_COLUMNS, pl.String),
        **dict.fromkeys(CLICK_NUMBER_COLUMNS, pl.Int32),
    }
    try:
        header = pl.read_csv(path, n_rows=0).columns
        _require_columns(header, str(path))
        known = {column: types[column] for column in header if column in types}
        table = pl.read_csv(path, schema_overrides=known)
        # Empty cells mean "does not apply", as in the published reader, which keeps empty strings.
        table = table.with_columns(pl.col(*TEXT_COLUMNS).fill_null(""))
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(f"{path} cannot be read as a clicks table: {reason}") from error
    if stems == "published":
        marks = "|".join((*MODEL_MARKS, OBJECT_SEPARATOR))
        table = table.with_columns(
            # This rule cuts too much off stems that contain a model name themselves, which is why
            # the column is the default.
            image_stem=pl.col("full_stem").str.replace(f"(?s)({marks}).*", "")
        )
    if is_checked:
        findings = check_clicks(table).findings
        errors = [finding.message for finding in findings if finding.is_error]
        if errors:
            raise InvalidInput(f"{path}: {'; '.join(errors)}")
    return table


def write_clicks(table: pl.DataFrame, path: Path | str) -> None:
    """Write a clicks table as CSV, with the standard columns first.

    Raises:
        InvalidInput: columns are missing.
        StoreError: the file cannot be written.
    """
    _require_columns(table.columns, "the table")
    further = [column for column in table.columns if column not in CLICK_COLUMNS]
    ordered = table.select(*CLICK_COLUMNS, *further)
    write_atomic(Path(path), ordered.write_csv())


def read_display_modes(path: Path | str) -> dict[str, pl.DataFrame]:
    """Read the clicks of the display-mode study, grouped by mode in the paper's order.

    In this table the column `dataset` names the display mode of the target.

    Raises:
        InvalidInput: as in `read_clicks`, or a mode that is not in `DISPLAY_MODES`.
    """
    table = read_clicks(path)
    unknown = sorted(set(table["dataset"].unique()) - set(DISPLAY_MODES))
    if unknown:
        raise InvalidInput(
            f"{path}: {unknown} are not display modes; expected {', '.join(DISPLAY_MODES)}"
        )
    by_mode: dict[str, pl.DataFrame] = {}
    for mode in DISPLAY_MODES:
        rows = table.filter(table["dataset"] == mode)
        if rows.height:
            by_mode[mode] = rows
    return by_mode


def check_clicks(table: pl.DataFrame, *, expected: Iterable[str] = ()) -> ClicksTableReport:
    """Check a clicks table and report counts and problems, without changing the table.

    Args:
        table: the clicks table.
        expected: full stems that should have clicks.

    Raises:
        InvalidInput: columns are missing, or one of them has missing values.
    """
    import polars as pl

    _require_columns(table.columns, "the table")
    empty = sum(table[column].null_count() for column in CLICK_COLUMNS)
    if empty:
        raise InvalidInput(
            f"the clicks table has {empty} empty cells in {', '.join(CLICK_COLUMNS)}"
        )
    x, y, w, h = (pl.col(column) for column in CLICK_NUMBER_COLUMNS)
    key = ("dataset", "full_stem")
    constant = ("image_stem", "object_stem", "model_type", "click_type")
    variants = table.select(*key, *constant, "w", "h").unique()
    instances = variants.group_by(*key).agg(pl.col(*constant, "w", "h").n_unique())
    clicked = set(table["full_stem"].unique())
    has_empty_stem = pl.any_horizontal(pl.col("dataset", "image_stem", "full_stem") == "")
    without_clicks = [stem for stem in dict.fromkeys(expected) if stem not in clicked]
    return ClicksTableReport(
        rows=table.height,
        instances=instances.height,
        duplicates=table.height - table.unique().height,
        outside=table.filter((x < 0) | (y < 0) | (x >= w) | (y >= h)).height,
        changing_sizes=instances.filter((w > 1) | (h > 1)).height,
        changing_instances=instances.filter(pl.any_horizontal(pl.col(*constant) > 1)).height,
        without_size=table.filter((w < 1) | (h < 1)).height,
        without_stem=table.filter(has_empty_stem).height,
        unknown_click_types=_count_unknown(table["click_type"], CLICK_TYPES),
        unknown_devices=_count_unknown(table["device"], DEVICES),
        without_clicks=tuple(without_clicks),
    )


def count_clicks(table: pl.DataFrame) -> pl.DataFrame:
    """Count the clicks of each dataset and in total, with the columns dataset, first, subsequent and sum.

    The last row has the totals, with the dataset "all".

    Source: RClicks, table 2.
    """
    import polars as pl

    is_first = pl.col("click_type") == "first"
    counts = table.group_by("dataset", maintain_order=True).agg(
        first=is_first.sum().cast(pl.Int64),
        subsequent=(~is_first).sum().cast(pl.Int64),
        sum=pl.len().cast(pl.Int64),
    )
    paper_order = {name: i for i, name in enumerate(DATASETS)}
    # Datasets that the paper does not list follow the paper's, in order of first appearance.
    rank = pl.col("dataset").replace_strict(
        paper_order, default=len(paper_order), return_dtype=pl.Int64
    )
    counts = counts.sort(rank, maintain_order=True)
    total = counts.select(
        pl.lit("all").alias("dataset"), pl.col("first", "subsequent", "sum").sum()
    )
    return pl.concat([counts, total])


def _require_columns(columns: Iterable[str], name: str) -> None:
    present = set(columns)
    missing = [column for column in CLICK_COLUMNS if column not in present]
    if missing:
        raise InvalidInput(
            f"{name}: the columns {', '.join(missing)} are missing; "
            f"a clicks table has {CLICK_COLUMNS}"
        )


def _count_unknown(values: pl.Series, known: tuple[str, ...]) -> dict[str, int]:
    is_unknown = ~values.is_in(known)
    counts = values.filter(is_unknown).value_counts(sort=True)
    return dict(counts.iter_rows())

"""The clicks table: one row per click that a person made; read, checked, written, counted.

Columns (strings, empty where they do not apply): `dataset`, `image_stem`, `object_stem` (the object's code, empty when
the image has one), `model_type` (whose mask is corrected, empty in the first round), `click_type` (first, fn, fp),
`full_stem` (the *instance*: one object in one round, the unit of all statistics), `device` (pc, mobile); and whole
numbers `x`, `y` from the top-left corner of an image of `w` x `h` pixels. Further columns are kept.

Source: RClicks, the published clicks.csv; the paper does not describe it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from segarena.errors import InvalidInput
from segarena.files.whole import write_whole
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
OBJECT_SEPARATOR = "_" * 7
MODEL_MARKS = ("_ritm", "_sam", "_simple", "_mivos")

Stems = Literal["columns", "published"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClicksTableReport:
    """What is in a clicks table, and what is wrong with it; `findings` says what each number counts.

    Attributes:
        instances: distinct (dataset, full_stem).
        duplicates: rows that repeat an earlier one in all columns. Two people may click the same pixel, and the
            table does not say who clicked, so this is no error.
        outside: clicks outside [0, w - 1] x [0, h - 1]; they are clipped when used.
        unknown_click_types, unknown_devices: value to number of rows.
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
        """Everything odd, errors first."""
        types = self.unknown_click_types
        devices = self.unknown_devices
        lines = [
            (
                True,
                sum(types.values()),
                f"rows with a click_type other than {', '.join(CLICK_TYPES)}: {types}",
            ),
            (
                True,
                sum(devices.values()),
                f"rows with a device other than {', '.join(DEVICES)}: {devices}",
            ),
            (True, self.without_size, "rows with w or h below 1"),
            (True, self.without_stem, "rows with an empty dataset, image_stem or full_stem"),
            (
                True,
                self.changing_instances,
                "instances whose rows differ in image, object, model or click type",
            ),
            (
                False,
                self.changing_sizes,
                "instances whose rows differ in w or h; the first row's are used",
            ),
            (False, self.outside, "clicks outside the image; they are clipped"),
            (False, self.duplicates, "rows that repeat an earlier one"),
            (
                False,
                len(self.without_clicks),
                f"instances without clicks: {', '.join(self.without_clicks[:3])}",
            ),
        ]
        return tuple(
            Finding(is_error=error, message=f"{n} {text}") for error, n, text in lines if n
        )


def read_clicks(
    path: Path | str, *, stems: Stems = "columns", is_checked: bool = True
) -> pl.DataFrame:
    """Return the clicks table in a CSV file, checked.

    Args:
        path: the file.
        stems: "columns" takes the image_stem column as it is. "published" cuts it out of full_stem as the published
            code does: at the first model name after an underscore, so that `my_simple_photo` becomes `my`.
        is_checked: False leaves the errors of `check_clicks` in, so that all of them can be listed.

    Raises:
        InvalidInput: no such file, missing columns, coordinates that are not whole numbers, or any error of
            `check_clicks`; duplicates, clicks outside and the like only show in its report.
    """
    import polars as pl

    if not Path(path).is_file():
        raise InvalidInput(f"there is no clicks table {path}")
    types: dict[str, Any] = {
        **dict.fromkeys(TEXT_COLUMNS, pl.String),
        **dict.fromkeys(CLICK_NUMBER_COLUMNS, pl.Int32),
    }
    try:
        header = pl.read_csv(path, n_rows=0).columns
        _need_columns(header, str(path))
        known = {column: types[column] for column in header if column in types}
        table = pl.read_csv(path, schema_overrides=known).with_columns(
            pl.col(*TEXT_COLUMNS).fill_null("")
        )
    except pl.exceptions.PolarsError as error:
        raise InvalidInput(
            f"{path} cannot be read as a clicks table: {str(error).splitlines()[0]}"
        ) from error
    if stems == "published":
        marks = "|".join((*MODEL_MARKS, OBJECT_SEPARATOR))
        table = table.with_columns(
            image_stem=pl.col("full_stem").str.replace(f"(?s)({marks}).*", "")
        )
    if is_checked:
        errors = [finding.message for finding in check_clicks(table).findings if finding.is_error]
    else:
        errors = []
    if errors:
        raise InvalidInput(f"{path}: {'; '.join(errors)}")
    return table


def write_clicks(table: pl.DataFrame, path: Path | str) -> None:
    """Write a clicks table as CSV, the named columns first.

    Raises:
        InvalidInput: columns are missing.
        StoreError: it cannot be written.
    """
    _need_columns(table.columns, "the table")
    ordered = table.select(
        *CLICK_COLUMNS, *(column for column in table.columns if column not in CLICK_COLUMNS)
    )
    write_whole(Path(path), ordered.write_csv())


def read_display_modes(path: Path | str) -> dict[str, pl.DataFrame]:
    """Return the clicks of the display-mode study, by mode, in the paper's order.

    There the `dataset` column names how the target was shown.

    Raises:
        InvalidInput: see `read_clicks`; or a mode that is not in `DISPLAY_MODES`.
    """
    table = read_clicks(path)
    unknown = sorted(set(table["dataset"].unique()) - set(DISPLAY_MODES))
    if unknown:
        raise InvalidInput(
            f"{path}: {unknown} are not display modes; expected {', '.join(DISPLAY_MODES)}"
        )
    parts = {mode: table.filter(table["dataset"] == mode) for mode in DISPLAY_MODES}
    return {mode: part for mode, part in parts.items() if part.height}


def check_clicks(table: pl.DataFrame, *, expected: Iterable[str] = ()) -> ClicksTableReport:
    """Return what is in a clicks table; nothing is changed or refused. Full stems in `expected` should have clicks.

    Raises:
        InvalidInput: columns are missing, or coordinates are missing in some rows.
    """
    import polars as pl

    _need_columns(table.columns, "the table")
    empty = sum(table[column].null_count() for column in CLICK_COLUMNS)
    if empty:
        raise InvalidInput(
            f"the clicks table has {empty} empty cells in {', '.join(CLICK_COLUMNS)}"
        )
    x, y, w, h = (pl.col(column) for column in CLICK_NUMBER_COLUMNS)
    same = ["image_stem", "object_stem", "model_type", "click_type"]
    by_instance = table.select("dataset", "full_stem", *same, "w", "h").unique()
    instances = by_instance.group_by("dataset", "full_stem").agg(pl.col(*same, "w", "h").n_unique())
    seen = set(table["full_stem"].unique())
    return ClicksTableReport(
        rows=table.height,
        instances=instances.height,
        duplicates=table.height - table.unique().height,
        outside=table.filter((x < 0) | (y < 0) | (x >= w) | (y >= h)).height,
        changing_sizes=instances.filter((w > 1) | (h > 1)).height,
        changing_instances=instances.filter(pl.any_horizontal(pl.col(*same) > 1)).height,
        without_size=table.filter((w < 1) | (h < 1)).height,
        without_stem=table.filter(
            pl.any_horizontal(pl.col("dataset", "image_stem", "full_stem") == "")
        ).height,
        unknown_click_types=_unknown(table["click_type"], CLICK_TYPES),
        unknown_devices=_unknown(table["device"], DEVICES),
        without_clicks=tuple(stem for stem in dict.fromkeys(expected) if stem not in seen),
    )


def count_clicks(table: pl.DataFrame) -> pl.DataFrame:
    """Return the number of clicks per dataset: columns dataset, first, subsequent, sum; the last row is "all".

    Source: RClicks, table 2.
    """
    import polars as pl

    is_first = pl.col("click_type") == "first"
    counts = table.group_by("dataset", maintain_order=True).agg(
        first=is_first.sum().cast(pl.Int64),
        subsequent=(~is_first).sum().cast(pl.Int64),
        sum=pl.len().cast(pl.Int64),
    )
    order = {name: i for i, name in enumerate(DATASETS)}
    # The order of the paper's table; unknown datasets follow in their own.
    rank = pl.col("dataset").replace_strict(order, default=len(order), return_dtype=pl.Int64)
    counts = counts.sort(rank, maintain_order=True)
    total = counts.select(
        pl.lit("all").alias("dataset"), pl.col("first", "subsequent", "sum").sum()
    )
    return pl.concat([counts, total])


def _need_columns(columns: Iterable[str], name: str) -> None:
    present = set(columns)
    missing = [column for column in CLICK_COLUMNS if column not in present]
    if missing:
        raise InvalidInput(
            f"{name}: the columns {', '.join(missing)} are missing; a clicks table has {CLICK_COLUMNS}"
        )


def _unknown(values: pl.Series, known: tuple[str, ...]) -> dict[str, int]:
    counts = values.filter(~values.is_in(known)).value_counts(sort=True)
    return dict(counts.iter_rows())

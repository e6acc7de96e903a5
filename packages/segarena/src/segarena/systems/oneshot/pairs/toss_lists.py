"""Reading and writing of the text lists of TOSS.

Source: the lists of the published repository; docs/toss.md states where they differ from the paper.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import polars as pl

from segarena.errors import DatasetError, DatasetMissing, InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.files.limits import check_pixels, pixel_limit
from segarena.files.safe_paths import safe_join
from segarena.systems.oneshot.pairs.image_lists import is_image_list
from segarena.systems.oneshot.pairs.list_item_names import (
    ListItem,
    NameConvention,
    detect_convention,
    format_item_name,
    parse_item_name,
)
from segarena.systems.oneshot.pairs.pair_table import (
    POOLED_LEVEL,
    TABLE_SUFFIXES,
    SupportKind,
    pairs_table,
    read_pairs,
)

LEVEL_CODES = {
    "L0": (10, 1),
    "L1": (5, 1),
    **dict.fromkeys(("L2", "L3", POOLED_LEVEL), (1, 1)),
    **dict.fromkeys(("L4", "L5", "L6"), (1, -1)),
}
"""Weight and type of each level in the published lists."""
GENERAL_LIST = "general_tier"
# FSS-1000 is missing here, because its lists name classes by words instead of numbers.
_CLASS_COUNTS = {"pascal5i": 20, "coco20i": 80}
_QUERY_COMPLEXITY = re.compile(r"split(?P<fold>\d+)_q_(?P<partition>(?:easy|hard)_n?sal)")
_SUPPORT_COGNIZANCE = re.compile(r"split(?P<fold>\d+)_tier2")
_LEVEL_OF = {"10 1": "L0", "5 1": "L1", "1 1": POOLED_LEVEL, "1 -1": "L4"}
_FIXED_SPLIT = re.compile(r"split(?P<fold>\d+)(?:_test)?")


def read_pair_lists(paths: Iterable[str | Path]) -> pl.DataFrame:
    """Read published lists, tables of pairs and folders of published lists into one table.

    Raises:
        DatasetMissing: a path does not exist, or no list is found.
        DatasetError: a list cannot be read, or two lists have the same name.
    """
    files: list[Path] = []
    for path in paths:
        files += find_pair_lists(path)
    tables: list[pl.DataFrame] = []
    known_names: set[str] = set()
    for file in files:
        is_table = file.suffix in TABLE_SUFFIXES
        table = read_pairs(file) if is_table else read_toss_list(file)
        names = set(table["list"].unique())
        repeated = sorted(names & known_names)
        if repeated:
            raise DatasetError(
                f"two lists are called {repeated[0]!r}; rename one file, or read them one by one"
            )
        known_names |= names
        tables.append(table)
    return pl.concat(tables)


def find_pair_lists(path: str | Path) -> list[Path]:
    """Return the list at `path`; if `path` is a folder, return all lists below it with published names.

    Raises:
        DatasetMissing: the file does not exist, or the folder contains no list.
    """
    root = Path(path).expanduser()
    if root.is_file():
        return [root]
    lists: list[Path] = []
    if root.is_dir():
        lists = [file for file in sorted(root.rglob("*")) if _is_published_list(file)]
    if not lists:
        raise DatasetMissing(
            f"{root}: expected a list of pairs, or a folder of lists with published names"
        )
    return lists


def read_toss_list(path: str | Path) -> pl.DataFrame:
    """Read one published list.

    The file name gives tier, fold and partition: `split0_test`, `split0_q_easy_sal`,
    `split0_tier2`, `general_tier`. Lists with other names are plain pairs without a fold. The fixed
    splits of two datasets have the same file names, so their lists get the dataset as a prefix:
    `pascal5i/split0_test`. The file may be compressed (`.gz`). Rows whose support shows another
    class are kept and marked `cross_class`.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: the file cannot be read, is empty or lists images; a row has the wrong number
            of fields; or a name, class or code is unknown.
    """
    file = Path(path)
    if is_image_list(file):
        raise DatasetError(
            f"{file}: expected pairs, got a list of images; pass it as pairs='{file.name}' to a dataset to sample pairs"
        )
    rows = _read_fields(file)
    stem = list_stem(file)
    fields = ["query", "support"]
    # Only the lists of the Support Cognizance tier contain a code for the level.
    if _SUPPORT_COGNIZANCE.fullmatch(stem):
        fields += ["weight", "type"]
    for number, row in enumerate(rows, 1):
        if len(row) != len(fields):
            raise DatasetError(
                f"{file}, line {number}: expected {len(fields)} fields ({' '.join(fields)}), "
                f"got {len(row)}"
            )
    try:
        convention = detect_convention(rows[0][0])
        items: dict[str, ListItem] = {}
        for query, support, *_ in rows:
            # Published lists repeat a few names thousands of times, so each is parsed once.
            for name in (query, support):
                if name not in items:
                    items[name] = parse_item_name(name, convention)
        _check_classes(items.values(), convention)
        return pairs_table(_list_table(stem, rows, items, convention))
    except DatasetError as error:
        raise DatasetError(f"{file}: {error}") from error


def write_toss_lists(pairs: pl.DataFrame, folder: str | Path) -> list[Path]:
    """Write pairs in the published formats and return the files.

    These formats cannot hold similarity, salience, difficulty or the parameters of transforms (a
    transform is written as `xf` and the index of its row), and they do not separate L2 from L3.
    Keep the table too (`write_pairs`).

    Raises:
        InvalidInput: a pair has several supports, a support has a black image and a mask, or
            names of the dataset have no published form.
        DatasetError: the name of a list points outside the folder.
    """
    table = pairs_table(pairs)
    if (table["supports"].list.len() != 1).any():
        raise InvalidInput(
            "the published formats store one support per pair; write a table of pairs (.parquet) instead"
        )
    if (table["support_kind"] == "no-image").any():
        raise InvalidInput(
            "the published formats cannot store a support without an image; write a table of pairs instead"
        )
    written: list[Path] = []
    # Lists are written in table order, so that the same pairs always give the same files.
    for (name,), part in table.group_by(["list"], maintain_order=True):
        convention = _published_convention(part)
        classes: list[str] = sorted(set(part["class"].to_list()))
        class_numbers = {label: number for number, label in enumerate(classes)}
        rows = part.iter_rows(named=True)
        lines = [" ".join(_row_fields(row, convention, class_numbers)) for row in rows]
        file = safe_join(Path(folder), f"{name}.txt")
        write_atomic(file, "\n".join(lines) + "\n")
        written.append(file)
    return written


def read_class_list(path: str | Path) -> list[str]:
    """Read class names, one per line (`generalization_tier_class`).

    Spaces around a name are removed, and several spaces within a name become one.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: the file cannot be read or contains no name.
    """
    return [" ".join(row) for row in _read_fields(Path(path))]


def list_stem(file: Path) -> str:
    """Return the file name of a list without `.gz` and `.txt`."""
    return file.name.removesuffix(".gz").removesuffix(".txt")


def _is_published_list(file: Path) -> bool:
    if not file.name.removesuffix(".gz").endswith(".txt") or not file.is_file():
        return False
    stem = list_stem(file)
    patterns = (_QUERY_COMPLEXITY, _SUPPORT_COGNIZANCE, _FIXED_SPLIT)
    return stem == GENERAL_LIST or any(pattern.fullmatch(stem) for pattern in patterns)


def _read_fields(file: Path) -> list[list[str]]:
    if not file.is_file():
        raise DatasetMissing(f"{file}: expected a text file here, found none")
    try:
        is_compressed = file.suffix == ".gz"
        with gzip.open(file) if is_compressed else file.open("rb") as stream:
            # Decompression is bounded, because a small compressed file may expand to more than fits
            # into memory.
            data = stream.read(pixel_limit() + 1)
        check_pixels(len(data), file, error=DatasetError)
        rows = [line.split() for line in data.decode().splitlines()]
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DatasetError(
            f"{file}: expected a text file, got: {error}; download it again"
        ) from error
    # Lists often end with an empty line.
    rows = [row for row in rows if row]
    if not rows:
        raise DatasetError(f"{file}: expected rows, found an empty file")
    return rows


def _list_table(
    stem: str,
    rows: Sequence[Sequence[str]],
    items: Mapping[str, ListItem],
    convention: NameConvention,
) -> pl.DataFrame:
    queries = [items[row[0]] for row in rows]
    supports = [items[row[1]] for row in rows]
    columns: dict[str, Any] = {
        "class": [query.label for query in queries],
        "query": [query.image for query in queries],
        "transform": [query.transform for query in queries],
        "supports": [support.image for support in supports],
        "support_classes": [support.label for support in supports],
        "support_kind": [_support_kind(support) for support in supports],
    }
    has_codes = len(rows[0]) == 4
    if has_codes:
        levels: list[str] = []
        codes: list[int] = []
        for number, row in enumerate(rows, 1):
            query, support, weight, kind = row
            levels.append(_row_level(row, items[query], items[support], number))
            codes.append(int(weight) * int(kind))
        columns["level"] = levels
        columns["code"] = codes
    constants = _list_columns(stem, convention)
    constant_columns = [pl.lit(value).alias(name) for name, value in constants.items()]
    return pl.DataFrame(columns).with_columns(
        # A row of the published lists has one support, while rows of this project may have several.
        pl.concat_list("supports"),
        pl.concat_list("support_classes"),
        *constant_columns,
    )


def _support_kind(support: ListItem) -> SupportKind:
    if not support.is_null:
        return "shown"
    # The two kinds of supports with null masks differ only in the ending of their names.
    return "empty" if support.has_jpg else "null-mask"


def _list_columns(stem: str, convention: NameConvention) -> dict[str, Any]:
    """Derive from a list's name the columns that all of its pairs share."""
    columns: dict[str, Any] = {
        "list": stem,
        "dataset": convention,
        "tier": "pairs",
        "fold": None,
        "partition": None,
    }
    if match := _QUERY_COMPLEXITY.fullmatch(stem):
        columns["tier"] = "query-complexity"
        columns["fold"] = int(match["fold"])
        columns["partition"] = match["partition"]
    elif match := _SUPPORT_COGNIZANCE.fullmatch(stem):
        columns["tier"] = "support-cognizance"
        columns["fold"] = int(match["fold"])
    elif stem == GENERAL_LIST:
        columns["tier"] = "generalization"
    elif match := _FIXED_SPLIT.fullmatch(stem):
        # The fixed splits of PASCAL-5i and COCO-20i have the same file names.
        columns["list"] = f"{convention}/{stem}"
        columns["fold"] = int(match["fold"])
    return columns


def _row_level(
    row: Sequence[str],
    query: ListItem,
    support: ListItem,
    number: int,
) -> str:
    """Return the Support Cognizance level of a row.

    The file does not separate L2 from L3, and marks L6 only by the ending of the support's name.
    """
    code = f"{row[2]} {row[3]}"
    if code not in _LEVEL_OF:
        raise DatasetError(
            f"line {number}: code {code!r} is unknown; expected one of {', '.join(_LEVEL_OF)}"
        )
    level = _LEVEL_OF[code]
    # The code "1 -1" stands for L4, L5 and L6; only L5 and L6 have null supports.
    if level == "L4" and support.is_null:
        level = "L6" if support.has_jpg else "L5"
    if (level == "L1") != bool(query.transform):
        raise DatasetError(f"line {number}: code {code!r} does not match query {row[0]!r}")
    return level


def _check_classes(items: Iterable[ListItem], convention: NameConvention) -> None:
    class_count = _CLASS_COUNTS.get(convention)
    if class_count is None:
        return
    for item in items:
        if not 1 <= int(item.label) <= class_count:
            raise DatasetError(
                f"class {item.label} of image {item.image}: expected 1 to {class_count} in "
                f"{convention}"
            )


def _published_convention(part: pl.DataFrame) -> NameConvention:
    dataset = part["dataset"][0]
    for convention in get_args(NameConvention):
        if dataset == convention:
            return convention
    raise InvalidInput(
        f"dataset {dataset!r} has no published format for item names; write a table of pairs (.parquet) "
        "instead"
    )


def _row_fields(
    row: Mapping[str, Any],
    convention: NameConvention,
    class_numbers: Mapping[str, int],
) -> list[str]:
    """Return the fields of one row; class numbers in names of FSS-1000 have no meaning."""
    label = row["support_classes"][0]
    kind = row["support_kind"]
    transform = row["transform"]
    # The published format stores an index of each transform, not its parameters.
    if transform and not re.fullmatch(r"xf\w+", transform):
        transform = f"xf{row['row']}"
    query = ListItem(row["class"], row["query"], transform, number=class_numbers[row["class"]])
    support = ListItem(
        label,
        row["supports"][0],
        is_null=kind != "shown",
        has_jpg=kind == "empty",
        number=class_numbers.get(label, len(class_numbers)),
    )
    fields = [format_item_name(query, convention), format_item_name(support, convention)]
    if row["level"]:
        fields += [str(number) for number in LEVEL_CODES[row["level"]]]
    return fields

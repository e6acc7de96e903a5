"""The text lists of TOSS: read into the table of pairs, and written again.

Source: the lists of the published repository; where they differ from the paper, see docs/toss.md.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from segarena.errors import DatasetError, DatasetMissing, InvalidInput
from segarena.files.limits import check_pixels, most_pixels
from segarena.files.whole import write_whole
from segarena.files.within import within
from segarena.systems.oneshot.pairs.image_lists import is_image_list
from segarena.systems.oneshot.pairs.item_names import (
    ListItem,
    NameConvention,
    detect_convention,
    format_item_name,
    parse_item_name,
)
from segarena.systems.oneshot.pairs.pair_table import (
    POOLED_LEVEL,
    TABLE_SUFFIXES,
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
_CLASSES = {"pascal5i": 20, "coco20i": 80}
_QC = re.compile(r"split(?P<fold>\d+)_q_(?P<partition>(?:easy|hard)_n?sal)")
_SC = re.compile(r"split(?P<fold>\d+)_tier2")
_LEVEL_OF = {"10 1": "L0", "5 1": "L1", "1 1": POOLED_LEVEL, "1 -1": "L4"}
_FIXED = re.compile(r"split(?P<fold>\d+)(?:_test)?")


def read_pair_lists(paths: Iterable[str | Path]) -> pl.DataFrame:
    """Read published lists and tables of pairs, and whatever of them lies in folders, into one table.

    Raises:
        DatasetMissing: a path does not exist, or no list is found.
        DatasetError: a list cannot be read; or two have the same name.
    """
    files = list(chain.from_iterable(map(find_pair_lists, paths)))
    tables = [
        read_pairs(file) if file.suffix in TABLE_SUFFIXES else read_toss_list(file)
        for file in files
    ]
    names = list(chain.from_iterable(table["list"].unique() for table in tables))
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DatasetError(
            f"two lists are called {twice!r}; rename one file, or look at them one by one"
        )
    return pl.concat(tables)


def find_pair_lists(path: str | Path) -> list[Path]:
    """Return the lists of pairs at `path`: itself, or what a folder holds under the published names.

    Raises:
        DatasetMissing: nothing is there.
    """
    given = Path(path).expanduser()
    if given.is_file():
        return [given]
    if given.is_dir():
        found = [file for file in sorted(given.rglob("*")) if file.is_file() and _is_list(file)]
    else:
        found = []
    if not found:
        raise DatasetMissing(
            f"{given}: expected a list of pairs, or a folder with lists called as the published ones"
        )
    return found


def read_toss_list(path: str | Path) -> pl.DataFrame:
    """Read one list; its name says which: `split0_test`, `split0_q_easy_sal`, `split0_tier2`, `general_tier`.

    Fixed splits of two data sets have the same names, so theirs get the data set in front: `pascal5i/split0_test`.
    Any other name is taken for plain pairs without fold. The file may be compressed (`.gz`). Rows with another class
    in the support stay, marked `cross_class`.

    Raises:
        DatasetMissing: there is no such file.
        DatasetError: the file is empty, a row has another number of fields, a name, a class or a code is unknown.
    """
    file = Path(path)
    if is_image_list(file):
        raise DatasetError(
            f"{file}: lists images without pairs; as pairs='{file.name}' of a dataset, pairs are drawn"
        )
    rows = _fields(file)
    stem = list_stem(file)
    is_sc = bool(_SC.fullmatch(stem))
    wanted = 4 if is_sc else 2
    for number, row in enumerate(rows, 1):
        if len(row) != wanted:
            fields = "query support weight type" if is_sc else "query support"
            raise DatasetError(
                f"{file}, line {number}: expected {wanted} fields ({fields}), got {len(row)}"
            )
    try:
        convention = detect_convention(rows[0][0])
        names = dict.fromkeys(chain.from_iterable(row[:2] for row in rows))
        items = {name: parse_item_name(name, convention) for name in names}
        _check_classes(items.values(), convention)
        return pairs_table(_table(stem, rows, items, convention))
    except DatasetError as error:
        raise DatasetError(f"{file}: {error}") from error


def write_toss_lists(pairs: pl.DataFrame, folder: str | Path) -> list[Path]:
    """Write pairs in the published formats; return the files.

    What those formats cannot hold is lost, so keep the table too (`write_pairs`): similarity, salience, difficulty,
    the parameters of transforms (rows get `xf` and their number), and the difference between L2 and L3.

    Raises:
        InvalidInput: pairs with several supports, supports without image alone, or a data set whose names have no
            published form.
        DatasetError: the name of a list leads out of the folder.
    """
    table = pairs_table(pairs)
    if (table["supports"].list.len() != 1).any():
        raise InvalidInput(
            "the published formats hold one support per pair; write a table of pairs (.parquet) instead"
        )
    if (table["support_kind"] == "no-image").any():
        raise InvalidInput(
            "the published formats know no support without image; write a table of pairs instead"
        )
    written: list[Path] = []
    for (name,), part in table.group_by(["list"], maintain_order=True):
        convention = _writable(part)
        order = {label: number for number, label in enumerate(sorted(set(part["class"].to_list())))}
        lines = [" ".join(_line(row, convention, order)) for row in part.iter_rows(named=True)]
        file = within(Path(folder), f"{name}.txt")
        write_whole(file, "\n".join(lines) + "\n")
        written.append(file)
    return written


def read_class_list(path: str | Path) -> list[str]:
    """Return the class names of a file, one per line (`generalization_tier_class`); spaces around them are dropped.

    Raises:
        DatasetMissing: there is no such file.
        DatasetError: it holds no name.
    """
    return [" ".join(row) for row in _fields(Path(path))]


def list_stem(file: Path) -> str:
    """Return the name of a list without endings."""
    return file.name.removesuffix(".gz").removesuffix(".txt")


def _is_list(file: Path) -> bool:
    stem = list_stem(file)
    is_published = stem == GENERAL_LIST or any(
        pattern.fullmatch(stem) for pattern in (_QC, _SC, _FIXED)
    )
    return is_published and file.name.removesuffix(".gz").endswith(".txt")


def _fields(file: Path) -> list[list[str]]:
    if not file.is_file():
        raise DatasetMissing(f"{file}: expected a text file here, found none")
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as packed:
            data = packed.read(most_pixels() + 1)
        check_pixels(len(data), file, error=DatasetError)
        rows = [fields for line in data.decode().splitlines() if (fields := line.split())]
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DatasetError(
            f"{file}: expected a text file, got: {error}; download it again"
        ) from error
    if not rows:
        raise DatasetError(f"{file}: expected rows, found an empty file")
    return rows


def _table(
    stem: str,
    rows: Sequence[Sequence[str]],
    items: Mapping[str, ListItem],
    convention: NameConvention,
) -> pl.DataFrame:
    queries, supports = ([items[row[place]] for row in rows] for place in (0, 1))
    columns: dict[str, Any] = {
        "class": [query.label for query in queries],
        "query": [query.image for query in queries],
        "transform": [query.transform for query in queries],
        "supports": [support.image for support in supports],
        "support_classes": [support.label for support in supports],
        # Null rows are told apart by their ending alone.
        "support_kind": [
            ("shown", "null-mask", "empty")[s.is_null + (s.is_null and s.has_jpg)] for s in supports
        ],
    }
    if len(rows[0]) == 4:
        levels = [
            _level(row, items[row[0]], items[row[1]], number) for number, row in enumerate(rows, 1)
        ]
        columns |= {"level": levels, "code": [int(row[2]) * int(row[3]) for row in rows]}
    facts = _of_list(stem, convention)
    return pl.DataFrame(columns).with_columns(
        pl.concat_list("supports"),
        pl.concat_list("support_classes"),
        *(pl.lit(value).alias(name) for name, value in facts.items()),
    )


def _of_list(stem: str, convention: NameConvention) -> dict[str, Any]:
    facts = {"list": stem, "dataset": convention, "tier": "pairs", "fold": None, "partition": None}
    if found := _QC.fullmatch(stem):
        return {
            **facts,
            "tier": "query-complexity",
            "fold": int(found["fold"]),
            "partition": found["partition"],
        }
    if found := _SC.fullmatch(stem):
        return {**facts, "tier": "support-cognizance", "fold": int(found["fold"])}
    if stem == GENERAL_LIST:
        return {**facts, "tier": "generalization"}
    if found := _FIXED.fullmatch(stem):
        return {**facts, "list": f"{convention}/{stem}", "fold": int(found["fold"])}
    return facts


def _level(row: Sequence[str], query: ListItem, support: ListItem, number: int) -> str:
    """Return the level of a row. The file tells neither L2 from L3, nor L6 but by the ending of its name."""
    code = f"{row[2]} {row[3]}"
    if code not in _LEVEL_OF:
        raise DatasetError(
            f"line {number}: code {code!r} is unknown; expected one of {', '.join(_LEVEL_OF)}"
        )
    level = _LEVEL_OF[code]
    if level == "L4" and support.is_null:
        level = "L6" if support.has_jpg else "L5"
    if (level == "L1") != bool(query.transform):
        raise DatasetError(f"line {number}: code {code!r} and query {row[0]!r} do not go together")
    return level


def _check_classes(items: Iterable[ListItem], convention: NameConvention) -> None:
    most = _CLASSES.get(convention)
    for item in items:
        if most is not None and not 1 <= int(item.label) <= most:
            raise DatasetError(
                f"class {item.label} of image {item.image}: expected 1 to {most} in {convention}"
            )


def _writable(part: pl.DataFrame) -> NameConvention:
    for convention in ("pascal5i", "coco20i", "fss1000"):
        if part["dataset"][0] == convention:
            return convention
    raise InvalidInput(
        f"data set {part['dataset'][0]!r} has no published form of names; write a table of pairs (.parquet) instead"
    )


def _line(
    row: Mapping[str, Any], convention: NameConvention, order: Mapping[str, int]
) -> list[str]:
    """Return the fields of one line; classes of FSS-1000 are numbered by their place, which means nothing."""
    label = row["support_classes"][0]
    kind = row["support_kind"]
    transform = row["transform"]
    if transform and not re.fullmatch(r"xf\w+", transform):
        transform = f"xf{row['row']}"
    query = ListItem(row["class"], row["query"], transform, number=order[row["class"]])
    support = ListItem(
        label,
        row["supports"][0],
        is_null=kind != "shown",
        has_jpg=kind == "empty",
        number=order.get(label, len(order)),
    )
    code = map(str, LEVEL_CODES[row["level"]]) if row["level"] else ()
    return [format_item_name(query, convention), format_item_name(support, convention), *code]

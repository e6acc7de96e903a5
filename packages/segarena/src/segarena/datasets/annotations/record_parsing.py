"""Parsing of files from other tools: bytes, JSON, and the values in their records, with typed errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeAlias

from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_points import Points, as_points
from segarena.errors import DatasetError, DatasetMissing, InvalidInput, InvalidMask

Record: TypeAlias = Mapping[str, Any]

LARGEST_BYTES = 2 << 30


def read_bytes(path: Path) -> bytes:
    """Read the bytes of a file.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: the file is unreadable or exceeds 2 GiB.
    """
    try:
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            raise DatasetError(
                f"{path}: expected at most {LARGEST_BYTES >> 30} GiB, got {size:,} bytes; split the file"
            )
        return path.read_bytes()
    except FileNotFoundError as cause:
        raise DatasetMissing(f"{path}: expected an annotation file here, found none") from cause
    except OSError as cause:
        raise DatasetError(
            f"{path}: expected a file that can be read, got: {cause.strerror}"
        ) from cause


class JsonFile(NamedTuple):
    """Value of a JSON file, and whether its text was valid; if not, invalid bytes in it were replaced."""

    value: Any
    is_valid_text: bool


def read_json_file(path: Path) -> JsonFile:
    """Read a JSON file in UTF-8, UTF-16 or UTF-32.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: the file is not JSON, is nested too deeply, or exceeds 2 GiB.
    """
    data = read_bytes(path)
    is_valid_text = True
    try:
        text = data.decode(json.detect_encoding(data))
    except UnicodeDecodeError:
        text = data.decode("utf-8", errors="replace")
        is_valid_text = False
    try:
        return JsonFile(json.loads(text), is_valid_text)
    except (ValueError, RecursionError) as cause:
        raise DatasetError(
            f"{path}: expected JSON, got something else ({cause}); export it again"
        ) from cause


def check_record(
    value: Any,
    path: Path,
    what: str,
) -> dict[str, Any]:
    """Return the JSON object; raise `DatasetError` if the file contains another type of value."""
    if not isinstance(value, dict):
        raise DatasetError(f"{path}: expected {what}, a JSON object; got {type(value).__name__}")
    return value


def parse_records(value: Any) -> list[dict[str, Any]]:
    """Return the items of a list that are JSON objects; empty if `value` is not a list."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict)]
    return []


def parse_text(value: Any) -> str:
    """Return a name as valid UTF-8 text; "" for None."""
    if value is None:
        return ""
    return str(value).encode("utf-8", errors="replace").decode("utf-8")


def url_name(value: Any) -> str:
    """Return the file name at the end of a URL; "" for None."""
    return PurePosixPath(re.split(r"[?#]", parse_text(value))[0]).name


def parse_number(value: Any) -> float | None:
    """Convert `value` to a finite number; None if this is not possible."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def parse_integer(value: Any) -> int | None:
    """Convert `value` to an integer; None if this is not possible."""
    number = parse_number(value)
    return int(number) if number is not None and number == int(number) else None


def parse_is_stuff(value: Any) -> bool | None:
    """Return whether a region is stuff, given as 0 or 1; None if the file does not say."""
    number = parse_integer(value)
    return None if number is None else number != 0


def parse_size(
    record: Record,
    height: str = "height",
    width: str = "width",
) -> tuple[int, int]:
    """Return the image size (H, W) in a record; raise `InvalidInput` unless both are whole numbers."""
    size = parse_integer(record.get(height)), parse_integer(record.get(width))
    if size[0] is None or size[1] is None:
        raise InvalidInput(
            f"expected the {height} and {width} of the image in pixels, found none; add them"
        )
    return size[0], size[1]


def parse_flat_polygon(values: Any) -> Points:
    """Return [x, y, x, y, ...] as rows and columns; raise `InvalidInput` unless these are pairs of finite numbers."""
    if not isinstance(values, list) or len(values) % 2:
        raise InvalidInput(
            "polygon: expected an even number of coordinates x, y, x, y, ...; got something else"
        )
    return parse_polygon(list(zip(values[::2], values[1::2], strict=True)))


def parse_polygon(pairs: Any) -> Points:
    """Return [[x, y], ...] as rows and columns; raise `InvalidInput` unless these are pairs of finite numbers."""
    return as_points(pairs)[:, ::-1]


def parse_mask_size(value: Any) -> tuple[int, int]:
    """Return the (H, W) of COCO run lengths {"size": [H, W], "counts": ...}; raise `InvalidMask` otherwise."""
    size = value.get("size") if isinstance(value, dict) else None
    sides = [parse_integer(side) for side in size] if isinstance(size, list) else []
    if len(sides) != 2 or sides[0] is None or sides[1] is None:
        raise InvalidMask(
            "mask: expected run lengths, {'size': [rows, columns], 'counts': ...}; got something else"
        )
    return sides[0], sides[1]


def parse_mask(value: Any, shape: tuple[int, int]) -> Rle:
    """Return COCO run lengths as a validated `Rle`.

    Raises:
        InvalidMask: the value is not run lengths, its size differs from the image's, or the lengths
            do not add up to that size.
    """
    size = parse_mask_size(value)
    if size != shape:
        raise InvalidMask(
            f"mask: expected the image's size {shape[0]} x {shape[1]}, rows by columns, got {size[0]} x {size[1]}"
        )
    counts = value.get("counts")
    if isinstance(counts, list):
        mask = Rle.of_lengths(_lengths(counts), shape)
    else:
        mask = Rle(shape, str(counts))
    _ = mask.lengths
    return mask


def remaining_keys(record: Record, known: Iterable[str]) -> dict[str, Any]:
    """Return the items of a record whose keys are not in `known`."""
    known_keys = set(known)
    return {key: value for key, value in record.items() if key not in known_keys}


def _lengths(counts: list[Any]) -> list[int]:
    lengths = [parse_integer(count) for count in counts]
    if any(length is None or not 0 <= length < 1 << 40 for length in lengths):
        raise InvalidMask(
            "run lengths: expected a list of whole numbers from 0 on, got something else"
        )
    return [length for length in lengths if length is not None]

"""Damaged files for the stress test: flipped bits, truncation, false headers, repeated parts, swapped formats.

Files of known formats are also damaged in their content: a changed value in JSON or a table, a changed column or array.
Parsers accept such files, so the damage reaches the code behind them.
"""

from __future__ import annotations

import io
import json
import random
import struct
from typing import Any

import numpy as np

TEXT_SUFFIXES = (".json", ".csv", ".txt", ".ann", ".jsonl", ".xml", ".toml")
VALUES = (
    None, 0, -1, 1.5, 1e308, 10**30, "", "x", "\0", "../../x", [], {}, [None], [[]], [-1, 2], {"a": 1}, True,
    float("nan"), "a" * 3000,
)  # fmt: skip
"""Values that take the place of another one."""

NUMBERS = (
    b"-1",
    b"0",
    b"65536",
    b"999999",
    b"2147483647",
    b"99999999999",
    b"1e308",
    b"nan",
    b"../../x",
    b"/etc/passwd",
)
WORDS = tuple(
    struct.pack("<I", value) for value in (0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 20)
)


def damaged(data: bytes, others: list[bytes], rng: random.Random, suffix: str = "") -> bytes:
    """Return the bytes of a file with one to four kinds of damage, or sometimes those of another format.

    With the suffix of a known format, two of five files get a changed value, column or array instead.
    """
    kind = rng.random()
    if kind < 0.03:
        return rng.choice(others)
    if kind < 0.43 and suffix in (*TEXT_SUFFIXES, *_BY_CONTENT):
        if suffix in _BY_CONTENT:
            return _BY_CONTENT[suffix](data, rng)
        return other_value(suffix, data.decode(), rng)
    found = bytearray(data or b" ")
    for _ in range(rng.randint(1, 4)):
        rng.choice((_flip, _flip, _flip, _cut, _lie, _lie, _word, _repeat, _drop))(found, rng)
        found = found or bytearray(b" ")
    return bytes(found)


def _place(data: bytearray, rng: random.Random) -> int:
    """Return a random position; every second one is near the beginning, where headers are."""
    return rng.randrange(min(len(data), 600) if rng.random() < 0.5 else len(data))


def _flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 8)):
        data[_place(data, rng)] ^= 1 << rng.randrange(8)


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[_place(data, rng) :]


def _lie(data: bytearray, rng: random.Random) -> None:
    """Replace a number in the data by another one."""
    at = _place(data, rng)
    start = next((place for place in range(at, len(data)) if chr(data[place]).isdigit()), None)
    if start is not None:
        end = start
        while end < len(data) and chr(data[end]).isdigit():
            end += 1
        data[start:end] = rng.choice(NUMBERS)


def _word(data: bytearray, rng: random.Random) -> None:
    at = _place(data, rng) & ~3
    data[at : at + 4] = rng.choice(WORDS)


def _repeat(data: bytearray, rng: random.Random) -> None:
    at = _place(data, rng)
    data[at:at] = bytes(data[at : at + rng.randint(1, 60)]) * rng.choice((1, 2, 100))


def _drop(data: bytearray, rng: random.Random) -> None:
    at = _place(data, rng)
    del data[at : at + rng.randint(1, 60)]


def other_value(suffix: str, text: str, rng: random.Random) -> bytes:
    """Return the text with a changed value in JSON, or a changed cell in a line."""
    if suffix in (".json", ".ann"):
        whole = json.loads(text)
        places = list(_places(whole))
        inside, key = rng.choice(places) if places else ({}, "x")
        if rng.random() < 0.2:
            del inside[key]
        else:
            inside[key] = rng.choice(VALUES)
        return json.dumps(whole).encode()
    separator = {".csv": ",", ".xml": '"'}.get(suffix, " ")
    lines = text.split("\n")
    row = rng.randrange(max(1, len(lines) - 1))
    cells = lines[row].split(separator)
    cells[rng.randrange(len(cells))] = str(rng.choice(VALUES))
    lines[row] = separator.join(cells)
    return "\n".join(lines).encode()


def _places(value: Any) -> Any:
    for key, inside in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(inside, (dict, list)):
            yield from _places(inside)


def _other_column(data: bytes, rng: random.Random) -> bytes:
    """Return a Parquet file in which one column is missing, empty, or of another type."""
    import polars as pl

    frame = pl.read_parquet(io.BytesIO(data))
    name = rng.choice(frame.columns)
    rows = frame.height
    columns: list[Any] = [
        None,
        pl.Series(name, [None] * rows),
        pl.Series(name, ["x"] * rows),
        pl.Series(name, [-1] * rows),
        pl.Series(name, [float("nan")] * rows),
        pl.Series(name, [1e300] * rows),
        pl.Series(name, [[1, 2]] * rows),
        pl.Series(name, [b"\xff"] * rows),
        pl.Series(name, [{"a": 1}] * rows),
    ]
    chosen = rng.choice(columns)
    frame = frame.drop(name) if chosen is None else frame.with_columns(chosen)
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _other_arrays(data: bytes, rng: random.Random) -> bytes:
    """Return an .npz file in which one array is missing or changed."""
    arrays = dict(np.load(io.BytesIO(data)))
    name = rng.choice(sorted(arrays))
    other = _other_array(arrays[name], rng)
    if other is None:
        del arrays[name]
    else:
        arrays[name] = other
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _other_npy(data: bytes, rng: random.Random) -> bytes:
    """Return an .npy file with a changed array, or the same file if it contains objects."""
    if b"|O" in data[:128]:
        return data
    array = np.load(io.BytesIO(data))
    buffer = io.BytesIO()
    other = _other_array(array, rng)
    np.save(buffer, np.zeros(0) if other is None else other)
    return buffer.getvalue()


def _other_array(array: Any, rng: random.Random) -> Any:
    """Return an array of another type, shape or content; None to omit the array."""
    others = [
        None,
        np.zeros(0),
        np.float64(np.nan),
        array[..., None],
        np.ravel(array)[:-1],
        np.full(array.shape, np.nan),
        np.full(array.shape, -1, np.int64),
        np.full(array.shape, 2**62, np.int64),
        np.full(array.shape, "x"),
        np.full(array.shape, 1j),
    ]
    return rng.choice(others)


_BY_CONTENT = {".parquet": _other_column, ".npz": _other_arrays, ".npy": _other_npy}

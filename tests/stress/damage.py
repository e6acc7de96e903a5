"""Damaged files for the stress test: bits flipped, cut off, headers that lie, parts repeated, formats swapped."""

from __future__ import annotations

import random
import struct

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


def damaged(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Return the bytes of a file with one to four kinds of damage; now and then another format's bytes."""
    kind = rng.random()
    if kind < 0.03:
        return rng.choice(others)
    found = bytearray(data or b" ")
    for _ in range(rng.randint(1, 4)):
        rng.choice((_flip, _flip, _flip, _cut, _lie, _lie, _word, _repeat, _drop))(found, rng)
        found = found or bytearray(b" ")
    return bytes(found)


def _place(data: bytearray, rng: random.Random) -> int:
    """Return a place, as often as not near the beginning, where headers are."""
    return rng.randrange(min(len(data), 600) if rng.random() < 0.5 else len(data))


def _flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 8)):
        data[_place(data, rng)] ^= 1 << rng.randrange(8)


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[_place(data, rng) :]


def _lie(data: bytearray, rng: random.Random) -> None:
    """Put another number where digits stand."""
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

"""Finds who writes into what is shared, for `--check-plugins`: hashes of all arrays before and after a role's call.

Arrays that cross a border are read-only (`segarena.readonly`), which stops mistakes; code that takes the flag away, or
writes past NumPy, is found here. It costs a pass over every shared array per call, so it is off unless asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.comparison import Memory
from segarena.errors import SharedChanged
from segarena.readonly import ReadOnlyFrames

_OPEN = (Memory, ReadOnlyFrames)


def forbid_mutation(who: str, *shared: Any, is_on: bool) -> Any:
    """Return a context in which `who` is called; nothing that it was given may change there.

    Args:
        who: "segmenter Mine", "user centre".
        shared: samples, turns, dialogues, comparisons: whatever it was given.
        is_on: False returns a context that does nothing.

    Raises:
        SharedChanged: names `who` and the first array that changed, also when the call itself failed.
    """
    return _sealed(who, shared) if is_on else nullcontext()


@contextmanager
def _sealed(who: str, shared: tuple[Any, ...]) -> Generator[None]:
    before = [(name, array, _digest(array)) for name, array in reachable_arrays(shared, "", set())]
    try:
        yield
    finally:
        changed = [name for name, array, digest in before if _digest(array) != digest]
        if changed:
            raise SharedChanged(
                f"{who} changed {changed[0]}, which others read; a plug-in writes to copies only"
            )


def reachable_arrays(thing: Any, name: str, seen: set[int]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays that can be reached from `thing`, each once, by how to get there."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        if not thing.dtype.hasobject:
            yield name.removesuffix("._values") or "an array", thing
        return
    for key, value in _parts_of(thing):
        yield from reachable_arrays(value, f"{name}.{key}".lstrip("."), seen)


def _parts_of(thing: Any) -> list[tuple[Any, Any]]:
    if isinstance(thing, dict):
        return list(thing.items())
    if isinstance(thing, (tuple, list)):
        return [(type(each).__name__, each) for each in thing]
    if is_dataclass(thing):
        return [(field.name, getattr(thing, field.name)) for field in fields(thing)]
    return list(vars(thing).items()) if isinstance(thing, _OPEN) else []


def _digest(array: NDArray[Any]) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).digest()

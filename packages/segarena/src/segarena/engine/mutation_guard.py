"""Detection of plug-ins that modify shared arrays, for `--check-plugins`: hash arrays before and after each call.

Plug-ins get read-only arrays (`segarena.readonly`), which prevent mistakes; this guard finds code
that removes the flag or bypasses NumPy. It reads every shared array twice per call, so it is off by
default.
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
from segarena.errors import SharedArrayModified
from segarena.readonly import ReadOnlyFrames

_PLAIN_CLASSES = (Memory, ReadOnlyFrames)
"""Classes that are not dataclasses but whose attributes are searched for arrays, too."""

_NO_GUARD = nullcontext()


def forbid_mutation(
    who: str,
    *shared: Any,
    is_on: bool,
) -> Any:
    """Return a context manager for a call to `who`; it raises an error if the call modifies a shared array.

    Args:
        who: name in the error: "segmenter Mine", "user centre".
        shared: the arguments of the call: samples, turns, dialogues, comparisons.
        is_on: False returns a context manager that does nothing.

    Raises:
        SharedArrayModified: a shared array changed, even if the call itself failed; the message
            names `who` and the first such array.
    """
    return _compare_hashes(who, shared) if is_on else _NO_GUARD


@contextmanager
def _compare_hashes(who: str, shared: tuple[Any, ...]) -> Generator[None]:
    before = [(name, array, _digest(array)) for name, array in reachable_arrays(shared, "", set())]
    try:
        yield
    finally:
        # In `finally`, because a call may have modified an array before it failed.
        changed = [name for name, array, digest in before if _digest(array) != digest]
        if changed:
            raise SharedArrayModified(
                f"{who} changed {changed[0]}, which others read; a plug-in may only modify copies"
            )


def reachable_arrays(
    thing: Any,
    name: str,
    seen: set[int],
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield (path, array) for every array reachable from `thing`, each only once.

    Args:
        thing: any value.
        name: path of `thing` itself, such as "Turn.sample".
        seen: ids of the values that were visited; updated.
    """
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        # Object arrays have no bytes to hash.
        if not thing.dtype.hasobject:
            yield name.removesuffix("._values") or "an array", thing
        return
    for key, value in _children(thing):
        yield from reachable_arrays(value, f"{name}.{key}".lstrip("."), seen)


def _children(thing: Any) -> list[tuple[Any, Any]]:
    if isinstance(thing, dict):
        return list(thing.items())
    if isinstance(thing, (tuple, list)):
        return [(type(each).__name__, each) for each in thing]
    if is_dataclass(thing):
        return [(field.name, getattr(thing, field.name)) for field in fields(thing)]
    if isinstance(thing, _PLAIN_CLASSES):
        return list(vars(thing).items())
    return []


def _digest(array: NDArray[Any]) -> bytes:
    contiguous = np.ascontiguousarray(array)
    return hashlib.blake2b(contiguous.data, digest_size=16).digest()

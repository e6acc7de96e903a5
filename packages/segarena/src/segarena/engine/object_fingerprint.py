"""Fingerprint of a segmenter that a script passes as an object: its weights, settings and code.

A run with the same `out` resumes, so a modified object must not be mistaken for the one that began
the run.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

_PLAIN = (str, bytes, int, float, complex, bool, type(None))


class _Hash(Protocol):
    def update(self, data: Any, /) -> None: ...


def object_fingerprint(thing: Any) -> str:
    """Return a hash of all arrays, tensors, plain values and code in `thing`, at any depth.

    Equal objects have equal hashes in every process. Objects of the standard library, such as
    loggers, and objects without attributes count only by their type.
    """
    digest = hashlib.blake2b(digest_size=32)
    _add(thing, digest, set())
    return digest.hexdigest()


def _add(
    thing: Any,
    digest: _Hash,
    seen: set[int],
) -> None:
    kind = type(thing)
    digest.update(f"<{kind.__module__}.{kind.__qualname__}>".encode())
    if isinstance(thing, _PLAIN):
        digest.update(repr(thing).encode())
        return
    # Objects may contain reference cycles.
    if id(thing) in seen:
        return
    seen.add(id(thing))
    array = _as_array(thing)
    if array is not None:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    elif isinstance(thing, (Mapping, list, tuple, set, frozenset)):
        _add_container(thing, digest, seen)
    elif isinstance(thing, (FunctionType, MethodType, ModuleType, BuiltinFunctionType)):
        _add_function(thing, digest, seen)
    elif isinstance(thing, type):
        _add_class(thing, digest, seen)
    elif not _is_from_standard_library(kind):
        _add(kind, digest, seen)
        _add(_attributes(thing), digest, seen)


def _add_container(
    thing: Any,
    digest: _Hash,
    seen: set[int],
) -> None:
    if isinstance(thing, Mapping):
        for key, value in cast("Mapping[Any, Any]", thing).items():
            _add(key, digest, seen)
            _add(value, digest, seen)
    elif isinstance(thing, (set, frozenset)):
        # The iteration order of a set differs between processes.
        _add_each(sorted(cast("set[Any]", thing), key=repr), digest, seen)
    else:
        _add_each(thing, digest, seen)


def _add_function(
    thing: Any,
    digest: _Hash,
    seen: set[int],
) -> None:
    """Hash a function or a method; a built-in function or a module counts by its name."""
    if isinstance(thing, MethodType):
        _add(thing.__func__, digest, seen)
        _add(thing.__self__, digest, seen)
    elif isinstance(thing, FunctionType):
        _add_code(thing.__code__, digest)
        _add(thing.__defaults__, digest, seen)
        _add(thing.__kwdefaults__, digest, seen)
    else:
        digest.update(thing.__name__.encode())


def _add_each(
    things: Iterable[Any],
    digest: _Hash,
    seen: set[int],
) -> None:
    for each in things:
        _add(each, digest, seen)


def _add_class(
    kind: type,
    digest: _Hash,
    seen: set[int],
) -> None:
    """Hash the methods and plain attributes of a class and of its bases outside the standard library."""
    for base in kind.__mro__:
        if base is object or _is_from_standard_library(base):
            continue
        digest.update(base.__qualname__.encode())
        for name, value in vars(base).items():
            if isinstance(value, (FunctionType, *_PLAIN)) and not _is_bookkeeping(name):
                digest.update(name.encode())
                _add(value, digest, seen)


def _is_bookkeeping(name: str) -> bool:
    """Return whether an attribute of a class describes where the class is defined instead of what it does."""
    return name in ("__module__", "__qualname__", "__doc__", "__firstlineno__", "__file__")


def _add_code(code: CodeType, digest: _Hash) -> None:
    digest.update(code.co_code)
    digest.update(repr(code.co_names).encode())
    for constant in code.co_consts:
        # The `repr` of code contains its memory address.
        if isinstance(constant, CodeType):
            _add_code(constant, digest)
        elif isinstance(constant, frozenset):
            digest.update(repr(sorted(cast("frozenset[Any]", constant), key=repr)).encode())
        else:
            digest.update(repr(constant).encode())


def _as_array(thing: Any) -> NDArray[Any] | None:
    """Return the values of an array or a PyTorch tensor; None for an array of objects and for anything else."""
    if isinstance(thing, np.ndarray):
        array = cast("NDArray[Any]", thing)
        return None if array.dtype.hasobject else array
    if isinstance(thing, np.generic):
        return np.asarray(thing)
    is_tensor = type(thing).__module__.partition(".")[0] == "torch" and hasattr(thing, "detach")
    if not is_tensor:
        return None
    values = thing.detach().cpu()
    try:
        return values.numpy()
    except TypeError:
        # NumPy has no bfloat16.
        return values.float().numpy()


def _attributes(thing: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for base in type(thing).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(thing, name) and name not in ("__dict__", "__weakref__"):
                found[name] = getattr(thing, name)
    found.update(getattr(thing, "__dict__", {}))
    return found


def _is_from_standard_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names - {"__main__"}

"""What a page may name: plug-ins that are installed, and files below the folders that the configuration offers.

Whoever organises on a page has an account, not a shell: they must not come to read the server's files, or to run a
program, by way of an option. On the command line anything may be named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from segarena.errors import InvalidInput, PluginError
from segarena.plugin_spec import PluginSpec
from segarena.registry import lookup, plugin_kinds, plugins_by_name

_PATH = re.compile(r"/[^,;:|*?\"'\\\x00-\x1f]*")
"""One plain path: some options take several, with something between."""


def plugin_faults(texts: Mapping[str, str], roots: Sequence[str]) -> dict[str, str]:
    """Return what a page may not name of what it names, by field.

    Args:
        texts: what somebody filled in, by field; others than benchmarks and datasets are not looked at.
        roots: the folders that the configuration offers.
    """
    kinds_of = {field: field.rpartition(".")[2] for field in texts}
    named = {field: kind for field, kind in kinds_of.items() if kind in ("benchmark", "dataset")}
    found = {field: plugin_fault(kind, texts[field], roots) for field, kind in named.items()}
    return {field: fault for field, fault in found.items() if fault}


def plugin_fault(kind: str, text: str, roots: Sequence[str]) -> str:
    """Return why a page may not name a plug-in so; "" when it may."""
    try:
        spec = PluginSpec.parse(text)
        if lookup(kind, spec.reference) is None:
            every = ", ".join(sorted(plugins_by_name(kind)))
            return (
                f"expected a {kind} that is installed, one of {every}, got {spec.reference[:60]!r}"
            )
        _check(kind, spec, [Path(root).resolve() for root in roots])
    except (InvalidInput, PluginError) as error:
        return str(error)
    return ""


def _check(kind: str, spec: PluginSpec, roots: Sequence[Path]) -> None:
    factory = lookup(kind, spec.reference)
    if getattr(factory, "starts_programs", False):
        raise InvalidInput(
            f"{spec.reference} starts programs; a challenge with it is made on the command line"
        )
    for text in _texts(list(spec.options.values())):
        if ".py" in text and ":" in text:
            raise InvalidInput(
                f"expected names of what is installed, got {text[:60]!r}; a page runs no files"
            )
        inner = _as_plugin(text)
        if inner is not None:
            for other in plugin_kinds():
                _check(other, inner, roots)
        elif "(" in text or ")" in text:
            raise InvalidInput(f"expected plug-ins that are installed, got {text[:60]!r}")
        elif _looks_like_file(text) and not _is_below(text, roots):
            if roots:
                offered = f"below {', '.join(map(str, roots))}"
            else:
                offered = "on the command line: none is offered here"
            raise InvalidInput(f"expected files {offered}, got {text[:80]!r}")


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("latin-1")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(key)
            yield from _texts(inner)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for inner in value:
            yield from _texts(inner)


def _as_plugin(text: str) -> PluginSpec | None:
    """Return the plug-in that a text may name where options take one; None when it names none."""
    with suppress(PluginError):
        spec = PluginSpec.parse_named(text)
        if any(lookup(kind, spec.reference) for kind in plugin_kinds()):
            return spec
    return None


def _looks_like_file(text: str) -> bool:
    with suppress(OSError, ValueError):
        return any(sign in text for sign in "/\\~$") or text in (".", "..") or Path(text).exists()
    return True


def _is_below(text: str, roots: Sequence[Path]) -> bool:
    """Tell whether a text is one path, and where it leads in the end lies in one of the folders."""
    if not _PATH.fullmatch(text) or ".." in Path(text).parts:
        return False
    try:
        path = Path(text).resolve()
    except (OSError, RuntimeError, ValueError):
        return False
    return any(path.is_relative_to(root) for root in roots)

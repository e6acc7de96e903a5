"""Plug-ins and files that organisers may name on pages: installed plug-ins, files below configured folders.

Organisers on pages have an account, not a shell: no option may let them read the server's files or
run a program. The command line has no such limits.
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
"""A single absolute path: some options accept several with a separator, which is not allowed here."""


def plugin_faults(texts: Mapping[str, str], roots: Sequence[str]) -> dict[str, str]:
    """Return why a page may not name the plug-ins in a form, by field; allowed ones are left out.

    Args:
        texts: submitted texts by field; only benchmarks and datasets are checked.
        roots: folders whose files may be named.
    """
    faults: dict[str, str] = {}
    for field, text in texts.items():
        kind = field.rpartition(".")[2]
        if kind not in ("benchmark", "dataset"):
            continue
        fault = plugin_fault(kind, text, roots)
        if fault:
            faults[field] = fault
    return faults


def plugin_fault(kind: str, text: str, roots: Sequence[str]) -> str:
    """Return why a page may not name this plug-in with these options; "" when it may."""
    try:
        spec = PluginSpec.parse(text)
        if lookup(kind, spec.reference) is None:
            installed = ", ".join(sorted(plugins_by_name(kind)))
            return f"expected a {kind} that is installed, one of {installed}, got {spec.reference[:60]!r}"
        _check_spec(kind, spec, [Path(root).resolve() for root in roots])
    except (InvalidInput, PluginError) as error:
        return str(error)
    return ""


def _check_spec(kind: str, spec: PluginSpec, roots: Sequence[Path]) -> None:
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
                _check_spec(other, inner, roots)
        elif "(" in text or ")" in text:
            raise InvalidInput(f"expected plug-ins that are installed, got {text[:60]!r}")
        elif _looks_like_file(text) and not _is_below(text, roots):
            if roots:
                offered = f"below {', '.join(map(str, roots))}"
            else:
                offered = "on the command line: none is offered here"
            raise InvalidInput(f"expected files {offered}, got {text[:80]!r}")


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in a nested value."""
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
    """Return the installed plug-in that a text names; None when it names none."""
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
    """Tell whether a text is a single path that, with links resolved, lies in one of the folders."""
    if not _PATH.fullmatch(text) or ".." in Path(text).parts:
        return False
    try:
        path = Path(text).resolve()
    except (OSError, RuntimeError, ValueError):
        return False
    return any(path.is_relative_to(root) for root in roots)

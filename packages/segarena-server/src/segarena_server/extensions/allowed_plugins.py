"""Plug-ins and files that organisers may name on pages: installed plug-ins, and files below configured folders.

Organisers have an account but no shell, so no option may let them read the server's files or run a
program. The command line has no such limits.
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
"""Pattern of a single absolute path; some options accept several paths with a separator, which pages do not allow."""


def plugin_faults(texts: Mapping[str, str], roots: Sequence[str]) -> dict[str, str]:
    """Check the plug-ins in a form; return an error message for each field whose plug-in a page may not name.

    Args:
        texts: submitted texts by field; only benchmarks and datasets are checked.
        roots: folders whose files the form may name.
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


def plugin_fault(
    kind: str,
    text: str,
    roots: Sequence[str],
) -> str:
    """Return why a page may not name this plug-in with these options, or "" if it may."""
    try:
        spec = PluginSpec.parse(text)
        if lookup(kind, spec.reference) is None:
            installed = ", ".join(sorted(plugins_by_name(kind)))
            return f"expected an installed {kind}, one of {installed}, got {spec.reference[:60]!r}"
        _check_spec(kind, spec, [Path(root).resolve() for root in roots])
    except (InvalidInput, PluginError) as error:
        return str(error)
    return ""


def _check_spec(
    kind: str,
    spec: PluginSpec,
    roots: Sequence[Path],
) -> None:
    factory = lookup(kind, spec.reference)
    if getattr(factory, "starts_programs", False):
        raise InvalidInput(
            f"{spec.reference} starts programs; create a challenge with it on the command line"
        )
    for text in _texts(list(spec.options.values())):
        # `FILE.py:NAME` is the notation for plug-ins from files, which would run code.
        if ".py" in text and ":" in text:
            raise InvalidInput(
                f"expected names of installed plug-ins, got {text[:60]!r}; pages may not name source files"
            )
        # An option may itself be a plug-in, such as the dataset inside another dataset.
        inner = _as_plugin(text)
        if inner is not None:
            for other in plugin_kinds():
                _check_spec(other, inner, roots)
        elif "(" in text or ")" in text:
            raise InvalidInput(f"expected installed plug-ins, got {text[:60]!r}")
        elif _looks_like_file(text) and not _is_below(text, roots):
            if roots:
                offered = f"below {', '.join(map(str, roots))}"
            else:
                offered = "on the command line, because the server's settings name no roots"
            raise InvalidInput(f"expected files {offered}, got {text[:80]!r}")


def _texts(value: Any) -> Iterator[str]:
    """Yield all strings in a nested value."""
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
    """Return the installed plug-in that a text names, or None if it names none."""
    with suppress(PluginError):
        spec = PluginSpec.parse_named(text)
        if any(lookup(kind, spec.reference) for kind in plugin_kinds()):
            return spec
    return None


def _looks_like_file(text: str) -> bool:
    with suppress(OSError, ValueError):
        # A relative name counts as a file if it exists in the server's working directory.
        return any(sign in text for sign in "/\\~$") or text in (".", "..") or Path(text).exists()
    # A text that the operating system cannot even examine is treated as a file, the strict choice.
    return True


def _is_below(text: str, roots: Sequence[Path]) -> bool:
    """Return whether a text is a single path that, after resolving links, is in one of the folders."""
    # ".." is checked separately: links may make the resolved path differ from what a plug-in opens.
    if not _PATH.fullmatch(text) or ".." in Path(text).parts:
        return False
    try:
        path = Path(text).resolve()
    except (OSError, RuntimeError, ValueError):
        return False
    return any(path.is_relative_to(root) for root in roots)

"""Comparison of file names: Unicode forms (NFC, NFD) and upper and lower case.

macOS decomposes accented letters in file names (NFD), while most other programs compose them (NFC).
Both look alike. Windows and macOS also treat names as equal that differ in case.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from segarena.datasets.listed_dataset import abbreviate_names
from segarena.roles import Finding


class NameIndex:
    """Names that are found in any Unicode form: an equal name, or else the only one that looks the same."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._by_form: defaultdict[str, list[str]] = defaultdict(list)
        for name in self._names:
            self._by_form[normal_form(name)].append(name)

    def find(self, name: str) -> str | None:
        """Return the indexed name, or None if there is none, or several that look like it."""
        if name in self._names:
            return name
        alike = self._by_form.get(normal_form(name), [])
        return alike[0] if len(alike) == 1 else None


def normal_form(name: str) -> str:
    """Return a name with composed letters (NFC)."""
    return unicodedata.normalize("NFC", name)


def confusable_names(names: Iterable[str]) -> Iterable[Finding]:
    """Report names that look the same (NFC and NFD), and names that differ only in case."""
    by_form: defaultdict[str, list[str]] = defaultdict(list)
    by_case: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name in sorted(names):
        form = normal_form(name)
        by_form[form].append(name)
        by_case[form.lower()].setdefault(form, name)
    alike = [f"{found[0]} ({len(found)} times)" for found in by_form.values() if len(found) > 1]
    if alike:
        message = (
            f"names with composed and with decomposed letters (NFC and NFD), which look the same ({len(alike)}): "
            f"{abbreviate_names(alike)}; rename or remove one of each"
        )
        yield Finding(is_error=False, message=message)
    cases = [" and ".join(found.values()) for found in by_case.values() if len(found) > 1]
    if cases:
        message = (
            f"names that differ only in upper and lower case, which Windows and macOS do not distinguish "
            f"(groups: {len(cases)}): {abbreviate_names(cases)}; rename all but one"
        )
        yield Finding(is_error=False, message=message)

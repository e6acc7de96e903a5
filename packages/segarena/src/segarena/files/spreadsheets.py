"""Protection against formula injection in tables that are opened in spreadsheets."""

from __future__ import annotations

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""First characters of cells that spreadsheets interpret as formulas."""


def escape_formula(text: str) -> str:
    """Prepend an apostrophe to text that a spreadsheet would interpret as a formula.

    >>> escape_formula("=1+1"), escape_formula("dog")
    ("'=1+1", 'dog')
    """
    return f"'{text}" if text.startswith(_FORMULAS) else text

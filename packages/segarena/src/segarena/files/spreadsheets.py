"""Words of others in tables that spreadsheets open."""

from __future__ import annotations

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula at the beginning of a cell."""


def escape_formula(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: an apostrophe stands before one that would be.

    >>> escape_formula("=1+1"), escape_formula("dog")
    ("'=1+1", 'dog')
    """
    return f"'{text}" if text.startswith(_FORMULAS) else text

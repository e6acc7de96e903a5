"""Protection against formula injection in tables that spreadsheets open."""

from __future__ import annotations

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of cells that spreadsheets interpret as formulas."""


def escape_formula(text: str) -> str:
    """Return a text that no spreadsheet interprets as a formula: an apostrophe precedes one that would be.

    >>> escape_formula("=1+1"), escape_formula("dog")
    ("'=1+1", 'dog')
    """
    return f"'{text}" if text.startswith(_FORMULAS) else text

"""What papers report, as data: tables of figures with their sources, and what it takes to measure them again.

A package names the module that adds its tables in the entry point group `segarena.tables`; it is imported when a table
is first asked for.
"""

from __future__ import annotations

from segarena.published.table_registry import add_paper, find_table, table_names
from segarena.published.table_types import Figure, PublishedTable

__all__ = ["Figure", "PublishedTable", "add_paper", "find_table", "table_names"]

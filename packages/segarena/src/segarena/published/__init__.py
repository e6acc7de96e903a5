"""What papers report, as data: tables of figures with their sources, and what it takes to measure them again.

A package names the module that adds its tables in the entry point group `segarena.tables`; it is imported when a table
is first asked for.
"""

from __future__ import annotations

from segarena.published.finding import add_paper, find_table, table_names
from segarena.published.tables import Figure, PublishedTable

__all__ = ["Figure", "PublishedTable", "add_paper", "find_table", "table_names"]

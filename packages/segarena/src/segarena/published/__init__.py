"""Published tables as data: figures with their sources, and the requirements to reproduce them.

A package names the module that adds its tables in the entry point group `segarena.tables`; the
module is imported at the first lookup of a table.
"""

from __future__ import annotations

from segarena.published.table_registry import add_paper, find_table, table_names
from segarena.published.table_types import PublishedFigure, PublishedTable

__all__ = ["PublishedFigure", "PublishedTable", "add_paper", "find_table", "table_names"]

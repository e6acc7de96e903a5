"""Boards: rankings of many runs of one benchmark, as a page of a server or a static site.

An `Extract` holds the data of one run, a `Board` holds the ranking as data, `board_page` renders it
as a page with tables and figures, and `write_site` writes a folder of pages.
"""

from __future__ import annotations

from segarena.reports.boards.board import CHOICES, Board, Choice, Entry, board_of
from segarena.reports.boards.board_tables import board_csv, board_tex
from segarena.reports.boards.extracts import Extract, extract_of, extract_text, read_extract
from segarena.reports.boards.json_export import board_json
from segarena.reports.boards.pages import (
    ASSETS,
    POLICY,
    BoardPage,
    asset_text,
    board_page,
    run_page,
    sample_page,
)
from segarena.reports.boards.static_site import SiteFiles, write_site
from segarena.reports.boards.statistic_rankings import BoardRank, Panel, PanelKey

__all__ = [
    "ASSETS",
    "CHOICES",
    "POLICY",
    "Board",
    "BoardPage",
    "BoardRank",
    "Choice",
    "Entry",
    "Extract",
    "Panel",
    "PanelKey",
    "SiteFiles",
    "asset_text",
    "board_csv",
    "board_json",
    "board_of",
    "board_page",
    "board_tex",
    "extract_of",
    "extract_text",
    "read_extract",
    "run_page",
    "sample_page",
    "write_site",
]

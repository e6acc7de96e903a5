"""Boards: rankings of many runs of one benchmark, as a page of a server or a static site.

An `Extract` holds the data of a run, a `Board` is the ranking as data, `board_html` renders its
page, and `write_site` writes a folder of pages.
"""

from __future__ import annotations

from segarena.reports.boards.board import CHOICES, Board, Choice, Entry, board_of
from segarena.reports.boards.board_tables import board_csv, board_tex
from segarena.reports.boards.extracts import Extract, extract_of, extract_text, read_extract
from segarena.reports.boards.json_export import board_json
from segarena.reports.boards.pages import (
    ASSETS,
    POLICY,
    asset_text,
    board_html,
    board_parts,
    run_html,
    run_parts,
    sample_html,
    sample_parts,
)
from segarena.reports.boards.panels import BoardRank, Panel, PanelKey
from segarena.reports.boards.static_site import SiteFiles, write_site

__all__ = [
    "ASSETS",
    "CHOICES",
    "POLICY",
    "Board",
    "BoardRank",
    "Choice",
    "Entry",
    "Extract",
    "Panel",
    "PanelKey",
    "SiteFiles",
    "asset_text",
    "board_csv",
    "board_html",
    "board_json",
    "board_of",
    "board_parts",
    "board_tex",
    "extract_of",
    "extract_text",
    "read_extract",
    "run_html",
    "run_parts",
    "sample_html",
    "sample_parts",
    "write_site",
]

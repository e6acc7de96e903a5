"""Terminal report of a comparison: verdicts, the main table, the clearest differences, and segmenter rankings."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from segarena.terminal.sheet_output import show_sheet
from segarena_people.comparison.report_page import verdicts
from segarena_people.comparison.result_sheets import (
    bias_sheet,
    segmenter_ranking_sheet,
    separation_sheet,
    top_features_sheet,
)
from segarena_people.comparison.segmenter_ranking import SegmenterRanking
from segarena_people.comparison.user_comparison import UserComparison


def show_comparison(found: UserComparison, ranked: Sequence[SegmenterRanking] = ()) -> None:
    """Print a comparison."""
    console = Console()
    for sentence in verdicts(found, ranked):
        console.print(Text(sentence, style="bold"), soft_wrap=not console.is_terminal)
    for note in found.notes:
        console.print(Text(note, style="yellow"), soft_wrap=not console.is_terminal)
    console.print()
    show_sheet(separation_sheet(found.scopes))
    why = top_features_sheet(found.scopes)
    if why.rows:
        console.print()
        show_sheet(why)
    if not ranked:
        return
    for sheet in (segmenter_ranking_sheet(ranked), bias_sheet(ranked)):
        console.print()
        show_sheet(sheet)

"""Report of one-shot runs: its sections, its tables as files, and the scores for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from rich.console import RenderableType
from rich.text import Text

from segarena.reports.cells import Cell, Value
from segarena.reports.chart_series import Figure, segmenter_colours
from segarena.reports.page_parts import Note, Section
from segarena.reports.pages import Page, page, sheet_files
from segarena.reports.pictures import DialoguePictures
from segarena.reports.recorded_run import Run
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.terminal import sheet_terminal
from segarena.reports.round_table import DialogueId, DialogueRecord
from segarena.reports.sheets import Sheet
from segarena.reports.standings import by_data
from segarena.reports.wording import count_text
from segarena.systems.oneshot.page.pair_pictures import PairPictures, choose_pairs, pair_title
from segarena.systems.oneshot.page.run_pixel_counts import (
    SUMMARY_CAPTION,
    count_encoder_passes,
    failed_text,
    mode_text,
    run_settings,
    unchanged_counts,
    without_negative_pairs,
)
from segarena.systems.oneshot.page.tier_figures import toss_figures
from segarena.systems.oneshot.page.tier_score_tables import toss_sheets

MAX_UNFOLDED_TINY = 12
"""The table of tiny cells is collapsed if it has more rows than this."""


@page("toss")
class TossPage(Page):
    """Report page with scores, tiers and bias; its gallery shows pairs of every part."""

    draws_floors = False  # a single round has no curve; controls appear in the tables
    leaves_out = frozenset({"hardest", "groups"})
    folded = frozenset({"classes", "folds", "parts-folds"})
    gallery_title = "Pairs"

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        """All tables by name."""
        sheets, _ = self._sheets_and_problems
        return {sheet.name: sheet for sheet in sheets}

    @property
    def problems(self) -> list[str]:
        """Reasons for missing scores."""
        _, problems = self._sheets_and_problems
        return problems

    @cached_property
    def _sheets_and_problems(self) -> tuple[list[Sheet], list[str]]:
        return toss_sheets(self.runs)

    def whole(self, run: Run) -> Run:
        """Return the run without pairs whose correct mask is empty or whose support was changed."""
        return without_negative_pairs(run)

    @property
    def target_word(self) -> str:
        """Word for a target, which is a class in a query image together with supports."""
        return "pair"

    @property
    def sample_word(self) -> str:
        """Word for a sample, the unit that the bootstrap resamples."""
        return "query image"

    @cached_property
    def verdict(self) -> Sequence[str]:
        """The best segmenter by each score, followed by the comparison by mean IoU over pairs."""
        scores = self.sheets.get("scores")
        if scores is None:
            return super().verdict
        return [*leader_sentences(scores), *super().verdict]

    @cached_property
    def pictures(self) -> PairPictures:
        """Pictures of pairs for the gallery."""
        return PairPictures(self.word)

    @cached_property
    def shown_runs(self) -> tuple[Run, ...]:
        """Runs with all pairs, including those whose correct mask is empty."""
        return self.runs

    def chosen(self, drawn: DialoguePictures) -> Sequence[DialogueId]:
        """Return two pairs of every part for the gallery."""
        chosen: list[DialogueId] = []
        for runs in by_data(self.runs).values():
            chosen += choose_pairs(runs)
        return chosen

    def name_of(self, dialogue: DialogueRecord) -> str:
        """Return class, tier and part of a pair."""
        return pair_title(dialogue)

    def sections(self) -> list[Section]:
        """Return the sections on scores, tiers and bias."""
        unchanged = unchanged_counts(self.runs)
        figures: list[Figure] = []
        if unchanged:
            settings = run_settings(self.runs[0])
            figures = toss_figures(unchanged, settings, segmenter_colours(self.runs))
        part_names = [name for name in self.sheets if name.startswith("parts-")]
        part_means = [name for name in part_names if name not in self.folded]
        texts = [*self.problems, failed_text(unchanged), encoder_pass_text(self.runs)]
        notes = [Note(text) for text in texts]
        folded_sheets = self.shown("parts-folds", "tiny", "classes")
        return [
            Section("scores", "Scores", [*self.shown("scores", "miou", "folds"), *notes]),
            Section("tiers", "Tiers", [*self.shown(*part_means), *figures, *folded_sheets]),
            Section("bias", "Bias", self.shown("salience", "supports")),
        ]

    def files(self) -> dict[str, str]:
        """Return the tables as files: one CSV file per table, and one LaTeX file with all of them.

        The first column of each CSV file states the scoring conventions.
        """
        mode = mode_text(self.runs)
        files = sheet_files("toss", list(self.sheets.values()), [mode])
        # A row of a CSV file is often read without the rest of the report, so it carries its
        # conventions.
        for name, sheet in self.sheets.items():
            files[f"toss-{name}.csv"] = sheet_csv(_with_mode(sheet, mode))
        return files

    def is_folded(self, sheet: Sheet) -> bool:
        """Return whether the page collapses a table, such as a long table of tiny cells."""
        is_long = sheet.name == "tiny" and len(sheet.rows) > MAX_UNFOLDED_TINY
        return is_long or super().is_folded(sheet)

    def terminal(self) -> list[RenderableType]:
        """Return conventions, reasons for missing scores, the scores, and the caption of the summary below."""
        sheet = self.sheets.get("scores") or self.sheets.get("miou")
        texts = list(self.problems)
        if sheet is not None:
            texts.insert(0, mode_text(self.runs))
        lines: list[RenderableType] = [Text(text, style="dim") for text in texts]
        if sheet is not None:
            lines.append(sheet_terminal(without_counts(sheet)))
        return [*lines, Text(SUMMARY_CAPTION, style="bold")]


def leader_sentences(scores: Sheet) -> list[str]:
    """Return one sentence with the best segmenter by each score, as a list; [] if there is none."""
    leaders: list[str] = []
    for heading, *cells in zip(scores.head, *scores.rows, strict=True):
        for row, cell in zip(scores.rows, cells, strict=True):
            if isinstance(cell, Value) and cell.mark == "best":
                score = str(heading).removesuffix(", %")
                leader = f"{score} {cell.text} % {cell.bounds} ({row[0]})"
                # A score without an interval leaves two spaces, which become one.
                leaders.append(leader.replace("  ", " "))
    if not leaders:
        return []
    subject = "Highest scores" if len(scores.rows) > 1 else "Scores"
    return [f"{subject}: {', '.join(leaders)}."]


def without_counts(sheet: Sheet) -> Sheet:
    """Return a table without its columns of counts."""
    kept: list[int] = []
    for index, cell in enumerate(sheet.rows[0]):
        if not isinstance(cell, int):
            kept.append(index)
    head = tuple(sheet.head[index] for index in kept)
    rows: list[tuple[Cell, ...]] = []
    for row in sheet.rows:
        rows.append(tuple(row[index] for index in kept))
    return replace(sheet, head=head, rows=tuple(rows))


def encoder_pass_text(runs: Sequence[Run]) -> str:
    """Return a sentence with the number of encoder passes; empty if no dialogue is finished."""
    passes = count_encoder_passes(runs)
    if not passes.queries:
        return ""
    queries = count_text(passes.queries, "query image")
    if passes.transformed_queries:
        queries += f" ({passes.transformed_queries} of them transformed copies of photographs)"
    supports = count_text(passes.supports, "support")
    return (
        f"Encoder passes over all runs: {passes.query_passes} for {queries}, "
        f"{passes.support_passes} for {supports}; an image shown with another mask, or with none, "
        "needs no further pass."
    )


def _with_mode(sheet: Sheet, mode: str) -> Sheet:
    """Return a table for a CSV file, which holds fractions: add the conventions, drop % from the headings."""
    headings = [column.heading.removesuffix(", %") for column in sheet.columns]
    rows = tuple((mode, *row) for row in sheet.rows)
    return replace(sheet, head=("Mode", *headings), rows=rows)

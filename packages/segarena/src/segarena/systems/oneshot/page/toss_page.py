"""The sections of one-shot runs, the same tables as files, and the scores for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

from rich.console import RenderableType
from rich.text import Text

from segarena.reports.chart_series import segmenter_colours
from segarena.reports.page_parts import Note, Section
from segarena.reports.pages import Page, page, sheet_files
from segarena.reports.pictures import DialoguePictures
from segarena.reports.recorded_run import DialogueId, Run
from segarena.reports.renderers import sheet_csv, sheet_terminal
from segarena.reports.round_table import DialogueRecord
from segarena.reports.sheets import Sheet, Value
from segarena.reports.standings import by_data
from segarena.reports.wording import count_text
from segarena.systems.oneshot.page import run_counts as records
from segarena.systems.oneshot.page.pair_pictures import PairPictures, choose_pairs, pair_title
from segarena.systems.oneshot.page.tier_figures import toss_figures
from segarena.systems.oneshot.page.tier_score_tables import toss_sheets

MAX_UNFOLDED_TINY = 12
"""A longer table of tiny cells is folded away."""


@page("toss")
class TossPage(Page):
    """Scores, tiers and bias; the gallery shows pairs of every part."""

    draws_floors = False  # one round has no curve; controls stand in the tables
    leaves_out = frozenset({"hardest", "groups"})
    folded = frozenset({"classes", "folds", "parts-folds"})
    gallery_title = "Pairs"

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        """All tables by name."""
        return {sheet.name: sheet for sheet in self._made[0]}

    @property
    def problems(self) -> list[str]:
        """Why scores are missing, if any are."""
        return self._made[1]

    @cached_property
    def _made(self) -> tuple[list[Sheet], list[str]]:
        return toss_sheets(self.runs)

    def whole(self, run: Run) -> Run:
        """Return the run without pairs whose right answer is nothing, or whose support was changed."""
        return records.without_negative_pairs(run)

    @property
    def target_word(self) -> str:
        """What is asked: a class of a query image, with its supports."""
        return "pair"

    @property
    def sample_word(self) -> str:
        """What the intervals draw."""
        return "query image"

    @cached_property
    def verdict(self) -> Sequence[str]:
        """The leader of each score, then who is ahead in the mean IoU of pairs."""
        scores = self.sheets.get("scores")
        return [*leader_sentences(scores), *super().verdict] if scores else super().verdict

    @cached_property
    def pictures(self) -> PairPictures:
        """How the gallery draws pairs."""
        return PairPictures(self.word)

    @cached_property
    def shown_runs(self) -> tuple[Run, ...]:
        """All pairs, also those whose right answer is nothing."""
        return self.runs

    def chosen(self, drawn: DialoguePictures) -> Sequence[DialogueId]:
        """Return two pairs of every part."""
        groups = by_data(self.runs).values()
        return list(chain.from_iterable(map(choose_pairs, groups)))

    def name_of(self, dialogue: DialogueRecord) -> str:
        """Return class, tier and part."""
        return pair_title(dialogue)

    def sections(self) -> list[Section]:
        """Return scores, tiers and bias."""
        base = records.unchanged_counts(self.runs)
        tiers = [
            name for name in self.sheets if name.startswith("parts-") and name not in self.folded
        ]
        notes = map(Note, [*self.problems, records.failed_text(base), encoder_pass_text(self.runs)])
        if base:
            made = toss_figures(
                base, records.run_settings(self.runs[0]), segmenter_colours(self.runs)
            )
        else:
            made = []
        return [
            Section("scores", "Scores", [*self.shown("scores", "miou", "folds"), *notes]),
            Section(
                "tiers",
                "Tiers",
                [*self.shown(*tiers), *made, *self.shown("parts-folds", "tiny", "classes")],
            ),
            Section("bias", "Bias", self.shown("salience", "supports")),
        ]

    def files(self) -> dict[str, str]:
        """Return the same tables as files: one CSV each, whose first column is the mode, and all of them for LaTeX."""
        mode = records.mode_text(self.runs)
        files = sheet_files("toss", list(self.sheets.values()), [mode])
        # A row of a CSV file is often read without the rest of the report.
        return files | {
            f"toss-{name}.csv": sheet_csv(_with_mode(sheet, mode))
            for name, sheet in self.sheets.items()
        }

    def is_folded(self, sheet: Sheet) -> bool:
        """Tell whether a table is folded away, as a long one of tiny cells is."""
        return super().is_folded(sheet) or (
            sheet.name == "tiny" and len(sheet.rows) > MAX_UNFOLDED_TINY
        )

    def terminal(self) -> list[RenderableType]:
        """Return the scores, and what the summary below them is of."""
        sheet = self.sheets.get("scores") or self.sheets.get("miou")
        if sheet is None:
            texts = self.problems
        else:
            texts = [records.mode_text(self.runs), *self.problems]
        shown = [] if sheet is None else [sheet_terminal(without_counts(sheet))]
        return [
            *(Text(text, style="dim") for text in texts),
            *shown,
            Text(records.SUMMARY_CAPTION, style="bold"),
        ]


def leader_sentences(scores: Sheet) -> list[str]:
    """Say who has the highest value of each score, or what the values of the only segmenter are."""
    told: list[str] = []
    for name, *cells in zip(scores.head, *scores.rows, strict=True):
        for row, cell in zip(scores.rows, cells, strict=True):
            if isinstance(cell, Value) and cell.mark == "best":
                score = str(name).removesuffix(", %")
                told.append(f"{score} {cell.text} % {cell.bounds} ({row[0]})".replace("  ", " "))
    if told:
        return [f"{'Highest scores' if len(scores.rows) > 1 else 'Scores'}: {', '.join(told)}."]
    return []


def without_counts(sheet: Sheet) -> Sheet:
    """Return a table without its columns of counts."""
    kept = [place for place, cell in enumerate(sheet.rows[0]) if not isinstance(cell, int)]
    rows = tuple(tuple(row[place] for place in kept) for row in sheet.rows)
    return replace(sheet, head=tuple(sheet.head[place] for place in kept), rows=rows)


def encoder_pass_text(runs: Sequence[Run]) -> str:
    """Say how often images were encoded."""
    queries, query_passes, supports, support_passes = records.count_encoder_passes(runs)
    if not queries:
        return ""
    return (
        f"Encoder passes over all runs: {query_passes} for {count_text(queries, 'query image')}, {support_passes} for "
        f"{count_text(supports, 'support')}; an image shown with another mask, or with none, needs no further pass."
    )


def _with_mode(sheet: Sheet, mode: str) -> Sheet:
    """Return a table as its file has it; the shares there are no percentages."""
    head = ("Mode", *(column.heading.removesuffix(", %") for column in sheet.columns))
    return replace(sheet, head=head, rows=tuple((mode, *row) for row in sheet.rows))

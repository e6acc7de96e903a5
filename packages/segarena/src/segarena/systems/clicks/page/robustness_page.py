"""Sections that the report of rclicks runs adds to the general report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from segarena.reports.charts import legend
from segarena.reports.page_parts import Fold, Note, Part, Section
from segarena.reports.pages import Page, page
from segarena.reports.recorded_run import Run
from segarena.reports.sheets import Sheet
from segarena.systems.clicks.page.heat_maps import heat_legend
from segarena.systems.clicks.page.robustness_charts import (
    correlation_figure,
    group_curves,
    group_legend,
    hardness_scatter,
)
from segarena.systems.clicks.page.robustness_pictures import robustness_pictures
from segarena.systems.clicks.page.robustness_run_values import (
    base_user_run,
    is_robustness_run,
    without_first_click_users,
)
from segarena.systems.clicks.page.robustness_statistics import (
    MIN_SEGMENTERS,
    DatasetHardness,
    dataset_hardness,
    first_click_rows,
    group_rows,
    measure_correlations,
)
from segarena.systems.clicks.page.robustness_tables import (
    first_click_sheet,
    group_sheet,
    robustness_files,
    robustness_terminal,
    visible_first_click_sheet,
    visible_group_sheet,
)
from segarena.systems.clicks.page.robustness_wording import (
    FIRST_CLICK_NOTES,
    GROUP_NOTES,
    left_out_text,
    missing_texts,
    rclicks_protocol_text,
    unclicked_text,
)


@page("rclicks")
class RobustnessPage(Page):
    """Report page for rclicks runs: groups, first clicks, pictures and correlations.

    Its general sections show the base user.
    """

    @classmethod
    def applies(cls, run: Run) -> bool:
        """Test whether the run's benchmark defines a base user and clicking groups."""
        return is_robustness_run(run)

    def whole(self, run: Run) -> Run:
        """Return the run without first-click users, whose single round gives no NoC or AuC."""
        return without_first_click_users(run)

    def usual(self, run: Run) -> Run:
        """Return the run with only its base user, as the click benchmark would show it."""
        return base_user_run(run)

    def rules(self, run: Run) -> dict[str, Any]:
        """Return the options that the header lists; the first section states the others."""
        options = run.config.benchmark.options
        return {name: options[name] for name in ("solved_at_last", "clicks") if name in options}

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        """Tables of clicking groups and of first clicks, with all columns."""
        return {"robustness": group_sheet(self.runs), "first-clicks": first_click_sheet(self.runs)}

    def sections(self) -> list[Section]:
        """Return the sections on groups, first clicks, pictures and correlations."""
        hardness = dataset_hardness(self.runs)
        pictures = robustness_pictures(self.runs, hardness, _pictures_lead(self.runs[0]))
        notes = [Note(text) for text in pictures.notes]
        where = [*notes, pictures]
        return [
            Section("robustness", "Clicking groups", self._group_parts()),
            Section("first", "First clicks", self._first_click_parts(hardness)),
            Section("where", "Where people click", where),
            Section("correlations", "Correlations", [self._correlation_part()]),
        ]

    def _group_parts(self) -> list[Part | None]:
        runs = self.runs
        rows = group_rows(runs)
        protocols = dict.fromkeys(rclicks_protocol_text(run) for run in runs)
        parts: list[Part | None] = [Note(text, is_lead=True) for text in protocols]
        parts += [Note(text) for text in missing_texts(runs)]
        if any(row.targets for row in rows):
            parts.append(visible_group_sheet(runs))
        notes = GROUP_NOTES
        left_out = left_out_text(rows, runs)
        if left_out:
            notes = f"{notes} {left_out}"
        parts.append(Note(notes))
        parts.append(group_curves(runs, self.floors))
        return parts

    def _first_click_parts(self, hardness: Sequence[DatasetHardness]) -> list[Part | None]:
        unclicked = unclicked_text(first_click_rows(self.runs), self.runs)
        notes = filter(None, [FIRST_CLICK_NOTES, unclicked])
        return [
            visible_first_click_sheet(self.runs),
            Note(" ".join(notes)),
            hardness_scatter(hardness),
        ]

    def _correlation_part(self) -> Part | None:
        matrix, about = measure_correlations(self.runs)
        if matrix:
            return correlation_figure(matrix, about)
        # With too few segmenters, correlations are undefined rather than missing, so the report
        # omits them silently.
        has_enough = len({run.segmenter for run in self.runs}) >= MIN_SEGMENTERS
        return Note(about) if has_enough else None

    def summary(self, summary_of: Callable[[Sequence[Run], str], Part]) -> list[Part]:
        """Return the summary of the base user, and below it a collapsed summary of all users."""
        base_user = "Means over targets with the base user: the click benchmark."
        every_user = summary_of(self.whole_runs, "Means over targets.")
        return [summary_of(self.usual_runs, base_user), Fold("Every clicking group", [every_user])]

    def terminal(self) -> list[RenderableType]:
        """Return both tables for the terminal, and the heading of the summary below them."""
        return [robustness_terminal(self.runs), Text("\nbase user", style="bold")]

    def files(self) -> dict[str, str]:
        """Return the tables as CSV and LaTeX files."""
        return robustness_files(self.runs)


def _pictures_lead(run: Run) -> str:
    click_legend = heat_legend("few clicks", "many clicks")
    mask_legend = heat_legend("no prediction", "all predictions")
    return (
        '<p class="lead">The targets whose result depends most on the position of the first click, '
        "then some whose result hardly depends on it. The colour over a photograph shows the "
        "density of clicks. Mean masks show for each pixel the share of predictions that contain "
        "it; outlines and errors are those of the pixels that at least half of the predictions "
        "contain. The target is outlined too.</p>"
        f'<p class="keys">{click_legend}{mask_legend}</p>'
        f"{legend(group_legend(run))}"
    )

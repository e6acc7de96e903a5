"""What the report of rclicks runs has of its own."""

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
from segarena.systems.clicks.page.robustness_statistics import (
    MIN_SEGMENTERS,
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
    protocol_text,
    unclicked_text,
)
from segarena.systems.clicks.page.run_values import (
    base_user_run,
    is_robustness_run,
    without_first_click_users,
)


@page("rclicks")
class RobustnessPage(Page):
    """Clicking groups, first clicks, where people click; the general parts show the base user."""

    @classmethod
    def applies(cls, run: Run) -> bool:
        """Tell whether the run's benchmark names a base user and clicking groups."""
        return is_robustness_run(run)

    def whole(self, run: Run) -> Run:
        """Return the run without first-click users, whose one round says nothing of NoC or AuC."""
        return without_first_click_users(run)

    def usual(self, run: Run) -> Run:
        """Return the run with its base user alone, what the click benchmark would show."""
        return base_user_run(run)

    def rules(self, run: Run) -> dict[str, Any]:
        """Return the options that the first section does not tell."""
        options = run.config.benchmark.options
        return {name: options[name] for name in ("solved_at_last", "clicks") if name in options}

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        """The tables over clicking groups and of first clicks, with all their columns."""
        return {"robustness": group_sheet(self.runs), "first-clicks": first_click_sheet(self.runs)}

    def sections(self) -> list[Section]:
        """Return the groups, the first clicks, the pictures and the correlations."""
        runs = self.runs
        rows = group_rows(self.runs)
        hard = dataset_hardness(runs)
        pictures = robustness_pictures(runs, hard, _pictures_lead(runs[0]))
        matrix, about = measure_correlations(runs)
        groups = [
            *(Note(text, is_lead=True) for text in dict.fromkeys(map(protocol_text, runs))),
            *map(Note, missing_texts(runs)),
            visible_group_sheet(runs) if any(row.targets for row in rows) else None,
            Note(" ".join(filter(None, [GROUP_NOTES, left_out_text(rows, runs)]))),
            group_curves(runs, self.floors),
        ]
        first = [
            visible_first_click_sheet(runs),
            Note(
                " ".join(
                    filter(None, [FIRST_CLICK_NOTES, unclicked_text(first_click_rows(runs), runs)])
                )
            ),
            hardness_scatter(hard),
        ]
        where = [*map(Note, pictures.notes), pictures]
        needed = len({run.segmenter for run in runs}) >= MIN_SEGMENTERS
        if matrix:
            correlated = correlation_figure(matrix, about)
        else:
            correlated = Note(about) if needed else None
        return [
            Section("robustness", "Clicking groups", groups),
            Section("first", "First clicks", first),
            Section("where", "Where people click", where),
            Section("correlations", "Correlations", [correlated]),
        ]

    def summary(self, summary_of: Callable[[Sequence[Run], str], Part]) -> list[Part]:
        """Return the summary of the base user, that of everyone folded away below."""
        return [
            summary_of(
                self.usual_runs, "Means over targets with the base user: the click benchmark."
            ),
            Fold("Every clicking group", [summary_of(self.whole_runs, "Means over targets.")]),
        ]

    def terminal(self) -> list[RenderableType]:
        """Return both tables, and what the summary below them is of."""
        return [robustness_terminal(self.runs), Text("\nbase user", style="bold")]

    def files(self) -> dict[str, str]:
        """Return the tables as CSV and LaTeX."""
        return robustness_files(self.runs)


def _pictures_lead(run: Run) -> str:
    return (
        '<p class="lead">The targets whose result depends most on where the first click falls, then some where it '
        "hardly does. Clicks lie on the photograph with the density they have; mean masks show for each pixel the "
        "share of predictions that hold it; outlines and errors are those of the pixels that half of them hold. The "
        "target is outlined too.</p>"
        f'<p class="keys">{heat_legend("few clicks", "many clicks")}{heat_legend("no prediction", "all predictions")}</p>'
        f"{legend(group_legend(run))}"
    )

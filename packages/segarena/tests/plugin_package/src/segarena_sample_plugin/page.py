"""The report of `sample-steady`: a section with a table, and the same table as a file and in the terminal."""

from itertools import pairwise

from segarena.reports.cells import Column, Value
from segarena.reports.page_parts import Note, Section
from segarena.reports.pages import Page, page
from segarena.reports.renderers import sheet_csv, sheet_terminal
from segarena.reports.sheets import Sheet


@page("sample-steady")
class SteadyPage(Page):
    """The gain of each click."""

    leaves_out = frozenset({"noc", "groups"})
    word = "nudge"

    @property
    def sheet(self):
        """A row for each run and target."""
        rounds = max(len(d.values["iou"]) for run in self.runs for d in run.finished())
        head = (
            "Segmenter",
            "Target",
            *(Column(f"Nudge {k + 1}", "number") for k in range(1, rounds)),
        )
        rows = []
        for run in self.runs:
            for dialogue in run.finished():
                values = dialogue.values["iou"]
                gains = [Value(mean=b - a, is_signed=True) for a, b in pairwise(values)]
                rows.append((run.label, f"{dialogue.sample} / {dialogue.target}", *gains))
        return Sheet(name="gains", caption="What each nudge gained.", head=head, rows=tuple(rows))

    def sections(self):
        return [
            Section(
                "gains",
                "Gains",
                [Note("IoU after a nudge less that before it.", is_lead=True), self.sheet],
            )
        ]

    def files(self):
        return {"gains.csv": sheet_csv(self.sheet)}

    def terminal(self):
        return [sheet_terminal(self.sheet)]

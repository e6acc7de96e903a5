"""The report page of runs over volumes: its sections, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from segarena.benchmark_rules import Statistic
from segarena.capabilities import segmenter_capabilities, user_capabilities
from segarena.dialogue import Lift
from segarena.records.configuration import UserRecord
from segarena.records.trust import rebuild_plugin, restrict_plugins
from segarena.registry import find
from segarena.reports.page_parts import Note, Part, Section
from segarena.reports.pages import Page, page, sheet_files
from segarena.reports.recorded_run import Run
from segarena.reports.sheets import Sheet
from segarena.reports.wording import protocol_text
from segarena.systems.volumes.page.cvpr2025_tables import challenge_sheets, is_cvpr2025
from segarena.systems.volumes.page.effort_figures import effort_figures, rounds_figures
from segarena.systems.volumes.page.instance_dice_table import instances_sheet
from segarena.systems.volumes.page.paper_tables import volume_sheets
from segarena.systems.volumes.page.round_values import (
    collect_round_values,
    is_volume_run,
    list_participants,
)


@page("radioactive", "cvpr2025")
class VolumesPage(Page):
    """Report of runs over volumes: quality against the cost of prompts, refinement, kinds of targets, instances."""

    leaves_out = frozenset({"curves"})  # the refinement table has the same numbers
    folded = frozenset({"classes", "seconds", "cvpr2025-nsd"})

    @classmethod
    def applies(cls, run: Run) -> bool:
        """Tell whether the run's benchmark is about volumes and its records have Dice."""
        return is_volume_run(run)

    @cached_property
    def decides(self) -> Statistic | None:
        """The challenge's area under Dice where there is one, else Dice after the last round."""
        last_dice: Statistic | None = None
        for statistic in self.usual_runs[0].summary:
            if statistic.metric != "dice":
                continue
            if statistic.kind == "auc_last_five":
                return statistic
            is_later = last_dice is None or statistic.round > last_dice.round
            if statistic.kind == "at_round" and is_later:
                last_dice = statistic
        return last_dice or super().decides

    def summary(self, summary_of: Callable[[Sequence[Run], str], Part]) -> list[Part]:
        """Return the summary, whose caption sets it apart from the averages over cases, classes and datasets."""
        caption = "Plain means over targets: every target counts the same, whatever its case, class and dataset."
        return [summary_of(self.whole_runs, caption)]

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        """All tables by name."""
        tables, _ = self._tables
        return {sheet.name: sheet for sheet in tables}

    @cached_property
    def _tables(self) -> tuple[list[Sheet], str]:
        """All tables, and the reason why the one of instances is missing, if it should be there."""
        if not list_participants(self.runs):
            return [], ""
        tables: list[Sheet] = []
        if is_cvpr2025(self.runs[0]):
            tables += challenge_sheets(self.runs)
        tables += volume_sheets(self.runs)
        instances, problem = instances_sheet(self.runs)
        if instances is not None:
            tables.append(instances)
        return tables, problem

    def sections(self) -> list[Section]:
        """Return the sections of tables; those of prompts and refinement also have figures."""
        protocol = [Note(text, is_lead=True) for text in describe_protocol(self.runs)]
        if not self.sheets:
            return [Section("volumes", "Prompts and effort", protocol)]
        values = collect_round_values(self.runs)
        effort = effort_figures(self.runs, values, self.floors)
        rounds = rounds_figures(self.runs, values, self.floors)
        challenge = self.shown("cvpr2025", "cvpr2025-dsc", "cvpr2025-nsd")
        prompts = [*protocol, *self.shown("prompts", "classes", "seconds"), *effort]
        _, instances_problem = self._tables
        instances = self.shown("instances") or [Note(instances_problem)]
        return [
            Section("challenge", "CVPR 2025", challenge),
            Section("volumes", "Prompts and effort", prompts),
            Section("refinement", "Refinement", [*self.shown("refinement", "areas"), *rounds]),
            Section("splits", "Kinds of targets", self.shown("splits")),
            Section("noise", "Inexact boxes", self.shown("noise")),
            Section("instances", "Instances", instances),
        ]

    def files(self) -> dict[str, str]:
        """Return the same tables as files: one CSV each, and one LaTeX file for all but the seconds."""
        # Seconds differ from run to run, and a repeated run should print the same.
        return sheet_files(
            "volumes",
            list(self.sheets.values()),
            describe_protocol(self.runs),
            unprinted=("seconds",),
        )


def describe_protocol(runs: Sequence[Run]) -> list[str]:
    """Describe the rules of the prompts, their spread over slices, and how slices become pictures."""
    users: dict[str, tuple[UserRecord, bool]] = {}
    for run in runs:
        for user in run.config.users:
            users[user.written] = (user, run.trust)
    users_by_spread: dict[str, list[str]] = {}
    for name, (recorded, trust) in users.items():
        spread = _spread_text(recorded, trust=trust)
        if spread:
            users_by_spread.setdefault(spread, []).append(name)
    rules = [f"{protocol_text(run)}." for run in runs]
    spreads = [f"{', '.join(names)}: {spread}." for spread, names in users_by_spread.items()]
    segmenters = [_segmenter_text(run) for run in runs]
    return [*dict.fromkeys(rules), *spreads, *dict.fromkeys(segmenters)]


def _segmenter_text(run: Run) -> str:
    adapter = run.config.benchmark.adapter
    segmenter = run.config.segmenter
    if adapter is not None and segmenter.name == adapter.name:
        adapter = segmenter
    elif adapter is None or _takes_volumes(segmenter.name, trust=run.trust):
        return f"{run.segmenter} takes volumes and is given prompts as they are."
    intensity = str(adapter.options.get("intensity"))
    percentiles = adapter.options.get("percentiles")
    uses_percentiles = intensity == "auto" or "percentiles" in intensity
    window = ""
    if percentiles and uses_percentiles:
        window = f" with percentiles {percentiles[0]:g} to {percentiles[1]:g}"
    return f"{run.segmenter} takes images: {adapter.name} asks it slice by slice, intensity={intensity!r}{window}."


_SPREAD_TEXTS = {
    "stay": "prompts stay on their slices",
    "interpolate": "interpolated between prompted slices",
    "propagate": "propagated from slice to slice",
    "extrude": "drawn on every slice",
}


def _spread_text(recorded: UserRecord, *, trust: bool) -> str:
    """Return how a user spreads prompts over other slices; empty for a user without a lift."""
    # A user is foreign code, which may raise anything; the report can do without this line.
    try:
        lift = user_capabilities(rebuild_plugin("user", recorded, trust=trust)).lift
    except Exception:
        return ""
    if not isinstance(lift, Lift):
        return ""
    text = _SPREAD_TEXTS[lift.spread]
    if lift.keeps_prompts:
        return text
    return f"{text}; later prompts are shown alone"


def _takes_volumes(name: str, *, trust: bool) -> bool:
    # A segmenter is foreign code too.
    try:
        with restrict_plugins(trust=trust):
            return "volume" in segmenter_capabilities(find("segmenter", name)).sample_kinds
    except Exception:
        return False

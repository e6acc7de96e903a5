"""What the report of runs over volumes has of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from segarena.abilities import abilities_of_segmenter, abilities_of_user
from segarena.dialogue import Lift
from segarena.records.configuration import UserRecord
from segarena.records.trust import rebuild_plugin, restrict_plugins
from segarena.registry import find
from segarena.reports.page_parts import Note, Part, Section
from segarena.reports.pages import Page, page, sheet_files
from segarena.reports.recorded_run import Run
from segarena.reports.sheets import Sheet
from segarena.reports.wording import protocol_text
from segarena.roles import Statistic
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
    """Quality against what prompts cost, refinement, kinds of targets, instances; for all runs over volumes."""

    leaves_out = frozenset({"curves"})  # with the tables
    folded = frozenset({"classes", "seconds", "cvpr2025-nsd"})

    @classmethod
    def applies(cls, run: Run) -> bool:
        """Tell whether the run's benchmark is about volumes and its records have Dice."""
        return is_volume_run(run)

    @cached_property
    def decides(self) -> Statistic | None:
        """Dice after the last round; the challenge's area where it is that."""
        summary = self.usual_runs[0].summary
        dice = [
            one
            for one in summary
            if one.metric == "dice" and one.kind in ("auc_last_five", "at_round")
        ]
        areas = [one for one in dice if one.kind == "auc_last_five"]
        return next(iter([*areas, *sorted(dice, key=lambda one: -one.round)]), super().decides)

    def summary(self, summary_of: Callable[[Sequence[Run], str], Part]) -> list[Part]:
        """Return the summary, told apart from the averages above, which go over cases, classes and datasets."""
        caption = "Plain means over targets: every target counts the same, whatever its case, class and dataset."
        return [summary_of(self.whole_runs, caption)]

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        """All tables by name."""
        return {sheet.name: sheet for sheet in self._made[0]}

    @cached_property
    def _made(self) -> tuple[list[Sheet], str]:
        """All tables, and a line about why instances are not among them, if they should be."""
        if not list_participants(self.runs):
            return [], ""
        instances, problem = instances_sheet(self.runs)
        challenge = challenge_sheets(self.runs) if is_cvpr2025(self.runs[0]) else []
        return [*challenge, *volume_sheets(self.runs), *([instances] if instances else [])], problem

    def sections(self) -> list[Section]:
        """Return the tables, those of prompts and refinement with their figures."""
        mode = [Note(text, is_lead=True) for text in describe_protocol(self.runs)]
        if not self.sheets:
            return [Section("volumes", "Prompts and effort", mode)]
        values = collect_round_values(self.runs)
        effort, rounds = (
            draw(self.runs, values, self.floors) for draw in (effort_figures, rounds_figures)
        )
        challenge = self.shown("cvpr2025", "cvpr2025-dsc", "cvpr2025-nsd")
        prompts = [*mode, *self.shown("prompts", "classes", "seconds"), *effort]
        return [
            Section("challenge", "CVPR 2025", challenge),
            Section("volumes", "Prompts and effort", prompts),
            Section("refinement", "Refinement", [*self.shown("refinement", "areas"), *rounds]),
            Section("splits", "Kinds of targets", self.shown("splits")),
            Section("noise", "Inexact boxes", self.shown("noise")),
            Section("instances", "Instances", self.shown("instances") or [Note(self._made[1])]),
        ]

    def files(self) -> dict[str, str]:
        """Return the same tables as files: one CSV each, and for LaTeX all that last."""
        # Seconds differ from run to run; all that is printed is to be the same when a run is repeated.
        return sheet_files(
            "volumes",
            list(self.sheets.values()),
            describe_protocol(self.runs),
            unprinted=("seconds",),
        )


def describe_protocol(runs: Sequence[Run]) -> list[str]:
    """Say by which rules prompts were made and spread, and how slices became pictures."""
    users = {user.written: (user, run.trust) for run in runs for user in run.config.users}
    spreads: dict[str, list[str]] = {}
    for name, (described, trust) in users.items():
        if words := _spread_text(described, trust=trust):
            spreads.setdefault(words, []).append(name)
    spread = [f"{', '.join(names)}: {words}" for words, names in spreads.items()]
    rules = dict.fromkeys(f"{protocol_text(run)}." for run in runs)
    return [*rules, *(f"{text}." for text in spread), *dict.fromkeys(map(_segmenter_text, runs))]


def _segmenter_text(run: Run) -> str:
    adapter = run.config.benchmark.adapter
    segmenter = run.config.segmenter
    if adapter is not None and segmenter.name == adapter.name:
        adapter = segmenter
    elif adapter is None or _takes_volumes(segmenter.name, trust=run.trust):
        return f"{run.segmenter} takes volumes and is given prompts as they are."
    intensity = str(adapter.options.get("intensity"))
    ends = adapter.options.get("percentiles")
    uses_ends = intensity == "auto" or "percentiles" in intensity
    window = f" with percentiles {ends[0]:g} to {ends[1]:g}" if ends and uses_ends else ""
    return f"{run.segmenter} takes images: {adapter.name} asks it slice by slice, intensity={intensity!r}{window}."


def _spread_text(described: UserRecord, *, trust: bool) -> str:
    """Return how a user means prompts for other slices; empty for one who does not say."""
    try:
        lift = abilities_of_user(rebuild_plugin("user", described, trust=trust)).lift
    except Exception:  # a user is foreign code; the report does without
        return ""
    if not isinstance(lift, Lift):
        return ""
    words = {
        "stay": "prompts stay on their slices",
        "interpolate": "interpolated between prompted slices",
    }
    words |= {"propagate": "propagated from slice to slice", "extrude": "drawn on every slice"}
    kept = "" if lift.keeps_prompts else "; later prompts are shown alone"
    return f"{words[lift.spread]}{kept}"


def _takes_volumes(name: str, *, trust: bool) -> bool:
    try:
        with restrict_plugins(trust=trust):
            return "volume" in abilities_of_segmenter(find("segmenter", name)).sample_kinds
    except Exception:  # as above
        return False

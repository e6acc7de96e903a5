"""The report page for runs on volumes: its sections, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from segarena.benchmark_rules import Statistic
from segarena.dialogue import Lift
from segarena.plugin_capabilities import segmenter_capabilities, user_capabilities
from segarena.records.configuration import UserRecord
from segarena.records.plugin_trust import rebuild_plugin, restrict_plugins
from segarena.registry import find
from segarena.reports.page_parts import Note, Part, Section
from segarena.reports.pages import Page, page, sheet_files
from segarena.reports.recorded_run import Run
from segarena.reports.sheets import Sheet
from segarena.reports.wording import protocol_text
from segarena.systems.volumes.page.cvpr2025_tables import challenge_sheets, is_cvpr2025
from segarena.systems.volumes.page.effort_figures import effort_figures, rounds_figures
from segarena.systems.volumes.page.instance_dice_table import instances_sheet
from segarena.systems.volumes.page.radioactive_tables import volume_sheets
from segarena.systems.volumes.page.round_metric_values import (
    collect_round_values,
    is_volume_run,
    list_participants,
)
from segarena.systems.volumes.page.user_descriptions import describe_user


@page("radioactive", "cvpr2025")
class VolumesPage(Page):
    """Report for runs on volumes: quality against prompt cost, refinement, kinds of targets, instances."""

    shows_person_seconds = True
    leaves_out = frozenset({"curves"})  # the refinement table has the same numbers
    folded = frozenset({"classes", "seconds", "cvpr2025-nsd"})

    @classmethod
    def applies(cls, run: Run) -> bool:
        """Test whether the run's benchmark is about volumes and its records contain Dice."""
        return is_volume_run(run)

    @classmethod
    def user_words(cls, user: UserRecord) -> str:
        """Return the prompts of a user in words: "three boxes interpolated, then scribbles"."""
        return describe_user(user)

    @cached_property
    def decides(self) -> Statistic | None:
        """Ranking statistic: the challenge's area under the Dice curve, or else Dice after the last round."""
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
        """Return the summary; its caption distinguishes it from the averages over cases, classes and datasets."""
        caption = "Plain means over targets: every target has the same weight, regardless of case, class and dataset."
        return [summary_of(self.whole_runs, caption)]

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        """All tables by name."""
        tables, _ = self._tables
        return {sheet.name: sheet for sheet in tables}

    @cached_property
    def _tables(self) -> tuple[list[Sheet], str]:
        """All tables, and the reason if the expected table of instances is missing."""
        if not list_participants(self.runs):
            return [], ""
        tables: list[Sheet] = []
        if is_cvpr2025(self.runs[0]):
            tables += challenge_sheets(self.runs)
        tables += volume_sheets(self.runs, self.pace)
        instances, problem = instances_sheet(self.runs)
        if instances is not None:
            tables.append(instances)
        return tables, problem

    def sections(self) -> list[Section]:
        """Return the table sections; those on prompts and on refinement also contain figures."""
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
        """Return one CSV file per table, and one LaTeX file with all tables except that of seconds."""
        # Seconds differ from run to run, but a repeated run should produce the same file.
        return sheet_files(
            "volumes",
            list(self.sheets.values()),
            describe_protocol(self.runs),
            unprinted=("seconds",),
        )


def describe_protocol(runs: Sequence[Run]) -> list[str]:
    """Describe the prompt rules, how prompts spread over slices, and how slices are converted to images."""
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
        return f"{run.segmenter} segments whole volumes and receives the prompts unchanged."
    intensity = str(adapter.options.get("intensity"))
    percentiles = adapter.options.get("percentiles")
    uses_percentiles = intensity == "auto" or "percentiles" in intensity
    window = ""
    if percentiles and uses_percentiles:
        window = f" with percentiles {percentiles[0]:g} to {percentiles[1]:g}"
    return f"{run.segmenter} segments images: {adapter.name} calls it slice by slice, intensity={intensity!r}{window}."


_SPREAD_TEXTS = {
    "stay": "prompts stay on their slices",
    "interpolate": "interpolated between prompted slices",
    "propagate": "propagated from slice to slice",
    "extrude": "drawn on every slice",
}


def _spread_text(recorded: UserRecord, *, trust: bool) -> str:
    """Describe how a user spreads prompts over other slices; empty for a user without a lift."""
    # A user is third-party code, which may raise anything; the report can omit this line.
    try:
        lift = user_capabilities(rebuild_plugin("user", recorded, trust=trust)).lift
    except Exception:
        return ""
    if not isinstance(lift, Lift):
        return ""
    text = _SPREAD_TEXTS[lift.spread]
    if lift.keeps_prompts:
        return text
    return f"{text}; later prompts are passed without earlier ones"


def _takes_volumes(name: str, *, trust: bool) -> bool:
    # A segmenter is third-party code too.
    try:
        with restrict_plugins(trust=trust):
            return "volume" in segmenter_capabilities(find("segmenter", name)).sample_kinds
    except Exception:
        return False

"""The sections that a page of runs over volumes has before all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from segarena.dialogue import Lift
from segarena.registry import PluginSpec, build, find
from segarena.reports.latex import latex_comment
from segarena.reports.reading import Run
from segarena.reports.series import Figure
from segarena.reports.sheets import Sheet, sheet_csv, sheet_html, sheet_tex
from segarena.reports.wording import protocol_text
from segarena.systems.volumes.page.challenge import challenge_sheets, is_cvpr2025
from segarena.systems.volumes.page.figures import effort_figures, rounds_figures
from segarena.systems.volumes.page.instances import instances_sheet
from segarena.systems.volumes.page.runs import values_by_round, who_took_part
from segarena.systems.volumes.page.tables import volume_sheets

FOLDED = frozenset({"classes", "seconds", "cvpr2025-nsd"})


def volumes_sections(
    runs: Sequence[Run], table: Callable[[str, str], str], figure: Callable[[Figure], str]
) -> list[tuple[str, str, str]]:
    """Return (anchor, title, HTML); `table` and `figure` number what they are given."""
    mode = "".join(f'<p class="lead">{escape(text)}</p>' for text in mode_texts(runs))
    sheets, problem = every_sheet(tuple(runs))
    if not sheets:
        return [("volumes", "Prompts and effort", mode)]
    values = values_by_round(runs)
    named = {sheet.name: sheet for sheet in sheets}
    figures = {"prompts": effort_figures(runs, values), "refinement": rounds_figures(runs, values)}

    def shown(*names: str) -> str:
        tables = "".join(_sheet(named[name], table) for name in names if name in named)
        return tables + "".join(figure(made) for name in names for made in figures.get(name, ()))

    return [
        ("challenge", "CVPR 2025", shown("cvpr2025", "cvpr2025-dsc", "cvpr2025-nsd")),
        ("volumes", "Prompts and effort", mode + shown("prompts", "classes", "seconds")),
        ("refinement", "Refinement", shown("refinement", "areas")),
        ("splits", "Kinds of targets", shown("splits")),
        ("noise", "Inexact boxes", shown("noise")),
        ("instances", "Instances", shown("instances") or _note(problem)),
    ]


def volumes_files(runs: Sequence[Run]) -> dict[str, str]:
    """Return the same tables as files: one CSV each, and all of them for LaTeX."""
    sheets, _ = every_sheet(tuple(runs))
    texts = {f"volumes-{sheet.name}.csv": sheet_csv(sheet) for sheet in sheets}
    about = "".join(f"% {latex_comment(text)}\n" for text in mode_texts(runs))
    lasting = [sheet_tex(sheet) for sheet in sheets if sheet.name != "seconds"]
    return {**texts, "volumes.tex": about + "\n".join(lasting)} if sheets else {}


@lru_cache(maxsize=1)  # the page and the files of one report have the same tables
def every_sheet(runs: tuple[Run, ...]) -> tuple[list[Sheet], str]:
    """Return all tables, and a line about why instances are not among them, if they should be."""
    if not who_took_part(runs):
        return [], ""
    instances, problem = instances_sheet(runs)
    challenge = challenge_sheets(runs) if is_cvpr2025(runs[0]) else []
    return [*challenge, *volume_sheets(runs), *([instances] if instances else [])], problem


def mode_texts(runs: Sequence[Run]) -> list[str]:
    """Say by which rules prompts were made and spread, and how slices became pictures."""
    users = {str(u.get("written", u["name"])): u for run in runs for u in run.config["users"]}
    spreads: dict[str, list[str]] = {}
    for name, described in users.items():
        if words := _spread_text(described):
            spreads.setdefault(words, []).append(name)
    spread = [f"{', '.join(names)}: {words}" for words, names in spreads.items()]
    rules = dict.fromkeys(f"{protocol_text(run)}." for run in runs)
    return [*rules, *(f"{text}." for text in spread), *dict.fromkeys(map(_segmenter_text, runs))]


def _segmenter_text(run: Run) -> str:
    adapter: dict[str, Any] = run.config["benchmark"].get("adapter") or {}
    segmenter: dict[str, Any] = run.config["segmenter"]
    if segmenter["name"] == adapter.get("name"):
        adapter = segmenter
    elif _takes_volumes(segmenter["name"]):
        return f"{run.segmenter} takes volumes and is given prompts as they are."
    options = adapter.get("options", {})
    intensity = str(options.get("intensity"))
    window = _range(options.get("percentiles")) if intensity == "auto" or "percentiles" in intensity else ""
    return (
        f"{run.segmenter} takes images: {adapter.get('name')} asks it slice by slice, intensity={intensity!r}{window}."
    )


def _spread_text(described: dict[str, Any]) -> str:
    """Return how a user means prompts for other slices; empty for one who does not say."""
    try:
        lift = getattr(build("user", PluginSpec(described["name"], dict(described["options"]))), "lift", None)
    except Exception:  # a user is foreign code; the report does without
        return ""
    if not isinstance(lift, Lift):
        return ""
    words = {"stay": "prompts stay on their slices", "interpolate": "interpolated between prompted slices"}
    words |= {"propagate": "propagated from slice to slice", "extrude": "drawn on every slice"}
    kept = "" if lift.keeps_prompts else "; later prompts are shown alone"
    return f"{words[lift.spread]}{kept}"


def _takes_volumes(name: str) -> bool:
    try:
        return "volume" in getattr(find("segmenter", name), "sample_kinds", ())
    except Exception:  # as above
        return False


def _range(percentiles: Any) -> str:
    return f" with percentiles {percentiles[0]:g} to {percentiles[1]:g}" if percentiles else ""


def _sheet(sheet: Sheet, table: Callable[[str, str], str]) -> str:
    html = table(sheet.caption, sheet_html(sheet)) + "".join(map(_note, sheet.notes))
    return f"<details><summary>{escape(sheet.caption)}</summary>{html}</details>" if sheet.name in FOLDED else html


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>' if text else ""

"""Terminal output of runs: progress bar, summary table and location of the run folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from segarena.engine.evaluate import evaluate
from segarena.errors import StoreError
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.reports import terminal_table
from segarena.terminal.progress import ProgressBar


def run_and_show(benchmark: Plugin, **options: Any) -> int:
    """Run with a progress bar and print a summary; return the number of failures and of unequal repeated answers."""
    # Without emoji: rich would replace `:Leaves:` in a plug-in such as `mine.py:Leaves:`.
    console = Console(stderr=True, emoji=False)
    here = Path.cwd()  # before a plug-in can change it
    title = f"{PluginSpec.of(benchmark).reference} · {options['segmenter']}"
    with ProgressBar(title, console, rate="rounds", workers=options["workers"]) as progress:
        folder = evaluate(benchmark, on_progress=progress.update, **options)
    for note in folder.notes:
        console.print(f"[yellow]{escape(note)}[/yellow]")
    Console().print(terminal_table([folder.path]))
    counts = folder.config.counts
    if counts is None:  # finished runs have them
        raise StoreError(f"{folder.path}: the run is not finished; give the same command again")
    for user, count in counts.targets_without.items():
        console.print(f"user {user} had no dialogue about {count} of {counts.targets} targets")
    place = folder.path
    if place.is_relative_to(here):
        place = place.relative_to(here)
    report = f"segarena report {shlex.quote(str(place))}"
    console.print(f"run: {place}   report: {report}", soft_wrap=True)
    verified = folder.config.verified
    if options.get("verify") and verified:
        return counts.failures + verified.differed
    return counts.failures

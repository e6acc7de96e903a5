"""A run with a progress bar, and its first table: what `segarena run` and commands that judge show."""

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
    """Run with a progress bar and print where it lies; return how many answers failed or differed when asked again."""
    console, here = (
        Console(stderr=True, emoji=False),
        Path.cwd(),
    )  # `mine.py:Leaves:` is no picture of leaves
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
    if folder.path.is_relative_to(here):
        place = folder.path.relative_to(here)
    else:
        place = folder.path
    console.print(
        f"run: {place}   report: segarena report {shlex.quote(str(place))}", soft_wrap=True
    )
    verified = folder.config.verified
    return counts.failures + (verified.differed if options.get("verify") and verified else 0)

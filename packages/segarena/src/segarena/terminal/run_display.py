"""Terminal output of runs: progress bar, summary table and location of the run folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

import segarena
from segarena import reports
from segarena.errors import StoreError
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.terminal.progress import ProgressBar


def run_and_show(benchmark: Plugin, **options: Any) -> int:
    """Run with a progress bar and print a summary; return the number of faults.

    Faults are failures, samples that could not be loaded, and repeated answers that changed.
    """
    # Turn off emoji, because rich would replace `:Leaves:` in a plug-in such as `mine.py:Leaves:`.
    # A moving bar would overwrite the lines of the debugger.
    is_terminal = False if options.get("pdb") else None
    console = Console(stderr=True, emoji=False, force_terminal=is_terminal)
    here = Path.cwd()  # before a plug-in can change it
    title = f"{PluginSpec.of(benchmark).reference} · {options['segmenter']}"
    # Call `segarena.evaluate` through the package, which imports the engine and the reports only now, not for `--help`.
    with ProgressBar(title, console, rate="rounds", workers=options["workers"]) as progress:
        folder = segarena.evaluate(benchmark, on_progress=progress.update, **options)
    for note in folder.notes:
        console.print(f"[yellow]{escape(note)}[/yellow]")
    Console().print(reports.terminal_table([folder.path]))
    counts = folder.config.counts
    if counts is None:  # only unfinished runs lack them
        raise StoreError(f"{folder.path}: the run is not finished; run the same command again")
    for user, count in counts.targets_without.items():
        console.print(f"user {user} had no dialogue about {count} of {counts.targets} targets")
    run_path = folder.path
    if run_path.is_relative_to(here):
        run_path = run_path.relative_to(here)
    report = f"segarena report {shlex.quote(str(run_path))}"
    console.print(f"run: {run_path}   report: {report}", soft_wrap=True)
    faults = counts.failures + counts.unloaded
    verified = folder.config.verified
    if options.get("verify") and verified:
        return faults + verified.differed
    return faults

"""`segarena run`: evaluation of a segmenter on a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from segarena.cli.run_options import BenchmarkOptionsCommand, with_run_options
from segarena.engine.human_prompts import PeopleSettings
from segarena.terminal.exit_codes import FAILURES
from segarena.terminal.run_display import run_and_show
from segarena.terminal.worker_options import ShareOption

COMMAND_CLASS = BenchmarkOptionsCommand


@with_run_options(interrupted="stopped; finished samples are kept, and the same command resumes")
def run(
    asked: dict[str, Any],
    challenge: Annotated[
        str | None,
        typer.Option(
            "--challenge",
            metavar="URL",
            help="Take part in a challenge: the server has the data and evaluates; see `segarena login`.",
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option(help="Repeat samples in which something failed.")
    ] = False,
    retry_damaged: Annotated[
        bool,
        typer.Option(
            "--retry-damaged", help="Repeat samples whose files are damaged; see `segarena check`."
        ),
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace the run in the folder; other files in it stay.",
        ),
    ] = False,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going", help="Continue even if the first samples all fail for the same reason."
        ),
    ] = False,
    verify: Annotated[
        int,
        typer.Option(
            help="After the run, repeat this many answers in another process and report differences."
        ),
    ] = 0,
    keep_rounds: Annotated[
        int | None,
        typer.Option(
            "--keep-rounds",
            min=1,
            help="Store masks of all rounds up to this one. [default: 1, 2, 3, 5, 10, 20, and the last]",
        ),
    ] = None,
    share: ShareOption = False,
    people: Annotated[
        Path | None,
        typer.Option(
            "--people",
            metavar="DATA",
            help="With -u human: ask people on the server of `segarena serve DATA`. [default: you, in a browser]",
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option(help="With -u human: open the page in the browser.")
    ] = True,
) -> None:
    """Evaluate a segmenter on a benchmark and record every round.

    The run is a folder. After Ctrl-C or a crash the same command resumes it.

        segarena run clicks --segmenter grabcut --dataset demo --out runs/grabcut

        segarena run clicks -s my_model.py:MyModel -d "folder(path='photos')" -u centre -u uniform -w 2

        segarena run rclicks -s grabcut -d demo --click-model depth --clicks clicks.csv

        segarena run radioactive -s grabcut -d "nifti-folder(path='scans')" --prompts 3b-inter --refine scribble

        segarena run clicks -s grabcut -d demo -u human -u centre

        segarena run --challenge https://lab.example/challenges/spring -s my_model.py:MyModel

    Every benchmark has its own options: `segarena run rclicks --help` shows them below these.

    Exit code 0: success; 1: complete, but some dialogues failed (the other records are valid), or --verify found
    differences; 2: invalid request, or all failed, with a one-line message; 130: interrupted.
    """
    options: dict[str, Any] = {
        "keep_going": keep_going,
        "verify": verify,
        "share": share,
        "retry_failed": retry_failed,
        "retry_damaged": retry_damaged,
        "overwrite": overwrite,
        **asked,
    }
    if keep_rounds is not None:
        options["keep_rounds"] = tuple(range(1, keep_rounds + 1))
    if challenge is not None and people is not None:
        raise typer.BadParameter(
            "a challenge asks nobody here; leave one of the two out", param_hint="--people"
        )
    if challenge is not None:
        failures = participate(challenge, options)
    else:
        failures = run_locally(people, browser, options)
    if failures:
        raise typer.Exit(FAILURES)


def run_locally(people: Path | None, browser: bool, options: dict[str, Any]) -> int:
    """Run on this machine, with prompts from people if requested; return the number of failures."""
    return run_and_show(**options, people=PeopleSettings(at=people, opens_browser=browser))


def participate(challenge: str, options: dict[str, Any]) -> int:
    """Run at a challenge server; return the number of failures."""
    # The client needs an extra that local runs do without.
    from segarena.client.run_display import participate_and_show

    return participate_and_show(challenge, **options)

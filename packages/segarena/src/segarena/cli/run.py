"""`segarena run`: judge a segmenter by a benchmark."""

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


@with_run_options(
    interrupted="stopped; finished samples are kept, and the same command goes on where it was"
)
def run(
    asked: dict[str, Any],
    challenge: Annotated[
        str | None,
        typer.Option(
            "--challenge",
            metavar="URL",
            help="Let a server ask and judge, about data of its own; see `segarena login`.",
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
            help="Start anew if the folder holds a run; nothing else in it is deleted.",
        ),
    ] = False,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going", help="Go on even if all about the first samples fails for one cause."
        ),
    ] = False,
    verify: Annotated[
        int,
        typer.Option(
            help="After the run, ask so many answers again in another process, and say what differs."
        ),
    ] = 0,
    keep_rounds: Annotated[
        int | None,
        typer.Option(
            "--keep-rounds",
            min=1,
            help="Keep the masks of all rounds up to this one. [default: 1, 2, 3, 5, 10, 20; the last one always]",
        ),
    ] = None,
    share: ShareOption = False,
    people: Annotated[
        Path | None,
        typer.Option(
            "--people",
            metavar="DATA",
            help="With -u human: ask the people of the server that `segarena serve DATA` is; else you, at a page here.",
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option(help="With -u human: open that page in the browser.")
    ] = True,
) -> None:
    """Evaluate a segmenter on a benchmark and record every round.

    The run is a folder. Stop it with Ctrl-C (or lose the machine): the same command goes on where it was.

        segarena run clicks --segmenter grabcut --dataset demo --out runs/grabcut

        segarena run clicks -s my_model.py:MyModel -d "folder(path='photos')" -u centre -u uniform -w 2

        segarena run rclicks -s grabcut -d demo --click-model depth --clicks clicks.csv

        segarena run radioactive -s grabcut -d "nifti-folder(path='scans')" --prompts 3b-inter --refine scribble

        segarena run clicks -s grabcut -d demo -u human -u centre

        segarena run --challenge https://lab.example/challenges/spring -s my_model.py:MyModel

    Every benchmark has options of its own: `segarena run rclicks --help` shows them below these.

    Exit code 0: all went well; 1: complete, but some dialogues failed (they are records, the rest is valid), or an
    answer asked again by --verify came out otherwise; 2: refused, or all failed, says one line; 130: interrupted.
    """
    retries = {"retry_failed": retry_failed, "retry_damaged": retry_damaged, "overwrite": overwrite}
    how: dict[str, Any] = {
        "keep_going": keep_going,
        "verify": verify,
        "share": share,
        **retries,
        **asked,
    }
    if keep_rounds is not None:
        how["keep_rounds"] = tuple(range(1, keep_rounds + 1))
    if challenge is not None and people is not None:
        raise typer.BadParameter(
            "a challenge asks nobody here; leave one of the two out", param_hint="--people"
        )
    if take_part(challenge, how) if challenge is not None else ask_and_run(people, browser, how):
        raise typer.Exit(FAILURES)


def ask_and_run(people: Path | None, browser: bool, how: dict[str, Any]) -> int:
    """Run here, where people are asked as they are to be; return how many dialogues failed."""
    return run_and_show(**how, people=PeopleSettings(at=people, opens_browser=browser))


def take_part(challenge: str, how: dict[str, Any]) -> int:
    """Run at a server; return how many dialogues failed."""
    # The client needs an extra that local runs do without.
    from segarena.client.run_display import participate_and_show

    return participate_and_show(challenge, **how)

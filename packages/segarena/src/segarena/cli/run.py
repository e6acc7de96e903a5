"""`segarena run`: evaluation of a segmenter on a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from segarena.cli.run_options import BenchmarkOptionsCommand, with_run_options
from segarena.terminal.exit_codes import FAILURES
from segarena.terminal.help_format import RARE
from segarena.terminal.worker_options import ShareOption

COMMAND_CLASS = BenchmarkOptionsCommand


@with_run_options(interrupted="stopped; finished samples are kept; repeat the command to resume")
def run(
    shared_options: dict[str, Any],
    challenge: Annotated[
        str | None,
        typer.Option(
            "--challenge",
            metavar="URL",
            help="Take part in a challenge; see `segarena login`.",
        ),
    ] = None,
    skip_trial: Annotated[
        bool,
        typer.Option(
            "--skip-trial",
            help="With --challenge: begin a test run without first trying the segmenter on a synthetic sample.",
            rich_help_panel=RARE,
        ),
    ] = False,
    retry_failed: Annotated[
        bool,
        typer.Option(
            help="Repeat samples in which something failed.",
            rich_help_panel=RARE,
        ),
    ] = False,
    retry_damaged: Annotated[
        bool,
        typer.Option(
            "--retry-damaged",
            help="Repeat samples whose files are damaged; see `segarena check`.",
            rich_help_panel=RARE,
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
            "--keep-going",
            help="Continue even if the first samples all fail for the same reason.",
            rich_help_panel=RARE,
        ),
    ] = False,
    verify: Annotated[
        int,
        typer.Option(
            help="After the run, repeat this many answers in another process and report differences.",
            rich_help_panel=RARE,
        ),
    ] = 0,
    isolate: Annotated[
        bool,
        typer.Option(
            "--isolate",
            help="Run the segmenter without the ground truth and, with bubblewrap, without the dataset's files.",
            rich_help_panel=RARE,
        ),
    ] = False,
    keep_rounds: Annotated[
        int | None,
        typer.Option(
            "--keep-rounds",
            min=1,
            help="Store masks of all rounds up to this one. [default: 1, 2, 3, 5, 10, 20, and the last]",
            rich_help_panel=RARE,
        ),
    ] = None,
    share: ShareOption = False,
    pdb: Annotated[
        bool,
        typer.Option(
            "--pdb",
            help="With --workers 0: open the debugger at the first error in a plug-in.",
            rich_help_panel=RARE,
        ),
    ] = False,
    people: Annotated[
        Path | None,
        typer.Option(
            "--people",
            metavar="DATA",
            help="With -u human: collect prompts on the server of `segarena serve DATA`. [default: you, in a browser]",
            rich_help_panel=RARE,
        ),
    ] = None,
    browser: Annotated[
        bool,
        typer.Option(
            help="With -u human: open the page in the browser.",
            rich_help_panel=RARE,
        ),
    ] = True,
) -> None:
    """Evaluate a segmenter on a benchmark and record every round.

    The run is a folder. After Ctrl-C or a crash the same command resumes it.

        segarena run clicks --segmenter grabcut --dataset demo --out runs/grabcut

        segarena run clicks -s my_model.py:MyModel -d photos -u centre -w 2

        segarena run radioactive -s grabcut -d scans --prompts 3b-inter

        segarena run --challenge https://lab.example/challenges/spring -s my_model.py:MyModel

    Exit code 0: success; 1: failed dialogues or samples, or differences found by --verify; 2: invalid
    request, or all first samples failed; 130: interrupted.
    """
    options: dict[str, Any] = {
        "keep_going": keep_going,
        "verify": verify,
        "share": share,
        "retry_failed": retry_failed,
        "retry_damaged": retry_damaged,
        "overwrite": overwrite,
        **shared_options,
    }
    if isolate:
        options["isolate"] = True
    if keep_rounds is not None:
        options["keep_rounds"] = tuple(range(1, keep_rounds + 1))
    if challenge is None:
        if skip_trial:
            raise typer.BadParameter(
                "only a run in a challenge begins with a trial; omit this option",
                param_hint="--skip-trial",
            )
        failures = run_locally(people, browser, {**options, "pdb": pdb})
    else:
        _check_for_challenge(options, isolate=isolate, pdb=pdb, people=people)
        failures = participate(challenge, {**options, "skip_trial": skip_trial})
    if failures:
        raise typer.Exit(FAILURES)


def _check_for_challenge(
    options: dict[str, Any],
    *,
    isolate: bool,
    pdb: bool,
    people: Path | None,
) -> None:
    """Raise `BadParameter` for an option that a run in a challenge does not use."""
    for option, flag in (("name", "--name"), ("note", "--note"), ("tags", "--tag")):
        if options.get(option):
            raise typer.BadParameter(
                "a challenge does not use this option; omit it", param_hint=flag
            )
    if isolate:
        raise typer.BadParameter(
            "a challenge keeps the ground truth on its server; omit this option",
            param_hint="--isolate",
        )
    if pdb:
        raise typer.BadParameter(
            "debug on local data first; a challenge does not wait for a debugger",
            param_hint="--pdb",
        )
    if people is not None:
        raise typer.BadParameter(
            "people cannot give prompts in a challenge; omit one of the two options",
            param_hint="--people",
        )


def run_locally(
    people: Path | None,
    browser: bool,
    options: dict[str, Any],
) -> int:
    """Run on this machine, with prompts from people if requested; return the number of failures."""
    # Imported here, because `--help` does not need rich and the engine.
    from segarena.engine.human_page_server import PeopleSettings
    from segarena.terminal.run_display import run_and_show

    return run_and_show(**options, people=PeopleSettings(at=people, opens_browser=browser))


def participate(challenge: str, options: dict[str, Any]) -> int:
    """Take part in a challenge; return the number of failures."""
    # Imported here, because the client needs an extra that local runs do not.
    from segarena.client.run_display import participate_and_show

    return participate_and_show(challenge, **options)

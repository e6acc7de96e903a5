"""`segarena check`: is a run folder as it was written? Do a segmenter's answers depend on the prompts alone?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from segarena.engine.run_integrity import check_run
from segarena.engine.segmenter_check import DependenceCheck, check_segmenter
from segarena.errors import InvalidInput
from segarena.options import suggest_names
from segarena.registry import lookup, plugins_by_name
from segarena.reports.sheets import Sheet
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.sheet_output import show_sheet


def check(
    what: Annotated[
        str,
        typer.Argument(
            help="A run folder; or a segmenter: NAME, NAME(option=value, ...), file.py:Name."
        ),
    ],
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", "-d", help="Of a segmenter: data to ask about. [default: the demo data]"
        ),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(help="Of a segmenter: whose users ask. [default: the first that fits it]"),
    ] = None,
    samples: Annotated[int, typer.Option(help="Of a segmenter: how many samples.")] = 2,
) -> None:
    """Validate a run folder or a segmenter.

    Of a run, every file is looked at: checksums, rounds in order, IoU against pixel counts; what is damaged is named.

        segarena check runs/mine

    A segmenter is asked the same questions several times: once more, as another instance, in other batches, in another
    order, in another process. A table says which of these its answers depend on: none, if it keeps to the rules.

        segarena check my_model.py:MyModel

        segarena check grabcut -d "folder(path='photos')" --samples 5

    `segarena run ... --retry-damaged` makes what is damaged again; `segarena run ... --verify 20` asks answers of a run
    again. Exit code 0: sound; 1: something is wrong; 2: refused, with one line why.
    """
    with one_line_errors():
        if _is_run(what):
            is_sound = _check_run(Path(what))
        else:
            is_sound = _check_segmenter(what, dataset, benchmark, samples)
    if not is_sound:
        raise typer.Exit(FAILURES)


def _is_run(what: str) -> bool:
    """Tell a run folder from a segmenter; raise InvalidInput for what is neither."""
    if (Path(what) / "run.json").is_file():
        return True
    if ".py" in what or "(" in what or lookup("segmenter", what):
        return False
    if Path(what).is_dir():
        return True  # and no run: said by who opens it
    hint = suggest_names(what, plugins_by_name("segmenter")) or "see `segarena list segmenters`"
    raise InvalidInput(
        f"{what}: expected a run folder with a run.json in it, or a segmenter; {hint}"
    )


def _check_run(run: Path) -> bool:
    findings = check_run(run)
    for finding in findings:
        typer.secho(
            ("error: " if finding.is_error else "") + finding.message,
            fg="red" if finding.is_error else None,
        )
    return not any(finding.is_error for finding in findings)


def _check_segmenter(
    segmenter: str, dataset: str | None, benchmark: str | None, samples: int
) -> bool:
    with Console(stderr=True).status(f"asking {segmenter}"):
        found = check_segmenter(segmenter, dataset=dataset, benchmark=benchmark, samples=samples)
    show_sheet(_sheet(segmenter, found))
    depends = [each.on for each in found if each.found.differed]
    told = ", ".join(depends) or "the prompts alone, as far as was asked"
    typer.secho(f"answers depend on {told}", fg="red" if depends else None)
    return not depends


def _sheet(segmenter: str, found: Sequence[DependenceCheck]) -> Sheet:
    return Sheet(
        name="check",
        caption=f"{segmenter}: the same prompts, asked again",
        head=("depends on", "asked again", "answers", "differ", "worst IoU", "the worst"),
        rows=tuple(
            (
                on.on,
                on.how,
                str(on.found.asked),
                str(on.found.differed),
                f"{on.found.worst_iou:.3f}",
                on.found.worst,
            )
            for on in found
        ),
        notes=("Hidden state and chance show in the rows below theirs, too.",),
    )

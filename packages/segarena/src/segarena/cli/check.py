"""`segarena check`: integrity of a run folder, or reproducibility of a segmenter's predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from segarena.engine.run_integrity import check_run
from segarena.engine.segmenter_check import (
    DependenceCheck,
    MaskComparison,
    check_segmenter,
    compare_segmenters,
)
from segarena.errors import InvalidInput
from segarena.options import suggest_names
from segarena.registry import lookup, plugins_by_name
from segarena.reports.sheets import Sheet
from segarena.roles import Finding
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.sheet_output import show_sheet


def check(
    what: Annotated[
        str,
        typer.Argument(
            help="A run folder, or a segmenter: NAME, NAME(option=value, ...) or file.py:Name."
        ),
    ],
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", "-d", help="For a segmenter: the dataset. [default: demo]"),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            help="For a segmenter: the benchmark whose users give prompts. [default: the first suitable one]"
        ),
    ] = None,
    samples: Annotated[int, typer.Option(help="For a segmenter: the number of samples.")] = 2,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="OTHER",
            help="For a segmenter: another segmenter to compare masks and speed with.",
        ),
    ] = None,
) -> None:
    """Validate a run folder or a segmenter.

    For a run, the command checks every file (checksums, order of rounds, IoU against pixel counts) and names damaged
    ones.

        segarena check runs/mine

    The command sends a segmenter the same prompts several times: again, to another instance, in
    other batches, in another order, in another process. The table shows which of these changes its
    predictions; a correct segmenter always returns the same ones.

        segarena check my_model.py:MyModel

        segarena check grabcut -d "folder(path='photos')" --samples 5

    With --against, the command compares the masks and the speed of two segmenters that get the same prompts, such as a
    network in two floating-point formats. Differences are no error.

        segarena check "sam(weights='w', autocast='bfloat16')" --against "sam(weights='w')"

    `segarena run ... --retry-damaged` repeats damaged samples; `segarena run ... --verify 20` repeats answers of a run.
    Exit code 0: no problem; 1: a problem was found; 2: invalid request, with a one-line message.
    """
    with one_line_errors():
        if _is_run(what):
            if against is not None:
                raise InvalidInput(
                    "--against: expected a segmenter, got a run; `segarena compare` compares runs"
                )
            is_sound = _check_run(Path(what))
        elif against is not None:
            _compare_segmenters(what, against, dataset, benchmark, samples)
            is_sound = True
        else:
            is_sound = _check_segmenter(what, dataset, benchmark, samples)
    if not is_sound:
        raise typer.Exit(FAILURES)


def _is_run(what: str) -> bool:
    """Return whether `what` is a run folder rather than a segmenter; raise InvalidInput if it is neither."""
    if (Path(what) / "run.json").is_file():
        return True
    if ".py" in what or "(" in what or lookup("segmenter", what):
        return False
    if Path(what).is_dir():
        return True  # not a run either, which opening it reports
    hint = suggest_names(what, plugins_by_name("segmenter")) or "see `segarena list segmenters`"
    raise InvalidInput(
        f"{what}: expected a run folder with a run.json in it, or a segmenter; {hint}"
    )


def _check_run(run: Path) -> bool:
    findings = check_run(run)
    show_findings(findings)
    return not any(finding.is_error for finding in findings)


def show_findings(findings: Iterable[Finding]) -> None:
    """Print findings, errors in red."""
    for finding in findings:
        if finding.is_error:
            typer.secho(f"error: {finding.message}", fg="red")
        else:
            typer.echo(finding.message)


def _check_segmenter(
    segmenter: str,
    dataset: str | None,
    benchmark: str | None,
    samples: int,
) -> bool:
    with Console(stderr=True).status(f"checking {segmenter}"):
        checks = check_segmenter(segmenter, dataset=dataset, benchmark=benchmark, samples=samples)
    show_sheet(_sheet(segmenter, checks))
    causes = [each.on for each in checks if each.found.differed]
    text = ", ".join(causes) or "only the prompts, as far as tested"
    typer.secho(f"answers depend on {text}", fg="red" if causes else None)
    return not causes


def _compare_segmenters(
    segmenter: str,
    other: str,
    dataset: str | None,
    benchmark: str | None,
    samples: int,
) -> None:
    with Console(stderr=True).status(f"comparing {segmenter} with {other}"):
        found = compare_segmenters(
            segmenter,
            other,
            dataset=dataset,
            benchmark=benchmark,
            samples=samples,
        )
    show_sheet(_comparison_sheet(segmenter, other, found))


def _comparison_sheet(segmenter: str, other: str, found: MaskComparison) -> Sheet:
    compared = found.agreement
    return Sheet(
        name="comparison",
        caption=f"{segmenter} against {other}: the same prompts",
        head=(
            "answers",
            "differ",
            "min. IoU",
            "mean IoU",
            "differing pixels",
            "seconds, relative",
            "the worst",
        ),
        rows=(
            (
                str(compared.asked),
                str(compared.differed),
                f"{compared.worst_iou:.4f}",
                f"{found.mean_iou:.4f}",
                f"{found.differing_pixels:.4%}",
                f"{found.seconds_ratio:.2f}",
                compared.worst,
            ),
        ),
        notes=("Relative seconds below 1 mean that the first segmenter is faster.",),
    )


def _sheet(segmenter: str, found: Sequence[DependenceCheck]) -> Sheet:
    return Sheet(
        name="check",
        caption=f"{segmenter}: the same prompts, sent again",
        head=("depends on", "sent again", "answers", "differ", "worst IoU", "the worst"),
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
        notes=("Hidden state and randomness also affect the rows below their own.",),
    )

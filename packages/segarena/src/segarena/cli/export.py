"""`segarena export`: export of a run's predicted masks as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segarena.reports.mask_export import export_masks
from segarena.terminal.exit_codes import one_line_errors


def export(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    masks: Annotated[
        str, typer.Option(help="Format: png (images and videos), coco (images) or nifti (volumes).")
    ] = "png",
    round_: Annotated[
        int | None,
        typer.Option(
            "--round", help="Round whose masks to export, if they were stored. [default: the last]"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the files. [default: RUN/masks-FORMAT]"),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Run dataset code from files that the run names, if samples are needed.",
        ),
    ] = False,
) -> None:
    """Write the predicted masks of a run as image files, with an index.

        segarena export runs/grabcut --masks coco --round 5

    Masks of images are PNG files with values 0 and 255, or run lengths in one COCO file per user. A
    video becomes a folder of PNG files with object numbers. A volume becomes a NIfTI file with the
    affine of its scan. `masks.csv` lists sample, target, user, repeat, round and metrics of each
    file. If a dialogue ended before the requested round, the command writes its last mask.
    """
    with one_line_errors():
        index = export_masks(
            run, out or run / f"masks-{masks}", as_format=masks, round_=round_, trust=trust
        )
        typer.echo(f"masks: {index.parent}\ntable: {index}")

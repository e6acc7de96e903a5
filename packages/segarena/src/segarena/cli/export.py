"""`segarena export`: the predicted masks of a run as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segarena.reports.mask_export import export_masks
from segarena.terminal.exit_codes import one_line_errors


def export(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    masks: Annotated[
        str, typer.Option(help="png (images, frames of videos), coco (images) or nifti (volumes).")
    ] = "png",
    round_: Annotated[
        int | None,
        typer.Option(
            "--round", help="Masks after this round, if they were kept. [default: the last]"
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
            help="Run a dataset that the folder names from a file, where samples are needed.",
        ),
    ] = False,
) -> None:
    """Write the predicted masks of a run as image files, with an index.

        segarena export runs/grabcut --masks coco --round 5

    Masks of images are PNGs of 0 and 255 or, as COCO, run lengths in one file per user. A video is a folder of PNGs
    with the numbers of objects. A volume is NIfTI with the affine of its scan. `masks.csv` names sample, target, user,
    repeat and round of each file, with what was measured. A dialogue that ended before a round has its last mask.
    """
    with one_line_errors():
        index = export_masks(
            run, out or run / f"masks-{masks}", as_format=masks, round_=round_, trust=trust
        )
        typer.echo(f"masks: {index.parent}\ntable: {index}")

"""`segarena segment`: one-shot segmentation of your own images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from segarena.engine.folder_segmentation import SegmentationSummary, segment_folder
from segarena.terminal.exit_codes import FAILURES, one_line_errors
from segarena.terminal.help_format import HelpCommand
from segarena.terminal.progress import ProgressBar
from segarena.terminal.worker_options import ShareOption, Workers, with_worker_options

_JOINT = "\0"  # cannot occur in an argument
_SHOWN = 10


class SupportPairsCommand(HelpCommand):
    """A command with a repeatable two-value option --support; typer supports only one of the two features."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the two values of each --support, then parse the arguments."""
        joined: list[str] = []
        rest = list(args)
        while rest:
            joined.append(rest.pop(0))
            if joined[-1] == "--support":
                values = [rest.pop(0) for _ in range(2) if rest and not rest[0].startswith("-")]
                joined.append(_JOINT.join(values))
        return super().parse_args(ctx, joined)


COMMAND_CLASS = SupportPairsCommand


@with_worker_options
def segment(
    support: Annotated[
        list[str],
        typer.Option(
            "--support",
            metavar="IMAGE MASK",
            help="An example: an image and the mask of the object in it; repeat for several.",
        ),
    ],
    query: Annotated[
        Path, typer.Option("--query", "-q", help="The images: a folder, or one file.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the masks.")] = Path("masks"),
    segmenter: Annotated[
        str,
        typer.Option(
            "--segmenter",
            "-s",
            help="A segmenter that accepts examples: NAME or NAME(option=value, ...); see `segarena list segmenters`.",
        ),
    ] = "superpixel-prototypes",
    workers: Workers = 0,
    share: ShareOption = False,
) -> None:
    """Segment your own images by example: one image with a mask in, a mask per image out.

    Nothing is trained or evaluated. Paint the object in one image (white on black, saved as PNG),
    then:

        segarena segment --support cat.jpg cat_mask.png --query photos --out masks

    The masks are PNG files with values 0 and 255, named like the images. Several examples are used together:

        segarena segment --support a.jpg a.png --support b.jpg b.png --query photos --out masks

    The default segmenter needs no weights and compares colour and texture, which suits similar
    images. For other images use a network; `docs/weights.md` describes how to get the weights:

        segarena segment --support a.jpg a.png --query photos -s "dino(weights='facebook/dinov2-base')" --out masks

    If you stop the command, run it again to resume. Exit code 0: a mask for every image; 1: some
    images failed and are listed; 2: invalid request, with a one-line message.
    """
    console = Console(stderr=True)
    with one_line_errors("stopped; repeat the command to resume"):
        pairs = [_pair(text) for text in support]
        with ProgressBar("segment", console, unit="images", workers=workers) as bar:
            found = segment_folder(
                segmenter, pairs, query, out, workers=workers, share=share, on_progress=bar.update
            )
    _report(found, out, console)
    if found.failed:
        raise typer.Exit(FAILURES)


def _pair(text: str) -> tuple[Path, Path]:
    values = text.split(_JOINT)
    if len(values) != 2 or not all(values):
        raise typer.BadParameter("expected two files, --support IMAGE MASK", param_hint="--support")
    return Path(values[0]), Path(values[1])


def _report(
    found: SegmentationSummary,
    out: Path,
    console: Console,
) -> None:
    before = f", {found.resumed} of them from an earlier call" if found.resumed else ""
    typer.echo(f"{found.done} of {found.images} images have a mask in {out}{before}")
    for assumption in found.assumptions:
        console.print(f"note: {assumption}", highlight=False, soft_wrap=True)
    if found.empty:
        empty = "1 mask is" if found.empty == 1 else f"{found.empty} masks are"
        console.print(f"{empty} empty: the segmenter found nothing similar to the example")
    for name, reason in list(found.failed.items())[:_SHOWN]:
        console.print(f"[red]failed:[/red] {name}: {' '.join(reason.split())}", highlight=False)
    if len(found.failed) > _SHOWN:
        console.print(f"and {len(found.failed) - _SHOWN} more")

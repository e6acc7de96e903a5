"""File commands of `segarena amodal`: demo, convert, reduce, check and review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from segarena.errors import DatasetError, DatasetMissing
from segarena.files.atomic_write import write_atomic
from segarena.reports.wording import count_text
from segarena.systems.scenes.checks.consensus import check_set
from segarena.systems.scenes.checks.repair import repair_set
from segarena.systems.scenes.demo.demo_files import write_demo
from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.files import format_losses, kept_scenes, read_scenes, write_scenes
from segarena.systems.scenes.files.reduction_files import write_reduction
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.scene import SceneSet
from segarena.systems.scenes.page.review_page import review_page
from segarena.terminal.exit_codes import FAILURES, one_line_errors

_SHOWN = 40
_COLOURS = {"error": "red", "warning": "yellow", "note": None}

InArgument = Annotated[
    Path, typer.Argument(metavar="IN", help="A file of annotations, or a folder of them.")
]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Format of IN: coco-amodal, coco, ann, labelme, cvat or rle. [default: detected]",
    ),
]
ImagesOption = Annotated[
    Path | None,
    typer.Option(
        "--images", help="Folder of the photographs. [default: folder of the annotations]"
    ),
]
AnnotatorOption = Annotated[
    str | None, typer.Option(help="Use only the annotations of this annotator.")
]
RepairOption = Annotated[
    bool, typer.Option("--repair", help="Repair defects that have an unambiguous repair.")
]


def read_annotations(
    path: Path,
    file_format: str | None = None,
    images: Path | None = None,
    *,
    annotator: str | None = None,
    repair: bool = False,
) -> SceneSet:
    """Read the scenes in a file or folder, optionally limited to one annotator and repaired."""
    if images is not None and not images.is_dir():
        raise DatasetMissing(f"--images {images}: expected a folder of photographs, found none")
    scenes = read_scenes(path, file_format=file_format, images=images)
    if annotator is not None:
        scenes = replace(
            scenes, scenes=tuple(scene for scene in scenes.scenes if scene.annotator == annotator)
        )
    if not scenes.scenes:
        first = next((f"; {defect}" for defect in scenes.defects), "")
        raise DatasetError(f"{path}: expected annotations, found none that can be used{first}")
    return repair_set(scenes) if repair else scenes


def write_demo_scenes(
    out: Annotated[Path, typer.Option("--out", "-o", help="Output folder.")] = Path("amodal-demo"),
    images: Annotated[int, typer.Option(min=1, help="Number of scenes.")] = 6,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the scenes.")] = 0,
) -> None:
    """Write generated scenes with known ground truth, and simulated drawings by five annotators.

        segarena amodal demo --out DIR

    `scenes.json` contains the drawings, `true_scenes.json` the true scenes, and `truth.json` depth,
    occlusion and overlap.
    """
    with one_line_errors():
        files = write_demo(demo_scenes(images=images, seed=seed), out)
        typer.echo(f"{count_text(len(files), 'file')} in {out}")
        typer.echo(f"check them with: segarena amodal check-annotations {out / 'scenes.json'}")


def convert_annotations(
    path: InArgument,
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="Output file; for label images and labelme, a folder."),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="Output format: coco-amodal, coco, coco-modal, png-16, png-palette, rle, labelme or csv.",
        ),
    ] = "coco-amodal",
    file_format: FromOption = None,
    images: ImagesOption = None,
    annotator: AnnotatorOption = None,
    repair: RepairOption = False,
) -> None:
    """Write annotations in another format, and report the properties that the format loses.

        segarena amodal convert cocoa.json labels --to png-16

        segarena amodal convert labelme_folder scenes.json --repair

    Exit code 0: everything was converted; 1: converted, but parts of IN were left out; 2: nothing
    was written.
    """
    with one_line_errors():
        scenes = read_annotations(path, file_format, images, annotator=annotator, repair=repair)
        written = write_scenes(scenes, out, to)
        show_defects(scenes.defects)
        for lost in format_losses(scenes, to):
            typer.echo(f"{to} cannot store {lost}")
        written_scenes = kept_scenes(scenes, to)
        regions = sum(len(scene.regions) for scene in written_scenes)
        summary = f"{_counted(scenes)}, {count_text(regions, 'region')}"
        if len(written_scenes) < len(scenes.scenes):
            summary = f"{len(written_scenes)} of {summary}"
        typer.echo(f"{summary}: {_named(written, out)}")
    if any(defect.severity == "error" for defect in scenes.defects):
        raise typer.Exit(FAILURES)


def reduce_annotations(
    path: InArgument,
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="Output folder for images, or JSON file for lists."),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="Reduction: modal, edges, hidden-edges, figure-ground, semantic, shared-edges or boxes.",
        ),
    ] = "modal",
    file_format: FromOption = None,
    images: ImagesOption = None,
    annotator: AnnotatorOption = None,
) -> None:
    """Derive annotations for other tasks: segmentations, edges and their owners, labels or boxes.

        segarena amodal reduce scenes.json edges --to edges

    Exit code 0: everything was derived; 1: derived, but parts of IN were left out; 2: nothing was
    written.
    """
    with one_line_errors():
        scenes = read_annotations(path, file_format, images, annotator=annotator)
        written = write_reduction(scenes, out, to)
        show_defects(scenes.defects)
        typer.echo(f"{to} of {_counted(scenes)}: {_named(written, out)}")
    if any(defect.severity == "error" for defect in scenes.defects):
        raise typer.Exit(FAILURES)


def check_annotations(
    path: InArgument,
    file_format: FromOption = None,
    images: ImagesOption = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Before the check, repair unambiguous defects in memory; the file stays unchanged.",
        ),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all findings instead of the first 40.")
    ] = False,
) -> None:
    """Find defects in each annotation by itself, and by comparison with others of the same image.

        segarena amodal check-annotations cocoa.json

    Exit code 0: no errors; 1: errors; 2: there are no annotations.
    """
    with one_line_errors():
        scenes = read_annotations(path, file_format, images, repair=repair)
        found = check_set(scenes)
        most = None if everything else _SHOWN
        show_defects(found, most=most)
        counts = Counter(defect.severity for defect in found)
        totals = ", ".join(
            count_text(counts[severity], severity) for severity in ("error", "warning", "note")
        )
        typer.echo(f"{_counted(scenes)}: {totals}")
    if counts["error"]:
        raise typer.Exit(FAILURES)


def write_review_page(
    path: InArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="Output page.")] = Path("review.html"),
    file_format: FromOption = None,
    images: ImagesOption = None,
    annotator: AnnotatorOption = None,
    most: Annotated[
        int,
        typer.Option(
            min=1, help="Maximum number of annotations; those with the most errors come first."
        ),
    ] = 200,
) -> None:
    """Write a review page with the drawings over their photographs and the position of every defect.

        segarena amodal review DIR/scenes.json --images DIR/images --out review.html

    The page works offline. Your decisions stay in the browser until you save them as a file.
    """
    with one_line_errors():
        scenes = read_annotations(path, file_format, images, annotator=annotator)
        annotation_folder = path if path.is_dir() else path.parent
        page = review_page(scenes, images=images or annotation_folder, title=path.name, most=most)
        write_atomic(out, page)
        typer.echo(f"The page is at {out.resolve()}\nOpen it in a browser; it works offline.")


def show_defects(defects: Sequence[Defect], most: int | None = _SHOWN) -> None:
    """Print up to `most` defects, worst first, and how many are omitted; None prints all defects."""
    severities = list(_COLOURS)
    ranked = sorted(defects, key=lambda defect: severities.index(defect.severity))
    for defect in ranked[:most]:
        typer.secho(str(defect), fg=_COLOURS[defect.severity])
    if most is not None and len(ranked) > most:
        typer.echo(f"and {len(ranked) - most} more")


def _counted(scenes: SceneSet) -> str:
    annotations = count_text(len(scenes.scenes), "annotation")
    images = count_text(len(scenes.by_image()), "image")
    return f"{annotations} of {images}"


def _named(written: Sequence[Path], out: Path) -> str:
    if list(written) == [out]:
        return str(out)
    return f"{count_text(len(written), 'file')} in {out}"

"""`segarena amodal statistics`, `agreement`, `edges` and `quality`: measures of annotations and detections."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from segarena.errors import InvalidInput
from segarena.systems.scenes.edges.berkeley_result_files import write_edge_files, write_region_files
from segarena.systems.scenes.edges.edge_summary import summarise_edges
from segarena.systems.scenes.edges.region_measures import summarise_regions
from segarena.systems.scenes.measures.agreement import ImageAgreement
from segarena.systems.scenes.measures.agreement_summary import summarise_agreement
from segarena.systems.scenes.measures.annotation_statistics import (
    AnnotationRecord,
    summarise_annotations,
)
from segarena.systems.scenes.measures.coco_results_evaluation import judge_segments
from segarena.systems.scenes.measures.edge_benchmark import (
    EdgeBenchmarkOptions,
    edge_counts_of,
    find_detections,
    region_counts_of,
)
from segarena.systems.scenes.measures.multi_annotator_images import find_images
from segarena.systems.scenes.measures.resumable_measurement import MeasurementJob, measure_images
from segarena.systems.scenes.page.measurement_pages import (
    write_agreement_page,
    write_edges_page,
    write_statistics_page,
)
from segarena.systems.scenes.page.measurement_tables import (
    agreement_sheet,
    edges_sheet,
    recall_sheet,
    regions_sheet,
    statistics_sheets,
)
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.progress import ProgressBar
from segarena.terminal.sheet_output import show_sheet
from segarena.terminal.worker_options import ShareOption, with_worker_options
from segarena.work.jobs import Workers

HumansArgument = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        help="Human segmentations (a folder like that of BSDS500), or a file or folder of amodal scenes.",
    ),
]
SplitOption = Annotated[
    list[str] | None, typer.Option("--split", help="Use only this split; repeat for several.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Folder for results, page and pictures; an interrupted command resumes from it.",
    ),
]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Use only the first N images.")]


@with_worker_options
def report_statistics(
    path: HumansArgument,
    split: SplitOption = None,
    estimator: Annotated[
        str, typer.Option(help="Estimator of simplicity: centres (as in the paper) or cracks.")
    ] = "centres",
    out: OutOption = None,
    workers: Workers = 0,
    share: ShareOption = False,
    limit: LimitOption = None,
) -> None:
    """Measure the regions of annotations: number, shape, occlusion and depth layers.

    segarena amodal statistics amodal-demo/scenes.json

    segarena amodal statistics DIR/bsds500 --split test --workers 2 --out statistics
    """
    with one_line_errors("stopped; run the same command again to continue"):
        survey = MeasurementJob.of_statistics(estimator)
        images = find_images(path, splits=split or ())[:limit]
        with _bar(workers) as bar:
            results = survey.run(
                images,
                out,
                data=_place(path),
                workers=workers,
                share=share,
                on_progress=bar.update,
            )
        annotations = chain.from_iterable(result["annotations"] for result in results.values())
        records = msgspec.convert(list(annotations), list[AnnotationRecord])
        summary = summarise_annotations(records)
        for sheet in statistics_sheets(summary, estimator):
            show_sheet(sheet)
        if out is not None:
            typer.echo(f"page: {write_statistics_page(out, summary, estimator=estimator)}")


@with_worker_options
def report_agreement(
    path: HumansArgument,
    split: SplitOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Require an IoU above 0.5 for matching regions.")
    ] = False,
    only: Annotated[
        str, typer.Option(help="Measure only regions or only edges; edges take most of the time.")
    ] = "both",
    overlays: Annotated[
        int,
        typer.Option(min=0, help="Number of images with a picture of the agreement on the page."),
    ] = 6,
    out: OutOption = None,
    workers: Workers = 0,
    share: ShareOption = False,
    limit: LimitOption = None,
) -> None:
    """Measure how well annotators of the same images agree on regions, edges, depth order and names.

    segarena amodal agreement amodal-demo/scenes.json --out agreement

    segarena amodal agreement DIR/bsds500 --workers 2 --out agreement
    """
    with one_line_errors("stopped; run the same command again to continue"):
        if only not in ("both", "regions", "edges"):
            raise InvalidInput(f"--only {only}: expected regions, edges or both")
        survey = MeasurementJob.of_agreement(
            is_strict=strict, with_regions=only != "edges", with_edges=only != "regions"
        )
        images = find_images(path, splits=split or ())[:limit]
        with _bar(workers) as bar:
            results = survey.run(
                images,
                out,
                data=_place(path),
                workers=workers,
                share=share,
                on_progress=bar.update,
            )
        found = msgspec.convert(list(results.values()), list[ImageAgreement])
        summary = summarise_agreement(found)
        show_sheet(agreement_sheet(summary))
        if out is not None:
            typer.echo(
                f"page: {write_agreement_page(out, summary, images, found, overlays=overlays)}"
            )


@with_worker_options
def report_edges(
    detections: Annotated[
        Path,
        typer.Argument(
            metavar="MAPS",
            help="Folder with ID.png, .npy, .npz or .mat: soft maps or segmentations.",
        ),
    ],
    path: HumansArgument,
    split: SplitOption = None,
    regions: Annotated[
        bool,
        typer.Option(
            "--regions", help="Also measure covering, Rand index and variation of information."
        ),
    ] = False,
    thresholds: Annotated[
        int,
        typer.Option(
            min=1, help="Number of thresholds for soft maps; files of segmentations have their own."
        ),
    ] = 99,
    tolerance: Annotated[
        float,
        typer.Option(min=0, help="Maximum distance of matched pixels, as a share of the diagonal."),
    ] = 0.0075,
    thin: Annotated[bool, typer.Option(help="Thin the maps before matching.")] = True,
    occurrence: Annotated[
        str,
        typer.Option(
            help="Which of several points with equal recall to keep for AP: first (new MATLAB) or last (old)."
        ),
    ] = "first",
    partial: Annotated[
        bool, typer.Option("--partial", help="Skip images without a file in MAPS.")
    ] = False,
    out: OutOption = None,
    workers: Workers = 0,
    share: ShareOption = False,
    limit: LimitOption = None,
) -> None:
    """Evaluate edges or segmentations against human annotations: ODS, OIS, AP, R50.

    The matching of edges is exact, so repeated calls give the same numbers.

        segarena amodal edges my_edges DIR/bsds500 --split test --workers 2 --out edges

        segarena amodal edges my_segments DIR/bsds500 --split test --regions
    """
    with one_line_errors("stopped; run the same command again to continue"):
        if occurrence not in ("first", "last"):
            raise InvalidInput(f"--occurrence {occurrence}: expected first or last")
        judged = ("edges", "regions") if regions else ("edges",)
        rules = EdgeBenchmarkOptions(
            thresholds=thresholds,
            tolerance=tolerance,
            thins=thin,
            judged=judged,
        )
        items = find_detections(
            detections, find_images(path, splits=split or ()), is_partial=partial
        )
        items = dict(list(items.items())[:limit])
        request = {**rules.as_json(), "maps": _place(detections), "data": _place(path)}
        with _bar(workers) as bar:
            found = measure_images(
                items,
                rules.work,
                request,
                out,
                workers=workers,
                share=share,
                on_progress=bar.update,
            )
        results = list(found.values())
        edge_counts = [edge_counts_of(result) for result in results]
        summary = summarise_edges(edge_counts, occurrence=occurrence)
        files: list[Path] = []
        if out is not None:
            files += write_edge_files(out, summary)
        sheets = [edges_sheet(summary, occurrence)]
        if regions:
            region_counts = [region_counts_of(result) for result in results]
            cover = summarise_regions(region_counts)
            if out is not None:
                files += write_region_files(out, cover)
            sheets.append(regions_sheet(cover))
        for sheet in sheets:
            show_sheet(sheet)
        for file in files:
            typer.echo(str(file))
        if out is not None:
            typer.echo(f"page: {write_edges_page(out, summary, sheets)}")


def report_quality(
    detections: Annotated[
        list[Path], typer.Argument(metavar="SEGMENTS...", help="COCO results files (JSON).")
    ],
    truth: Annotated[
        Path,
        typer.Option(
            "--truth",
            "-t",
            help="Amodal scenes; only the first annotation of each image counts.",
        ),
    ],
    against: Annotated[
        str, typer.Option(help="Masks of the ground truth to match: amodal or visible.")
    ] = "amodal",
    given: Annotated[
        str, typer.Option(help="Masks of the segments to evaluate: segmentation or amodal.")
    ] = "segmentation",
    most: Annotated[
        list[int] | None,
        typer.Option(
            help="Number of best segments per image; repeat for several. [default: 1 10 100]"
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Follow the published code: occlusion from the file, .25 in both ranges, -1 if there are no regions.",
        ),
    ] = False,
) -> None:
    """Measure the average recall of segments over IoU .5 to .95, by occlusion and for things and stuff.

    segarena amodal quality segments.json --truth cocoa.json
    """
    with one_line_errors():
        results = judge_segments(
            detections,
            truth,
            against=against,
            segment_extent=given,
            most=tuple(most or (1, 10, 100)),
            is_published=published,
        )
        show_sheet(recall_sheet(results))


def _bar(workers: Workers) -> ProgressBar:
    from rich.console import Console

    return ProgressBar("measure", Console(stderr=True), unit="images", workers=workers)


def _place(path: Path) -> str:
    return str(path.expanduser().resolve())

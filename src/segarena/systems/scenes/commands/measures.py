"""`segarena amodal statistics`, `agreement`, `edges` and `quality`: annotations and detections in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from segarena.errors import InvalidInput
from segarena.terminal.exits import one_line_errors
from segarena.terminal.tables import show_table

if TYPE_CHECKING:
    from segarena.statistics.intervals import Interval
    from segarena.systems.scenes.measures.agreement_summary import AgreementSummary
    from segarena.systems.scenes.measures.statistics import StatisticsSummary

Item = TypeVar("Item")

HumansArgument = Annotated[
    Path,
    typer.Argument(
        metavar="PATH", help="Human segmentations (a folder as of BSDS500), or a file or folder of amodal scenes."
    ),
]
SplitOption = Annotated[list[str] | None, typer.Option("--split", help="Only this split; repeat for several.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="Folder for results, page and pictures; one line per finished image.")
]
WorkersOption = Annotated[int, typer.Option("--workers", "-w", min=1, help="Processes to use.")]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Only the first so many images.")]


def statistics(
    path: HumansArgument,
    split: SplitOption = None,
    estimator: Annotated[str, typer.Option(help="Of simplicity: centres (as in the paper) or cracks.")] = "centres",
    out: OutOption = None,
    workers: WorkersOption = 1,
    limit: LimitOption = None,
) -> None:
    """Say how many regions there are, of what shapes, how much is hidden and how deep it goes.

    segarena amodal statistics amodal-demo/scenes.json

    segarena amodal statistics DIR/bsds500 --split test --workers 2 --out statistics
    """
    from segarena.systems.scenes.measures.sources import find_images
    from segarena.systems.scenes.measures.statistics import AnnotationRecord, summarise_annotations
    from segarena.systems.scenes.measures.survey import Survey

    with one_line_errors("stopped; the same command goes on"):
        survey = Survey.of_statistics(estimator)
        images = find_images(path, splits=split or ())[:limit]
        results = _tracked(survey.run(images, out, data=_place(path), workers=workers), len(images))
        records = [AnnotationRecord.from_json(one) for _, result in results for one in result["annotations"]]
        summary = summarise_annotations(records)
        _show_statistics(summary, estimator)
        if out is not None:
            from segarena.systems.scenes.page.page import write_statistics_page

            typer.echo(f"page: {write_statistics_page(out, summary, estimator=estimator)}")


def agreement(
    path: HumansArgument,
    split: SplitOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Same regions need an IoU of more than 0.5.")] = False,
    only: Annotated[str, typer.Option(help="regions or edges; edges take most of the time.")] = "both",
    overlays: Annotated[int, typer.Option(min=0, help="Pictures of agreement on single images in the page.")] = 6,
    out: OutOption = None,
    workers: WorkersOption = 1,
    limit: LimitOption = None,
) -> None:
    """Say how far the annotators of the same images agree: regions, edges, depth order, names.

    segarena amodal agreement amodal-demo/scenes.json --out agreement

    segarena amodal agreement DIR/bsds500 --workers 2 --out agreement
    """
    from segarena.systems.scenes.measures.agreement import ImageAgreement
    from segarena.systems.scenes.measures.agreement_summary import summarise_agreement
    from segarena.systems.scenes.measures.sources import find_images
    from segarena.systems.scenes.measures.survey import Survey

    with one_line_errors("stopped; the same command goes on"):
        if only not in ("both", "regions", "edges"):
            raise InvalidInput(f"--only {only}: expected regions, edges or both")
        survey = Survey.of_agreement(is_strict=strict, with_regions=only != "edges", with_edges=only != "regions")
        images = find_images(path, splits=split or ())[:limit]
        results = dict(_tracked(survey.run(images, out, data=_place(path), workers=workers), len(images)))
        found = [ImageAgreement.from_json(result) for result in results.values()]
        summary = summarise_agreement(found)
        _show_agreement(summary)
        if out is not None:
            from segarena.systems.scenes.page.page import write_agreement_page

            typer.echo(f"page: {write_agreement_page(out, summary, images, found, overlays=overlays)}")


def edges(
    detections: Annotated[
        Path, typer.Argument(metavar="MAPS", help="Folder with ID.png, .npy, .npz or .mat: soft maps or segmentations.")
    ],
    path: HumansArgument,
    split: SplitOption = None,
    regions: Annotated[
        bool, typer.Option("--regions", help="Also covering, Rand index and variation of information.")
    ] = False,
    thresholds: Annotated[int, typer.Option(min=1, help="Of soft maps; segmentations bring their own.")] = 99,
    tolerance: Annotated[float, typer.Option(min=0, help="Farthest match, as a share of the diagonal.")] = 0.0075,
    thin: Annotated[bool, typer.Option(help="Thin the maps before matching.")] = True,
    occurrence: Annotated[
        str, typer.Option(help="Which of equal recalls AP keeps: first (new MATLAB) or last (old).")
    ] = "first",
    partial: Annotated[bool, typer.Option("--partial", help="Leave out images that MAPS has no file for.")] = False,
    out: OutOption = None,
    workers: WorkersOption = 1,
    limit: LimitOption = None,
) -> None:
    """Judge edges or segmentations against those that people drew: ODS, OIS, AP, R50.

    Matching is exact and gives the same numbers every time.

        segarena amodal edges my_edges DIR/bsds500 --split test --workers 2 --out edges

        segarena amodal edges my_segments DIR/bsds500 --split test --regions
    """
    from segarena.systems.scenes.edges.benchmark import (
        EdgeRules,
        edge_counts_of,
        find_detections,
        region_counts_of,
    )
    from segarena.systems.scenes.edges.files import write_edge_files, write_region_files
    from segarena.systems.scenes.edges.regions import summarise_regions
    from segarena.systems.scenes.edges.summary import summarise_edges
    from segarena.systems.scenes.measures.journal import Journal, work_through
    from segarena.systems.scenes.measures.sources import find_images

    with one_line_errors("stopped; the same command goes on"):
        if occurrence not in ("first", "last"):
            raise InvalidInput(f"--occurrence {occurrence}: expected first or last")
        judged = ("edges", "regions") if regions else ("edges",)
        rules = EdgeRules(thresholds=thresholds, tolerance=tolerance, thins=thin, judged=judged)
        items = find_detections(detections, find_images(path, splits=split or ()), is_partial=partial)[:limit]
        journal = Journal(
            out and out / "images.jsonl", {**rules.as_json(), "maps": _place(detections), "data": _place(path)}
        )
        results = [
            result for _, result in _tracked(work_through(items, rules.work, journal, workers=workers), len(items))
        ]
        summary = summarise_edges([edge_counts_of(result) for result in results], occurrence=occurrence)
        files = write_edge_files(out, summary) if out is not None else []
        rows = [
            ["best threshold for the set (ODS)", *_numbers(summary.ods.threshold, summary.ods.recall,
                                                           summary.ods.precision, summary.ods.f)],
            ["best threshold per image (OIS)", "", *_numbers(summary.ois.recall, summary.ois.precision, summary.ois.f)],
        ]  # fmt: skip
        show_table(f"Edges, {len(results)} images", ["", "threshold", "recall", "precision", "F"], rows)
        typer.echo(f"AP {summary.ap:.3f} ({occurrence} of equal recalls), R50 {summary.r50:.3f}")
        if regions:
            cover = summarise_regions([region_counts_of(result) for result in results])
            files += write_region_files(out, cover) if out is not None else []
            rows = [
                ["covering", *_numbers(cover.covering_ods, cover.covering_ois, cover.covering_best)],
                ["Rand index", *_numbers(cover.rand_ods, cover.rand_ois), ""],
                ["variation of information (bits)", *_numbers(cover.information_ods, cover.information_ois), ""],
            ]
            show_table("Regions", ["", "ODS", "OIS", "best"], rows)
        for file in files:
            typer.echo(str(file))


def quality(
    detections: Annotated[list[Path], typer.Argument(metavar="SEGMENTS...", help="COCO results files (JSON).")],
    truth: Annotated[Path, typer.Option("--truth", "-t", help="Amodal scenes; the first annotation of an image.")],
    against: Annotated[str, typer.Option(help="Which masks are to be found: amodal or visible.")] = "amodal",
    given: Annotated[
        str, typer.Option(help="Which masks of the segments count: segmentation or amodal.")
    ] = "segmentation",
    most: Annotated[
        list[int] | None, typer.Option(help="Best segments of an image that count. [default: 1 10 100]")
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="As published: a quarter hidden counts twice, -1 for nothing.")
    ] = False,
) -> None:
    """Say how many regions segments find: average recall over IoU .5 to .95, by occlusion, things and stuff.

    segarena amodal quality segments.json --truth cocoa.json
    """
    from segarena.systems.scenes.measures.segment_files import judge_segments

    with one_line_errors():
        results = judge_segments(
            detections, truth, against=against, given=given, most=tuple(most or (1, 10, 100)), is_published=published
        )
        rows = [
            [result.kind, result.occlusion, str(result.most), f"{result.average_recall:.3f}", str(result.regions)]
            for result in results
            if result.most == max(r.most for r in results) or result.occlusion == "all"
        ]
        show_table("Average recall", ["kind", "occlusion", "segments", "AR", "regions"], rows)


def _tracked(results: Iterable[Item], total: int) -> Iterator[Item]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(results, "images", total=total, console=console, disable=not console.is_terminal)


def _place(path: Path) -> str:
    return str(path.expanduser().resolve())


def _numbers(*values: float) -> list[str]:
    return [f"{value:.3f}" for value in values]


def _show_statistics(summary: StatisticsSummary, estimator: str) -> None:
    rows = [
        ["images, annotations, regions", f"{summary.images}, {summary.annotations}, {summary.regions}"],
        ["regions per annotation", f"{summary.regions_per_annotation:.1f}"],
        ["points per region", _or_dash(summary.points_per_region, ".1f")],
        ["image covered", f"{summary.covered:.1%}"],
        ["regions partly hidden", f"{summary.occluded:.1%}"],
        ["hidden, mean over all regions", f"{summary.occlusion:.1%}"],
        ["hidden, mean over partly hidden ones", _or_dash(summary.occlusion_of_occluded, ".1%")],
        ["things, stuff", f"{summary.things}, {summary.stuff}"],
    ]
    show_table("Annotations", ["", "value"], rows)
    shapes = {f"visible parts ({estimator})": summary.modal, f"full extents ({estimator})": summary.amodal}
    shapes["polygons (exact)"] = summary.polygon
    rows = [
        [name, f"{shape.simplicity:.3f}", f"{shape.convexity:.3f}", f"{shape.edge_density:.3%}"]
        for name, shape in shapes.items()
        if math.isfinite(shape.convexity)
    ]
    show_table("Shapes, means over regions", ["", "simplicity", "convexity", "edge density"], rows)
    if summary.components:
        rows = [[str(size), f"{layers:.2f}", str(count)] for size, layers, count in summary.growth.sizes]
        show_table("Depth layers", ["regions of a component", "mean layers", "components"], rows)
        growth = summary.growth
        typer.echo(f"{growth.slope:.2f} layers more per doubling; Spearman {growth.spearman:.2f}")
    if summary.names:
        show_table("Names", ["", "regions"], [[name, str(n)] for name, n in list(summary.names.items())[:20]])


def _show_agreement(summary: AgreementSummary) -> None:
    rows = [
        [name, *_numbers(value.mean, value.low, value.high), str(value.n)]
        for name, value in _agreement_values(summary)
        if value.n
    ]
    title = f"Agreement, {summary.images} images, {summary.annotations} annotations, {summary.pairs} pairs"
    show_table(title, ["", "value", "low", "high", "of"], rows)


def _agreement_values(summary: AgreementSummary) -> list[tuple[str, Interval]]:
    return [
        ("region consistency (median F)", summary.regions),
        ("edge consistency (median F)", summary.edges),
        ("one against the rest: precision", summary.precision),
        ("one against the rest: recall", summary.recall),
        ("one against the rest: F", summary.human_f),
        ("depth order", summary.order),
        ("names", summary.names),
    ]


def _or_dash(value: float, form: str) -> str:
    return format(value, form) if math.isfinite(value) else "-"

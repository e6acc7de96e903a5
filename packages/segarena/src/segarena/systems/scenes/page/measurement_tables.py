"""Tables of annotations, segments and edges, for pages and for the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from segarena.reports.cells import Cell, Value
from segarena.reports.sheets import Sheet
from segarena.reports.wording import count_text
from segarena.systems.scenes.edges.edge_summary import EdgeSummary
from segarena.systems.scenes.edges.region_measures import RegionSummary
from segarena.systems.scenes.measures.agreement_summary import AgreementSummary
from segarena.systems.scenes.measures.annotation_statistics import ShapeSummary, StatisticsSummary
from segarena.systems.scenes.measures.segment_recall import SegmentRecall

MOST_NAMES = 50
NOT_ANNOTATED = "not annotated"


def statistics_sheets(summary: StatisticsSummary, estimator: str) -> list[Sheet]:
    """Return the tables of a set of annotations: counts, shapes, depth layers, names; empty tables are left out."""
    sheets = [_numbers(summary), _shapes(summary, estimator), _layers(summary), _names(summary)]
    return [sheet for sheet in sheets if sheet.rows]


def _numbers(summary: StatisticsSummary) -> Sheet:
    has_depth = bool(summary.components or summary.occlusions)
    has_kinds = bool(summary.things or summary.stuff)
    hidden_regions = _share(summary.occluded)
    hidden_area = _share(summary.occlusion)
    things: int | Value = summary.things
    stuff: int | Value = summary.stuff
    unknown = Value(mean=math.nan, printed=NOT_ANNOTATED)
    # Without depth or kinds, a zero would look like a measurement.
    if not has_depth:
        hidden_regions = unknown
        hidden_area = unknown
    if not has_kinds:
        things = unknown
        stuff = unknown
    rows: list[tuple[str, int | Value]] = [
        ("images", summary.images),
        ("annotations", summary.annotations),
        ("regions", summary.regions),
        ("regions per annotation", Value(mean=summary.regions_per_annotation, decimals=2)),
        ("points per region", Value(mean=summary.points_per_region, decimals=1)),
        ("image area covered, %", _share(summary.covered)),
        ("regions partly hidden, %", hidden_regions),
        ("hidden area, mean over all regions, %", hidden_area),
        ("hidden area, mean over partly hidden regions, %", _share(summary.occlusion_of_occluded)),
        ("things", things),
        ("stuff", stuff),
    ]
    known = tuple(row for row in rows if _is_known(row[1]))
    return Sheet(
        name="numbers",
        caption="Annotations in numbers.",
        head=("", "Value"),
        rows=known,
    )


def _is_known(value: int | Value) -> bool:
    """Return whether a value is a number or has a printed text, such as "not annotated"."""
    if isinstance(value, int):
        return True
    return math.isfinite(value.mean) or bool(value.printed)


def _shapes(summary: StatisticsSummary, estimator: str) -> Sheet:
    named: list[tuple[str, ShapeSummary]] = [
        ("full extents", summary.amodal),
        ("polygons", summary.polygon),
    ]
    if summary.components or summary.occlusions:
        named.insert(0, ("visible parts", summary.modal))
    rows: list[tuple[Cell, ...]] = []
    for name, shape in named:
        if not math.isfinite(shape.convexity):
            continue
        simplicity = Value(mean=shape.simplicity)
        convexity = Value(mean=shape.convexity)
        rows.append((name, simplicity, convexity, _share(shape.edge_density, decimals=3)))
    note = (
        f"Masks are measured with the “{estimator}” estimator, polygons exactly. Simplicity is √(4π · area) / "
        "perimeter, convexity is area / area of the convex hull, and edge density is the share of pixels on an edge."
    )
    return Sheet(
        name="shapes",
        caption="Shapes, means over regions.",
        head=("", "Simplicity", "Convexity", "Edge density, %"),
        rows=tuple(rows),
        notes=(note,),
    )


def _layers(summary: StatisticsSummary) -> Sheet:
    growth = summary.growth
    trend = "All components have the same number of regions."
    if math.isfinite(growth.slope):
        trend = f"Each doubling of a component adds {growth.slope:.2f} layers; Spearman {growth.spearman:.2f}."
    note = "A component is a set of regions joined by occlusion; its layers are the length of its longest chain."
    rows = tuple((size, Value(mean=mean, decimals=2), count) for size, mean, count in growth.sizes)
    return Sheet(
        name="layers",
        caption="Depth layers.",
        head=("Regions of a component", "Mean layers", "Components"),
        rows=rows if summary.components else (),
        notes=(f"{note} {trend}",),
    )


def _names(summary: StatisticsSummary) -> Sheet:
    rows = tuple(list(summary.names.items())[:MOST_NAMES])
    left_out = len(summary.names) - len(rows)
    return Sheet(
        name="names",
        caption="Names of regions.",
        head=("Name", "Regions"),
        rows=rows,
        notes=(f"{left_out} rarer names are not shown.",) if left_out else (),
    )


def agreement_sheet(summary: AgreementSummary) -> Sheet:
    """Return the table of agreement, with rows only for measured values; each row says what it counts."""
    pairs = "pair of annotations", "pairs of annotations"
    annotations = "annotation", "annotations"
    measures = (
        ("region consistency, median F", summary.regions, pairs),
        ("edge consistency, median F", summary.edges, pairs),
        ("one annotator against the rest, precision", summary.precision, annotations),
        ("one annotator against the rest, recall", summary.recall, annotations),
        ("one annotator against the rest, F", summary.human_f, annotations),
        ("depth order of matched regions", summary.order, pairs),
        ("names of matched regions", summary.names, pairs),
    )
    rows: list[tuple[Cell, ...]] = []
    for name, interval, (singular, plural) in measures:
        if interval.n:
            value = Value(mean=interval.mean, low=interval.low, high=interval.high)
            rows.append((name, value, interval.n, singular if interval.n == 1 else plural))
    return Sheet(
        name="agreement",
        caption=f"Agreement on {_count(summary.images, 'image')} with "
        f"{_count(summary.annotations, 'annotation')}, {_count(summary.pairs, 'pair')} of annotations.",
        head=("", "Value", "Number", "Of"),
        rows=tuple(rows),
        notes=("Brackets hold 95 % intervals; whole images are resampled.",),
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def edges_sheet(summary: EdgeSummary, occurrence: str) -> Sheet:
    """Return the table of an edge detector; `occurrence` states which of several points with equal recall AP keeps."""
    named = {
        "best threshold for the set (ODS)": summary.ods,
        "best threshold per image (OIS)": summary.ois,
    }
    rows: list[tuple[Cell, ...]] = []
    for name, score in named.items():
        values = (score.threshold, score.recall, score.precision, score.f)
        rows.append((name, *(Value(mean=value) for value in values)))
    return Sheet(
        name="edges",
        caption=f"Edges, {count_text(len(summary.images), 'image')}.",
        head=("", "Threshold", "Recall", "Precision", "F"),
        rows=tuple(rows),
        notes=(
            f"AP {summary.ap:.3f} ({occurrence} of equal recalls), R50 {Value(mean=summary.r50).text}",
        ),
    )


def regions_sheet(summary: RegionSummary) -> Sheet:
    """Return the table of region measures."""
    named = {
        "covering": (*summary.covering[1:], summary.covering_best),
        "Rand index": (*summary.rand[1:], math.nan),
        "variation of information (bits)": (*summary.information[1:], math.nan),
    }
    rows: list[tuple[Cell, ...]] = []
    for name, values in named.items():
        rows.append((name, *(Value(mean=value) for value in values)))
    return Sheet(
        name="regions",
        caption="Regions.",
        head=("", "ODS", "OIS", "Best"),
        rows=tuple(rows),
    )


def recall_sheet(results: Sequence[SegmentRecall]) -> Sheet:
    """Return average recall by kind and occlusion; smaller segment limits have rows only for all occlusions."""
    most = max((result.most for result in results), default=0)
    rows: list[tuple[Cell, ...]] = []
    for result in results:
        if result.most == most or result.occlusion == "all":
            recall = Value(mean=result.average_recall)
            rows.append((result.kind, result.occlusion, result.most, recall, result.regions))
    return Sheet(
        name="recall",
        caption="Average recall.",
        head=("Kind", "Occlusion", "Segments", "AR", "Regions"),
        rows=tuple(rows),
    )


def _share(value: float, decimals: int = 1) -> Value:
    return Value(mean=value, decimals=decimals, is_share=True)

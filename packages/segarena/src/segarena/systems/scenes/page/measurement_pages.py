"""Pages with statistics of annotations, agreement between annotators, and results of an edge detector."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.files.atomic_write import write_atomic
from segarena.reports.charts import Bars, Curve, bar_chart, line_chart
from segarena.reports.html_document import document
from segarena.reports.renderers.html import sheet_html
from segarena.reports.sheets import Sheet
from segarena.systems.scenes.edges.edge_summary import EdgeSummary
from segarena.systems.scenes.measures.agreement import ImageAgreement
from segarena.systems.scenes.measures.agreement_summary import AgreementSummary
from segarena.systems.scenes.measures.annotation_statistics import StatisticsSummary
from segarena.systems.scenes.measures.multi_annotator_images import HumanImage
from segarena.systems.scenes.page.annotator_agreement_picture import SupportPicture, support_picture
from segarena.systems.scenes.page.measurement_tables import agreement_sheet, statistics_sheets

PANEL_PX = (540, 300)


def write_statistics_page(
    folder: Path,
    summary: StatisticsSummary,
    *,
    estimator: str,
) -> Path:
    """Write statistics.json and statistics.html to an existing folder, and return the page."""
    charts = {"layers": _layer_charts(summary)}
    if summary.occlusions:
        counts = np.histogram(summary.occlusions, bins=20, range=(0, 1))[0]
        chart = _histogram(counts, "hidden share of partly hidden regions", "regions")
        charts["numbers"] = [("How much is hidden", chart)]
    return _write(
        folder,
        "statistics",
        asdict(summary),
        title="Statistics of annotations",
        sheets=statistics_sheets(summary, estimator),
        charts=charts,
    )


def write_agreement_page(
    folder: Path,
    summary: AgreementSummary,
    images: Sequence[HumanImage],
    found: Sequence[ImageAgreement],
    *,
    overlays: int = 6,
) -> Path:
    """Write agreement.json and agreement.html to an existing folder, and return the page.

    The page shows pictures of at most `overlays` images, evenly spaced from the best agreement to
    the worst.
    """
    charts: list[tuple[str, str]] = []
    if summary.regions.n:
        label = "F of the regions of two annotators"
        charts.append(("Regions", _histogram(summary.region_histogram, label, "pairs")))
    if summary.edges.n:
        label = "F of the edges of two annotators"
        charts.append(("Edges", _histogram(summary.edge_histogram, label, "pairs")))
    return _write(
        folder,
        "agreement",
        asdict(summary),
        title="Agreement between annotators",
        sheet=agreement_sheet(summary),
        charts=charts,
        pictures=_pictures(images, found, overlays),
    )


def write_edges_page(
    folder: Path,
    summary: EdgeSummary,
    sheets: Sequence[Sheet],
) -> Path:
    """Write edges.json, and edges.html with tables and curve, to an existing folder, and return the page."""
    points = sorted(summary.curve, key=lambda point: point.recall)
    recall = [point.recall for point in points]
    precision = [point.precision for point in points]
    curve = Curve(
        label="",
        colour=0,
        x=recall,
        y=precision,
        low=precision,
        high=precision,
    )
    title = "Precision and recall"
    chart = line_chart(
        [curve],
        title=title,
        x_label="recall",
        y_label="precision",
        x_range=(0.0, 1.0),
        size_px=PANEL_PX,
    )
    charts = {"edges": [(title, chart)]}
    return _write(
        folder,
        "edges",
        asdict(summary),
        template="statistics",
        title="Edges",
        sheets=sheets,
        charts=charts,
    )


def _pictures(
    images: Sequence[HumanImage],
    found: Sequence[ImageAgreement],
    overlays: int,
) -> list[tuple[float, SupportPicture]]:
    """Return pictures, each with the mean F over the image's pairs of annotators, best first."""
    means: dict[str, float] = {}
    for agreement in found:
        if agreement.pairs:
            means[agreement.image] = float(np.mean([pair.regions for pair in agreement.pairs]))
    ranked = [image for image in images if image.id in means]
    ranked.sort(key=lambda image: (-means[image.id], image.id))
    if not overlays or not ranked or math.isnan(means[ranked[0].id]):
        return []
    spaced = np.linspace(0, len(ranked) - 1, min(overlays, len(ranked)))
    # Rounding may give the same index twice.
    indices = np.unique(spaced.round().astype(int))
    chosen = [ranked[index] for index in indices]
    return [(means[image.id], support_picture(image.drawings())) for image in chosen]


def _layer_charts(summary: StatisticsSummary) -> list[tuple[str, str]]:
    if not summary.components:
        return []
    # Every component has at least one layer, so the count for 0 layers is dropped.
    counts = np.bincount([component.layers for component in summary.components])[1:]
    bars = [Bars(label="components", colour=0, heights=counts.tolist())]
    by_layers = bar_chart(
        bars,
        [str(layers) for layers in range(1, len(counts) + 1)],
        title="Components by layers",
        x_label="layers",
        y_label="components",
        size_px=PANEL_PX,
    )
    sizes = [float(size) for size, _, _ in summary.growth.sizes]
    means = [mean for _, mean, _ in summary.growth.sizes]
    curve = Curve(
        label="",
        colour=0,
        x=sizes,
        y=means,
        low=means,
        high=means,
    )
    by_size = line_chart(
        [curve],
        title="Layers by size",
        x_label="regions of the component",
        y_label="mean layers",
        y_range=(0.0, max(means, default=1.0) * 1.1),
        size_px=PANEL_PX,
    )
    return [("Components by layers", by_layers), ("Layers by size of the component", by_size)]


def _histogram(
    counts: NDArray[Any],
    x_label: str,
    y_label: str,
) -> str:
    """Return the bars of a histogram with equal bins in the range 0..1."""
    bars = [Bars(label=y_label, colour=0, heights=counts.tolist())]
    starts = [f"{k / len(counts):.2g}" for k in range(len(counts))]
    return bar_chart(
        bars,
        starts,
        title=x_label,
        x_label=x_label,
        y_label=y_label,
        size_px=PANEL_PX,
    )


def _write(
    folder: Path,
    name: str,
    numbers: dict[str, Any],
    *,
    template: str = "",
    **values: Any,
) -> Path:
    """Write NAME.json and NAME.html; the page is rendered from `template`, by default NAME."""
    write_atomic(folder / f"{name}.json", json.dumps(_plain(numbers), indent=1))
    page = document(
        "segarena.systems.scenes.page",
        f"{template or name}.html",
        style="pages.css",
        table=sheet_html,
        **values,
    )
    return write_atomic(folder / f"{name}.html", page)


def _plain(value: Any) -> Any:
    """Convert a value for JSON: arrays to lists, NaN to null."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value

"""Pages about annotations: statistics, and agreement between annotators, with the figures of the amodal paper."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.reports.charts import Bars, Curve, bar_chart, line_chart
from segarena.reports.sections import number_cell, table, text_cell
from segarena.statistics.intervals import Interval
from segarena.systems.scenes.measures.agreement import ImageAgreement
from segarena.systems.scenes.measures.agreement_summary import AgreementSummary
from segarena.systems.scenes.measures.sources import HumanImage
from segarena.systems.scenes.measures.statistics import Shape, StatisticsSummary
from segarena.systems.scenes.page.pictures import support_picture


def write_statistics_page(folder: Path, summary: StatisticsSummary, *, estimator: str) -> Path:
    """Write statistics.json and statistics.html into a folder that exists; return the page."""
    values = asdict(summary)
    (folder / "statistics.json").write_text(json.dumps(_plain(values), indent=1), encoding="utf-8")
    facts = [
        ("images", float(summary.images), f"{summary.images}"),
        ("annotations", float(summary.annotations), f"{summary.annotations}"),
        ("regions", float(summary.regions), f"{summary.regions}"),
        ("regions per annotation", summary.regions_per_annotation, f"{summary.regions_per_annotation:.2f}"),
        ("points per region", summary.points_per_region, f"{summary.points_per_region:.1f}"),
        ("image covered", summary.covered, f"{summary.covered:.1%}"),
        ("regions partly hidden", summary.occluded, f"{summary.occluded:.1%}"),
        ("hidden, mean over all regions", summary.occlusion, f"{summary.occlusion:.1%}"),
        ("hidden, mean over partly hidden", summary.occlusion_of_occluded, f"{summary.occlusion_of_occluded:.1%}"),
        ("things", float(summary.things), f"{summary.things}"),
        ("stuff", float(summary.stuff), f"{summary.stuff}"),
    ]
    known = [fact for fact in facts if math.isfinite(fact[1])]
    head = [("text", ""), ("num", "value")]
    body = [
        "<h2>In numbers</h2>",
        table(head, [text_cell(name) + number_cell(value, text) for name, value, text in known]),
        "<h2>Shapes</h2>",
        f"<p>Means over regions. Pixels by the estimator “{escape(estimator)}”; polygons exactly. Simplicity is "
        "sqrt(4π area) / perimeter, convexity area / area of the hull; edge density is edge pixels / pixels.</p>",
        _shapes(summary),
    ]
    if summary.occlusions:
        counts = np.histogram(summary.occlusions, bins=20, range=(0, 1))[0]
        body += ["<h2>How much is hidden</h2>", _bars([("regions", counts)], "hidden share of partly hidden regions")]
    if summary.components:
        body += ["<h2>Depth layers</h2>", *_layers(summary)]
    if summary.names:
        rows = [text_cell(name) + number_cell(count, str(count)) for name, count in list(summary.names.items())[:50]]
        body += ["<h2>Names</h2>", table([("text", "name"), ("num", "regions")], rows)]
    return _write(folder / "statistics.html", "Statistics of annotations", body)


def write_agreement_page(
    folder: Path,
    summary: AgreementSummary,
    images: Sequence[HumanImage],
    found: Sequence[ImageAgreement],
    *,
    overlays: int = 6,
) -> Path:
    """Write agreement.json and agreement.html into a folder that exists; return the page.

    Args:
        folder: where.
        summary: over the set.
        images: to draw some of them.
        found: the agreement on each of them, in the same order.
        overlays: how many are drawn: from the best agreement to the worst, evenly spaced.
    """
    (folder / "agreement.json").write_text(json.dumps(_plain(asdict(summary)), indent=1), encoding="utf-8")
    rows = [
        text_cell(name)
        + number_cell(value.mean, f"{value.mean:.3f}", _bounds(value))
        + number_cell(value.n, str(value.n))
        for name, value in (
            ("region consistency, median F", summary.regions),
            ("edge consistency, median F", summary.edges),
            ("one against the rest, precision", summary.precision),
            ("one against the rest, recall", summary.recall),
            ("one against the rest, F", summary.human_f),
            ("depth order of matched regions", summary.order),
            ("names of matched regions", summary.names),
        )
        if value.n
    ]
    body = [
        f"<p>{summary.images} images, {summary.annotations} annotations, {summary.pairs} pairs of annotators. "
        "Intervals hold 95 % of bootstrap samples of whole images.</p>",
        table([("text", ""), ("num", "value"), ("num", "of")], rows),
        "<h2>Consistency of pairs</h2>",
    ]
    if summary.regions.n:
        body += ["<h3>Regions</h3>", _bars([("pairs", summary.region_histogram)], "F of the regions of two annotators")]
    if summary.edges.n:
        body += ["<h3>Edges</h3>", _bars([("pairs", summary.edge_histogram)], "F of the edges of two annotators")]
    body += _pictures(images, found, overlays)
    return _write(folder / "agreement.html", "Agreement between annotators", body)


def _pictures(images: Sequence[HumanImage], found: Sequence[ImageAgreement], overlays: int) -> list[str]:
    by_image = {agreement.image: agreement for agreement in found if agreement.pairs}
    ranked = sorted(
        (image for image in images if image.id in by_image),
        key=lambda image: (-float(np.mean([p.regions for p in by_image[image.id].pairs])), image.id),
    )
    if not overlays or not ranked or math.isnan(by_image[ranked[0].id].pairs[0].regions):
        return []
    places = np.unique(np.linspace(0, len(ranked) - 1, min(overlays, len(ranked))).round().astype(int))
    shown = [support_picture(ranked[place].drawings()) for place in places]
    cards = "".join(
        f'<figure><img src="{picture.uri}" alt="regions of {escape(picture.image)}" style="width:100%">'
        f"<figcaption>{escape(picture.image)}, annotator {escape(picture.annotator)}: mean IoU {picture.support:.2f}, "
        f"hidden {picture.occlusion:.0%}</figcaption></figure>"
        for picture in shown
    )
    return [
        "<h2>Agreement on regions</h2>",
        "<p>The first annotator's regions, from the image with the best agreement to that with the worst. Brighter: a "
        "higher mean IoU with the same region of the others (dark 0, yellow 1). Blue: visible edges; red: hidden ones; "
        "white: no region.</p>",
        f'<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:18px">{cards}</div>',
    ]


def _shapes(summary: StatisticsSummary) -> str:
    named: list[tuple[str, Shape]] = [("full extents", summary.amodal), ("polygons", summary.polygon)]
    if summary.components or summary.occlusions:
        named.insert(0, ("visible parts", summary.modal))
    rows = [
        text_cell(name)
        + number_cell(shape.simplicity, f"{shape.simplicity:.3f}")
        + number_cell(shape.convexity, f"{shape.convexity:.3f}")
        + number_cell(shape.edge_density, f"{shape.edge_density:.3%}")
        for name, shape in named
        if math.isfinite(shape.convexity)
    ]
    return table([("text", ""), ("num", "simplicity"), ("num", "convexity"), ("num", "edge density")], rows)


def _layers(summary: StatisticsSummary) -> list[str]:
    layers = np.bincount([component.layers for component in summary.components])[1:]
    sizes = [float(size) for size, _, _ in summary.growth.sizes]
    means = [mean for _, mean, _ in summary.growth.sizes]
    curve = Curve(label="", colour=0, x=sizes, y=means, low=means, high=means)
    growth = summary.growth
    text = "All components have the same size."
    if math.isfinite(growth.slope):
        text = f"{growth.slope:.2f} layers more for each doubling of a component; Spearman {growth.spearman:.2f}."
    categories = [str(k) for k in range(1, len(layers) + 1)]
    bars = [Bars(label="components", colour=0, heights=layers.tolist())]
    return [
        f"<p>A component is a set of regions joined by occlusion; its layers are those of its longest "
        f"chain. {text}</p>",
        '<div class="panels"><div class="panel">',
        bar_chart(bars, categories, title="Components by layers", x_label="layers", y_label="components"),
        '</div><div class="panel">',
        line_chart(
            [curve], title="Layers by size", x_label="regions of the component", y_label="mean layers",
            y_range=(0.0, max(means, default=1.0) * 1.1),
        ),
        "</div></div>",
    ]  # fmt: skip


def _bars(series: Sequence[tuple[str, NDArray[Any]]], x_label: str) -> str:
    bins = len(series[0][1])
    categories = [f"{k / bins:.2g}" for k in range(bins)]
    bars = [Bars(label=label, colour=k, heights=counts.tolist()) for k, (label, counts) in enumerate(series)]
    return bar_chart(bars, categories, title=x_label, x_label=x_label, y_label=series[0][0], size_px=(900, 260))


def _bounds(value: Interval) -> str:
    return "" if math.isnan(value.low) else f"{value.low:.3f} to {value.high:.3f}"


def _plain(value: Any) -> Any:
    """Return what JSON can hold: arrays as lists, NaN as null."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _write(path: Path, title: str, body: Sequence[str]) -> Path:
    style = (files("segarena.reports") / "page.css").read_text(encoding="utf-8")
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    path.write_text(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1>{''.join(body)}</main></body></html>\n",
        encoding="utf-8",
    )
    return path

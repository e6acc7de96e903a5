"""Learning curves as one standalone SVG: losses in the left panel, SIM and CC in the right panel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from segarena.reports.charts import Curve, line_chart

CURVE_PANEL_PX = (430.0, 300.0)
STYLE = """
.chart { font-family: system-ui, "Liberation Sans", sans-serif; }
.chart text { fill: #1c1d1f; font-size: 12px; }
.chart .tick { fill: #5d6166; font-size: 11px; }
.chart .label { fill: #5d6166; }
.chart .axis { stroke: #5d6166; }
.chart .grid { stroke: #e3e2dc; }
.chart .curve { fill: none; stroke-width: 2.25; stroke-linejoin: round; }
.chart .c0 { stroke: #0072b2; } .chart .c1 { stroke: #d55e00; }
.chart .end { font-weight: 600; stroke: none; }
.chart text.c0 { fill: #0072b2; } .chart text.c1 { fill: #d55e00; }
"""
"""The light colours of the report page, because a standalone picture has no access to its stylesheet."""


def training_svg(history: Sequence[Mapping[str, float]]) -> str:
    """Return a chart of the losses and validation measures of a training run by epoch.

    Args:
        history: at least one row with epoch, train_loss, loss, sim and cc, as in
            `TrainingResult.history`.
    """
    losses = [
        _curve(history, "train_loss", "training", 0),
        _curve(history, "loss", "validation", 1),
    ]
    measures = [_curve(history, "sim", "SIM", 0), _curve(history, "cc", "CC", 1)]
    highest = max(max(curve.y) for curve in losses)
    loss_limit = 1.0
    if math.isfinite(highest) and highest > 0:
        loss_limit = highest * 1.05
    charts = [
        _chart(losses, "KL divergence", loss_limit),
        _chart(measures, "SIM and CC, validation", 1.0),
    ]
    panel_width, height = CURVE_PANEL_PX
    width = len(charts) * panel_width
    panels = ""
    for number, chart in enumerate(charts):
        panels += _move_chart(chart, number * panel_width)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}"><style>{STYLE}</style>'
        f'<rect width="100%" height="100%" fill="#fdfdfb"/>{panels}</svg>\n'
    )


def _chart(
    curves: Sequence[Curve],
    title: str,
    limit: float,
) -> str:
    return line_chart(
        curves,
        title=title,
        x_label="epoch",
        y_label=title,
        y_range=(0.0, limit),
        size_px=CURVE_PANEL_PX,
    )


def _curve(
    history: Sequence[Mapping[str, float]],
    column: str,
    label: str,
    colour: int,
) -> Curve:
    values = [float(row[column]) for row in history]
    none = [math.nan] * len(values)
    return Curve(
        label=label,
        colour=colour,
        x=[row["epoch"] for row in history],
        y=values,
        low=none,
        high=none,
    )


def _move_chart(chart: str, x: float) -> str:
    """Return a chart placed at `x`, for use inside another SVG picture."""
    width, height = CURVE_PANEL_PX
    attributes = f'x="{x:g}" width="{width:g}" height="{height:g}"'
    return chart.replace("<svg ", f"<svg {attributes} ", 1)

"""The curves of a training, as one SVG picture that stands alone: what falls on the left, what rises on the right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain

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
"""The page's light colours; a picture in a document does not know the page's style."""


def training_svg(history: Sequence[Mapping[str, float]]) -> str:
    """Return the losses and the validation measures of a training of the clickability network over its epochs.

    Args:
        history: rows with epoch, train_loss, loss, sim and cc, at least one, as `TrainingResult.history` has them.
    """
    losses = [
        _curve(history, "train_loss", "training", 0),
        _curve(history, "loss", "validation", 1),
    ]
    measures = [_curve(history, "sim", "SIM", 0), _curve(history, "cc", "CC", 1)]
    highest = max(chain.from_iterable(curve.y for curve in losses))
    charts = [
        line_chart(
            curves,
            title=title,
            x_label="epoch",
            y_label=title,
            y_range=y_range,
            size_px=CURVE_PANEL_PX,
        )
        for curves, title, y_range in (
            (
                losses,
                "KL divergence",
                (0.0, highest * 1.05 if math.isfinite(highest) and highest > 0 else 1.0),
            ),
            (measures, "SIM and CC, validation", (0.0, 1.0)),
        )
    ]
    width = len(charts) * CURVE_PANEL_PX[0]
    height = CURVE_PANEL_PX[1]
    panels = "".join(
        _placed(chart, number * CURVE_PANEL_PX[0]) for number, chart in enumerate(charts)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}"><style>{STYLE}</style><rect width="100%" height="100%" fill="#fdfdfb"/>{panels}</svg>\n'
    )


def _curve(history: Sequence[Mapping[str, float]], column: str, label: str, colour: int) -> Curve:
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


def _placed(chart: str, x: float) -> str:
    """Return a chart that lies at `x` inside another picture."""
    place = f'x="{x:g}" width="{CURVE_PANEL_PX[0]:g}" height="{CURVE_PANEL_PX[1]:g}"'
    return chart.replace("<svg ", f"<svg {place} ", 1)

import itertools
import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.reports.axes import Scale, log_ticks, nice_ticks
from segarena.reports.charts import (
    Bars,
    Curve,
    PointCloud,
    Whisker,
    bar_chart,
    interval_chart,
    legend,
    line_chart,
    scatter_chart,
)

HOSTILE = '"><script>alert(1)</script>&'


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 12))
def test_ticks_are_round_evenly_spaced_and_inside(low, length, count):
    ticks = nice_ticks(low, low + length, count)
    assert all(low - 1e-6 * length <= tick <= low + length * (1 + 1e-6) for tick in ticks)
    assert len(ticks) <= 2 * count + 2
    steps = [b - a for a, b in itertools.pairwise(ticks)]
    assert all(step == pytest.approx(steps[0], rel=1e-4, abs=abs(low) * 1e-9) for step in steps)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (0, 100, (0, 20, 40, 60, 80, 100)),
        (3, 3, (3,)),
        (-1, 1, (-1, -0.5, 0, 0.5, 1)),
    ],
)
def test_ticks_of_known_ranges(low, high, ticks):
    assert nice_ticks(low, high) == ticks


def test_log_ticks_are_powers_of_ten_and_their_halves():
    assert log_ticks(8, 120) == (10, 20, 50, 100)
    assert log_ticks(1, 1e5) == (1, 10, 100, 1000, 10_000, 100_000)


def test_scales_map_ends_to_ends_and_the_geometric_middle_of_a_log_scale_to_the_middle():
    assert Scale(0, 10, 100, 0)(2.5) == 75
    assert Scale(1, 100, 0, 50, is_log=True)(10) == pytest.approx(25)
    assert Scale(4, 4, 0, 50)(4) == 25


def curve(label="mean", y=(0.0, 0.5, 1.0)):
    return Curve(label=label, colour=1, x=(1, 2, 3), y=y, low=y, high=y)


def charts(label):
    yield line_chart([curve(label)], title=label, x_label=label, y_label=label, marks=[0.9])
    yield bar_chart(
        [Bars(label=label, colour=0, heights=(1.0, 2.0))],
        [label, "b"],
        title=label,
        x_label=label,
        y_label="",
    )
    yield scatter_chart(
        [PointCloud(label=label, colour=0, x=(1.0, 50.0), y=(0.1, 0.2), names=(label, label))],
        title="",
        x_label="",
        y_label="",
    )
    yield interval_chart(
        [Whisker(label=label, colour=0, value=0.5, low=0.4, high=0.6, note=label)],
        title="",
        x_label="",
        x_range=(0, 1),
    )
    yield legend([(label, 3)])


@pytest.mark.parametrize("label", ["grabcut", HOSTILE])
def test_every_chart_is_well_formed_and_holds_no_foreign_markup(label):
    for chart in charts(label):
        tags = {element.tag for element in ElementTree.fromstring(chart).iter()}
        assert tags <= {"svg", "path", "line", "text", "rect", "circle", "title", "ul", "li", "i"}


def test_a_curve_goes_through_its_values():
    chart = ElementTree.fromstring(
        line_chart([curve()], title="", x_label="", y_label="", size_px=(200, 150))
    )
    (path,) = [p for p in chart.iter("path") if "curve" in p.get("class")]
    points = [tuple(map(float, point.split())) for point in path.get("d")[1:].split("L")]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert (y0, y2) == (150 - 40, 10)  # the margins: 0 lies on the axis, 1 on the upper end
    assert y1 == pytest.approx((y0 + y2) / 2)
    assert x1 == pytest.approx((x0 + x2) / 2)


def series(number, count):
    level = number / count
    return Curve(
        label=f"model-{number}",
        colour=number,
        x=(1, 2),
        y=(0, level),
        low=(0, level - 0.1),
        high=(0, level),
    )


def test_twenty_curves_differ_without_colours_and_their_names_stay_apart_and_inside():
    chart = ElementTree.fromstring(
        line_chart([series(n, 20) for n in range(20)], title="", x_label="click", y_label="")
    )
    dashes = [
        p.get("class").split()[-1] for p in chart.iter("path") if p.get("class").startswith("curve")
    ]
    shapes = []
    for path in (p for p in chart.iter("path") if p.get("class").startswith("dot")):
        corners = [tuple(map(float, corner.split())) for corner in path.get("d")[1:-1].split("L")]
        x, y = (sum(c) / len(corners) for c in zip(*corners, strict=True))
        shapes.append((len(corners), round(corners[0][0] - x), round(corners[0][1] - y)))
    assert len(set(zip(dashes, shapes[::2], strict=True))) == 20
    ends = [text for text in chart.iter("text") if text.get("class").startswith("end")]
    heights = [float(end.get("y")) for end in ends]
    assert min(b - a for a, b in itertools.pairwise(heights)) > 14
    assert max(heights) <= 330 - 40 + 5
    widths = [float(end.get("x")) + 8.2 * len(end.text) for end in ends]
    assert max(widths) <= 540


def test_each_point_of_a_curve_tells_its_value_and_interval():
    chart = ElementTree.fromstring(
        line_chart([series(15, 20)], title="", x_label="click", y_label="")
    )
    assert [t.text for t in chart.iter("title")] == [
        "click 1: model-15 0",
        "click 2: model-15 0.75 [0.65, 0.75]",
    ]


def test_values_that_are_not_defined_leave_no_trace_in_a_curve():
    text = line_chart([curve(y=(math.nan, 0.5, 0.6))], title="", x_label="", y_label="")
    assert "nan" not in text
    empty = line_chart([curve(y=(math.nan,) * 3)], title="", x_label="", y_label="")
    assert "nan" not in empty


def test_bars_are_as_high_as_their_values():
    bars = Bars(label="a", colour=0, heights=(1.0, 2.0, 4.0))
    chart = ElementTree.fromstring(bar_chart([bars], "abc", title="", x_label="", y_label=""))
    heights = [float(rect.get("height")) for rect in chart.iter("rect")]
    assert heights[1] / heights[0] == pytest.approx(2, abs=0.01)
    assert heights[2] / heights[0] == pytest.approx(4, abs=0.02)


def test_names_at_the_ends_of_curves_do_not_cover_each_other():
    curves = [curve(f"user {i}", y=(0.1, 0.2, 0.9 + i * 1e-4)) for i in range(4)]
    chart = ElementTree.fromstring(line_chart(curves, title="", x_label="", y_label=""))
    ends = sorted(
        float(text.get("y"))
        for text in chart.iter("text")
        if "end" in text.get("class", "").split()
    )
    assert len(ends) == 4
    assert all(b - a >= 15 for a, b in itertools.pairwise(ends))


def test_the_last_of_many_categories_is_always_named():
    categories = [*map(str, range(1, 41)), "never"]
    bars = Bars(label="a", colour=0, heights=[1.0] * 41)
    chart = ElementTree.fromstring(
        bar_chart([bars], categories, title="", x_label="", y_label="", size_px=(300, 200))
    )
    assert "never" in [text.text for text in chart.iter("text")]


def test_a_chart_without_categories_is_empty():
    chart = bar_chart([], [], title="", x_label="", y_label="", size_px=(300, 200))
    assert "rect" not in {part.tag for part in ElementTree.fromstring(chart).iter()}

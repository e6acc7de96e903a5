import io
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from segarena.reports import write_report
from segarena.reports.chart_export import png_of, standalone
from segarena.reports.charts import Curve, line_chart

SVG = "{http://www.w3.org/2000/svg}"


def curve(number):
    return Curve(
        label=f"m{number}", colour=number, x=(1, 2), y=(0.5, 0.5), low=(0.4, 0.4), high=(0.6, 0.6)
    )


def test_a_chart_needs_no_page_around_it():
    text = standalone(
        line_chart([curve(1), curve(3)], title="t", x_label="x", y_label="y", size_px=(300, 200))
    )
    root = ElementTree.fromstring(text)
    assert (root.tag, root.get("width"), root.get("height")) == (f"{SVG}svg", "300", "200")
    assert "var(" not in text


def test_the_heading_of_the_page_stands_above_the_chart_in_its_file():
    text = standalone(
        line_chart([curve(1)], title="t", x_label="x", y_label="y", size_px=(300, 200)),
        "user <centre>",
    )
    root = ElementTree.fromstring(text)
    assert (root.get("height"), root.get("viewBox")) == ("224", "0 -24 300 224")
    heading = next(e for e in root.iter(f"{SVG}text") if e.text == "user <centre>")
    assert -24 < float(heading.get("y")) < 0


def test_a_png_shows_the_curve_in_the_pages_colour():
    pytest.importorskip("resvg_py")
    chart = line_chart([curve(0)], title="t", x_label="x", y_label="y", size_px=(300, 200))
    pixels = np.asarray(Image.open(io.BytesIO(png_of(standalone(chart)))).convert("RGB")).astype(
        int
    )
    assert pixels.shape == (600, 900, 3)
    assert (pixels[0, 0] == 255).all()
    middle = 3 * (10 + 160) // 2  # y = 0.5 lies half way between 10 and 160 px
    near = (
        np.abs(pixels[middle - 2 : middle + 3, 300:500] - (0x00, 0x72, 0xB2))
        .sum(axis=2)
        .min(axis=0)
    )
    assert (near == 0).mean() > 0.9


@pytest.mark.long
def test_each_chart_of_a_report_becomes_two_files(make_run, make_ramps, tmp_path):
    pytest.importorskip("resvg_py")
    files = write_report(
        [make_run(make_ramps())], tmp_path / "report", trust=True, figures=tmp_path / "figures"
    )
    assert {path.name for path in files.figures} == {
        path.name for path in (tmp_path / "figures").iterdir()
    }
    charts = files.html.read_text().count('<div class="panel">')
    assert len(files.figures) == 2 * charts > 4
    assert "01-iou-against-clicks.svg" in {path.name for path in files.figures}

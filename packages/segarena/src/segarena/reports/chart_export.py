"""Export of charts as standalone SVG and PNG files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from segarena.errors import MissingExtra
from segarena.reports.axes import element, px
from segarena.reports.chart_series import Figure
from segarena.reports.html_document import read_text
from segarena.reports.page_parts import FigureRow, Fold, Part, Section

HEADING_PX = 24
"""Space above a chart for its heading, which is HTML on the page and not part of the SVG."""

ZOOM = 3
"""PNG pixels per SVG unit."""


def figures_in(sections: Sequence[Section]) -> list[Figure]:
    """Return all figures of the sections in the order of the page."""
    figures: list[Figure] = []
    for section in sections:
        for part in section.parts:
            figures += _figures(part)
    return figures


def _figures(part: Part) -> Iterator[Figure]:
    match part:
        case Figure():
            yield part
        case FigureRow(figures=figures):
            yield from figures
        case Fold(parts=parts):
            for inner in parts:
                yield from _figures(inner)
        case _:
            return


def chart_files(figures: Sequence[Figure]) -> Mapping[str, str]:
    """Render each chart as SVG text, by file name.

    The name consists of the figure's number and title and, if the figure has several charts, the
    number of the chart.
    """
    files: dict[str, str] = {}
    for number, figure in enumerate(figures, 1):
        # Bounded, because file systems limit names to 255 bytes.
        slug = "-".join(re.findall(r"[a-z0-9]+", figure.title.lower()))[:60]
        for chart_number, (heading, chart) in enumerate(figure.charts, 1):
            suffix = f"-{chart_number}" if len(figure.charts) > 1 else ""
            files[f"{number:02}-{slug}{suffix}.svg"] = standalone(chart, heading)
    return files


def standalone(chart: str, heading: str = "") -> str:
    """Return a chart as an SVG document with embedded styles, in the colours of the light scheme."""
    viewbox = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', chart)[0]
    width = float(viewbox[0])
    height = float(viewbox[1])
    above = HEADING_PX if heading else 0
    total_height = px(height + above)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{px(width)}" height="{total_height}" '
    box = f'viewBox="0 {-above} {px(width)} {total_height}"'
    text = ""
    if heading:
        text = element("text", heading, x=4, y=15 - above, css="name heading")
    # The page background is not part of an exported chart, and a transparent one is unreadable on
    # dark.
    ground = f"<rect y='{-above}' width='100%' height='100%' fill='#fff'/>"
    first_children = f"<style>{_style()}</style>\n{ground}{text}"
    # Only browsers assume the SVG namespace, and only inside HTML.
    document = chart.replace("<svg ", head, 1)
    document = re.sub(r'viewBox="[^"]*"', box, document, count=1)
    # The first ">" closes the svg tag, so this inserts the first children.
    return document.replace(">", f">\n{first_children}", 1)


def png_of(svg: str) -> bytes:
    """Render an SVG document as a PNG image, with 3 pixels per unit.

    Raises:
        MissingExtra: resvg-py is not installed.
    """
    try:
        import resvg_py
    except ImportError as error:
        raise MissingExtra(
            "PNG files of figures need resvg_py: pip install 'segarena[figures]'"
        ) from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=ZOOM))


def _style() -> str:
    """Return the page's CSS rules for charts, with all variables resolved.

    Most programs other than browsers do not support CSS variables.
    """
    css = read_text("segarena.reports", "page.css")
    # Variables before the first media query are those of the light scheme.
    light_scheme = css[: css.index("@media")]
    values = dict(re.findall(r"--([\w-]+): ([^;]+);", light_scheme))
    colours: dict[str, str] = {}
    for name, variable in re.findall(r"\.(\w+) \{ --c: var\(--([\w-]+)\); \}", css):
        colours[f".{name}"] = values[variable]
    rules: list[str] = []
    for selectors, body in re.findall(r"^((?:svg)?\.chart[^{\n]*)\{([^}]*)\}", css, re.MULTILINE):
        resolved = _resolve_variables(body, values)
        # A rule that uses the colour of its element becomes one rule per colour class.
        variants = colours if "var(--c)" in resolved else {"": ""}
        for suffix, value in variants.items():
            own_selectors = [f"{one.strip()}{suffix}" for one in selectors.split(",")]
            declarations = resolved.replace("var(--c)", value)
            rules.append(f"{','.join(own_selectors)}{{{declarations}}}")
    return "\n".join(rules)


def _resolve_variables(body: str, values: Mapping[str, str]) -> str:
    """Replace all variables except `--c` in CSS declarations by their values; unknown ones by 0px."""
    variable = r"var\(--(?!c\b)([\w-]+)(?:, [^)]*)?\)"
    return re.sub(variable, lambda found: values.get(found[1], "0px"), body)

"""Tables for the page."""

from __future__ import annotations

import math

from markupsafe import Markup

from segarena.reports.rendering import templates
from segarena.reports.sheets import Sheet


def sheet_html(sheet: Sheet) -> Markup:
    """Return the table, without caption and notes; every name in it is escaped."""
    written = templates("segarena.reports").get_template("sheet.html").render(sheet=sheet, sort_value=sort_value)
    return Markup(written)  # noqa: S704 - the template has escaped it


def sort_value(number: float) -> str:
    """Return what sorting by a column of numbers reads; nothing for NaN."""
    return "" if math.isnan(number) else f"{number:.6g}"

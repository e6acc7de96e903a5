"""HTML tables for notebooks, with all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table_html(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    caption: str = "",
) -> str:
    """Return an HTML table.

    >>> table_html(["name"], [["a < b"]])
    '<table><thead><tr><th>name</th></tr></thead><tbody><tr><td>a &lt; b</td></tr></tbody></table>'
    """
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = ""
    for row in rows:
        cells = "".join(f"<td>{escape(str(cell))}</td>" for cell in row)
        body += f"<tr>{cells}</tr>"
    return f"<table>{above}<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"

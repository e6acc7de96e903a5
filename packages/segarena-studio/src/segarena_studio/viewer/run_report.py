"""Report of the runs of a collection, with links into the viewer."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from segarena.records.plugin_trust import restrict_plugins
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.report import report_html
from segarena.reports.round_table import DialogueId
from segarena_studio.viewer.catalog import Collection
from segarena_studio.viewer.dialogue_table import KEY


def render_report(
    here: Collection,
    address: str,
    file_address: Callable[[str], str],
) -> str:
    """Render the report as a page of this server.

    Args:
        here: the collection.
        address: address of the collection.
        file_address: returns the address of a stylesheet or script of reports.

    Raises:
        RunConflict: the runs used different rules.
    """

    def viewer(key: DialogueId) -> str:
        names = list(zip(KEY, map(str, key), strict=True))
        return f"{address}/view?{urlencode(names)}"

    with restrict_plugins(trust=here.trust):
        runs = read_runs([folder.path for _, folder in here.runs], trust=here.trust, data=here.data)
        own = page_of(runs)
        own.viewer = viewer
        return report_html(own, file_address=file_address)

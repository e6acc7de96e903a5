"""`segarena amodal`: annotations of whole scenes in depth order, including hidden parts."""

from __future__ import annotations

import typer

from segarena.systems.scenes.commands import annotation_file_commands as amodal_files
from segarena.systems.scenes.commands import measurement_commands as amodal_measures
from segarena.terminal.help_format import renamed_to

app = typer.Typer(
    help="Annotations of whole scenes in depth order, hidden parts included.\n\nFiles are COCO-Amodal (COCOA, BSDS, "
    "D2SA, KINS), COCO, labelme, CVAT XML or `.ann`; a folder means all such files in it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.command("demo")(amodal_files.write_demo_scenes)
app.command("convert")(amodal_files.convert_annotations)
app.command("reduce")(amodal_files.reduce_annotations)
app.command("check-annotations")(amodal_files.check_annotations)
app.command("check", hidden=True, cls=renamed_to("check-annotations"))(
    amodal_files.check_annotations
)
app.command("review")(amodal_files.write_review_page)
app.command("statistics")(amodal_measures.report_statistics)
app.command("agreement")(amodal_measures.report_agreement)
app.command("edges")(amodal_measures.report_edges)
app.command("quality")(amodal_measures.report_quality)

"""`segarena amodal export`: export drawings of the studio to files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segarena.terminal.exit_codes import one_line_errors
from segarena_studio.annotation.export_contents import ExportOptions
from segarena_studio.annotation.project_export import export_project
from segarena_studio.annotation.projects import find_project_named
from segarena_studio.standalone import open_site_of_folder


def export_drawings(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to create.")],
    data: Annotated[
        Path,
        typer.Option(
            "--data", help="Data folder of the server, or the folder of `segarena studio`."
        ),
    ] = Path("challenges"),
    project: Annotated[
        str,
        typer.Option(
            help="Name or number of the project. [default: the only one]", show_default=False
        ),
    ] = "",
    to: Annotated[
        str,
        typer.Option(
            "--to", help="coco-amodal, coco, coco-modal, png-16, png-palette, rle, labelme or csv."
        ),
    ] = "coco-amodal",
    which: Annotated[
        str, typer.Option(help="Which tasks: approved, finished or begun.")
    ] = "finished",
    annotator: Annotated[
        str, typer.Option(help="Only drawings of this account.", show_default=False)
    ] = "",
    nameless: Annotated[
        bool, typer.Option("--nameless", help="Number annotators instead of naming them.")
    ] = False,
    photographs: Annotated[
        bool, typer.Option("--photographs", help="Also write the photographs.")
    ] = False,
    db: Annotated[
        str | None, typer.Option("--db", help="Database, as for `segarena serve`.")
    ] = None,
) -> None:
    """Write the drawings of a studio project to files, with points and seconds of each region.

        segarena amodal export drawn --data photographs --to coco

    The command lists everything that the format cannot represent. The server may keep running.
    """
    with one_line_errors():
        wanted = ExportOptions(
            file_format=to,
            which=which,
            annotator=annotator,
            is_nameless=nameless,
            with_photographs=photographs,
        )
        wanted.check()
        site = open_site_of_folder(data, db)
        with site.database.reading() as session:
            found = find_project_named(session, project)
        for lost in export_project(site, found.id, out, wanted):
            typer.echo(f"{to} cannot represent {lost}")
        typer.echo((out / "README.txt").read_text(encoding="utf-8").partition("\n")[0])
        typer.echo(f"written to {out}")

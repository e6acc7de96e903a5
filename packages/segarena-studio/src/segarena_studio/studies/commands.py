"""`segarena people study`: user studies that collect people's prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segarena.errors import InvalidInput
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.sheet_output import show_sheet
from segarena_server.public_address import find_address
from segarena_server.site import Site
from segarena_studio.standalone import open_site_of_folder
from segarena_studio.studies.correction_round import add_corrections
from segarena_studio.studies.description import read_study
from segarena_studio.studies.management import COMMAND_LINE, create_study, set_study_state
from segarena_studio.studies.progress import studies_sheet
from segarena_studio.studies.study_export import export_study, study_named
from segarena_studio.studies.visits import link_text, make_link

study = typer.Typer(
    help="User studies: people see targets in the browser and give prompts.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Data = Annotated[
    Path,
    typer.Option("--data", help="Data folder of the server, or the folder of `segarena studio`."),
]
Db = Annotated[str | None, typer.Option("--db", help="Database, as for `segarena serve`.")]
Name = Annotated[str, typer.Argument(help="Short name of the study.")]
DATA = Path("challenges")


@study.command("new")
def new_study(
    described: Annotated[
        Path, typer.Argument(help="Description of the study in TOML; see docs/studio.md.")
    ],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Create a study from its dataset and prepare the pictures that participants will see.

    segarena people study new study.toml --data challenges
    """
    with one_line_errors():
        found = read_study(described)
        made = create_study(_site(data, db, is_new=True), found)
    shown = sum(not row["is_easy"] for row in made.rows)
    typer.echo(f"{found.slug}: {shown} targets of {made.dataset}")
    for line in made.unusable:
        typer.echo(f"left out: {line}")
    typer.echo(f"next: segarena people study link {found.slug} --data {data}")


@study.command("list")
def list_studies(data: Data = DATA, db: Db = None) -> None:
    """List the studies with their participants and answers."""
    with one_line_errors():
        show_sheet(studies_sheet(_site(data, db)))


@study.command("link")
def add_link(
    name: Name,
    most: Annotated[int, typer.Option(help="Number of people who may join with the link.")] = 100,
    label: Annotated[str, typer.Option(help="Note for you about the recipients.")] = "",
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Create a link with which people can participate without an account.

    The link begins with the address at which the server was last started.
    """
    with one_line_errors():
        site = _site(data, db)
        with site.database.writing() as session:
            made = make_link(session, study_named(session, name), label, most, site.now())
            text = link_text(site, made)
        address = find_address(site)
    typer.echo(f"{address}/studio/take/{text}")


@study.command("correct")
def correct_masks(
    name: Name,
    segmenter: Annotated[
        str,
        typer.Option(
            "--segmenter",
            "-s",
            help="Segmenter that answers the clicks, as for `segarena run`; or NAME=SEGMENTER.",
        ),
    ],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Add a second round: a segmenter answers people's clicks, and other participants correct its masks.

    segarena people study correct photos -s graph
    """
    with one_line_errors():
        added = add_corrections(_site(data, db), name, segmenter)
    typer.echo(f"{name}: {added} more targets")


@study.command("close")
def close_study(
    name: Name,
    again: Annotated[bool, typer.Option("--open", help="Reopen it instead.")] = False,
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Close a study: nobody else can join, but participants may finish their current batch."""
    state = "open" if again else "closed"
    with one_line_errors():
        site = _site(data, db)
        with site.database.writing() as session:
            set_study_state(session, site.now(), study_named(session, name), state, COMMAND_LINE)
    typer.echo(f"{name} is {state}")


@study.command("export")
def export_archive(
    name: Name,
    out: Annotated[Path, typer.Option("--out", "-o", help="Archive to write, NAME.zip.")],
    data: Data = DATA,
    db: Db = None,
) -> None:
    """Write the collected data: prompts, click tables, masks to correct, completion codes.

    segarena people study export photos --out photos.zip
    """
    with one_line_errors():
        if out.suffix != ".zip":
            raise InvalidInput(f"--out {out}: expected a name that ends in .zip")
        export_study(_site(data, db), name, out)
    typer.echo(f"written: {out}")


def _site(
    data: Path,
    db: str | None,
    *,
    is_new: bool = False,
) -> Site:
    return open_site_of_folder(data, db, is_new=is_new)

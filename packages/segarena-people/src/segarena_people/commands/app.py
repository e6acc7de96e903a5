"""`segarena people`: what people gave. Studies are another room's: `segarena_studio.studies.commands`."""

from __future__ import annotations

import typer

from segarena_people.commands import comparing, fitting, importing, tables

app = typer.Typer(
    help="What people gave: prompts with masks, from elsewhere or by studies; how near simulated users come to it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.command("check")(tables.check)
app.command("compare")(comparing.compare)
app.command("formats")(importing.formats)
app.command("import")(importing.import_)
app.add_typer(fitting.app, name="fit")

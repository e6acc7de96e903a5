"""`segarena people`: what people gave. Studies are another room's: `segarena_studio.studies.commands`."""

from __future__ import annotations

import typer

from segarena_people.commands import check, compare, fit, import_prompts

app = typer.Typer(
    help="What people gave: prompts with masks, from elsewhere or by studies; how near simulated users come to it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.command("check")(check.check)
app.command("compare")(compare.compare)
app.command("formats")(import_prompts.formats)
app.command("import")(import_prompts.import_)
app.add_typer(fit.app, name="fit")

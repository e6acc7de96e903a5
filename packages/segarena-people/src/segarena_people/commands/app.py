"""Group `segarena people`, for collected prompts; `segarena_studio.studies.commands` adds the group `study`."""

from __future__ import annotations

import typer

from segarena_people.commands import check, compare, fit, import_prompts

app = typer.Typer(
    help="Collect, import and compare prompts that people gave.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.command("check-prompts")(check.check_command)
app.command("compare")(compare.compare_command)
app.command("formats")(import_prompts.formats_command)
app.command("import")(import_prompts.import_command)
app.add_typer(fit.fit_app, name="fit")

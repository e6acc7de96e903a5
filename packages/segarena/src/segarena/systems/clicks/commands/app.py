"""Command group `segarena click-data`: tables, maps and models of human clicks."""

from __future__ import annotations

import typer

from segarena.systems.clicks.commands import model_commands as click_models
from segarena.systems.clicks.commands import table_commands as click_tables

app = typer.Typer(
    help="Where people click: tables, maps and models.\n\nStart with `segarena click-data crowd`, which generates "
    "clicks for trying out the other commands, or with a clicks table of your own.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
app.command("crowd")(click_tables.crowd_command)
app.command("check-table")(click_tables.check_command)
app.command("filter")(click_tables.filter_command)
app.command("counts")(click_tables.counts_command)
app.command("maps")(click_tables.maps_command)
app.command("train")(click_models.train_command)
app.command("judge")(click_models.judge_command)
app.command("compare-modes")(click_models.compare_modes_command)
app.command("compare-devices")(click_models.compare_devices_command)

"""Commands that packages bring: each entry point of the group `segarena.commands` is one.

`mine = "my_package.commands:app"` adds a group of commands, `"data.mine" = "my_package.commands:mine"` one command to a
group that is there already, or that another entry point adds. What one names is a `typer.Typer` or a function.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

import typer

GROUP = "segarena.commands"


def add_commands(app: typer.Typer, groups: Mapping[str, typer.Typer]) -> None:
    """Add the commands of all installed packages; one that cannot be imported is named on stderr and left out."""
    known = dict(groups)
    for entry in sorted(
        entry_points(group=GROUP), key=lambda entry: entry.name
    ):  # a group before what is in it
        try:
            command = entry.load()
        except Exception as error:  # another package's fault must not take our commands away
            typer.secho(
                f"command {entry.name} of {entry.value} cannot be used: {error}",
                fg="yellow",
                err=True,
            )
            continue
        group, _, name = entry.name.rpartition(".")
        if group and group not in known:
            typer.secho(f"command {entry.name}: there is no group {group}", fg="yellow", err=True)
            continue
        parent = known[group] if group else app
        if isinstance(command, typer.Typer):
            parent.add_typer(command, name=name)
            known[entry.name] = command
        else:
            parent.command(name)(command)

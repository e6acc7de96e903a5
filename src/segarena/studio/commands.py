"""`segarena studio`: the studio on this machine alone."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from segarena.terminal.exits import one_line_errors


def studio(
    folder: Annotated[Path, typer.Argument(help="Pictures to draw in; what is drawn is kept beside them.")],
    port: Annotated[int, typer.Option(help="Port to listen at; 0 takes a free one.")] = 8766,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Draw scenes, give prompts and look at what there is, in the browser, on this machine alone; no account is needed.

        segarena studio photographs

    What is drawn is kept in the folder, in segarena-studio/. Ctrl-C ends it; nothing is lost.
    """
    from segarena.server.installed import check_installed

    with one_line_errors("ended; start it again to go on"):
        check_installed()
        from segarena.errors import InvalidInput
        from segarena.server.serving import Serving
        from segarena.server.watching import log_to
        from segarena.studio.alone import open_alone

        if not folder.is_dir():
            raise InvalidInput(f"{folder}: expected a folder of pictures; make it, or name another one")
        log_to(None, logging.WARNING)
        site, key = open_alone(folder, port)

        def welcome(port: int) -> None:
            address = f"http://127.0.0.1:{port}/studio/open?key={key}"
            typer.echo(f"The studio of {folder} is here, for you alone:\n  {address}\nCtrl-C ends it.")
            if browser:
                typer.launch(address)

        Serving(site).run(welcome)
        typer.echo("ended; start it again to go on")

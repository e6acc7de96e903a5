"""`segarena studio` and `segarena look`: the studio, and its viewer, on this machine alone."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from segarena.terminal.exits import one_line_errors


def studio(
    folder: Annotated[Path, typer.Argument(help="Pictures to draw in; what is drawn is kept beside them.")],
    port: Annotated[int, typer.Option(help="Port to listen at; 0 takes a free one.")] = 8766,
    segmenter: Annotated[
        list[str] | None,
        typer.Option("--segmenter", "-s", help="Helps to draw, beside those without weights: NAME, or sam(...)."),
    ] = None,
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
        site, key = open_alone(folder, port, segmenters=segmenter or ())

        def welcome(port: int) -> None:
            address = f"http://127.0.0.1:{port}/studio/open?key={key}"
            typer.echo(f"The studio of {folder} is here, for you alone:\n  {address}\nCtrl-C ends it.")
            if browser:
                typer.launch(address)

        Serving(site).run(welcome)
        typer.echo("ended; start it again to go on")


def look(
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATASET|RUN...",
            help="Datasets as --dataset takes them, run folders, folders above runs, folders of pictures. "
            "[default: the demo dataset]",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Where the runs' dataset is now, if its files moved; or OPTION=FOLDER."),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Run what run folders name from files and other packages, for pictures."),
    ] = False,
    port: Annotated[int, typer.Option(help="Port to listen at; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Look at datasets with their targets, and at every round of runs, side by side, in the browser.

        segarena look "folder(path='photos')"

        segarena look runs/graph runs/watershed

    Runs on the same data stand side by side. Only this machine reaches it, by the link that is printed; nothing is
    kept when Ctrl-C ends it.
    """
    from segarena.server.installed import check_installed

    with one_line_errors("ended; start it again to go on"):
        check_installed()
        from segarena.server.serving import Serving
        from segarena.server.watching import log_to
        from segarena.studio.alone import open_alone
        from segarena.studio.looking.shelf import Shelf, open_shelf

        log_to(None, logging.ERROR)
        with tempfile.TemporaryDirectory(prefix="segarena-look-") as scratch:
            shelf = open_shelf(named or ["demo"], Path(scratch, "shelf"), trust=trust, data=data)
            site, key = open_alone(Path(scratch), port, workers=0)
            site.things[Shelf] = shelf

            def welcome(port: int) -> None:
                address = f"http://127.0.0.1:{port}/studio/open?key={key}"
                for one in shelf.collections:
                    typer.echo(one.told)
                typer.echo(f"They are here to look at, for you alone:\n  {address}\nCtrl-C ends it.")
                if browser:
                    typer.launch(address)

            Serving(site).run(welcome)

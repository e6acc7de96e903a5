"""`segarena studio` and `segarena look`: the studio and its viewer on this machine alone."""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from segarena.errors import InvalidInput
from segarena.terminal.exit_codes import one_line_errors
from segarena_server.server_log import log_to
from segarena_server.server_process import SiteServer
from segarena_server.site import Site
from segarena_studio.annotation.demo_projects import PROJECTS
from segarena_studio.annotation.folder_masks import list_pictures_with_masks, start_from_masks
from segarena_studio.annotation.picture_import import sync_folder
from segarena_studio.standalone import check_port, open_standalone
from segarena_studio.viewer.catalog import Catalog, open_catalog


def studio(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of pictures to annotate; drawings are stored in it.", show_default=False
        ),
    ] = None,
    example: Annotated[
        bool,
        typer.Option(
            "--example",
            help="Open a demo: photographs to annotate, and scenes with drawings by other annotators.",
        ),
    ] = False,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 selects a free port.")] = 8766,
    segmenter: Annotated[
        list[str] | None,
        typer.Option(
            "--segmenter",
            "-s",
            help="Additional segmenter for prompts: NAME, or sam(...). Segmenters without weights are always offered.",
        ),
    ] = None,
    masks: Annotated[
        bool | None,
        typer.Option(
            help="Start drawings from the masks in FOLDER/masks. [default: ask in a terminal]",
            show_default=False,
        ),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Annotate scenes, collect prompts and view data in the browser, without an account.

        segarena studio photographs

        segarena studio --example

    Drawings are stored in the folder, in segarena-studio/. If the folder has images/ and masks/, only
    the images are annotated. Stop with Ctrl-C: drawings are kept, except in the demo.
    """
    with one_line_errors("stopped; start it again to continue"):
        if (folder is None) != example:
            raise InvalidInput(
                "expected either a folder of pictures or --example, which opens a demo without pictures "
                "of your own"
            )
        if folder is not None and not folder.is_dir():
            raise InvalidInput(
                f"{folder}: expected a folder of pictures; create it, or name another one"
            )
        log_to(None, logging.WARNING)
        with ExitStack() as stack:
            if example:
                scratch = stack.enter_context(
                    tempfile.TemporaryDirectory(prefix="segarena-studio-")
                )
            else:
                scratch = ""
            _serve(
                folder or Path(scratch),
                port,
                segmenter or (),
                is_example=example,
                takes_masks=masks,
                opens_browser=browser,
            )
        typer.echo("ended" if example else "stopped; start it again to continue")


def _serve(
    folder: Path,
    port: int,
    segmenters: Sequence[str],
    *,
    is_example: bool,
    takes_masks: bool | None,
    opens_browser: bool,
) -> None:
    """Serve the studio of a folder until it is stopped."""
    check_port(port)
    site, key = open_standalone(folder, port, segmenters=segmenters)
    person = site.only_person or 0
    page = "projects"
    if is_example:
        typer.echo("preparing the demo, which is deleted when this command ends")
        PROJECTS.add_to(site)
    else:
        added = sync_folder(site, person, folder, _print_progress)
        typer.echo(f"{_count_pictures(added.new + added.known)}, {added.new} new")
        for line in (*added.refused, *added.same, *added.notes):
            typer.secho(line, fg="yellow")
        if added.project_id is not None:
            page = f"projects/{added.project_id}"
            _offer_masks(site, added.project_id, folder, takes_masks)

    def welcome(port: int) -> None:
        address = f"http://127.0.0.1:{port}/studio/open?key={key}&to={page}"
        where = "the demo" if is_example else str(folder)
        typer.echo(
            f"Open the studio of {where} here; the link is for you alone:\n  {address}\nStop with Ctrl-C."
        )
        if opens_browser:
            typer.launch(address)

    SiteServer(site).run(welcome)


def _offer_masks(
    site: Site,
    project_id: int,
    folder: Path,
    takes_masks: bool | None,
) -> None:
    """Start the clean tasks of pictures that have masks, if the person agrees."""
    count = len(list_pictures_with_masks(site, project_id, folder))
    if takes_masks is False or not count:
        return
    pictures = _count_pictures(count)
    if takes_masks is None:
        if not sys.stdin.isatty():
            typer.echo(
                f"masks/ has masks for {pictures}; start the drawings from them with --masks"
            )
            return
        if not typer.confirm(f"masks/ has masks for {pictures}. Start the drawings from them?"):
            return
    started = start_from_masks(site, project_id, folder, _print_progress)
    drawings = "1 drawing starts" if started.tasks == 1 else f"{started.tasks} drawings start"
    typer.echo(f"{drawings} from masks")
    for line in started.told:
        typer.secho(line, fg="yellow")


def _count_pictures(count: int) -> str:
    return "1 picture" if count == 1 else f"{count} pictures"


def _print_progress(files: int) -> None:
    if files % 100 == 0:
        typer.echo(f"read {files} pictures")


def look(
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATASET|RUN...",
            help="Datasets as for --dataset, run folders, folders of runs, folders of pictures. "
            "[default: the demo dataset]",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="New location of the runs' dataset, if its files moved; or OPTION=FOLDER.",
        ),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Run plug-in code from files and other packages named in run folders, to load samples.",
        ),
    ] = False,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 selects a free port.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """View datasets, and every round of runs side by side, in the browser.

        segarena look "folder(path='photos')"

        segarena look runs/graph runs/watershed

    Runs on the same data appear side by side. Only this machine can open the page, by the printed
    link; nothing is stored after Ctrl-C.
    """
    with one_line_errors("stopped; start it again to continue"):
        # Check the port first: the server would only log that it is in use.
        check_port(port)
        log_to(None, logging.ERROR)
        with tempfile.TemporaryDirectory(prefix="segarena-look-") as scratch:
            shelf = open_catalog(named or ["demo"], Path(scratch, "shelf"), trust=trust, data=data)
            site, key = open_standalone(Path(scratch), port, workers=0)
            site.things[Catalog] = shelf

            def welcome(port: int) -> None:
                address = f"http://127.0.0.1:{port}/studio/open?key={key}&to=look"
                for one in shelf.collections:
                    typer.echo(f"{one.name}: {one.counted}")
                typer.echo(
                    f"Open the viewer here; the link is for you alone:\n  {address}\nStop with Ctrl-C."
                )
                if browser:
                    typer.launch(address)

            SiteServer(site).run(welcome)

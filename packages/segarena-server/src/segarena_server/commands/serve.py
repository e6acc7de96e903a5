"""`segarena serve`: run a challenge server."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from segarena.errors import InvalidInput
from segarena.terminal.exit_codes import REFUSED, one_line_errors
from segarena_server.commands.demo import serve_demo
from segarena_server.config_file import own_settings, read_settings
from segarena_server.http.middleware import log_to
from segarena_server.preflight import PreflightReport
from segarena_server.preflight import check as checked
from segarena_server.serving import SiteServer, first_admin_link, open_site, run_evaluator
from segarena_server.settings import Settings
from segarena_server.site import Site

DATA = Path("challenges")


def serve(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="The folder of the server; made if it is not there.", show_default=str(DATA)
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen at. [default: 127.0.0.1, this machine]")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen at. [default: 8765]")] = None,
    url: Annotated[
        str | None,
        typer.Option(
            help="What people open, when that is another address: https://challenge.example.org"
        ),
    ] = None,
    db: Annotated[
        str | None,
        typer.Option(help="postgresql://user@host/name, in place of a file in the folder."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", help="Processes that evaluate. [default: 1]")
    ] = None,
    evaluate_only: Annotated[
        bool,
        typer.Option(
            "--evaluate-only", help="Evaluate for other servers of the database; listen nowhere."
        ),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML with these options and others. [default: server.toml in the folder]"
        ),
    ] = None,
    log: Annotated[
        Path | None, typer.Option(help="File for the log, lines of JSON. [default: stderr]")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Say what is wrong with the settings and the folder.")
    ] = False,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Serve people, challenges and runs to click through; kept if a folder is named.",
        ),
    ] = False,
) -> None:
    """Run a challenge server.

        segarena serve challenges

    The first start prints a link with which you make your own account, once. What to do next is on the first page.
    Stop it with Ctrl-C: what is under way is finished, and the next start goes on from there.

    `segarena serve --demo` needs nothing: it takes part in some challenges itself, and says how to sign in.

    Several servers may share one PostgreSQL and one folder: with --workers 0 a server evaluates nothing itself, with
    --evaluate-only it does nothing else.

    Only this machine reaches it unless you say otherwise; see docs/server.md before you do.
    """
    with one_line_errors("ended; start it again to go on"):
        given = {"host": host, "port": port, "url": url, "db": db, "workers": workers}
        if config is None and not demo:
            config = own_settings(data or DATA)
        if check:
            _print_report(checked(data or DATA, config, given))
            return
        settings = read_settings(config, given)
        # On a terminal, a line for each request would hide what matters.
        is_terminal = log is None and (demo or sys.stderr.isatty())
        log_to(log, logging.WARNING if is_terminal else logging.INFO)
        if demo:
            serve_demo(data, settings)
            return
        if evaluate_only:
            _check_workers(settings)
        site = open_site(data or DATA, settings)
        if evaluate_only:
            run_evaluator(
                site,
                lambda: typer.echo(f"evaluating with {settings.workers} workers; Ctrl-C ends it"),
            )
            return
        link = first_admin_link(site)
        SiteServer(site).run(lambda port: _welcome(site, port, link))
        typer.echo("ended; start it again to go on")


def _welcome(site: Site, port: int, link: str) -> None:
    address = site.settings.address
    # The number of a free port is known only once the server listens.
    if address.endswith(":0"):
        actual_address = f"{address.removesuffix('0')}{port}"
        link = link.replace(address, actual_address, 1)
        address = actual_address
    typer.echo(f"segarena serves {site.folder.path} at {address}")
    if link:
        typer.echo(f"Make your own account first; this link works once:\n  {link}")
    else:
        typer.echo("Ctrl-C ends it.")


def _check_workers(settings: Settings) -> None:
    if not settings.workers:
        raise InvalidInput("--evaluate-only: expected --workers of at least 1")


def _print_report(report: PreflightReport) -> None:
    for remark in report.remarks:
        typer.secho(remark, fg="yellow")
    for fault in report.faults:
        typer.secho(fault, fg="red")
    if report.faults:
        raise typer.Exit(REFUSED)
    typer.echo("all is well")

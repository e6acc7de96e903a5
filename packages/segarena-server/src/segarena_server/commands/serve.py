"""`segarena serve`: run a challenge server."""

from __future__ import annotations

import logging
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.status import Status

from segarena.demos import find_demos
from segarena.errors import InvalidInput, SegarenaError
from segarena.terminal.exit_codes import REFUSED, one_line_errors
from segarena_server.config_file import own_settings, read_settings
from segarena_server.demos.demo_site import DemoSite, check_demo_settings
from segarena_server.demos.demo_types import ChallengeDemo
from segarena_server.preflight import PreflightReport
from segarena_server.preflight import check as checked
from segarena_server.server_log import log_to
from segarena_server.server_process import SiteServer, first_admin_link, open_site, run_evaluator
from segarena_server.settings import Settings
from segarena_server.site import Site

DATA = Path("challenges")
_LINE_EVERY_S = 5.0
"""Interval between progress lines: several samples per second become ready, and each would be a log line."""


def serve(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Data folder of the server; created if missing.", show_default=str(DATA)
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1, this machine]")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. [default: 8765]")] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Public address, if it differs: https://challenge.example.org"),
    ] = None,
    db: Annotated[
        str | None,
        typer.Option(help="postgresql://user@host/name, in place of a file in the data folder."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-w", help="Number of evaluation processes. [default: 1]"),
    ] = None,
    evaluate_only: Annotated[
        bool,
        typer.Option(
            "--evaluate-only",
            help="Evaluate for other servers of the same database, without listening on a port.",
        ),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with these options and others. [default: server.toml in the folder]"
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="File for the log, one JSON object per line. [default: stderr]"),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check the settings and the data folder, then exit.")
    ] = False,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Serve a demo site with people, challenges and runs; it is stored if you name a folder.",
        ),
    ] = False,
) -> None:
    """Run a challenge server.

        segarena serve challenges

    The first start prints a link with which you create your own account; it works once. The first
    page explains what to do next. Ctrl-C stops the server: it finishes open work, and the next
    start continues from there.

    `segarena serve --demo` needs no preparation: it takes part in some challenges itself and prints
    how to sign in.

    Several servers may share one PostgreSQL database and one folder: with --workers 0 a server
    evaluates nothing itself, and with --evaluate-only it does nothing else.

    By default only this machine can reach the server; read docs/server.md before you change that.
    """
    with one_line_errors("the server has stopped; start it again to continue"):
        given = {"host": host, "port": port, "url": url, "db": db, "workers": workers}
        # A demo must not depend on the settings of a real server that happens to be here.
        if config is None and not demo:
            config = own_settings(data or DATA)
        if check:
            _print_report(checked(data or DATA, config, given))
            return
        settings = read_settings(config, given)
        # On a terminal, a line for each request would hide the important ones.
        is_terminal = log is None and (demo or sys.stderr.isatty())
        log_to(log, logging.WARNING if is_terminal else logging.INFO)
        if demo:
            _serve_demo(data, settings)
            return
        if evaluate_only:
            _check_workers(settings)
        site = open_site(data or DATA, settings)
        if evaluate_only:
            run_evaluator(
                site,
                lambda: typer.echo(f"evaluating with {settings.workers} workers; Ctrl-C stops it"),
            )
            return
        # Before the server listens, so that the link is in the first lines of the output.
        link = first_admin_link(site)
        SiteServer(site).run(lambda port: _welcome(site, port, link))
        typer.echo("the server has stopped; start it again to continue")


def _welcome(
    site: Site,
    port: int,
    link: str,
) -> None:
    address = site.settings.address
    # With port 0, the system chooses a port when the server starts to listen.
    if address.endswith(":0"):
        actual_address = f"{address.removesuffix('0')}{port}"
        link = link.replace(address, actual_address, 1)
        address = actual_address
    typer.echo(f"segarena serves {site.folder.path} at {address}")
    if link:
        typer.echo(f"Create your own account first; this link works once:\n  {link}")
    else:
        typer.echo("Ctrl-C stops it.")


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
    typer.echo("no problems found")


def _serve_demo(data: Path | None, settings: Settings) -> None:
    """Serve a demo site until Ctrl-C; without a data folder, delete everything at the end.

    Raises:
        SegarenaError: other machines could reach the server, the folder is in use, or a run failed.
    """
    # Checked before anything is created, because the demo's password is printed.
    check_demo_settings(settings)
    faults: list[SegarenaError] = []
    with ExitStack() as until_end:
        scratch = Path(
            until_end.enter_context(tempfile.TemporaryDirectory(prefix="segarena-demo-"))
        )
        site = open_site(data or scratch / "site", settings)
        demo_site = DemoSite(site, find_demos(ChallengeDemo), datetime.now(UTC))
        progress = until_end.enter_context(_demo_progress())
        demo_site.set_up(progress.update)
        server = SiteServer(site)

        def take_part(port: int) -> None:
            address = f"http://127.0.0.1:{port}"
            try:
                demo_site.take_part(address, scratch / "participants", progress.update)
            except SegarenaError as error:
                faults.append(error)
                server.stop()
                return
            progress.stop()
            _print_demo_welcome(demo_site, address, data)

        # The participants need a running server, so they start once it listens.
        server.run(
            lambda port: threading.Thread(target=take_part, args=(port,), daemon=True).start()
        )
    if faults:
        # In the main thread, after the shutdown: an exception in the participants' thread would be
        # lost.
        raise faults[0]
    typer.echo("ended")


class _ProgressLines:
    """Progress as lines with the time since the start, for output that is not a terminal."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._subject = ""
        self._quiet_until = 0.0

    def update(self, step: str) -> None:
        """Print a line for a step; for consecutive samples of one challenge only every few seconds."""
        now = time.monotonic()
        subject = step.partition(":")[0]
        if subject == self._subject and now < self._quiet_until:
            return
        self._subject = subject
        self._quiet_until = now + _LINE_EVERY_S
        seconds = now - self._started
        typer.echo(f"[{seconds:4.0f} s] {step}", err=True)

    def stop(self) -> None:
        """Do nothing: printed lines stay."""


@contextmanager
def _demo_progress() -> Generator[Status | _ProgressLines]:
    """Show progress: one changing line on a terminal, otherwise a line for each step."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _ProgressLines()
        return
    with console.status("", spinner="line") as status:
        yield status


def _print_demo_welcome(
    demo_site: DemoSite,
    address: str,
    data: Path | None,
) -> None:
    names_by_role: dict[str, list[str]] = {}
    for account in demo_site.accounts.values():
        names_by_role.setdefault(account.role, []).append(account.name)
    participant = demo_site.accounts[names_by_role["participant"][0]]
    typer.echo(f"Demo site: {address}")
    for role, names in names_by_role.items():
        typer.echo(f"  {role:12} {', '.join(names)}")
    typer.echo(f"Password of all accounts:  {demo_site.password}")
    typer.echo(f"To make a run as {participant.name}, type in another terminal:")
    typer.echo(f"  export SEGARENA_TOKEN={participant.token}")
    typer.echo(
        f"  segarena run --challenge {address}/challenges/{demo_site.open_phase} -s watershed"
    )
    if data:
        typer.echo(f"Ctrl-C stops it; the data stay in {data}.")
    else:
        typer.echo("Ctrl-C stops it and deletes the data.")

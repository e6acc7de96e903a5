"""`segarena serve --demo`: a demonstration server with people, challenges and runs."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console

from segarena.errors import SegarenaError
from segarena_server.challenges.showcases import showcases
from segarena_server.demo_site import DemoSite, check_demo_settings
from segarena_server.serving import SiteServer, open_site
from segarena_server.settings import Settings


def serve_demo(data: Path | None, settings: Settings) -> None:
    """Serve a demonstration until Ctrl-C; without a data folder, everything is deleted at the end.

    Raises:
        SegarenaError: others could reach the server, the folder is in use, or a run failed.
    """
    check_demo_settings(settings)
    faults: list[SegarenaError] = []
    with ExitStack() as until_end:
        scratch = Path(
            until_end.enter_context(tempfile.TemporaryDirectory(prefix="segarena-demo-"))
        )
        site = open_site(data or scratch / "site", settings)
        demonstration = DemoSite(site, showcases(datetime.now(UTC)))
        status = until_end.enter_context(Console(stderr=True).status("", spinner="line"))
        demonstration.set_up(status.update)
        serving = SiteServer(site)

        def take_part(port: int) -> None:
            address = f"http://127.0.0.1:{port}"
            try:
                demonstration.take_part(address, scratch / "participants", status.update)
            except SegarenaError as error:
                faults.append(error)
                serving.stop()
                return
            status.stop()
            _welcome(demonstration, address, "stays in " + str(data) if data else "goes with it")

        serving.run(
            lambda port: threading.Thread(target=take_part, args=(port,), daemon=True).start()
        )
    if faults:
        raise faults[0]
    typer.echo("ended")


def _welcome(demonstration: DemoSite, address: str, what_becomes: str) -> None:
    by_role: dict[str, list[str]] = {}
    for account in demonstration.accounts.values():
        by_role.setdefault(account.role, []).append(account.name)
    first = next(
        account for account in demonstration.accounts.values() if account.role == "participant"
    )
    typer.echo(f"A demonstration to click through: {address}")
    for role, names in by_role.items():
        typer.echo(f"  {role:12} {', '.join(names)}")
    typer.echo(f"All have the password  {demonstration.password}")
    typer.echo(f"A run of your own, as {first.name}, in another terminal:")
    typer.echo(f"  export SEGARENA_TOKEN={first.token}")
    typer.echo(
        f"  segarena run --challenge {address}/challenges/{demonstration.open_phase} -s watershed"
    )
    typer.echo(f"Ctrl-C ends it; all of it {what_becomes}.")

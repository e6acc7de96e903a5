"""Pages for the people of a run: on an existing server, or in a separate process on this machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from segarena.engine.human_dialogue_files import SEATS, Seats
from segarena.engine.human_page_server import PageServer, PeopleSettings
from segarena.errors import InvalidInput, WorkError
from segarena_server.config_file import own_settings, read_settings
from segarena_server.storage.data_folder import DataFolder
from segarena_studio.human_user.run_registry import register_run

_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class _ExistingServer:
    """Pages of an existing server."""

    address: str

    def check(self) -> None:
        """Do nothing: people may come and go, and the server may restart."""


@dataclass(frozen=True, slots=True)
class _OwnServer:
    """Pages that are served by a process of this command."""

    address: str
    process: subprocess.Popen[str]

    def check(self) -> None:
        """Raise `WorkError` if the process has ended."""
        if self.process.poll() is not None:
            raise WorkError("the page for people is closed; run the same command to open it again")


@contextmanager
def open_pages(run: Path, ask: PeopleSettings) -> Generator[PageServer]:
    """Serve pages for the seats of a run until the block ends.

    Raises:
        SegarenaError: the folder does not belong to a server, or the page cannot be opened.
    """
    if ask.at is None:
        with _own_pages(run, opens_browser=ask.opens_browser) as pages:
            yield pages
        return
    folder = DataFolder(Path(ask.at))
    if not folder.exists:
        raise InvalidInput(
            f"{ask.at}: expected the data folder of a server, as created by `segarena serve FOLDER`"
        )
    settings = read_settings(own_settings(folder.path), {})
    with register_run(folder, run):
        yield _ExistingServer(f"{settings.address}/studio/seats/{Seats(run).info().id}")


@contextmanager
def _own_pages(run: Path, *, opens_browser: bool) -> Generator[PageServer]:
    command = [
        sys.executable,
        "-m",
        "segarena_studio.human_user.page_process",
        str(run / SEATS),
        str(run),
    ]
    if opens_browser:
        command.append("--browser")
    # The process ends with this one even after a crash, because that closes its standard input.
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            address = process.stdout.readline().strip() if process.stdout else ""
            if not address:
                raise WorkError(
                    "the page for people did not open; the messages above give the reason"
                )
            yield _OwnServer(address, process)
        finally:
            if process.stdin:
                process.stdin.close()
            try:
                # The process ends once its input is closed.
                process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()

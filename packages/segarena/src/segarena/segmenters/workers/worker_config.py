"""Configuration of a worker, and the error for a lost worker."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from segarena.errors import PluginInvalid
from segarena.worker import TOKEN


class WorkerLost(Exception):
    """Raised when a worker died, exceeded a limit or broke the protocol; a new one may be started.

    Attributes:
        was_killed: whether the worker was ended by a signal that this process did not send.
    """

    def __init__(self, message: str, *, was_killed: bool = False) -> None:
        super().__init__(message)
        self.was_killed = was_killed


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """Settings for starting or reaching a worker; the fields are options of the segmenter `worker`."""

    command: str
    python: str = ""
    folder: str = ""
    name: str = ""
    token: str = TOKEN
    network: bool = True
    memory_gb: float = 0.0
    log: str = ""
    start_s: float = 300.0

    @property
    def is_address(self) -> bool:
        """Whether the worker listens at an address; otherwise its program is started here."""
        return self.command.startswith(("tcp://", "unix:"))

    @property
    def words(self) -> list[str]:
        """Words of the command: the program and its arguments.

        Raises:
            PluginInvalid: the command is empty or not valid shell syntax.
        """
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise PluginInvalid(f"worker: {self.command!r} is not a command: {error}") from error
        if not words:
            raise PluginInvalid(
                "worker: expected a command like 'python my_adapter.py' or tcp://host:port, "
                "got nothing"
            )
        if self.python and re.fullmatch(r"python[\d.]*", words[0]):
            words[0] = str(Path(self.python).expanduser())
        return words

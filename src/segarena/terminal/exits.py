"""Exit codes, and errors in one line instead of a traceback.

0 all went well; 1 the run is complete but something in it failed; 2 the request cannot be carried out as
given; 130 interrupted by Ctrl-C, 143 and 129 by SIGTERM and SIGHUP.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import typer

from segarena.errors import SegarenaError
from segarena.work.signals import Stopped

FAILURES = 1
REFUSED = 2
INTERRUPTED = 130
ENDED_BY = 128
"""The number of the signal is added to it, as shells do."""


@contextmanager
def one_line_errors(on_interrupt: str = "stopped") -> Generator[None]:
    """Turn our errors, and Ctrl-C, into one line on stderr and an exit code."""
    try:
        yield
    except SegarenaError as error:
        typer.secho("error: " + " ".join(str(error).split()), fg="red", err=True)
        raise typer.Exit(REFUSED) from error
    except KeyboardInterrupt as error:
        typer.secho(on_interrupt, err=True)
        raise typer.Exit(ENDED_BY + error.number if isinstance(error, Stopped) else INTERRUPTED) from error

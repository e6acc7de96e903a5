"""Exit codes of commands, and one-line errors instead of tracebacks.

0: success; 1: the run is complete but something in it failed; 2: the request is invalid or cannot
be carried out; 130: interrupted by Ctrl-C; 143 and 129: by SIGTERM and SIGHUP.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import typer

from segarena.errors import SegarenaError
from segarena.work.signals import exit_code

FAILURES = 1
REFUSED = 2


@contextmanager
def one_line_errors(on_interrupt: str = "stopped") -> Generator[None]:
    """Convert our errors, OSError and Ctrl-C to one line on stderr and an exit code."""
    try:
        yield
    except (SegarenaError, MemoryError) as error:
        raise _refused(str(error) or "out of memory; free some, or work on less at once") from error
    except BrokenPipeError:
        raise  # the reader of our output has ended, so a message would not be seen
    except OSError as error:
        place = ""
        if error.filename is not None:
            place = f"{error.filename}: "
        raise _refused(
            f"{place}{error.strerror or error}; make room, allow it or choose another place"
        ) from error
    except SystemExit as error:
        # We raise typer.Exit, so this one is from a plug-in, and may claim success with code 0.
        if isinstance(error.__context__, BrokenPipeError):
            raise  # as above, raised by rich
        raise _refused(f"a plug-in called sys.exit({error.code}); nothing was finished") from error
    except KeyboardInterrupt as error:
        typer.secho(on_interrupt, err=True)
        raise typer.Exit(exit_code(error)) from error


def _refused(message: str) -> typer.Exit:
    typer.secho("error: " + " ".join(message.split()), fg="red", err=True)
    return typer.Exit(REFUSED)

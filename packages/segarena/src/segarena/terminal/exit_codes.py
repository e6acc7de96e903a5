"""Exit codes, and errors in one line instead of a traceback.

0 all went well; 1 the run is complete but something in it failed; 2 the request cannot be carried out as
given; 130 interrupted by Ctrl-C, 143 and 129 by SIGTERM and SIGHUP.
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
    """Turn our errors, those of the operating system, and Ctrl-C into one line on stderr and an exit code."""
    try:
        yield
    except (SegarenaError, MemoryError) as error:
        raise _refused(str(error) or "out of memory; free some, or work on less at once") from error
    except BrokenPipeError:
        raise  # the reader of the output has gone, so there is nobody to tell
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        raise _refused(
            f"{place}{error.strerror or error}; make room, allow it or choose another place"
        ) from error
    except (
        SystemExit
    ) as error:  # ours are typer.Exit: a plug-in wanted to end the program, maybe with 0
        if isinstance(error.__context__, BrokenPipeError):
            raise  # as above, by way of rich
        raise _refused(f"a plug-in called sys.exit({error.code}); nothing was finished") from error
    except KeyboardInterrupt as error:
        typer.secho(on_interrupt, err=True)
        raise typer.Exit(exit_code(error)) from error


def _refused(message: str) -> typer.Exit:
    typer.secho("error: " + " ".join(message.split()), fg="red", err=True)
    return typer.Exit(REFUSED)

"""Exit codes of commands, and one-line errors instead of tracebacks.

0: success; 1: the run is complete but something in it failed; 2: the request is invalid or cannot
be carried out; 130: interrupted by Ctrl-C; 143 and 129: ended by SIGTERM or SIGHUP.
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
    """Convert expected exceptions in a block to one line on stderr and an exit code.

    These are segarena's own errors, MemoryError, OSError (except BrokenPipeError), names of files
    outside UTF-8, `sys.exit` in a plug-in, and Ctrl-C, for which the line is `on_interrupt`.
    """
    try:
        yield
    except (SegarenaError, MemoryError) as error:
        raise _refused(
            str(error) or "out of memory; free memory, or process less at once"
        ) from error
    except BrokenPipeError:
        raise  # the reader of our output has ended, so a message would not be seen
    except OSError as error:
        file_prefix = ""
        if error.filename is not None:
            file_prefix = f"{error.filename}: "
        raise _refused(
            f"{file_prefix}{error.strerror or error}; free disk space, fix the permissions or choose another path"
        ) from error
    except UnicodeEncodeError as error:
        # The name of a file that is not UTF-8 becomes text with surrogates, which no file of a run
        # can hold.
        if error.reason != "surrogates not allowed":
            raise
        name = ascii(error.object[max(0, error.start - 60) : error.end + 20])
        raise _refused(f"expected text in UTF-8, got {name}; rename the file or folder") from error
    except SystemExit as error:
        # segarena itself raises typer.Exit, so a SystemExit comes from a plug-in, and may claim
        # success with code 0.
        if isinstance(error.__context__, BrokenPipeError):
            raise  # rich exits when the reader of its output has ended
        raise _refused(f"a plug-in called sys.exit({error.code}); nothing was finished") from error
    except KeyboardInterrupt as error:
        typer.secho(on_interrupt, err=True)
        raise typer.Exit(exit_code(error)) from error


def _refused(message: str) -> typer.Exit:
    typer.secho("error: " + " ".join(message.split()), fg="red", err=True)
    return typer.Exit(REFUSED)

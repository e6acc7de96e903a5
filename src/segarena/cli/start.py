"""Where the `segarena` command begins: signals are answered before anything slow is imported."""

from __future__ import annotations

import sys

from segarena.work.sentinel import watched
from segarena.work.signals import exit_code, stoppable


def main() -> None:
    """Run the command line; Ctrl-C, SIGTERM and SIGHUP end it in one line, whenever they come."""
    watched(_run)


def _run() -> None:
    try:
        with stoppable(is_last=True):
            from segarena.cli.main import main as run

            run()
    except KeyboardInterrupt as error:
        sys.stderr.write("stopped\n")
        sys.exit(exit_code(error))

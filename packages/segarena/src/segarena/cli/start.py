"""Entry point of the `segarena` command: installs signal handlers before slow imports."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C, SIGTERM and SIGHUP end it with a one-line message at any time."""
    try:
        # Inside the try, because Ctrl-C may come during the import.
        from segarena.work.exit_reporter import run_supervised

        run_supervised(_run)
    except KeyboardInterrupt as error:
        from segarena.work.signals import exit_code

        sys.stderr.write("stopped\n")
        sys.exit(exit_code(error))


def _run() -> None:
    from segarena.work.signals import stoppable

    with stoppable(is_last=True):
        from segarena.cli.main import run_app as run

        run()

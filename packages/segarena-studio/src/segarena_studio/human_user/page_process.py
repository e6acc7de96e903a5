"""Process that serves the pages of one run to one person on this machine; it ends with the run."""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import webbrowser
from pathlib import Path

from segarena_server.server_log import log_to
from segarena_server.server_process import SiteServer
from segarena_studio.human_user.run_registry import register_run
from segarena_studio.standalone import open_standalone


def main() -> None:
    """Print the address, and serve until the standard input is closed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--browser", action="store_true")
    arguments = parser.parse_args()
    log_to(None, logging.WARNING)
    site, key = open_standalone(arguments.folder, 0, workers=0)
    serving = SiteServer(site)

    def welcome(port: int) -> None:
        address = f"http://127.0.0.1:{port}/studio/open?key={key}&to=seats"
        print(address, flush=True)  # noqa: T201 - for the process that waits for it
        if arguments.browser:
            webbrowser.open(address)

    def wait_for_end() -> None:
        # Reading returns at end of file, which occurs when the parent closes the pipe or dies.
        sys.stdin.read()
        serving.stop()

    # Use a thread, because the server occupies the main thread.
    threading.Thread(target=wait_for_end, daemon=True).start()
    with register_run(site.folder, arguments.run):
        serving.run(welcome)


if __name__ == "__main__":
    main()

"""Thousands of idle connections, while a client reads pages.

    python tests/stress/idle_connections.py [--connections 20000] [--idle-connections 500] [--seconds 60]
        [--per-second 500]

Several processes open connections, `--per-second` per second in total, and send nothing; they reopen those that the
server closes. Meanwhile a client requests the home page twice a second. Requirement: each of its requests is answered
with 200 within 2 s, the server never has more than `idle_connections` idle connections, and its memory does not double.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import selectors
import socket
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, cast

import httpx2
from served import Server, prepare

PER_PROCESS = 9000
"""Connections of a process of clients: fewer than the files that a process may open."""
LONGEST_ANSWER_S = 2.0


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connections", type=int, default=20_000)
    parser.add_argument("--idle-connections", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--per-second", type=int, default=500)
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        prepare(data, 1, "sample-squares(count=1)")
        limits = {"idle_connections": given.idle_connections}
        server = Server(data, log=Path(folder) / "log", settings={"workers": 0, "limits": limits})
        server.start()
        server.wait()
        before = memory_mb(server.process.pid)
        is_over = multiprocessing.Event()
        opened = multiprocessing.Value("i", 0)
        clients: list[multiprocessing.Process] = []
        starts = range(0, given.connections, PER_PROCESS)
        pause_s = len(starts) / given.per_second
        for number, start in enumerate(starts):
            count = min(PER_PROCESS, given.connections - start)
            # Each process has an address of its own, since one has 28,000 ports to a server.
            arguments = (server.port, count, f"127.0.0.{number + 2}", pause_s, is_over, opened)
            clients.append(multiprocessing.Process(target=hold, args=arguments))
        for client in clients:
            client.start()
        answers_s, failed, most_held = ask(server, given.seconds)
        is_over.set()
        for client in clients:
            client.join(30)
        after = memory_mb(server.process.pid)
        server.stop()
    answers_s.sort()
    print(
        f"{given.connections} connections asked for by {len(clients)} processes, {opened.value} opened in all, "
        f"at most {most_held} held by the server; {len(answers_s)} pages answered, {failed} not; median "
        f"{1000 * answers_s[len(answers_s) // 2]:.0f} ms, slowest {1000 * answers_s[-1]:.0f} ms; memory of the "
        f"server {before:.0f} -> {after:.0f} MB"
    )
    # Connections that are accepted in the same moment are closed a moment later.
    is_capped = most_held <= 1.1 * given.idle_connections + 100
    is_held = not failed and answers_s[-1] <= LONGEST_ANSWER_S and is_capped and after < 2 * before
    return int(not is_held)


def ask(server: Server, seconds: float) -> tuple[list[float], int, int]:
    """Request a page twice a second; return the response times, the failures, and the highest number of connections."""
    answers_s: list[float] = []
    failed = 0
    most_held = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        begun = time.monotonic()
        try:
            answer = httpx2.get(f"http://127.0.0.1:{server.port}/", timeout=30, trust_env=False)
            failed += answer.status_code != 200
        except httpx2.HTTPError:
            failed += 1
        answers_s.append(time.monotonic() - begun)
        most_held = max(most_held, held_by(server.process.pid))
        time.sleep(0.5)
    return answers_s, failed, most_held


def hold(
    port: int,
    count: int,
    address: str,
    pause_s: float,
    is_over: Event,
    opened: Any,
) -> None:
    """Keep idle connections open, and reopen closed ones, until the test is over."""
    with selectors.DefaultSelector() as waiting:
        held = 0
        while not is_over.is_set():
            if held < count:
                connection = socket.socket()
                connection.bind((address, 0))
                connection.connect(("127.0.0.1", port))
                connection.setblocking(False)
                waiting.register(connection, selectors.EVENT_READ)
                held += 1
                with opened.get_lock():
                    opened.value += 1
            held -= drop_closed(waiting)
            time.sleep(pause_s)


def drop_closed(waiting: selectors.BaseSelector) -> int:
    """Forget the connections that the server closed; return their number."""
    dropped = 0
    for key, _ in waiting.select(0):
        waiting.unregister(key.fileobj)
        with suppress(OSError):
            cast("socket.socket", key.fileobj).close()
        dropped += 1
    return dropped


def held_by(pid: int) -> int:
    """Return the number of sockets that a process has open."""
    found = 0
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found += str(path.readlink()).startswith("socket:")
    return found


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    sys.exit(main())

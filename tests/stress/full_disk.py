"""A server whose disk is full while participants send answers.

    python tests/stress/full_disk.py [--times 5] [--clients 4] [--seed N]

Its folder, including the database, is on a file system of 64 MiB. Mounting it needs root; without root, a resource
limit prevents the server from enlarging files. `--times` times, the file system is filled to the last byte at a random
moment, stays full for some seconds, gets a little room that is soon used up, and is emptied. Requirements are those for
a server that is killed. Also, requests that write must be told to retry, requests that only read must be answered, and
no sample and no folder of a run may be truncated.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
from participants import Participant, end, wait_for_progress
from served import Server, draw_photographs, prepare

from segarena.errors import StoreError
from segarena_server.storage.content_store import ContentStore

SIZE_MIB = 64
LITTLE = 200_000
"""Bytes of room that are soon used up."""


class Disk:
    """A small file system, or a limit on file sizes where none can be mounted."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m", "segarena-stress", str(place)]
        self.is_mounted = not subprocess.run(words, capture_output=True, check=False).returncode
        self._filler = place / "filler"

    def fill(self, server: Server, room: int = 0) -> None:
        """Fill the disk until this many bytes are left."""
        if not self.is_mounted:
            largest = max(
                (file.stat().st_size for file in self.place.rglob("*") if file.is_file()), default=0
            )
            self._limit(server, largest if room else 0)
            return
        with self._filler.open("ab", buffering=0) as file:
            for size in (1 << 20, 4096):
                with suppress(OSError):
                    while True:
                        file.write(bytes(size))
            file.truncate(max(0, file.tell() - room))

    def free(self, server: Server) -> None:
        """Free the disk."""
        self._filler.unlink(missing_ok=True)
        if not self.is_mounted:
            self._limit(server, resource.RLIM_INFINITY)

    def end(self) -> None:
        """Remove the disk."""
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.place)], check=False)

    def _limit(self, server: Server, size: int) -> None:
        for pid in (server.process.pid, *server.workers()):
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@contextmanager
def disk_at(place: Path) -> Generator[Disk]:
    """Create a small disk."""
    disk = Disk(place)
    try:
        yield disk
    finally:
        disk.end()


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument(
        "--longest", type=float, default=4.0, help="Seconds for which the disk stays full."
    )
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder, disk_at(Path(folder) / "disk") as disk:
        data = disk.place / "data"
        tokens = prepare(data, given.clients, draw_photographs(Path(folder) / "photographs"))
        server = Server(data, log=Path(folder) / "log", settings={"workers": min(2, given.clients)})
        server.start()
        server.wait()
        people = [Participant(server, token) for token in tokens]
        for person in people:
            person.start()
        unread = sum(
            fill_once(disk, server, people, given.longest, rng) for _ in range(given.times)
        )
        wait_for_progress(people)
        ended = end(server, people)
        cut = ContentStore(data / "samples").damaged()
    how = f"a file system of {SIZE_MIB} MiB" if disk.is_mounted else "a limit on files"
    print(
        f"seed {given.seed}: full {given.times} times ({how}), {unread} looks not answered, {len(cut)} samples cut"
    )
    print(f"told with 503: {sorted(ended.words)}")
    print(ended)
    return int(not ended.is_right or bool(unread or cut))


def fill_once(
    disk: Disk, server: Server, people: Sequence[Participant], longest_s: float, rng: random.Random
) -> int:
    """Fill the disk for some seconds; return how many of three read requests were not answered meanwhile."""
    wait_for_progress(people)
    time.sleep(rng.uniform(0.0, 0.25) * longest_s)
    disk.fill(server)
    wait_for_refusal(people)
    time.sleep(rng.uniform(0.0, 1.0) * longest_s)
    unread = unanswered(server, people[0])
    with suppress(StoreError):
        ContentStore(disk.place / "data" / "samples").keep(rng.randbytes(1 << 20))
        if disk.is_mounted:  # the limit applies to the server's files
            raise RuntimeError(f"{disk.place} is not full")
    disk.fill(server, LITTLE)
    time.sleep(rng.uniform(0.0, 0.75) * longest_s)
    disk.fill(server)
    time.sleep(rng.uniform(0.0, 0.5) * longest_s)
    disk.free(server)
    return unread


def wait_for_refusal(people: Sequence[Participant], seconds: float = 5.0) -> None:
    """Wait until a participant is told to retry, which takes until the database has used up its own files."""
    before, until = sum(person.heard[503] for person in people), time.monotonic() + seconds
    while sum(person.heard[503] for person in people) == before and time.monotonic() < until:
        time.sleep(0.02)


def unanswered(server: Server, person: Participant) -> int:
    """Return the read requests that were not answered: health, the state of the run, an earlier reply."""
    run, key, number = next(iter(person.acknowledged), ("", "", 0))
    places = [
        "/health",
        *((f"/runs/{run}", f"/runs/{run}/samples/{key}/turns/{number}") if run else ()),
    ]
    return sum(person.look(place).status_code != httpx2.codes.OK for place in places)


if __name__ == "__main__":
    sys.exit(main())

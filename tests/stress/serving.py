"""Kills of a server and of its workers at random moments, while participants send answers.

    python tests/stress/serving.py [--kills 50] [--worker-kills 30] [--jobs 200] [--clients 4] [--seed N]

First the server is killed with SIGKILL and restarted, `--kills` times: some time after a turn was acknowledged, or
while it starts. Then, without a pause for the participants, workers are killed until `--worker-kills` are dead and
`--jobs` turns have been acknowledged meanwhile. Requirement: every acknowledged answer is stored with the reply that
was sent, none is counted twice, no run is given up, the database is intact, and the folder of every run is complete,
with the same records.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from participants import Participant, end, progress_of, wait_for_progress
from served import Server, draw_photographs, prepare

LONGEST_WAIT_S = 30.0


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--worker-kills", type=int, default=30)
    parser.add_argument(
        "--jobs",
        type=int,
        default=200,
        help="Turns that are acknowledged while workers are killed.",
    )
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        tokens = prepare(data, given.clients, draw_photographs(Path(folder) / "photographs"))
        server = Server(data, log=Path(folder) / "log", settings={"workers": min(2, given.clients)})
        server.start()
        people = [Participant(server, token) for token in tokens]
        for person in people:
            person.start()
        server.wait()
        kill_servers(server, people, given.kills, rng)
        workers, jobs = kill_workers(server, people, given.worker_kills, given.jobs, rng)
        ended = end(server, people)
    print(
        f"seed {given.seed}: server killed {given.kills} times, workers {workers} times during {jobs} jobs"
    )
    print(ended)
    return int(not ended.is_right or workers < given.worker_kills)


def kill_servers(
    server: Server, people: Sequence[Participant], kills: int, rng: random.Random
) -> None:
    """Kill the server `kills` times: mostly while it works, otherwise while it starts."""
    for _ in range(kills):
        if rng.random() < 0.8:
            wait_for_progress(people)
            time.sleep(rng.uniform(0.0, 1.0))
        else:
            time.sleep(rng.uniform(0.0, 3.0))
        server.kill()
        server.start()


def kill_workers(
    server: Server, people: Sequence[Participant], kills: int, jobs: int, rng: random.Random
) -> tuple[int, int]:
    """Kill workers until `kills` are dead and `jobs` turns are acknowledged; return both numbers."""
    if not kills:
        return 0, 0
    wait_for_progress(people)
    before, killed, idle_s = progress_of(people), 0, 0.0
    while idle_s < LONGEST_WAIT_S and (killed < kills or progress_of(people) - before < jobs):
        time.sleep(rng.uniform(0.0, 1.0))
        found = server.workers()
        idle_s = 0.0 if found else idle_s + 1.0
        if found and killed < kills:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(found), signal.SIGKILL)
                killed += 1
    return killed, progress_of(people) - before


if __name__ == "__main__":
    sys.exit(main())

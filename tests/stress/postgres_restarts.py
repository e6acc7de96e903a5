"""Restarts of a PostgreSQL server under a running site, while participants send answers.

    python tests/stress/postgres_restarts.py [--restarts 5] [--clients 4] [--seed N]

It is a real PostgreSQL server in its own folder, which syncs each transaction to the disk. Every second stop aborts all
transactions ("immediate"), the others write everything down first ("fast"); it stays away for up to three seconds.
Requirements are those for a server that is killed; also, requests sent meanwhile must be told to retry.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "packages/segarena-server/tests/support"))

from participants import Participant, end, wait_for_progress
from postgres import Postgres, programs
from served import Server, draw_photographs, prepare


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--restarts", type=int, default=5)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    if programs() is None:
        print("no PostgreSQL is installed here: nothing was tried")
        return 0
    postgres, rng = Postgres(fsync="on"), random.Random(given.seed)
    try:
        return restart_and_look(postgres, given.restarts, given.clients, given.seed, rng)
    finally:
        postgres.stop()


def restart_and_look(
    postgres: Postgres, restarts: int, clients: int, seed: int, rng: random.Random
) -> int:
    """Let participants take part in runs while the database is restarted."""
    db = postgres.new_database()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        tokens = prepare(data, clients, draw_photographs(Path(folder) / "photographs"), db=db)
        server = Server(
            data, log=Path(folder) / "log", settings={"db": db, "workers": min(2, clients)}
        )
        server.start()
        server.wait()
        people = [Participant(server, token) for token in tokens]
        for person in people:
            person.start()
        for number in range(restarts):
            wait_for_progress(people)
            time.sleep(rng.uniform(0.0, 2.0))
            postgres.restart("fast" if number % 2 else "immediate", away_s=rng.uniform(0.0, 3.0))
        wait_for_progress(people)
        ended = end(server, people, db)
    print(f"seed {seed}: PostgreSQL restarted {restarts} times")
    print(ended)
    return int(not ended.is_right)


if __name__ == "__main__":
    sys.exit(main())

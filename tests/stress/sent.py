"""Kills of a server and of its judging processes while it judges the programs of participants.

    python tests/stress/sent.py [--kills 20] [--programs 4] [--seed N]

Programs that answer everything with the whole picture are submitted. The server is killed with SIGKILL at random
moments and restarted; every third time, a process that judges is killed instead. Requirement: every program is judged
to its last sample, all leave the same records without a failure, none is counted twice, and no confined process and no
unpacked folder is left.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import httpx2
from served import PHASE, SLUG, Server, command, draw_photographs, prepare

from segarena.engine.run_folder import RunFolder
from segarena.segmenters.workers.sandbox import Sandbox

LONGEST_WAIT_S = 600.0
PROGRAM = """
import time
import numpy as np
from segarena_worker import serve
class Model:
    takes = ("click",)
    def encode(self, sample):
        return sample.image.shape[:2]
    def predict(self, encoded, dialogues):
        time.sleep(0.3)
        return [np.ones(encoded, bool) for _ in dialogues]
serve(Model)
"""


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--programs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    if why := Sandbox().fault():
        print(f"nothing was tried: {why}")
        return 1
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        rules = {"kind": "test", "takes": ("worker",), "samples_per_run": 2, "runs_at_once": 1000}
        (token,) = prepare(data, 1, draw_photographs(Path(folder) / "photographs"), **rules)
        server = Server(data, log=Path(folder) / "log")
        server.start()
        server.wait()
        address = f"http://127.0.0.1:{server.port}/api/v1"
        headers = {"authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=address, headers=headers, trust_env=False, timeout=60) as api:
            sent = [send(api) for _ in range(given.programs)]
            killed = [kill_one(server, rng, number) for number in range(given.kills)]
            states = wait_for(api, sent)
            server.stop()
        wrong = look(data, sent)
    judged = sum(state == "over" for state in states)
    left = [path for path in Path("/proc").glob("[0-9]*") if is_confined(int(path.name))]
    folders = [*Path(tempfile.gettempdir()).glob("segarena-sent-*")]
    print(
        f"seed {given.seed}: {killed.count('server')} servers and {killed.count('worker')} judging processes killed"
    )
    told = f"{judged} of {given.programs} programs judged, {wrong} incomplete, failed or different"
    print(f"{told}; {len(left)} confined processes and {len(folders)} folders left")
    return int(judged < given.programs or bool(wrong or left or folders))


def send(api: httpx2.Client) -> str:
    """Send the program; return its id."""
    name = str(uuid.uuid4())
    about = {"kind": "worker", "name": "whole picture"}
    answer = api.post(
        f"/challenges/{SLUG}/phases/{PHASE}/sent/{name}", params=about, content=PROGRAM
    )
    while answer.status_code == 429:  # three may wait to be looked at
        time.sleep(1.0)
        answer = api.post(
            f"/challenges/{SLUG}/phases/{PHASE}/sent/{name}", params=about, content=PROGRAM
        )
    answer.raise_for_status()
    return name


def kill_one(server: Server, rng: random.Random, number: int) -> str:
    """Kill the server and restart it, or every third time one of the processes that judge."""
    time.sleep(rng.uniform(0.2, 4.0))
    judging = [pid for pid in server.workers() if is_judging(pid)]
    if number % 3 == 2 and judging:
        with suppress(ProcessLookupError):
            os.kill(rng.choice(judging), signal.SIGKILL)
        return "worker"
    server.kill()
    server.start()
    server.wait()
    return "server"


def wait_for(api: httpx2.Client, sent: Sequence[str]) -> list[str]:
    """Return the states of the runs of all submissions, once they are over."""
    until = time.monotonic() + LONGEST_WAIT_S
    while True:
        told = [api.get(f"/sent/{name}").json() for name in sent]
        states = [str(one["run_state"] or one["state"]) for one in told]
        if (
            all(state in ("over", "refused", "dead") for state in states)
            or time.monotonic() > until
        ):
            return states
        time.sleep(0.5)


def look(data: Path, sent: Sequence[str]) -> int:
    """Return the number of runs that are incomplete, have a failure, or have other records than the first."""
    found = [
        RunFolder.open(data / "runs" / name) for name in sent if (data / "runs" / name).is_dir()
    ]
    first = found[0].records() if found else None
    wrong = len(sent) - len(found)
    for run in found:
        records = run.records()
        is_right = run.is_complete and records["failure"].is_null().all() and records.equals(first)
        wrong += not is_right
    return wrong


def is_judging(pid: int) -> bool:
    """Return whether a worker process is judging a program."""
    return any(
        f"segarena-sent-{pid}-" in path.name
        for path in Path(tempfile.gettempdir()).glob("segarena-sent-*")
    )


def is_confined(pid: int) -> bool:
    """Return whether a process runs in a sandbox."""
    # By what it has mounted: the command line in a sandbox names no folder of ours.
    try:
        mounts = Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return "bwrap" in command(pid) and "segarena-sent" in mounts


if __name__ == "__main__":
    sys.exit(main())

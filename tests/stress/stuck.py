"""Evaluations that never end, paused workers and a slow disk: what participants see meanwhile.

    python tests/stress/stuck.py [--stops 3] [--sync-ms 100]

A user of the benchmark, an organiser's own plug-in, loops forever on an empty answer. One participant gives one, while
others take part in runs. Then workers are paused (SIGSTOP) in the middle of their work, and finally the same server is
restarted with a disk on which each sync takes `--sync-ms`. Requirement: whoever waits is told the state, how many come
first and about how long it takes; the run that hangs ends with a reason within three limits, is not charged, and its
participant can begin the next one; all others finish, with the same records, and see no error.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from participants import Participant, end
from served import Server, draw_photographs, prepare

LIMITS = {"soft_s": 8.0, "hard_s": 12.0, "lease_s": 20.0, "tries": 3}
"""Of what hangs; a disk that is slow has the usual ones."""
RUNS_IN_ALL = 2
SLOWED = 4
"""People on a slow disk."""
PLUGIN = """
from dataclasses import replace
from segarena.registry import benchmark, user
from segarena.plugin_spec import PluginSpec
from segarena.systems.clicks.benchmarks.clicks import clicks
from segarena.users.centre import CentreClicker

@user("hanging")
class Hanging(CentreClicker):
    def next(self, turn):
        while turn.dialogue.previous is not None and not turn.dialogue.previous.mask.any():
            pass
        return super().next(turn)

@benchmark("hanging")
def hanging(*, rounds: int = 4):
    return replace(clicks(rounds=rounds), name="hanging", users=(PluginSpec(__file__ + ":Hanging"),))
"""
SLOW_SYNC = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static void wait_a_while(void) { char *ms = getenv("SYNC_MS"); usleep(1000 * (ms ? atoi(ms) : 0)); }
int fsync(int file) { wait_a_while(); return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file); }
int fdatasync(int file) { wait_a_while(); return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file); }
"""


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stops", type=int, default=3)
    parser.add_argument("--sync-ms", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data, plugin = Path(folder) / "data", Path(folder) / "hanging.py"
        plugin.write_text(PLUGIN)
        limits = {"runs_in_all": RUNS_IN_ALL, "runs_at_once": 1, "benchmark": f"{plugin}:hanging"}
        tokens = prepare(
            data, 2 + given.stops + SLOWED, draw_photographs(Path(folder) / "photographs"), **limits
        )
        server = Server(data, log=Path(folder) / "log", settings={"limits": LIMITS})
        server.start()
        server.wait()
        hung, again, other = hang(server, tokens[0], tokens[1])
        stopped = [stop_workers(server, token) for token in tokens[2 : 2 + given.stops]]
        slowed = slow_down(server, Path(folder), tokens[2 + given.stops :], given.sync_ms)
        people = [again, other, *stopped, *slowed]
        ended = end(server, people)
    expected = 2 * RUNS_IN_ALL + len(stopped) + len(slowed)
    is_back = len(again.finished) == RUNS_IN_ALL
    print(
        f"the run that hangs was told {hung.told}, and after {hung.seconds:.0f} s {hung.person.refused}"
    )
    print(
        f"its quota was {'given back' if is_back else 'NOT given back'}; longest wait beside it {longest([other])}"
    )
    print(
        f"workers stopped {len(stopped)} times, longest wait {longest(stopped)}; {given.sync_ms} ms for each sync, ",
        end="",
    )
    print(
        f"longest wait {longest(slowed)}; {len(ended.finished)} of {expected} other runs finished"
    )
    print(ended)
    is_told = (
        "evaluating" in [queue["phase"] for queue in hung.told] and len(hung.person.refused) == 1
    )
    return int(not (ended.is_right and is_told and is_back and len(ended.finished) == expected))


def longest(people: Sequence[Participant]) -> str:
    """Return the longest wait of any participant for a reply."""
    return f"{max((wait.seconds for person in people for wait in person.waits), default=0.0):.1f} s"


@dataclass(frozen=True)
class Hung:
    """Participant whose run hangs, the messages received meanwhile, and for how long it hung."""

    person: Participant
    told: list[dict[str, Any]]
    seconds: float


def hang(server: Server, token: str, beside: str) -> tuple[Hung, Participant, Participant]:
    """Let one run hang while others take part; return both, and the first participant again, now answering."""
    hung, other, told = (
        Participant(server, token, is_empty=True),
        Participant(server, beside),
        list[dict[str, Any]](),
    )
    started = time.monotonic()
    threads = [threading.Thread(target=hung.hold), threading.Thread(target=hold, args=(other,))]
    for thread in threads:
        thread.start()
    while threads[0].is_alive():
        queue = hung.queue()
        if queue and {name: queue[name] for name in ("phase", "place")} not in told:
            told.append({name: queue[name] for name in ("phase", "place")})
        time.sleep(0.1)
    seconds = time.monotonic() - started
    threads[1].join()
    again = Participant(server, token)
    hold(again)
    return Hung(hung, told, seconds), again, other


def hold(person: Participant, runs: int = RUNS_IN_ALL) -> None:
    """Take part in this many runs."""
    try:
        for _ in range(runs):
            person.hold()
    except Exception as error:
        person.fault = f"{type(error).__name__}: {error}"


def stop_workers(server: Server, token: str) -> Participant:
    """Pause all workers while somebody takes part in a run; return them."""
    person = Participant(server, token, think_s=lambda: 0.2)
    thread = threading.Thread(target=hold, args=(person, 1))
    thread.start()
    while not person.acknowledged:
        time.sleep(0.02)
    for pid in server.workers():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    thread.join()
    return person


def slow_down(
    server: Server, folder: Path, tokens: Sequence[str], sync_ms: int
) -> list[Participant]:
    """Let people take part in runs on a slow disk; nobody if no compiler is available to simulate one."""
    if shutil.which("cc") is None:
        return []
    source, library = folder / "slow.c", folder / "slow.so"
    source.write_text(SLOW_SYNC)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    server.stop()
    server.settings = {}
    server.environment = {"LD_PRELOAD": str(library), "SYNC_MS": str(sync_ms)}
    server.start()
    server.wait()
    people = [Participant(server, token) for token in tokens]
    threads = [threading.Thread(target=hold, args=(person, 1)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return people


if __name__ == "__main__":
    sys.exit(main())

"""Compare runs on a Ray cluster, of which workers, nodes or the driver are killed, with a run on one machine.

    python tests/stress/cluster_kills.py --kills 10

The cluster has two nodes on this machine. Workers, nodes and drivers are killed (SIGKILL) at random moments, `--kills`
of each kind. Runs must survive the loss of workers and nodes; a killed driver is started again with the same command.
Records and kept masks must equal those of a run without Ray, byte for byte.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

# Read when Ray is imported, here and in child processes: the nodes are on the loopback address.
os.environ |= {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
}

from ray.cluster_utils import Cluster

from segarena.engine.run_folder import RunFolder

RUN = "run clicks -s watershed -d demo -u uniform --rounds 4 --repeats 3"
MOST_KILLS = 4
"""In each run. A sample whose worker is lost five times fails, and a short run may have the same sample each time."""
NODE = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100 << 20}


def segarena(*words: str) -> subprocess.Popen[bytes]:
    """Start a command as the leader of its own process group."""
    code = "from segarena.cli.start import main; main()"
    words = (sys.executable, "-c", code, *words)
    return subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL)


def tables_of(run: Path) -> dict[str, bytes]:
    """Return the records and masks of a run, by file."""
    return {
        f"{file.parent.name}/{file.name}": file.read_bytes()
        for file in sorted(run.glob("[rm]*s/*.parquet"))
    }


def failures_of(run: Path) -> list[str]:
    """Return why dialogues of a run failed."""
    return (
        RunFolder.open(run).read("records", ["failure"])["failure"].drop_nulls().unique().to_list()
    )


def node_actors() -> list[int]:
    """Return the parent processes of the workers, found by the names that Ray gives them."""
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if place.read_bytes().startswith(b"ray::NodeActor"):
                found.append(int(place.parent.name))
    return found


def kill_worker(_: Cluster, __: subprocess.Popen[bytes]) -> bool:
    """Kill the parent process of one worker, if there is one."""
    there = node_actors()
    if there:
        os.kill(random.choice(there), signal.SIGKILL)
    return bool(there)


def kill_node(cluster: Cluster, _: subprocess.Popen[bytes]) -> bool:
    """Stop the second node if any worker is running, and start another one."""
    if not node_actors():
        return False
    (node,) = cluster.worker_nodes
    cluster.remove_node(node, allow_graceful=False)
    cluster.add_node(wait=False, **NODE)
    return True


def kill_driver(_: Cluster, driver: subprocess.Popen[bytes]) -> bool:
    """Kill the command if any worker is running for it."""
    if not node_actors():
        return False
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    return True


def go(
    cluster: Cluster, folder: Path, kills: int, kill: Callable[..., bool]
) -> tuple[int, list[Path]]:
    """Run and kill `kills` times, and restart runs that were ended; return the number of kills and the runs."""
    done, killed_in_run = 0, 0
    runs = [folder / "0"]
    words = [*RUN.split(), "-w", "2", "--executor", "ray", "--address", cluster.address, "-o"]
    driver = segarena(*words, str(runs[-1]))
    while True:
        with suppress(subprocess.TimeoutExpired):
            code = driver.wait(random.uniform(0.5, 5.0))
            if code not in (0, -signal.SIGKILL):
                raise SystemExit(
                    f"a run on Ray ended with exit code {code}: {failures_of(runs[-1])}"
                )
            if not code and done == kills:
                return done, runs
            if not code:
                runs.append(folder / str(len(runs)))
                killed_in_run = 0
            if len(runs) > 10 * (kills + 1):
                raise SystemExit(
                    f"{len(runs)} runs ended, but only {done} of {kills} kills found a worker"
                )
            driver = segarena(*words, str(runs[-1]))
            continue
        if done < kills and killed_in_run < MOST_KILLS:
            killed = kill(cluster, driver)
            done += killed
            killed_in_run += killed


def main() -> None:
    """Make the runs, and report which of them differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10, help="Number of kills of each kind.")
    parser.add_argument(
        "--kind", choices=("worker", "node", "driver"), action="append", help="By default all."
    )
    given = parser.parse_args()
    kinds: dict[str, Any] = {"worker": kill_worker, "node": kill_node, "driver": kill_driver}
    random.seed(0)
    differing = 0
    with tempfile.TemporaryDirectory() as name:
        local = Path(name) / "local"
        if code := segarena(*RUN.split(), "-w", "2", "-o", str(local)).wait():
            raise SystemExit(f"the run on one machine ended with exit code {code}")
        expected = tables_of(local)
        cluster = Cluster(initialize_head=True, head_node_args=NODE)
        cluster.add_node(**NODE)
        try:
            for kind in given.kind or kinds:
                started = time.monotonic()
                killed, runs = go(cluster, Path(name) / kind, given.kills, kinds[kind])
                other = sum(tables_of(run) != expected for run in runs)
                differing += other
                took = f"{time.monotonic() - started:.0f} s"
                print(
                    f"{kind}: {killed} killed in {len(runs)} runs, {took}: {other} differ",
                    flush=True,
                )
        finally:
            cluster.shutdown()
    print("the same bytes" if not differing else f"{differing} runs DIFFER")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()

"""The executor for several machines gives the results of a local one, on a cluster on this machine."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from segarena.errors import (
    InvalidInput,
    MissingExtra,
    StoreError,
    UnitDied,
    UnitHung,
    WorkersInvalid,
)
from segarena.work.cluster import connection as joining
from segarena.work.cluster import node_actor, ray_pool
from segarena.work.cluster.executor import Ray
from segarena.work.executors import make_executor
from segarena.work.jobs import UnitResult

pytestmark = pytest.mark.skipif(
    find_spec("ray") is None, reason="Ray is not installed: pip install 'segarena[ray]'"
)
HERE = Path(__file__).parent


HEALTH = {"initial_delay_ms": 500, "period_ms": 500, "timeout_ms": 5000, "failure_threshold": 3}
"""A node that is switched off is missed after 2 s, one that is slow after 15 s, where Ray waits for 18 s otherwise."""


@pytest.fixture(scope="module")
def cluster():
    """A cluster for two workers, which each executor of this module joins."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in HEALTH.items():
            patch.setenv(f"RAY_health_check_{name}", str(value))
        with joining.connect_ray("", 2) as ray:
            yield ray


def do(job, units, workers=2, **options):
    """Return results, and errors, by unit."""
    with closing(Ray(workers).map(job, units, **options)) as outcomes:
        return {
            one.unit: one.result if isinstance(one, UnitResult) else one.error for one in outcomes
        }


@pytest.mark.long
def test_joining_leaves_signals_and_others_alone(cluster):
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    port = f"{int(cluster.get_runtime_context().gcs_address.rpartition(':')[2]):04X}"
    places = [line.split()[1] for line in listening.splitlines() if line.split()[3] == "0A"]
    assert {place[:-5] for place in places if place.endswith(f":{port}")} == {
        "0000000000000000FFFF00000100007F"
    }
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_every_unit_is_done_once_wherever_it_is(cluster, act):
    assert do(act(), range(500)) == {unit: unit for unit in range(500)}


@pytest.mark.long
def test_what_goes_wrong_is_said_in_the_words_of_one_machine(cluster, act):
    units = [
        "raises",
        "refuses",
        "awkward",
        "sys.exit",
        "exits",
        "killed",
        "lambda",
        "read once",
        "threads",
        5,
    ]
    with closing(make_executor(2).map(act(), units)) as outcomes:
        local = {
            one.unit: one.result if isinstance(one, UnitResult) else str(one.error)
            for one in outcomes
        }
    found = do(act(), units)
    assert {
        unit: str(one) if isinstance(one, Exception) else one for unit, one in found.items()
    } == local


@pytest.mark.long
def test_a_unit_that_hangs_is_ended_one_that_dies_is_tried_again_and_the_others_go_on(
    cluster, act, tmp_path
):
    found = do(act(str(tmp_path / "flag")), ["sets a deadline and hangs", "killed once", 1, 2, 3])
    assert isinstance(found.pop("sets a deadline and hangs"), UnitHung)
    assert found == {"killed once": None, 1: 1, 2: 2, 3: 3}


@pytest.mark.long
def test_a_full_disk_on_one_node_ends_all_and_the_node_is_named(cluster, act):
    with pytest.raises(StoreError, match=rf"the disk is full \(on node {socket.gethostname()}\)"):
        do(act(), ["disk full", "sleeps"])


@pytest.mark.long
def test_a_job_that_cannot_be_opened_ends_the_work(cluster, act):
    with pytest.raises(WorkersInvalid, match=r"could not start \(exit code 7\).*\(on node"):
        do(act(how_opened="exits"), [1])


@pytest.mark.long
def test_what_a_script_defines_travels_with_the_job(cluster):
    class Doubling:
        def open(self):
            return lambda unit: 2 * unit

    assert do(Doubling(), [1, 2]) == {1: 2, 2: 4}


def test_what_cannot_travel_is_said_before_anything_is_done(cluster, act):
    job = act()
    job.lock = threading.Lock()
    with pytest.raises(WorkersInvalid, match="cannot be sent to workers"):
        do(job, [1])


@pytest.mark.long
def test_a_node_actor_that_is_killed_loses_no_unit(cluster, act, tmp_path):
    """Kill a Ray worker with SIGKILL: another one gets its unit."""
    marks = act(str(tmp_path / "flag"))
    done = []
    with closing(Ray(2).map(marks, range(400))) as outcomes:
        for one in outcomes:
            done.append(one.result)
            if len(done) in (1, 100):
                # Those that take the place of others are not there at once, and each that is seen may be gone again.
                wait_until(is_one_killed)
    assert sorted(done) == list(range(400))


def is_one_killed():
    """Kill a node actor, if there is one."""
    for process in node_actors():
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
            return True
    return False


def node_actors():
    """Return the processes of node actors, by their names in Ray."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            name = place.read_bytes()
        except OSError:
            continue
        if b"ray::NodeActor" in name:
            found.append(int(place.parent.name))
    return found


@pytest.mark.long
def test_a_unit_that_is_lost_with_its_worker_again_and_again_fails_alone(cluster, act, monkeypatch):
    monkeypatch.setattr(ray_pool, "_MOST_LOSSES", 1)
    found = do(KillsNodeActor(act()), ["kills its node actor", 1, 2], workers=1)
    assert isinstance(found.pop("kills its node actor"), UnitDied)
    assert found == {1: 1, 2: 2}


class KillsNodeActor:
    def __init__(self, job):
        self.job = job

    def open(self):
        do_one = self.job.open()

        def act_or_kill(unit):
            if unit == "kills its node actor":
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(100)
            return do_one(unit)

        return act_or_kill


@pytest.mark.long
def test_units_after_one_that_takes_long_go_to_others_and_those_before_it_are_told(cluster, act):
    """Small units come first, so that the others are sent together."""
    came = []
    with closing(Ray(2).map(act(), [*range(100), "sleeps a while", *range(100, 150)])) as outcomes:
        came += [one.unit for one in outcomes]
    assert sorted(came[:-1]) == list(range(150))
    assert came[-1] == "sleeps a while"


def test_small_units_are_handed_over_together_and_large_ones_alone():
    pace = ray_pool.BatchSize()
    assert pace.batch == 1
    pace.learn([UnitResult(unit=None, result=None, seconds=0.001)] * 3)
    assert pace.batch == 200  # at least 0.1 s
    pace.learn([UnitResult(unit=None, result=None, seconds=7.0)])
    assert pace.batch == 1
    pace.mean_s = 0.0
    assert pace.batch == ray_pool._LARGEST_BATCH


def test_a_node_with_other_versions_says_which(monkeypatch):
    expected = {
        **node_actor.versions(("numpy", "segarena")),
        "segarena": "0.0.1",
        "torch-of-another-day": "1",
    }
    told = node_actor.NodeActor().begin(b"", None, ".", [], expected)
    assert told.startswith(f"node {socket.gethostname()} has segarena ")
    assert "where the driver has 0.0.1, no torch-of-another-day" in told


def test_a_worker_for_which_no_node_has_room_is_refused(cluster, act, monkeypatch):
    monkeypatch.setattr(ray_pool, "_PATIENCE_S", 0.0)
    with pytest.raises(
        WorkersInvalid, match=r"no node of the cluster has 1 CPU and 4 GPU for a worker: .* 2 CPU"
    ):
        list(Ray(1, gpus_per_worker=4).map(act(), [1]))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"workers": 0}, "must be 1 or more"),
        ({"workers": 1, "address": "ray://somewhere:10001"}, "expected host:port or auto"),
        ({"workers": 1, "address": "somewhere"}, "expected host:port or auto"),
        ({"workers": 1, "gpus_per_worker": 1.5}, "expected 0 to 1, or a whole number"),
        ({"workers": 1, "gpus_per_worker": -1}, "expected 0 to 1, or a whole number"),
    ],
)
def test_what_cannot_be_is_refused_at_once(options, why):
    with pytest.raises(InvalidInput, match=why):
        Ray(**options)


def test_without_ray_the_command_that_installs_it_is_said(monkeypatch):
    monkeypatch.setattr("segarena.work.cluster.executor.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'segarena\[ray\]'"):
        Ray(1)


def test_an_address_where_nobody_answers_is_refused_in_seconds(monkeypatch):
    with socket.socket() as unused:
        unused.bind(("", 0))  # Ray may ask at another address of this machine
        port = unused.getsockname()[1]
        with pytest.raises(
            WorkersInvalid, match=rf"no Ray cluster answers at \S+:{port} \(Connection refused\)"
        ):
            list(Ray(1, f"127.0.0.1:{port}").map(None, []))


def test_an_address_where_nothing_is_said_is_refused_in_seconds(monkeypatch):
    monkeypatch.setattr(joining, "_ANSWER_S", 0.2)
    with socket.create_server(("", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(
            WorkersInvalid, match=rf"no Ray cluster answers at \S+:{port} \(no answer\)"
        ):
            list(Ray(1, f"127.0.0.1:{port}").map(None, []))


@pytest.mark.parametrize("has_token", [True, False])
def test_a_cluster_that_asks_for_a_token_says_so(tmp_path, monkeypatch, has_token):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    if has_token:
        monkeypatch.setenv("RAY_AUTH_TOKEN", "0")
    assert joining._has_token() is has_token
    refused = ConnectionError("Failed to connect")
    refused.__cause__ = RuntimeError("RPC error: InvalidAuthToken: missing or incorrect")
    assert joining._why(refused).startswith("it requires a token; set RAY_AUTH_TOKEN")
    assert joining._why(ConnectionError("no\n way")) == "no way"


def test_an_address_where_somebody_else_answers_is_refused():
    with socket.create_server(("", 0)) as other:

        def answer():
            with other.accept()[0] as connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(WorkersInvalid, match="is not a Ray cluster"):
            list(Ray(1, f"127.0.0.1:{other.getsockname()[1]}").map(None, []))


@pytest.fixture
def add_node(cluster):
    """Add a node to the cluster; return a function that kills it, like a machine that is switched off."""
    from ray._private.node import Node
    from ray._private.parameter import RayParams

    nodes = []

    def add(cpus):
        address = cluster.get_runtime_context().gcs_address
        alone = RayParams(
            gcs_address=address,
            num_cpus=cpus,
            object_store_memory=100 << 20,
            include_log_monitor=False,
        )
        nodes.append(Node(alone, head=False, shutdown_at_exit=False, spawn_reaper=False))
        return lambda: nodes[-1].kill_all_processes(check_alive=False, allow_graceful=False)

    yield add
    for node in nodes:
        node.kill_all_processes(check_alive=False, allow_graceful=True)


class SaysWhere:
    """Returns the number of the process that has the node, after a moment, once two nodes are at work.

    Args:
        folder: where each node is noted.
    """

    def __init__(self, folder):
        self.folder = folder

    def open(self):
        node = int(os.environ["RAY_RAYLET_PID"])
        (self.folder / str(node)).touch()
        return lambda unit: self.wait() or node

    def wait(self):
        time.sleep(0.02)
        until = time.monotonic() + 60
        while len(list(self.folder.iterdir())) < 2 and time.monotonic() < until:
            time.sleep(0.02)


@pytest.mark.long
def test_a_node_that_is_switched_off_loses_no_unit(cluster, add_node, tmp_path):
    switch_off = add_node(1)
    done, nodes = [], Counter()
    with closing(Ray(3).map(SaysWhere(tmp_path), range(300))) as outcomes:
        for one in outcomes:
            done.append(one.unit)
            nodes[one.result] += 1
            if switch_off and len(nodes) == 2 and min(nodes.values()) > 20:
                switch_off = switch_off()
    assert switch_off is None
    assert sorted(done) == list(range(300))


SCRIPT = """
import sys
sys.path.insert(0, {here!r})
from pathlib import Path
from acting import Act
from segarena.work.cluster.executor import Ray
from segarena.work.ledger import Ledger
from segarena.work.resumable_work import do_pending

out = Path(sys.argv[1])
units = {{str(number): number for number in range(int(sys.argv[2]))}} | {{unit: unit for unit in sys.argv[3:]}}
with Ledger(out / "done.jsonl", {{}}) as ledger:
    do_pending(Act(flag=str(out / "flag")), units, ledger, Ray(2, {address!r}))
    print(sorted(ledger.done))
"""


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_driver_that_is_ended_keeps_what_is_done_and_leaves_no_worker(cluster, tmp_path, number):
    address = cluster.get_runtime_context().gcs_address
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(here=str(HERE), address=address))
    process = subprocess.Popen([sys.executable, script, tmp_path, "4", "hangs", "sleeps"])
    ledger = tmp_path / "done.jsonl"
    wait_until(lambda: ledger.exists() and ledger.read_bytes().count(b"\n") == 5)
    workers = [int(file.name.removeprefix("opened-")) for file in tmp_path.glob("opened-*")]
    asked = time.monotonic()
    process.send_signal(number)
    assert process.wait() != 0
    assert time.monotonic() < asked + 60
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
    assert workers
    answer = subprocess.run(
        [sys.executable, script, tmp_path, "6"], check=True, capture_output=True, text=True
    ).stdout
    assert answer == "['0', '1', '2', '3', '4', '5']\n"


def wait_until(happened):
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)

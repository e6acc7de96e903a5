"""Untrusted programs can access only their folder and their requests; those that exceed limits are killed."""

import os
import socket
import subprocess
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import segarena.worker
from segarena.dialogue import Dialogue
from segarena.errors import PluginInvalid, SegmenterError
from segarena.prompts import Click
from segarena.samples import ImageSample
from segarena.segmenters.workers import sandbox as confining
from segarena.segmenters.workers.sandbox import Sandbox

SANDBOX = Sandbox(memory_gb=0.5, disk_gb=0.05, processes=64, start_s=120)
pytestmark = pytest.mark.skipif(bool(SANDBOX.fault()), reason=SANDBOX.fault() or "confined")

DIALOGUE = Dialogue((((Click((1, 1))),),))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("programs")
    for above in (made, *made.parents[:3]):
        above.chmod(0o755)
    (made / "segarena_worker.py").write_text(Path(segarena.worker.__file__).read_text())
    return made


@pytest.fixture
def start(folder):
    """Start a worker that performs an action on request and reports the result in its error."""
    started = []

    def make(body, sandbox=SANDBOX):
        program = f"{len(list(folder.iterdir()))}.py"
        text = textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
        (folder / program).write_text(
            "import os, sys, socket, time, pathlib\nimport numpy as np\nfrom segarena_worker import serve\n"
            "class Model:\n    takes = ('click',)\n    def encode(self, sample):\n        return sample.image\n"
            f"    def predict(self, encoded, dialogues):\n{text}\n"
            "        return [np.zeros(encoded.shape[:2], bool) for _ in dialogues]\nserve(Model)\n"
        )
        worker = sandbox.start(folder, program)
        started.append(worker)
        return worker

    yield make
    for worker in started:
        worker.client.end()


def asked(worker, seconds=60.0):
    with worker.client.response_limit(seconds):
        encoded = worker.encode(ImageSample(id="1", image=np.zeros((8, 8, 3), np.uint8)))
        return worker.predict(encoded, [DIALOGUE])


def said(worker, seconds=60.0):
    """Return the message of a worker that cannot answer."""
    with pytest.raises(SegmenterError) as raised:
        asked(worker, seconds)
    return str(raised.value)


def processes_of(worker):
    root = worker.client._stream.root
    found = subprocess.run(
        ["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    children = {}
    for line in found.splitlines():
        pid, parent = map(int, line.split())
        children.setdefault(parent, []).append(pid)
    waiting, all_of = [root], []
    while waiting:
        all_of.append(waiting.pop())
        waiting += children.get(all_of[-1], [])
    return all_of


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(is_so):
    """Wait until a condition holds; fail after an unreasonably long time."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_honest_program_answers(start):
    (answer,) = asked(start("pass"))
    assert answer.mask.shape == (8, 8)


@pytest.mark.long
def test_there_is_no_network(start):
    server = socket.create_server(("127.0.0.1", 0))
    heard = []
    threading.Thread(target=lambda: heard.append(server.accept()), daemon=True).start()
    port = server.getsockname()[1]
    told = said(start(f"socket.create_connection(('127.0.0.1', {port}), timeout=2)"))
    assert "refused" in told or "unreachable" in told
    assert "Temporary failure" in said(start("socket.getaddrinfo('example.org', 80)")) or not heard
    assert heard == []
    server.close()


def test_the_first_process_tells_no_path_of_ours(start, folder):
    told = said(
        start(
            """
            first = pathlib.Path("/proc/1/cmdline").read_bytes()
            numbers = [n for n in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{n}")]
            files = [os.readlink(f"/proc/self/fd/{n}") for n in numbers]
            raise RuntimeError(f"sees {first!r} {files}")
            """
        )
    )
    assert "bwrap" in told
    assert str(folder) not in told
    assert "-bind" not in told
    assert "memfd" not in told


SECRETS = [
    "/etc/passwd",
    "/etc/shadow",
    str(Path.home() / ".ssh"),
    "/home",
    "/srv",
    "/var",
    "/run",
    "/sys",
]


def test_no_file_of_ours_is_there(start, tmp_path):
    (tmp_path / "secret").write_text("a secret")
    tmp_path.chmod(0o777)
    paths = [
        *SECRETS,
        str(tmp_path / "secret"),
        str(Path(__file__)),
        "/proc/self/root/sent/../etc/hostname",
    ]
    told = said(
        start(
            f"there = [p for p in {paths!r} if os.path.exists(p)]\nraise RuntimeError(f'sees {{there}}')"
        )
    )
    assert told.endswith("sees []")


@pytest.mark.long
def test_a_worker_cannot_have_a_file_of_ours_read_for_it(start, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(64))
    worker = start(
        f"""
        import segarena_worker
        plain = segarena_worker.Stream.send
        def send(self, header, arrays=()):
            told = {{"dtype": "|u1", "shape": [64], "file": {str(secret)!r}}}
            body = segarena_worker.Body(told, 0, tuple)
            answer = {{"mask": {{"array": 0}}, "logits": {{"array": 0}}}}
            plain(self, {{"id": header["id"], "ok": {{"answers": [answer]}}}}, [body])
        segarena_worker.Stream.send = send
        """
    )
    assert "refers to a file" in said(worker)


def test_no_other_process_is_there_and_no_variable_of_ours(start, monkeypatch):
    monkeypatch.setenv("SEGARENA_SECRET", "1")
    told = said(
        start(
            """
            numbers = sorted(int(p) for p in os.listdir('/proc') if p.isdigit())
            try:
                above = open('/proc/1/environ').read()
            except PermissionError:
                above = ''
            raise RuntimeError(sorted(os.environ), above, numbers)
            """
        )
    )
    assert "SEGARENA" not in told
    assert len(told.rpartition("[")[2].split(",")) <= 4


def test_nothing_can_be_written_but_a_little_in_memory(start):
    for path in ("/sent/x", "/usr/x", "/x", "/dev/x", "/proc/x"):
        told = said(start(f"pathlib.Path({path!r}).write_text('x')"))
        assert "Read-only" in told or "denied" in told or "No such file" in told, path
    for path in ("/tmp/x", "/dev/shm/x"):
        told = said(start(f"open({path!r}, 'wb').write(bytes(200 * 2**20))"))
        assert "No space left" in told or "File too large" in told, path


@pytest.mark.long
def test_a_program_that_starts_processes_without_end_is_ended(start):
    worker = start(
        """
        while True:
            if os.fork() == 0:
                while True: os.fork()
        """
    )
    told = said(worker)
    assert "BlockingIOError" in told or "lost" in told or "Resource temporarily" in told
    worker.client.end()
    wait_until(lambda: os.system("true") == 0)


@pytest.mark.long
def test_a_program_has_its_processes_whatever_another_one_starts(start):
    greedy = start(
        """
        for _ in range(200):
            if os.fork() == 0: time.sleep(60)
        """,
        replace(SANDBOX, memory_gb=16.0),
    )
    assert "temporarily unavailable" in said(greedy)
    other = said(
        start(
            """
            for _ in range(20):
                if os.fork() == 0: time.sleep(60)
            raise RuntimeError("has twenty")
            """
        )
    )
    assert other.endswith("has twenty")


@pytest.mark.long
def test_memory_is_looked_after_in_all_its_processes(start):
    one = said(start("all = [np.ones(10**8) for _ in range(100)]"))
    assert "MemoryError" in one or "memory" in one or "Unable to allocate" in one or "lost" in one
    several = """
        for _ in range(6):
            if os.fork() == 0:
                keep = np.ones(4 * 10**7)
                time.sleep(100)
        time.sleep(100)
        """
    assert "memory_gb" in said(start(several), 60)


@pytest.mark.long
def test_a_program_that_sleeps_or_prints_for_ever_is_ended(start):
    sleeping = start("time.sleep(1000)")
    assert "no answer in time" in said(sleeping, 0.2)
    printing = start("while True: print('x' * 100000, flush=True)")
    assert "no answer in time" in said(printing, 0.2)
    nonsense = start("while True: os.write(1, b'x' * 100000)")
    assert said(nonsense, 0.4)


@pytest.mark.long
def test_all_that_a_program_started_ends_with_it(start):
    worker = start(
        "os.fork() or (os.setsid(), os.fork() or time.sleep(1000), time.sleep(1000))\ntime.sleep(0.2)"
    )
    asked(worker)
    wait_until(lambda: len(processes_of(worker)) > 2)
    running = processes_of(worker)
    worker.client.end()
    wait_until(lambda: not any(map(is_running, running)))


def test_what_is_missing_is_said_with_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    sandbox = Sandbox(memory_gb=0.25)
    assert "apt-get install" in sandbox.fault()
    with pytest.raises(PluginInvalid, match="is not installed"):
        sandbox.words(Path("/x"), "worker.py")


def test_a_trial_that_came_to_nothing_is_made_again_later_and_one_that_succeeded_is_not(
    monkeypatch,
):
    answers = iter(["it took too long", "", "it never comes to this"])
    monkeypatch.setattr(confining, "_run_trial", lambda sandbox: next(answers))
    sandbox = Sandbox(memory_gb=0.125)
    assert [sandbox.fault(), sandbox.fault()] == ["it took too long"] * 2
    monkeypatch.setitem(confining._TRIAL_RESULTS, sandbox, (0.0, "it took too long"))
    assert [sandbox.fault(), sandbox.fault()] == ["", ""]


def test_a_command_of_the_organiser_stands_in_its_place():
    sandbox = Sandbox(
        command="podman run -i --network none -v {folder}:/work:ro my_image", python="python3"
    )
    words = sandbox.words(Path("/a b"), "worker.py")
    assert words[5:] == ["-v", "/a b:/work:ro", "my_image", "python3", "worker.py"]


def test_a_command_that_leaves_the_network_is_found_out():
    assert "network" in Sandbox(command="env --chdir={folder}", python=os.sys.executable).fault()


@pytest.fixture
def device_tree(tmp_path):
    """Files in place of the devices of a machine with two GPUs; programs run as a user who owns none of them."""
    for above in (tmp_path, *tmp_path.parents[:3]):
        above.chmod(0o755)
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "secret0"):
        (tmp_path / name).write_text(name)
        (tmp_path / name).chmod(0o666)
    (tmp_path / "nvidia-caps").mkdir()
    return tmp_path


@pytest.mark.long
def test_programs_use_the_devices_that_are_configured_and_no_others(start, device_tree):
    program = f"""
    found = {{path.name for path in pathlib.Path({str(device_tree)!r}).iterdir()}}
    with open({str(device_tree / "nvidia1")!r}, "r+") as device:
        read = device.read()
        device.write("!")
    raise ValueError(f"{{sorted(found)}} {{read}}")
    """
    patterns = (
        f"{device_tree}/nvidia[0-9]*",
        f"{device_tree}/nvidiactl",
        f"{device_tree}/nvidia-*",
    )
    sandbox = replace(SANDBOX, devices=patterns)
    assert sandbox.fault() == ""
    told = said(start(program, sandbox))
    assert "['nvidia-uvm', 'nvidia0', 'nvidia1', 'nvidiactl'] nvidia1" in told
    assert (device_tree / "nvidia1").read_text() == "nvidia1!"
    assert "FileNotFoundError" in said(start(program))


def test_a_device_that_is_missing_or_closed_to_programs_is_said_before_the_first_one(device_tree):
    missing = replace(SANDBOX, devices=(f"{device_tree}/nvidia9*",))
    assert f"a device that matches {device_tree}/nvidia9*, got none" in missing.fault()
    assert "absolute path" in replace(SANDBOX, devices=("nvidia0",)).fault()
    own = replace(SANDBOX, command="docker run my_image", devices=(f"{device_tree}/nvidia0",))
    assert "docker run --gpus all" in own.fault()
    if os.geteuid() == 0:
        (device_tree / "nvidia0").chmod(0o600)
        closed = replace(SANDBOX, devices=(f"{device_tree}/nvidia0",))
        assert "Permission denied" in closed.fault()

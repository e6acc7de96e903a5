"""A run that is killed at any moment resumes and ends with the same bytes."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from segarena import RunFolder
from segarena.errors import RunMissing

SAMPLES = 8
# One process imports everything once and forks for each run. It has no `if __name__ == "__main__"`: workers must not
# start it anew.
SCRIPT = """
import os, sys
import segarena
from segarena.engine import evaluate
from segarena.roles import Benchmark

segarena.registry.plugins_by_name("user")  # imports all plug-ins
os.fsync = lambda _: None  # no kill takes back what was written
user, segmenter, dataset = sys.argv[1:]
rules = Benchmark(name="b", users=(user, "sample-first-pixel"), metrics=("iou",), rounds=4, summary=())
for line in sys.stdin:
    out, workers = line.split()
    if (child := os.fork()) == 0:
        try:
            os.setsid()
            evaluate.evaluate(rules, segmenter=segmenter, dataset=dataset, out=out, workers=int(workers))
        except BaseException:
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def digest(out):
    folder = RunFolder.open(out)
    assert folder.is_complete
    return [
        hashlib.sha256(frame.write_ipc(None).getvalue()).hexdigest()
        for frame in (folder.records(), folder.masks())
    ]


def done(out):
    try:
        folder = RunFolder.open(out)
    except RunMissing:
        return 0
    return SAMPLES - len(folder.pending())


class Runs:
    """Starts runs one after the other."""

    def __init__(self, *arguments):
        command = [sys.executable, "-c", SCRIPT, *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, out, workers):
        """Return the process id of a new run."""
        print(out, workers, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def wait(self):
        """Return the exit code of the run."""
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def runs():
    plugins = Path(__file__).parent / "misbehaving.py"
    started = Runs(
        f"{plugins}:RandomUser", f"{plugins}:Good(pause_s=0.01)", f"sample-squares(count={SAMPLES})"
    )
    yield started
    started.process.communicate()


@pytest.fixture(scope="module")
def whole(runs, tmp_path_factory):
    """The digest of an undisturbed run."""
    out = tmp_path_factory.mktemp("whole") / "run"
    runs.start(out, 0)
    assert runs.wait() == 0
    return digest(out)


def wait_for_samples(out, count):
    deadline = time.monotonic() + 60
    while done(out) < count:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(("workers", "moments"), [(0, (0, 1, 3, 5)), (2, (2,))])
def test_killed_at_random_moments_and_resumed_gives_the_same_bytes(
    runs, whole, tmp_path, workers, moments
):
    out, rng = tmp_path / "killed", random.Random(4)
    for samples in moments:
        process = runs.start(out, workers)
        wait_for_samples(out, samples)
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(process, signal.SIGKILL)
        assert runs.wait() == -signal.SIGKILL
    runs.start(out, workers)
    assert runs.wait() == 0
    assert digest(out) == whole
    assert not list(out.glob("*/.*.part"))


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_asked_to_stop_goes_on(runs, tmp_path, number):
    out = tmp_path / "run"
    process = runs.start(out, 0)
    wait_for_samples(out, 1)
    os.kill(process, number)
    assert runs.wait() == 1
    assert 1 <= done(out) < SAMPLES
    assert not list(out.glob("*/.*.part"))
    runs.start(out, 0)
    assert runs.wait() == 0
    assert done(out) == SAMPLES

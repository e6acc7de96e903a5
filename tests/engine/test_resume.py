"""A run that is killed at any moment goes on and ends with the same bytes."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import sys
import segarena
from segarena.roles import Benchmark

rules = Benchmark(name="b", users=(sys.argv[2], "sample-first-pixel"), metrics=("iou",), rounds=4, summary=())
if __name__ == "__main__":
    out, _, segmenter, workers = sys.argv[1:]
    segarena.evaluate(rules, segmenter=segmenter, dataset="sample-squares(count=8)", out=out, workers=int(workers))
"""


def digest(path):
    return {
        f"{table}/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest()
        for table in ("records", "masks")
        for file in sorted((path / table).glob("*.parquet"))
    }


@pytest.fixture
def start(tmp_path, plugin):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def begin(out, workers):
        slow = plugin("Good", pause_s=0.01)
        arguments = [str(out), plugin("RandomUser"), slow, str(workers)]
        return subprocess.Popen([sys.executable, str(script), *arguments], start_new_session=True)

    return begin


def wait_for_shards(out, count, process):
    deadline = time.monotonic() + 60
    while len(list(out.glob("records/*.parquet"))) < count and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_killed_at_random_moments_and_resumed_gives_the_same_bytes(start, tmp_path):
    assert start(tmp_path / "whole", 0).wait() == 0
    expected = digest(tmp_path / "whole")
    assert len(expected) == 16
    moments = random.Random(4)
    for workers in (0, 2):
        out = tmp_path / f"killed-{workers}"
        for shards in (0, 2, 4):
            process = start(out, workers)
            wait_for_shards(out, shards, process)
            time.sleep(moments.uniform(0.0, 0.15))
            process.kill()
            process.wait()
        assert start(out, workers).wait() == 0
        assert digest(out) == expected
        assert not list(out.glob("*/.*.part"))


def test_ctrl_c_leaves_a_run_that_goes_on(start, tmp_path):
    out = tmp_path / "run"
    process = start(out, 2)
    wait_for_shards(out, 1, process)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait() != 0
    done = len(list(out.glob("records/*.parquet")))
    assert 1 <= done < 8
    assert start(out, 2).wait() == 0
    assert len(digest(out)) == 16

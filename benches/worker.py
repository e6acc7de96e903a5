"""Overhead of a worker: a mask of 1024 x 1024 through a pipe and through TCP, and a volume of 300 x 512 x 512.

    python benches/worker.py [--repeats 30] [--volumes 7]

The model only returns a mask. It is called through a pipe and through TCP on loopback, in rounds of
20 calls, and every request carries the mask of the previous round. The baseline is a process of
`multiprocessing` that receives and returns the same masks pickled. The two processes wait for each
other, so the sum of their CPU times is measured, which is valid on a busy machine too; the wall
time is printed beside it. The volume has 16-bit numbers, 157 MB, and counts as sent when the model
has read a number in each page of it. The fastest round of each counts, because other work on the
machine makes the others slower.

Limits: 1 ms added by a pipe, 2 ms by TCP, not slower than the baseline; a volume in 0.15 s.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from segarena.dialogue import Dialogue, Prediction
from segarena.prompts import Click
from segarena.samples import ImageSample, VolumeSample
from segarena.segmenters.workers.worker import Worker
from segarena.worker import TOKEN, serve

SHAPE, VOLUME = (1024, 1024), (300, 512, 512)
CALLS = 20
PIPE_BAR_MS, TCP_BAR_MS, PLAIN_BAR, VOLUME_BAR_S = 1.0, 2.0, 1.0, 0.15


class Disc:
    """Model that returns a disc; for a volume, it reads a number in each page."""

    sample_kinds = frozenset({"image", "volume"})
    prompt_kinds = frozenset({"click"})

    def __init__(self) -> None:
        rows, columns = np.indices(SHAPE)
        self.mask = (rows - 500) ** 2 + (columns - 400) ** 2 < 300**2

    def encode(self, sample):
        """Return the shape."""
        if hasattr(sample, "voxels"):
            int(sample.voxels.reshape(-1)[::2048].sum())
        return sample.shape

    def predict(self, encoded, dialogues):
        """Return the disc."""
        return [self.mask for _ in dialogues]


def plain(connection) -> None:
    """Answer pickled dialogues, as the baseline."""
    disc = Disc()
    while True:
        dialogue = connection.recv()
        if dialogue is None:
            return
        connection.send(disc.predict(None, [dialogue])[0])


@contextmanager
def plainly():
    """Yield a function that calls a process of `multiprocessing`."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=plain, args=(theirs,), daemon=True)
    process.start()

    def ask(dialogue):
        ours.send(dialogue)
        return ours.recv()

    yield ask, process.pid
    ours.send(None)
    process.join()


@contextmanager
def listening():
    """Yield the address of this script as a listening worker."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{found.getsockname()[1]}"
    os.environ[TOKEN] = secrets.token_urlsafe()
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", "--listen", address], stderr=subprocess.PIPE
    )
    process.stderr.readline()
    yield address, process.pid
    process.kill()
    process.communicate()


def seconds_on_a_core(pid: int) -> float:
    """Return the CPU seconds of all threads of a process so far."""
    return (
        sum(
            int(task.read_text().split()[0])
            for task in Path(f"/proc/{pid}/task").glob("*/schedstat")
        )
        / 1e9
    )


def in_turns(
    asked: Mapping[str, tuple[Callable[[], object], int]], repeats: int, calls: int
) -> dict[str, tuple[float, float]]:
    """Return for each the seconds of a call in its fastest round: CPU time of both processes, and wall time."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    for _ in range(repeats):
        for name, (ask, pid) in asked.items():
            there, here, started = seconds_on_a_core(pid), time.thread_time(), time.perf_counter()
            for _ in range(calls):
                ask()
            on_clock, here = time.perf_counter() - started, time.thread_time() - here
            times[name].append(((here + seconds_on_a_core(pid) - there) / calls, on_clock / calls))
    return {name: tuple(np.min(each, axis=0)) for name, each in times.items()}


def measure_masks(repeats: int) -> list[tuple[str, float, float, float | None]]:
    """Return for each way of calling predict with one mask: name, CPU milliseconds, wall milliseconds, limit."""
    sample = ImageSample(id="photograph", image=np.zeros((*SHAPE, 3), np.uint8))
    own = Disc()
    dialogue = (
        Dialogue()
        .ask((Click((5, 6)),))
        .answer(Prediction(own.mask))
        .ask((Click((7, 8), is_positive=False),))
    )
    with plainly() as (ask_plainly, plain_pid), listening() as (address, listening_pid):
        pipe, tcp = Worker(f"{sys.executable} {__file__} --serve"), Worker(address)
        by_pipe, by_tcp = pipe.encode(sample), tcp.encode(sample)
        asked = {
            "plain": (lambda: ask_plainly(dialogue), plain_pid),
            "pipe": (lambda: pipe.predict(by_pipe, [dialogue]), pipe.client.pid),
            "tcp": (lambda: tcp.predict(by_tcp, [dialogue]), listening_pid),
        }
        in_turns(asked, 1, CALLS)
        times = {
            name: (1000 * core, 1000 * clock)
            for name, (core, clock) in in_turns(asked, repeats, CALLS).items()
        }
    return [
        ("by pipe, ms", *times["pipe"], PIPE_BAR_MS),
        ("by TCP, ms", *times["tcp"], TCP_BAR_MS),
        ("plain, pickled, ms", *times["plain"], None),
        (
            "pipe / plain",
            *(by / plainly for by, plainly in zip(times["pipe"], times["plain"], strict=True)),
            PLAIN_BAR,
        ),
    ]


def measure_volumes(repeats: int) -> list[tuple[str, float, float, float | None]]:
    """Return the seconds to send and read a volume."""
    voxels = np.random.default_rng(0).integers(-1000, 1000, VOLUME, dtype=np.int16)
    sample = VolumeSample(id="scan", voxels=voxels, spacing_mm=(1.0, 1.0, 1.0))
    worker = Worker(f"{sys.executable} {__file__} --serve")
    worker.encode(sample)
    times = in_turns({"volume": (lambda: worker.encode(sample), worker.client.pid)}, repeats, 1)
    return [("volume, s", *times["volume"], VOLUME_BAR_S)]


def main() -> int:
    """Measure; exit with 1 if a limit is missed."""
    if "--serve" in sys.argv:
        serve(Disc, [word for word in sys.argv[1:] if word != "--serve"])
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repeats", type=int, default=30, help="number of rounds of 20 calls of predict"
    )
    parser.add_argument("--volumes", type=int, default=7, help="sent")
    options = parser.parse_args()
    rows = [*measure_masks(options.repeats), *measure_volumes(options.volumes)]
    missed = 0
    print(f"{'added to a call':22}{'on a core':>12}{'on the clock':>14}{'bar':>8}")
    for name, core, clock, bar in rows:
        is_missed = bar is not None and bool(core > bar)
        missed += is_missed
        print(
            f"{name:22}{core:12.3f}{clock:14.3f}{'none' if bar is None else bar:>8}{'  MISSED' * is_missed}"
        )
    print(f"\n{missed} missed" if missed else "\nall limits met")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

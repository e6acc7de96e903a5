"""Overhead of a worker: a mask of 1024 x 1024 through a pipe and through TCP, and a volume of 300 x 512 x 512.

    python benches/worker.py [--repeats 30] [--volumes 7]

The model only returns a mask. It is called through a pipe and through TCP on loopback, in rounds of
20 calls, and every request carries the mask of the previous round. The baseline is a process of
`multiprocessing` that receives and returns the same masks pickled. The two processes wait for each
other, so the sum of their CPU times is measured, which is valid on a busy machine too; the wall
time through a pipe is reported without a limit. The volume has 16-bit numbers, 157 MB, and counts
as sent when the model has read a number in each page of it. Copying it in this process is the
baseline. Ways alternate. Milliseconds are those of the fastest round of each, because other work on
the machine makes the others slower; ratios are medians.
"""

from __future__ import annotations

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
from statistics import median

import numpy as np
from measurement import Figures, argument_parser, at_most, no_bar

from segarena.dialogue import Dialogue, Prediction
from segarena.prompts import Click
from segarena.samples import ImageSample, VolumeSample
from segarena.segmenters.workers.worker import Worker
from segarena.worker import TOKEN, serve

SHAPE, VOLUME = (1024, 1024), (300, 512, 512)
CALLS = 20
BARS = {
    "a call through a pipe": at_most(0.8, "ms"),
    "a call through TCP": at_most(0.9, "ms"),
    "a call through a pipe / pickled": at_most(0.85),
    "a call through TCP / pickled": at_most(0.95),
    "sending a volume": at_most(0.15, "s"),
    "sending a volume / copying it": no_bar(),
    "a call through a pipe, wall time": no_bar("ms"),
}


class Disc:
    """Model that returns a disc; for a volume, it reads a number from each memory page."""

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


def alternate(
    asked: Mapping[str, tuple[Callable[[], object], int]], repeats: int, calls: int
) -> dict[str, list[tuple[float, float]]]:
    """Return, for each way, the seconds of a call in each turn: CPU time of both processes, and wall time."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    order = list(asked)
    for _ in range(repeats):
        for name in order:
            ask, pid = asked[name]
            there, here, started = seconds_on_a_core(pid), time.thread_time(), time.perf_counter()
            for _ in range(calls):
                ask()
            on_clock, here = time.perf_counter() - started, time.thread_time() - here
            times[name].append(((here + seconds_on_a_core(pid) - there) / calls, on_clock / calls))
        order.reverse()
    return times


def measure_masks(repeats: int, figures: Figures) -> None:
    """Report each way of calling predict with one mask."""
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
        alternate(asked, 1, CALLS)
        times = alternate(asked, repeats, CALLS)
    plain_s = [core_s for core_s, _ in times["plain"]]
    for way, name in (("pipe", "a call through a pipe"), ("tcp", "a call through TCP")):
        ours_s = [core_s for core_s, _ in times[way]]
        figures.report(name, 1000 * min(ours_s))
        ratios = [ours / plain for ours, plain in zip(ours_s, plain_s, strict=True)]
        figures.report(f"{name} / pickled", median(ratios))
    on_clock_s = [clock_s for _, clock_s in times["pipe"]]
    figures.report("a call through a pipe, wall time", 1000 * min(on_clock_s))


def measure_volume(shape: tuple[int, int, int], repeats: int, figures: Figures) -> None:
    """Report the time to send and read a volume, which is mostly that of copying it."""
    voxels = np.random.default_rng(0).integers(-1000, 1000, shape, dtype=np.int16)
    sample = VolumeSample(id="scan", voxels=voxels, spacing_mm=(1.0, 1.0, 1.0))
    worker = Worker(f"{sys.executable} {__file__} --serve")
    worker.encode(sample)
    asked = {
        "sent": (lambda: worker.encode(sample), worker.client.pid),
        "copied": (voxels.copy, worker.client.pid),
    }
    times = alternate(asked, repeats, 1)
    sent_s = [core_s for core_s, _ in times["sent"]]
    copied_s = [core_s for core_s, _ in times["copied"]]
    figures.report("sending a volume", min(sent_s))
    ratios = [sent / copied for sent, copied in zip(sent_s, copied_s, strict=True)]
    figures.report("sending a volume / copying it", median(ratios))


def main() -> None:
    """Measure; exit with 1 if a limit is missed."""
    if "--serve" in sys.argv:
        serve(Disc, [word for word in sys.argv[1:] if word != "--serve"])
        return
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--repeats", type=int, default=30, help="number of rounds, each of 20 calls of predict"
    )
    parser.add_argument("--volumes", type=int, default=7, help="number of volumes that are sent")
    options = parser.parse_args()
    repeats = options.repeats
    volumes = options.volumes
    shape = VOLUME
    if options.quick:
        repeats = 1
        volumes = 1
        shape = (30, 64, 64)
    figures = Figures(BARS, has_bars=not options.quick)
    measure_masks(repeats, figures)
    measure_volume(shape, volumes, figures)
    figures.finish()


if __name__ == "__main__":
    main()

"""Overhead of a session of the DAVIS Interactive Challenge in addition to the participant's model.

    python benches/davis_session.py [--interactions 8]

The video has 70 frames of 480 x 854 with 3 objects. The answer is a shifted target as 64-bit
numbers. The overhead of a submission is everything in `submit_masks`, `next` and `get_scribbles`:
checking, J and F, run lengths, the journal on disk, the rows of the report, and the robot. A run of
the size of val, 720 submissions of 30 sequences, is extrapolated from the overhead of each
submission and the time to write each sequence as a run. Reading videos is not included.

Seconds are CPU seconds of the process, so that other work on the machine does not count. The wall
time, which includes waiting for the disk, is printed beside them.

Limits: the median overhead is at most 0.4 s; appending a submission's rows to a report of 100 000
rows takes at most 1.5 times as long as to an empty one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import numpy as np
import polars as pl
from davis_metrics import OBJECTS, SHAPE, video

from segarena.samples import Target, VideoSample
from segarena.systems.videos.measures.challenge_report import REPORT_COLUMNS
from segarena.systems.videos.session.davis import DavisInteractiveSession
from segarena.systems.videos.session.report_file import ReportFile

OVERHEAD_BAR_S, APPEND_BAR = 0.4, 1.5
SUBMISSIONS, SEQUENCES = 720, 30


class OneVideo:
    """A dataset of one video whose frames are never used."""

    name = "one-video"
    fingerprint = "one-video"
    sample_ids = ("stars",)

    def __init__(self) -> None:
        self.target = video((60, 110))

    def load(self, sample_id: str) -> VideoSample:
        """Return the video."""
        frame = np.zeros((*SHAPE[1:], 3), dtype=np.uint8)
        target = Target(id="objects", mask=self.target)
        return VideoSample(
            id=sample_id, frames=[frame] * SHAPE[0], frame_shape=SHAPE[1:], targets=(target,)
        )

    def check(self) -> list[Any]:
        """Return nothing."""
        return []


def answers(dataset: OneVideo, interactions: int) -> list[Any]:
    """Return predictions that improve, as 64-bit numbers, which many scripts submit."""
    found = []
    for number in range(interactions):
        moved = np.roll(dataset.target, (7, 14 - number), axis=(1, 2))
        moved[:, :, 300 : 340 - 4 * number] = 0
        found.append(moved.astype(np.int64))
    return found


def overheads(
    dataset: OneVideo, given: list[Any], folder: Path
) -> tuple[list[float], list[float], float, float]:
    """Return CPU and wall seconds of each submission with its follow-up, of the end, and of resuming."""
    taken: list[float] = []
    on_wall: list[float] = []
    settings = {"dataset": dataset, "max_nb_interactions": len(given), "folder": folder}
    with DavisInteractiveSession(**settings) as session:
        session.next()
        session.get_scribbles()
        for masks in given[:-1]:
            start, started = time.process_time(), time.perf_counter()
            session.submit_masks(masks)
            session.next()
            session.get_scribbles(only_last=True)
            taken.append(time.process_time() - start)
            on_wall.append(time.perf_counter() - started)
    start = time.process_time()
    with DavisInteractiveSession(**settings) as session:
        session.next()
        resume_s = time.process_time() - start
        session.get_scribbles()
        session.submit_masks(given[-1])
        start = time.process_time()
        session.next()
        end_s = time.process_time() - start
    return taken, on_wall, end_s, resume_s


def append_seconds(rows: int, folder: Path) -> float:
    """Return the median time of adding a submission's rows to a report with this many rows."""
    one = {name: ["x" * 64 if kind == pl.String else 1] for name, kind in REPORT_COLUMNS.items()}
    line = pl.DataFrame(one, schema=REPORT_COLUMNS)
    many = pl.concat([line] * rows) if rows else line.clear()
    added = pl.concat([line] * (SHAPE[0] * OBJECTS))
    file = ReportFile(folder, f"rows-{rows}", many)
    times = []
    for _ in range(31):
        start = time.perf_counter()
        file.add(added)
        times.append(time.perf_counter() - start)
    file.close()
    return median(times)


def main() -> int:
    """Return 0 if every limit is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interactions", type=int, default=8)
    cv2.setNumThreads(1)
    dataset = OneVideo()
    given = answers(dataset, parser.parse_args().interactions)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        taken, on_wall, end_s, resume_s = overheads(dataset, given, folder / "session")
        on_disk = sum(
            path.stat().st_size for path in (folder / "session").rglob("*") if path.is_file()
        )
        few_s, many_s = append_seconds(0, folder), append_seconds(100_000, folder)
    each = median(taken)
    total_s = SUBMISSIONS * each + SEQUENCES * end_s
    print(
        f"overhead of a submission: median {each:.3f} s, from {min(taken):.3f} to {max(taken):.3f} s"
    )
    print(f"wall time: median {median(on_wall):.3f} s, at most {max(on_wall):.3f} s")
    print(
        f"end of a sequence {end_s:.3f} s; resuming after {len(given) - 1} answers {resume_s:.2f} s"
    )
    print(f"on disk {on_disk / 1e6 / len(given):.2f} MB per submission, including all tables")
    print(
        f"appending {SHAPE[0] * OBJECTS} rows: {1e3 * few_s:.2f} ms to none, {1e3 * many_s:.2f} ms to 100 000"
    )
    print(f"a val-sized run, {SUBMISSIONS} submissions, extrapolated: {total_s / 60:.1f} minutes")
    verdicts = {
        f"overhead at most {OVERHEAD_BAR_S:g} s": each <= OVERHEAD_BAR_S,
        f"appending to a long report at most {APPEND_BAR:g} times": many_s <= APPEND_BAR * few_s,
    }
    print("\n".join(f"{'held  ' if held else 'MISSED'} {what}" for what, held in verdicts.items()))
    return not all(verdicts.values())


if __name__ == "__main__":
    raise SystemExit(main())

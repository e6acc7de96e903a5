"""Time that a session of the DAVIS Interactive Challenge takes in addition to the participant's model.

    python benches/davis_session.py [--interactions 8]

The video has 70 frames of 480 x 854 with 3 objects. The answer is a shifted target as 64-bit
numbers. The overhead of a submission is everything in `submit_masks`, `next` and `get_scribbles`:
checking, J and F, run lengths, the journal on disk, the rows of the report, and the robot. A run of
the size of val, 720 submissions of 30 sequences, is extrapolated from the overhead of each
submission and the time to write each sequence as a run. Reading videos is not included.

Seconds are CPU seconds of the process, without waiting for the disk. The overhead is also compared with the yardstick
of `measurement.py`, measured after each submission.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import cv2
import numpy as np
import polars as pl
from davis_metrics import OBJECTS, SHAPE, video
from measurement import (
    Figures,
    argument_parser,
    at_most,
    no_bar,
    paired_time,
    print_seconds,
    seconds_of,
    yardstick,
)

from segarena.samples import Target, VideoSample
from segarena.systems.videos.measures.challenge_report import REPORT_COLUMNS
from segarena.systems.videos.session.davis import DavisInteractiveSession
from segarena.systems.videos.session.report_file import ReportFile

BARS = {
    "overhead of a submission, yardsticks": at_most(20),
    "overhead of a submission": at_most(0.25, "s"),
    "resuming after 7 answers": no_bar("s"),
    "appending to 100 000 rows / to an empty report": at_most(1.4),
    "on disk for each submission": at_most(0.35, "MB"),
}
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
    """Return the processor seconds of each submission, of a yardstick after each, of ending and of resuming."""
    taken: list[float] = []
    yardsticks: list[float] = []
    settings = {"dataset": dataset, "max_nb_interactions": len(given), "folder": folder}
    with DavisInteractiveSession(**settings) as session:
        session.next()
        session.get_scribbles()

        def submit(masks: Any) -> None:
            session.submit_masks(masks)
            session.next()
            session.get_scribbles(only_last=True)

        for masks in given[:-1]:
            taken.append(seconds_of(lambda masks=masks: submit(masks)))
            yardsticks.append(seconds_of(yardstick))
    start = time.process_time()
    with DavisInteractiveSession(**settings) as session:
        session.next()
        resume_s = time.process_time() - start
        session.get_scribbles()
        session.submit_masks(given[-1])
        end_s = seconds_of(session.next)
    return taken, yardsticks, end_s, resume_s


def append_ratio(rows: int, folder: Path, pairs: int) -> float:
    """Return the time of adding a submission's rows to a report with this many rows, relative to an empty one."""
    values = {name: ["x" * 64 if kind == pl.String else 1] for name, kind in REPORT_COLUMNS.items()}
    line = pl.DataFrame(values, schema=REPORT_COLUMNS)
    added = pl.concat([line] * (SHAPE[0] * OBJECTS))
    empty = ReportFile(folder, "rows-0", line.clear())
    long = ReportFile(folder, f"rows-{rows}", pl.concat([line] * rows))
    times = paired_time(lambda: long.add(added), lambda: empty.add(added), pairs)
    empty.close()
    long.close()
    return times.ratio


def main() -> None:
    """Report the overhead; exit with 1 if a limit is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--interactions", type=int, default=8)
    options = parser.parse_args()
    interactions = options.interactions
    if options.quick:
        interactions = 3
    cv2.setNumThreads(1)
    dataset = OneVideo()
    given = answers(dataset, interactions)
    figures = Figures(BARS, has_bars=interactions == 8)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        taken, yardsticks, end_s, resume_s = overheads(dataset, given, folder / "session")
        files = [path for path in (folder / "session").rglob("*") if path.is_file()]
        on_disk = sum(path.stat().st_size for path in files)
        rows = 1000 if options.quick else 100_000
        figures.report(
            "appending to 100 000 rows / to an empty report", append_ratio(rows, folder, 31)
        )
    ratios = [own / other for own, other in zip(taken, yardsticks, strict=True)]
    each = median(taken)
    total_s = SUBMISSIONS * each + SEQUENCES * end_s
    figures.report("overhead of a submission, yardsticks", median(ratios))
    figures.report("overhead of a submission", each)
    figures.report("resuming after 7 answers", resume_s)
    figures.report("on disk for each submission", on_disk / 1e6 / len(given))
    print_seconds("the slowest submission", max(taken))
    print_seconds("end of a sequence", end_s)
    print(f"a val-sized run, {SUBMISSIONS} submissions, extrapolated: {total_s / 60:.1f} minutes")
    figures.finish()


if __name__ == "__main__":
    main()

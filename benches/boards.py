"""Cost of a board of 500 runs: create the runs from real records, build the board, load it in a browser.

One real run on the demo photographs provides the records for 500 synthetic run folders of 100
photographs each, with different quality and different noise on every target. Times are processor time; that until
the page is ready is the time of the browser's main thread, because users wait for it, beside the wall time.

Run: python benches/boards.py [--runs 500] [--out FOLDER]   (FOLDER keeps runs and site)
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from measurement import Figures, argument_parser, at_most, no_bar

import segarena
from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.files.hashes import sha256
from segarena.records.configuration import RunConfiguration
from segarena.records.parquet_tables import COLUMNS, parquet_bytes
from segarena.records.pieces import PIECES_LEDGER
from segarena.records.row_types import RoundRecord, Timing
from segarena.reports.boards import Entry, board_of, extract_of, write_site
from segarena.work.ledger import Ledger

Result = TypeVar("Result")

COPIES = 10
"""Number of copies of each photograph."""

BARS = {
    "page ready after main-thread time": at_most(400, "ms"),
    "page ready, wall time": no_bar("ms"),
    "reading, ranking and writing": at_most(50, "s"),
    "page and the files that it links to": at_most(2.2, "MB"),
}


def first_of(path: Path, real: RunFolder) -> RunFolder:
    """Write a run folder with the records of a real run, with `COPIES` copies of each photograph."""
    samples = tuple(f"{name} {copy}" for name in real.samples for copy in range(COPIES))
    folder = RunFolder.create(path, configuration(real.config, samples, 0))
    records, timings = real.read("records", without=["prompts"]), real.read("timings")
    with folder.lock():
        for index, sample in enumerate(samples):
            is_own = pl.col("sample") == sample.rpartition(" ")[0]
            rows = Rows(
                timings=[
                    Timing(**{**row, "sample": sample}) for row in timings.filter(is_own).to_dicts()
                ]
            )
            for row in records.filter(is_own).to_dicts():
                iou = {"iou": row.pop("iou")}
                kept = {name: row[name] for name in row if name in COLUMNS["records"]}
                rows.records.append(
                    RoundRecord(**{**kept, "sample": sample, "prompts": "[]"}, values=iou)
                )
            folder.write(index, rows)
        folder.gather()
    return folder


def made(path: Path, first: RunFolder, number: int) -> Path:
    """Write the folder of a synthetic run: the values of the first run, raised or lowered target by target."""
    shutil.copytree(first.path, path)
    rng = np.random.default_rng(number)
    (file,) = (path / "records").glob("*.parquet")
    records = pl.read_parquet(file)
    luck = pl.DataFrame(
        {"of": np.arange(len(records)), "luck": rng.normal(rng.normal(0, 0.25), 0.4, len(records))}
    )
    targets = records.select(of=pl.struct("sample", "target").rank("dense").cast(pl.Int64) - 1)
    lifts = targets.join(luck, on="of", how="left", maintain_order="left")["luck"].to_numpy()
    odds = (1 / records["iou"].clip(0.001, 0.999).to_numpy() - 1) * np.exp(-lifts)
    file.write_bytes(data := parquet_bytes(records.with_columns(iou=pl.Series(1 / (1 + odds)))))
    with Ledger(path / PIECES_LEDGER, {"pieces": 1}) as ledger:
        noted = ledger.done[file.stem]
        ledger.add(file.stem, {**noted, "files": {**noted["files"], "records": sha256(data)}})
    RunFolder.open(path).write_config(configuration(first.config, first.samples, number))
    return path


def configuration(
    real: RunConfiguration, samples: tuple[str, ...], number: int
) -> RunConfiguration:
    """Return the configuration of a synthetic run: one of 60 segmenters with a unique option."""
    segmenter = replace(real.segmenter, name=f"network-{number % 60:02}", options={"step": number})
    if number == 0:
        segmenter = replace(real.segmenter, name="nothing", options={})
    return replace(
        real,
        segmenter=segmenter,
        dataset=replace(real.dataset, samples=samples),
        finished=(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=8 * number)).isoformat(),
        counts=None,
        identity=None,
    )


def seconds(label: str, work: Callable[[], Result]) -> tuple[Result, float]:
    """Run a function, print its time, and return its result and the processor seconds."""
    started = time.process_time()
    result = work()
    worked = time.process_time() - started
    print(f"{label:<34} {worked:8.2f} s of processor time", flush=True)
    return result, worked


def ready_ms(index: Path) -> list[tuple[int, int]]:
    """Return the median time until the page is ready in five new browsers: ms of main thread and of wall time."""
    from playwright.sync_api import sync_playwright

    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    )
    found: list[tuple[int, int]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--disable-gpu"])
        for _ in range(5):
            page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
            told = page.context.new_cdp_session(page)
            told.send("Performance.enable", {"timeDomain": "threadTicks"})
            # The scripts of the page have finished at this event.
            page.goto(index.as_uri(), wait_until="domcontentloaded")
            metrics = {
                one["name"]: one["value"] for one in told.send("Performance.getMetrics")["metrics"]
            }
            clock = int(page.evaluate("document.documentElement.dataset.ready"))
            found.append((round(1000 * metrics["TaskDuration"]), clock))
        browser.close()
    return sorted(found)


def main() -> None:
    """Create the runs, build the board, and load its page."""
    parser = argument_parser(__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    runs = given.runs
    if given.quick:
        runs = 3
    figures = Figures(BARS, has_bars=runs == 500)
    os.fsync = lambda _: None  # creating the runs is not part of the measurement
    with tempfile.TemporaryDirectory() as temporary:
        out = given.out or Path(temporary)
        real = segarena.evaluate(
            "clicks", segmenter="watershed", dataset="demo", rounds=20, out=out / "real"
        )
        paths = [out / "runs" / f"{number:03}" for number in range(runs)]
        first = first_of(paths[0], real) if not paths[0].exists() else RunFolder.open(paths[0])
        for number, path in enumerate(paths):
            if not path.exists():
                made(path, first, number)
        read = "extracts read from columns"
        entries, reading = seconds(
            read, lambda: [Entry(extract=extract_of(path)) for path in paths]
        )
        board, ranking = seconds("board", lambda: board_of(entries))
        site, writing = seconds("site", lambda: write_site(board, out / "site"))
        print(f"{len(board.panels)} panels, {site.pages} pages of samples")
        linked = [site.index, *(out / "site" / "files").iterdir()]
        linked_bytes = sum(file.stat().st_size for file in linked)
        figures.report("page and the files that it links to", linked_bytes / 1e6)
        busy_ms, wall_ms = zip(*ready_ms(site.index), strict=True)
    figures.report("page ready after main-thread time", sorted(busy_ms)[2])
    figures.report("page ready, wall time", sorted(wall_ms)[2])
    figures.report("reading, ranking and writing", reading + ranking + writing)
    figures.finish()


if __name__ == "__main__":
    main()

"""A study from the first link to a fitted click model: four people, three batches each, in Chromium.

    python tests/stress/studio_study.py [--speed 1] [--epochs 1] [--out FOLDER]

One uses a mouse and one the keys, of whom one clicks and one scribbles; two use a finger, of whom again one clicks and
one draws. They do so on photographs of the demo and on what a segmenter's masks of them miss or have too much. The
study's times are those of the paper, divided by the speed. What was collected is exported and checked, and its clicks
go through `segarena click-data check-table`, `judge` and `train`.
Exit code 1 if anything is refused on the way.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from rich import print as show

from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_studio.studies.description import Study
from segarena_studio.studies.management import create_study
from segarena_studio.studies.study_export import export_study, study_named
from segarena_studio.studies.visits import link_text, make_link

sys.path.insert(0, str(Path(__file__).parents[2] / "packages/segarena-server/tests/support"))
sys.path.insert(0, str(Path(__file__).parents[2] / "packages/segarena-studio/tests/support"))
from at_work import Served
from participant_browser import ParticipantBrowser

SCREENS = {
    "mouse": {"viewport": {"width": 1400, "height": 900}},
    "finger": {
        "viewport": {"width": 390, "height": 844},
        "has_touch": True,
        "is_mobile": True,
        "device_scale_factor": 3,
    },
    "keys": {"viewport": {"width": 1400, "height": 900}},
}
PEOPLE = ("mouse", "finger", "keys", "finger")
BATCHES, SIZE = 3, 3
"""No more: nobody sees one of the ten photographs twice."""


def main() -> int:
    """Collect prompts, export them and fit a model; return the exit code."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--speed", type=float, default=1.0)
    options.add_argument("--epochs", type=int, default=1)
    options.add_argument("--out", type=Path, default=None)
    asked = options.parse_args()
    out = asked.out or Path(tempfile.mkdtemp(prefix="segarena-study-"))
    study = Study(
        slug="photographs", title="Where do you click?", dataset="demo", kinds=("click", "scribble"), batch=SIZE,
        batches=BATCHES, corrections=("graph",), seed=3, free_s=1.5 / asked.speed, shown_s=2 / asked.speed,
        blocked_s=1.5 / asked.speed,
    )  # fmt: skip
    _collect(study, out)
    with zipfile.ZipFile(out / "study.zip") as archive:
        archive.extractall(out)
    table, about = (
        str(out / "clicks.csv"),
        ["--dataset", "demo", "--previous-masks", str(out / "previous")],
    )
    network = ["--size", "tiny", "--epochs", str(asked.epochs), "--out", str(out / "network")]
    fitted = f"fitted=network(path='{out / 'network' / 'best.pt'}')"
    steps = [
        ["people", "check-prompts", str(out / "prompts.parquet")],
        ["click-data", "check-table", table, "--dataset", "demo"],
        ["click-data", "train", table, *about, *network],
        [
            "click-data",
            "judge",
            table,
            *about,
            "--model",
            fitted,
            "--model",
            "depth",
            "--draws",
            "10",
        ],
    ]
    codes = [subprocess.run([_segarena(), *step], check=False).returncode for step in steps]
    show(f"steps refused: {sum(code != 0 for code in codes)} of {len(steps)}; {out}")
    return int(any(codes))


def _collect(study: Study, out: Path) -> None:
    site = open_site(out / "data", Settings(port=0, workers=0))
    create_study(site, study)
    with site.database.writing() as session:
        link = link_text(
            site, make_link(session, study_named(session, study.slug), "", len(PEOPLE), site.now())
        )
    served = Served(site)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--disable-gpu"]
        )
        for name in PEOPLE:
            _take_part(browser, name, site, f"{served.address}/studio/take/{link}", study)
        browser.close()
    export_study(site, study.slug, out / "study.zip")
    served.stop()


def _take_part(browser: Browser, name: str, site: object, address: str, study: Study) -> None:
    page = browser.new_context(**SCREENS[name]).new_page()  # pyright: ignore[reportArgumentType]
    page.goto(address)
    hand = ParticipantBrowser(page, site)
    hand.agree("mobile" if name == "finger" else "pc")

    def give() -> None:
        hand.give_by_keys() if name == "keys" else hand.give(is_touch=name == "finger")

    for _ in range(study.training):
        give()
        hand.go_on("Next")
    for _ in range(study.batches):
        hand.go_on()
        for _ in range(study.batch + study.attention):
            give()
    page.locator(".code").wait_for()
    show(f"{name}: {study.batches} batches")


def _segarena() -> str:
    return str(Path(sys.executable).with_name("segarena"))


if __name__ == "__main__":
    sys.exit(main())

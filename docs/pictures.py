"""Make the pictures of the documentation anew, from the bundled demos in Chromium.

    python docs/pictures.py [NAME...]

Without names, it makes all of them: the report, the board and the viewer. Runs are made below
build/pictures and used again, so delete that folder after a change of the engine. It needs all four
packages, Playwright and Chromium (`make test` installs them), and about five minutes.

The other pictures are made by hand: those of the studio and of challenges, of measured results, which
belong to the runs that their pages describe, and of people who take part.
"""

from __future__ import annotations

import io
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Error, Page, sync_playwright

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs/images"
WORK = ROOT / "build/pictures"
SEGARENA = Path(sys.executable).with_name("segarena")
QUALITY = 85

Box = tuple[float, float, float, float]
"""x, y, width and height in pixels of the page."""


# --- making runs and reports ------------------------------------------------------------------------


def call(*words: str) -> None:
    """Run `segarena` in the work folder."""
    subprocess.run([SEGARENA, *words], cwd=WORK, check=True, stdout=subprocess.DEVNULL)


def make_run(benchmark: str, segmenter: str, dataset: str, *words: str) -> str:
    """Return the folder of a run; it is made only once."""
    folder = f"{benchmark}-{segmenter}"
    if not (WORK / folder / "run.json").exists():
        call("run", benchmark, "-s", segmenter, "-d", dataset, "-o", folder, *words)
    return folder


def clicks_of(segmenter: str) -> str:
    """Return the run of a segmenter on the demo photographs."""
    return make_run("clicks", segmenter, "demo", "--workers", "2")


def report_of(name: str, *runs: str) -> str:
    """Write a report about runs, and return its address."""
    call("report", *runs, "--out", name)
    return (WORK / name / "report.html").as_uri()


# --- taking pictures --------------------------------------------------------------------------------


def save(page: Page, name: str, clip: Box | None = None, width: int = 0) -> None:
    """Save the visible page, or a part of the whole page, with the suffix that the picture has.

    Args:
        page: the page.
        name: file name in docs/images.
        clip: part of the whole page.
        width: width to which the picture is scaled down; 0 keeps that of the page.
    """
    if clip is None:
        content = page.screenshot()
    else:
        x, y, wide, high = clip
        box = {"x": x, "y": y, "width": wide, "height": high}
        content = page.screenshot(full_page=True, clip=box)
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    if width:
        height = round(picture.height * width / picture.width)
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    picture.save(IMAGES / name, quality=QUALITY)
    print(IMAGES / name)


@contextmanager
def served(*words: str, until: str) -> Generator[str]:
    """Run a command that serves pages; yield what it prints up to a text, and stop it afterwards."""
    process = subprocess.Popen(
        [SEGARENA, *words], cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    printed: list[str] = []
    assert process.stdout is not None
    try:
        for line in process.stdout:
            printed.append(line)
            if until in line:
                break
        yield "".join(printed)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def new_page(browser: Browser, width: int, height: int, **options: object) -> Page:
    """Open an empty page in a context of its own."""
    size = {"width": width, "height": height}
    context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
    page = context.new_page()
    page.set_default_timeout(60_000)
    return page


# --- reports and boards -----------------------------------------------------------------------------


def report(browser: Browser) -> None:
    """Picture the first screens of a report about two segmenters."""
    page = new_page(browser, 1200, 900)
    page.goto(
        report_of("report", clicks_of("graph"), clicks_of("grabcut"), clicks_of("image-blind"))
    )
    save(page, "report.png", (0, 0, 1200, 2210))


def board(browser: Browser) -> None:
    """Picture a board with a control."""
    call("board", clicks_of("graph"), clicks_of("grabcut"), clicks_of("image-blind"), "-o", "site")
    page = new_page(browser, 1280, 900)
    page.goto((WORK / "site/index.html").as_uri())
    save(page, "board.png", (0, 0, 1280, 1330))


def volumes_run() -> str:
    """Return a run over synthetic volumes."""
    words = ("--limit", "2", "--workers", "2")
    return make_run("cvpr2025", "random-walker", "phantom", *words)


# --- the viewer -------------------------------------------------------------------------------------


@contextmanager
def viewer(browser: Browser, *things: str, scheme: str) -> Generator[Page]:
    """Open the viewer of runs in a page."""
    words = ("look", *things, "--no-browser", "--port", "0")
    with served(*words, until="/open?") as printed:
        found = re.search(r"http://\S+", printed)
        assert found is not None, printed
        page = new_page(browser, 1400, 900, color_scheme=scheme)
        page.goto(found[0])
        yield page


def open_sample(page: Page, name: str) -> None:
    """Open the first sample of the list that contains a word."""
    page.locator("input[name=words]").fill(name)
    page.wait_for_timeout(2000)
    page.locator(".thumbs a").first.click()
    page.locator("canvas").first.wait_for()
    page.wait_for_timeout(2500)


def looking(browser: Browser) -> None:
    """Picture a target with the errors of two runs after the same round."""
    with viewer(browser, clicks_of("graph"), clicks_of("watershed"), scheme="light") as page:
        open_sample(page, "mission_patch")
        page.locator("[name=mode]").first.select_option("errors")
        page.wait_for_timeout(1500)
        save(page, "looking.webp", width=1200)


def looking_volume(browser: Browser) -> None:
    """Picture a volume in three planes."""
    with viewer(browser, volumes_run(), scheme="dark") as page:
        open_sample(page, "liver")
        save(page, "looking-volume.webp", width=1200)


PAGES: Mapping[str, Callable[[Browser], None]] = {
    "report": report,
    "board": board,
    "looking": looking,
    "looking-volume": looking_volume,
}
"""Functions by the names of their pictures."""


def main(names: Sequence[str]) -> None:
    """Make the named pictures, or all."""
    known = list(PAGES)
    wanted = list(names) or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"expected some of {', '.join(known)}; got {', '.join(unknown)}")
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if chromium is None:
        sys.exit("there is no Chromium; install it with `make browser`")
    WORK.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--disable-gpu"])
        for name in wanted:
            failures += attempt(name, PAGES[name], browser)
        browser.close()
    if failures:
        sys.exit("\n".join(failures))


def attempt(name: str, make: Callable[[Browser], None], browser: Browser) -> list[str]:
    """Make a picture; return one line if the browser fails, so that the other pictures are still made."""
    try:
        make(browser)
    except Error as error:
        return [f"{name}: {' '.join(error.message.split())[:300]}"]
    return []


if __name__ == "__main__":
    main(sys.argv[1:])

"""Make the pictures of the documentation anew, from the bundled demos in Chromium.

    python docs/pictures.py [NAME...]

A name is that of a file in docs/images without its suffix. Without names, it makes all of its pictures.
Reports, boards and the viewer show runs on the demo photographs and the phantom; challenges, the studio
and a user study are pages of `segarena serve --demo`. Runs and this site are made below build/pictures
and used again, so delete that folder after a change of the engine. It needs all four packages, Playwright
and Chromium (`make test` installs them), and about ten minutes.

Not made here: pictures of measured results (realism*, click-maps, training, rclicks-*, radiology-*,
davis-*, toss-pairs), which belong to the runs that their pages describe, and pictures of people in
dialogues (person*).
"""

from __future__ import annotations

import io
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Error, Page, Route, sync_playwright

from segarena.arrays.distance_transform import deepest_pixel

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs/images"
WORK = ROOT / "build/pictures"
SEGARENA = Path(sys.executable).with_name("segarena")
QUALITY = 85

Point = tuple[float, float]
"""x and y, in pixels."""

Box = tuple[float, float, float, float]
"""x, y, width and height, in pixels of the page."""

PUBLIC_ADDRESS = "https://lab.example"
"""Address of the demo site in commands that its pages show."""

ORGANISER, PARTICIPANT = "Olga", "Ada"
"""Accounts of the demo site."""

PHOTOGRAPH: Sequence[Point] = ((0, 0), (640, 427))
"""Corners of the annotated photograph, china.png."""

COMPUTER = {"width": 1000, "height": 640}
PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True, "color_scheme": "dark"}
"""Screens of participants in a study."""

CLICK, LINE = "Click on it.", "Draw a line through it."
"""Tasks of participants in a study."""

SETTLED_MS = 1500
"""Time after which a page has drawn what a click changed."""


# --- making runs, reports and the demo site ---------------------------------------------------------


def call(*words: str) -> None:
    """Run `segarena` in the work folder."""
    subprocess.run([SEGARENA, *words], cwd=WORK, check=True, stdout=subprocess.DEVNULL)


@cache
def make_run(benchmark: str, segmenter: str, dataset: str, *words: str) -> str:
    """Return the folder of a run; a run of an earlier call is continued, or used again if it is complete."""
    folder = f"{benchmark}-{segmenter}"
    call("run", benchmark, "-s", segmenter, "-d", dataset, "-o", folder, *words)
    return folder


def clicks_of(segmenter: str) -> str:
    """Return the run of a segmenter on the demo photographs."""
    return make_run("clicks", segmenter, "demo", "--workers", "2")


def volumes_run() -> str:
    """Return a run over synthetic volumes."""
    words = ("--limit", "2", "--workers", "2")
    return make_run("cvpr2025", "random-walker", "phantom", *words)


def report_of(name: str, *runs: str) -> str:
    """Write a report about runs, and return its address."""
    call("report", *runs, "--out", name)
    return (WORK / name / "report.html").as_uri()


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


def match(pattern: str, text: str) -> str:
    """Return the first group of a pattern, or all that it matches if it has no group."""
    found = re.search(pattern, text)
    assert found is not None, f"{pattern}: not in {text}"
    return found[found.lastindex or 0]


def make_demo_site() -> str:
    """Make the site of `segarena serve --demo` only once; return the password of its accounts."""
    password_file = WORK / "password.txt"
    if not password_file.exists():
        shutil.rmtree(WORK / "demo-site", ignore_errors=True)
        with served("serve", "demo-site", "--demo", "--port", "0", until="Ctrl-C") as printed:
            password = match(r"Password of all accounts:\s+(\S+)", printed)
        password_file.write_text(password)
    return password_file.read_text()


@dataclass(frozen=True)
class DemoSite:
    """The demo site while it is served.

    Attributes:
        browser: browser that shows its pages.
        address: local address of the server.
        password: password of all accounts.
    """

    browser: Browser
    address: str
    password: str

    def open(
        self,
        path: str,
        account: str = "",
        width: int = 1240,
        height: int = 800,
        **options: Any,
    ) -> Page:
        """Open a page in a context of its own, signed in to an account or as a visitor."""
        page = new_page(self.browser, width, height, **options)
        if account:
            page.goto(f"{self.address}/sign-in")
            page.locator("input[name=name]").fill(account)
            page.locator("input[name=password]").fill(self.password)
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_load_state()
        page.goto(self.address + path)
        return page


@contextmanager
def serve_demo_site(browser: Browser) -> Generator[DemoSite]:
    """Serve a copy of the demo site, which pictures may change."""
    password = make_demo_site()
    shutil.rmtree(WORK / "served-demo-site", ignore_errors=True)
    shutil.copytree(WORK / "demo-site", WORK / "served-demo-site")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ("serve", "served-demo-site", "--port", str(port), "--url", PUBLIC_ADDRESS)
    with served(*words, until="Ctrl-C"):
        yield DemoSite(browser, f"http://127.0.0.1:{port}", password)


# --- taking pictures --------------------------------------------------------------------------------


def new_page(browser: Browser, width: int, height: int, **options: Any) -> Page:
    """Open an empty page in a context of its own."""
    size = {"width": width, "height": height}
    context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
    page = context.new_page()
    page.set_default_timeout(60_000)
    return page


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
    if name.endswith(".png"):
        # PNG is for pages without photographs, which have few colours. This method keeps rare ones, and
        # the k-means steps bring the others closer to those of the page.
        method = Image.Quantize.MAXCOVERAGE
        picture = picture.quantize(256, method, kmeans=3, dither=Image.Dither.NONE)
    picture.save(IMAGES / name, quality=QUALITY, optimize=True)
    print(IMAGES / name)


def extent_of(page: Page, *selectors: str) -> tuple[float, float]:
    """Return where the first elements begin and end on the page, from above, with a small margin."""
    margin = 8
    tops: list[float] = []
    bottoms: list[float] = []
    scrolled = page.evaluate("scrollY")
    for selector in selectors:
        box = page.locator(selector).first.bounding_box()
        assert box is not None, f"{selector}: not visible"
        tops.append(box["y"] + scrolled)
        bottoms.append(box["y"] + box["height"] + scrolled)
    return max(0, min(tops) - margin), max(bottoms) + margin


# --- input ------------------------------------------------------------------------------------------


def draw_by_mouse(page: Page, places: Sequence[Point]) -> None:
    """Press the mouse button at the first place, move through the others, and release it."""
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place)
    page.mouse.up()


def draw_by_finger(page: Page, places: Sequence[Point], *, is_lifted: bool = True) -> None:
    """Touch the first place, move through the others, and lift the finger, which Playwright itself cannot do."""
    session = page.context.new_cdp_session(page)
    kind = "touchStart"
    for x, y in places:
        touch = {"type": kind, "touchPoints": [{"x": x, "y": y}]}
        session.send("Input.dispatchTouchEvent", touch)
        kind = "touchMove"
    if is_lifted:
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


# --- reports and boards -----------------------------------------------------------------------------


def report(browser: Browser) -> None:
    """Picture the first screens of a report about two segmenters and a control on the demo photographs."""
    page = new_page(browser, 1200, 900)
    page.goto(
        report_of("report", clicks_of("graph"), clicks_of("grabcut"), clicks_of("image-blind"))
    )
    save(page, "report.png", (0, 0, 1200, 2230))


def board(browser: Browser) -> None:
    """Picture a board of three runs: the ranking, with a control below it, and the curves."""
    runs = [clicks_of(name) for name in ("graph", "grabcut", "watershed", "image-blind")]
    call("board", *runs, "--out", "board")
    page = new_page(browser, 1440, 900)
    page.goto((WORK / "board/index.html").as_uri())
    _, bottom = extent_of(page, "text=Curves of the selected runs >> xpath=..")
    save(page, "board.png", (0, 0, 1440, bottom), width=1280)


def gallery(browser: Browser) -> None:
    """Picture the gallery of a report: two targets that some of three segmenters solve."""
    page = new_page(browser, 1240, 900)
    page.goto(report_of("three", clicks_of("graph"), clicks_of("grabcut"), clicks_of("watershed")))
    page.locator("#gallery [name=result]").select_option("some")
    cards = page.locator("#gallery .card:visible")
    for card in (cards.nth(0), cards.nth(1)):
        card.locator("details").evaluate("details => details.open = true")
    top, bottom = extent_of(page, "#gallery h2", "#gallery .card:visible >> nth=1")
    # The gallery draws only what is visible.
    page.set_viewport_size({"width": 1240, "height": round(bottom)})
    for card in (cards.nth(0), cards.nth(1)):
        card.locator("figure:visible:not([data-fitted])").first.wait_for(state="detached")
    page.wait_for_timeout(SETTLED_MS)
    top, bottom = extent_of(page, "#gallery h2", "#gallery .card:visible >> nth=1")
    save(page, "gallery.jpg", (0, top, 1240, bottom - top), width=1000)


# --- the viewer -------------------------------------------------------------------------------------


@contextmanager
def viewer(browser: Browser, *things: str, scheme: str) -> Generator[Page]:
    """Open the viewer of `segarena look` in a page."""
    words = ("look", *things, "--no-browser", "--port", "0")
    with served(*words, until="/open?") as printed:
        page = new_page(browser, 1400, 900, color_scheme=scheme)
        page.goto(match(r"http://\S+", printed))
        yield page


def open_sample(page: Page, name: str) -> None:
    """Open the first sample of the list that contains a word."""
    page.locator("input[name=words]").fill(name)
    page.wait_for_timeout(2000)
    page.locator(".thumbs a").first.click()
    page.locator("canvas").first.wait_for()
    page.wait_for_timeout(2500)


def looking(browser: Browser) -> None:
    """Picture a target with the errors of two runs after the second round."""
    with viewer(browser, clicks_of("graph"), clicks_of("watershed"), scheme="light") as page:
        open_sample(page, "mission_patch")
        page.locator("[name=mode]").first.select_option("errors")
        rounds = page.locator("input[type=range]").first
        rounds.fill("2")
        rounds.blur()
        page.wait_for_timeout(SETTLED_MS)
        save(page, "looking.webp", width=1200)


def looking_volume(browser: Browser) -> None:
    """Picture a volume in three planes."""
    with viewer(browser, volumes_run(), scheme="dark") as page:
        open_sample(page, "liver")
        save(page, "looking-volume.webp", width=1200)


# --- challenges -------------------------------------------------------------------------------------


def challenge(site: DemoSite) -> None:
    """Picture the page of a challenge, as visitors see it."""
    page = site.open("/challenges/photographs", width=1200)
    _, bottom = extent_of(page, "main .steps", "main .phases")
    save(page, "challenge.png", (0, 0, 1200, bottom), width=1000)


def audit(site: DemoSite) -> None:
    """Picture the audit of a challenge, as organisers see it."""
    page = site.open("/organise/challenges/photographs/audit", ORGANISER, width=1200)
    top, bottom = extent_of(page, "main > :first-child", "main > :last-child")
    save(page, "audit.png", (0, top, 1200, bottom - top), width=1000)


def round_of_a_run(site: DemoSite) -> None:
    """Picture a sample of a run, as its participant sees it: a dialogue and its rounds."""
    page = site.open("/runs", PARTICIPANT, width=800)
    page.get_by_role("link", name="graph-of-colours").click()
    page.locator("a[href*='/samples/']").first.click()
    page.locator("canvas").first.wait_for()
    page.wait_for_timeout(SETTLED_MS)
    top, bottom = extent_of(page, "main > :first-child", "#dialogue-1 table")
    save(page, "round.jpg", (0, top, 800, bottom - top))


# --- the studio -------------------------------------------------------------------------------------


def open_editor(site: DemoSite, width: int = 1400, height: int = 900, **options: Any) -> Page:
    """Open the photograph that a reviewer returned to the participant."""
    page = site.open("/studio/tasks/1", PARTICIPANT, width, height, **options)
    page.locator("#scene[data-ready]").wait_for()
    page.wait_for_timeout(SETTLED_MS)
    return page


def select_region(page: Page, name: str) -> None:
    """Select a region by its number in the list."""
    page.locator(f".regions button[aria-label*=': {name}.']").click()
    page.wait_for_timeout(SETTLED_MS)


def use(page: Page, action: str) -> None:
    """Press a button of the tool bar."""
    page.locator(f".tools [data-action={action}]").first.click()
    page.wait_for_timeout(SETTLED_MS)


def vertices_of(page: Page, region: str) -> list[Point]:
    """Return the vertices of a region, in pixels of the photograph."""
    draft = page.request.get(f"{page.url}/draft", headers={"accept": "application/json"}).json()
    scene = draft["scene"]
    ring = next(each["ring"] for each in scene["regions"] if each["name"] == region)
    return [tuple(scene["points"][index]) for index in ring]


def places_of(
    page: Page,
    points: Iterable[Point],
    extent: Sequence[Point] = PHOTOGRAPH,
) -> list[Point]:
    """Return where points of the photograph are on the page.

    Args:
        page: the editor.
        points: points in pixels of the photograph.
        extent: points that the editor was zoomed to; the middle of their bounding box is its middle.
    """
    columns = [x for x, _ in extent]
    rows = [y for _, y in extent]
    middle_x = (min(columns) + max(columns)) / 2
    middle_y = (min(rows) + max(rows)) / 2
    box = page.locator("#picture").bounding_box()
    assert box is not None
    scale = float(match(r"\d+", page.locator("#zoom").text_content() or "")) / 100
    places: list[Point] = []
    for x, y in points:
        left = box["x"] + box["width"] / 2 + (x - middle_x) * scale
        top = box["y"] + box["height"] / 2 + (y - middle_y) * scale
        places.append((left, top))
    return places


def annotating(site: DemoSite) -> None:
    """Picture the editor with a selected region."""
    page = open_editor(site)
    select_region(page, "pagoda")
    page.locator("#regions").evaluate("list => list.scrollTo(0, 0)")
    save(page, "annotating.jpg", width=1240)


def annotating_order(site: DemoSite) -> None:
    """Picture the editor with fills in depth order."""
    page = open_editor(site)
    use(page, "fills")
    save(page, "annotating-order.jpg", width=1200)


def annotating_drawing(site: DemoSite) -> None:
    """Picture an open outline, and the border of a neighbour that is about to be traced."""
    page = open_editor(site)
    places = places_of(page, vertices_of(page, "bushes"))
    select_region(page, "bushes")
    page.keyboard.press("Delete")
    use(page, "draw")
    # The last of these vertices, and all that follow, belong to the pine as well.
    for x, y in places[:15]:
        page.mouse.click(x, y)
        page.wait_for_timeout(100)
    use(page, "trace")
    page.mouse.move(*places[-1], steps=5)
    page.locator("#regions").evaluate("list => list.scrollTo(0, 0)")
    page.wait_for_timeout(SETTLED_MS)
    save(page, "annotating-drawing.jpg", width=1200)
    # Other pictures show the whole drawing.
    undo = page.locator("[data-action=undo]").first
    while undo.is_enabled():
        undo.click()
    page.wait_for_timeout(SETTLED_MS)


def annotating_phone(site: DemoSite) -> None:
    """Picture the editor on a phone: a finger moves a vertex, and the loupe shows what it covers."""
    page = open_editor(site, width=390, height=760, has_touch=True, device_scale_factor=4 / 3)
    vertices = vertices_of(page, "pagoda")
    draw_by_finger(page, places_of(page, vertices[:1]))
    page.locator("#hints").get_by_text("zoom to it").click()
    page.keyboard.press("+")
    page.wait_for_timeout(SETTLED_MS)
    x, y = places_of(page, vertices, vertices)[12]
    # The finger stays on the screen, so the drawing remains as it was.
    draw_by_finger(page, [(x + step, y + step) for step in range(6)], is_lifted=False)
    page.wait_for_timeout(SETTLED_MS)
    save(page, "annotating-phone.jpg")


def studio_project(site: DemoSite) -> None:
    """Picture a project, as its lead sees it: progress, pictures, agreement of annotators."""
    page = site.open("/studio/projects/2", ORGANISER)
    page.wait_for_timeout(SETTLED_MS)
    _, bottom = extent_of(page, "main > :last-child")
    save(page, "studio-project.jpg", (0, 0, 1240, bottom))


def studio_review(site: DemoSite) -> None:
    """Picture the page of a reviewer with a drawing that was changed after it had been returned."""
    page = open_editor(site)
    use(page, "adjust")
    select_region(page, "lake")
    x, y = places_of(page, vertices_of(page, "lake"))[-2]
    draw_by_mouse(page, [(x, y + step) for step in range(30)])
    page.locator("#finish").click()
    page.locator("#finish-form [name=is_complete]").check()
    page.locator("#finish-form [name=is_ordered]").check()
    page.locator("#finish-form button").click()
    page.get_by_text("You have finished this picture").wait_for()
    page = site.open("/studio/tasks/1/look", ORGANISER, height=960)
    page.get_by_role("button", name="Review this").click()
    page.get_by_role("button", name="Approve").wait_for()
    page.wait_for_timeout(SETTLED_MS)
    save(page, "studio-review.jpg")


# --- a user study -----------------------------------------------------------------------------------


def studio_study(site: DemoSite) -> None:
    """Picture a trial on a computer and on a phone, and the page of the study with four participants."""
    page, link = create_study(site)
    on_computers = take_part(site, link, COMPUTER) | take_part(site, link, COMPUTER)
    on_phones = take_part(site, link, PHONE) | take_part(site, link, PHONE)
    page.reload()
    _, bottom = extent_of(page, "#links")
    top, _ = extent_of(page, "main > :first-child")
    save(page, "studio-study.jpg", (0, top, 1240, bottom - top), width=1000)
    save_side_by_side("studio-trial.jpg", on_computers[CLICK], on_phones[LINE])


def create_study(site: DemoSite) -> tuple[Page, str]:
    """Create a study of the demo photographs with a link; return its page, and the path of the link."""
    settings = {"title": "Where do you click?", "slug": "photographs", "batch": "5", "batches": "1"}
    settings |= {"answers": "1", "training": "1", "attention": "0"}
    # Nobody looks at these trials, so they need not last.
    settings |= {"free_s": "0.2", "shown_s": "0.2", "blocked_s": "0.2"}
    page = site.open("/studio/studies/new", ORGANISER)
    page.locator("summary").get_by_text("More settings").click()
    for name, value in settings.items():
        page.locator(f"[name={name}]").fill(value)
    page.locator("[name='kinds.scribble']").check()
    page.locator("[name='modes.silhouette']").check()
    page.locator("[name='modes.cut-out']").uncheck()
    page.get_by_role("button", name="Create study").click()
    # The page reloads until the study is ready.
    page.get_by_role("button", name="Create link").click()
    address = page.locator("#links pre").text_content() or ""
    return page, match(r"/studio/take/\d+-[0-9a-f]+", address)


def take_part(site: DemoSite, link: str, device: Mapping[str, Any]) -> dict[str, Image.Image]:
    """Take part in the study until its end; return pictures of the last trials, by their tasks."""
    page = site.open(link, **device)
    silhouettes: list[bytes] = []

    def note_target(route: Route) -> None:
        response = route.fetch()
        if response.ok:
            silhouettes.append(response.body())
        route.fulfill(response=response)

    page.route("**/target", note_target)
    page.get_by_label("A phone" if device is PHONE else "A computer").check()
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Begin").click()
    trials: dict[str, Image.Image] = {}
    while True:
        page.locator(".code, #go:visible, #stage[data-phase=answer]:visible").first.wait_for()
        if page.locator(".code").count():
            return trials
        if page.locator("#go").is_visible():
            # Not click(), which would wait if the button has just disappeared.
            page.locator("#go").dispatch_event("click")
            page.wait_for_timeout(200)
            continue
        task = page.locator("#task").text_content() or ""
        trials[task] = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        x, y = middle_of_target(page, silhouettes[-1])
        steps = 0 if task == CLICK else 4
        places = [(x + step, y) for step in range(steps + 1)]
        if device is PHONE:
            draw_by_finger(page, places)
        else:
            draw_by_mouse(page, places)
        page.locator("#stage[data-phase=answer]").wait_for(state="detached")


def middle_of_target(page: Page, silhouette: bytes) -> Point:
    """Return the point in the target farthest from its boundary, in pixels of the page."""
    target = np.asarray(Image.open(io.BytesIO(silhouette)).convert("L")) > 127
    row, column = deepest_pixel(target).position
    height, width = target.shape
    box = page.locator("#stage").bounding_box()
    assert box is not None
    scale = min(box["width"] / width, box["height"] / height)
    left = box["x"] + (box["width"] - width * scale) / 2
    top = box["y"] + (box["height"] - height * scale) / 2
    return left + (column + 0.5) * scale, top + (row + 0.5) * scale


def save_side_by_side(name: str, *pictures: Image.Image) -> None:
    """Save pictures next to each other, scaled to the same height."""
    height, gap = 540, 20
    scaled: list[Image.Image] = []
    for picture in pictures:
        width = round(picture.width * height / picture.height)
        scaled.append(picture.resize((width, height), Image.Resampling.LANCZOS))
    total = sum(each.width for each in scaled) + gap * (len(scaled) - 1)
    together = Image.new("RGB", (total, height), "white")
    left = 0
    for each in scaled:
        together.paste(each, (left, 0))
        left += each.width + gap
    together.save(IMAGES / name, quality=QUALITY)
    print(IMAGES / name)


PICTURES: Mapping[str, Callable[[Browser], None]] = {
    "report": report,
    "board": board,
    "gallery": gallery,
    "looking": looking,
    "looking-volume": looking_volume,
}
"""Functions that make pictures of runs, by the names of the pictures."""

SITE_PICTURES: Mapping[str, Callable[[DemoSite], None]] = {
    "challenge": challenge,
    "audit": audit,
    "round": round_of_a_run,
    "annotating": annotating,
    "annotating-order": annotating_order,
    "annotating-drawing": annotating_drawing,
    "annotating-phone": annotating_phone,
    "studio-project": studio_project,
    "studio-study": studio_study,
    # Last, because it changes the drawing of the pictures above.
    "studio-review": studio_review,
}
"""Functions that make pictures of the demo site, by the names of the pictures; studio-study makes studio-trial too."""


def main(names: Sequence[str]) -> None:
    """Make the named pictures, or all."""
    known = [*PICTURES, *SITE_PICTURES]
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"expected some of {', '.join(known)}; got {', '.join(unknown)}")
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if chromium is None:
        sys.exit("there is no Chromium; install it with `make browser`")
    wanted = set(names or known)
    WORK.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--disable-gpu"])
        failures += make_pictures(PICTURES, wanted, browser)
        if wanted & SITE_PICTURES.keys():
            with serve_demo_site(browser) as site:
                failures += make_pictures(SITE_PICTURES, wanted, site)
        browser.close()
    if failures:
        sys.exit("\n".join(failures))


def make_pictures(
    known: Mapping[str, Callable[[Any], None]],
    wanted: Iterable[str],
    source: object,
) -> list[str]:
    """Make the wanted pictures among the known ones; return a line for each at which the browser fails."""
    failures: list[str] = []
    for name, make in known.items():
        if name not in wanted:
            continue
        try:
            make(source)
        except Error as error:
            failures.append(f"{name}: {' '.join(error.message.split())[:300]}")
    return failures


if __name__ == "__main__":
    main(sys.argv[1:])

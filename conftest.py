"""Fixtures for all tests: misbehaving plug-ins, small runs, the command line, made-up runs with known numbers."""

import base64
import gc
import json
import multiprocessing
import os
import shutil
import signal
from functools import cache
from io import BytesIO
from multiprocessing import forkserver
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from hypothesis import settings
from typer.main import get_command
from typer.testing import CliRunner

from segarena import evaluate
from segarena.arrays.rle import encode_rle
from segarena.cli.main import app
from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.records.configuration import parse_configuration
from segarena.records.row_types import MaskRow, RoundRecord, Timing
from segarena.roles import Benchmark, Statistic

# No deadline, because a busy machine must not fail a property test. The suite draws the same few examples in each run,
# so that a failure means a change; `make stress` draws many new ones.
settings.register_profile("brief", deadline=None, max_examples=15, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "brief"))

# A shell lets background jobs ignore these signals, and so would all commands that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

CORE_TESTS = Path(__file__).parent / "packages/segarena/tests"
if not CORE_TESTS.is_dir():  # the source distribution of the core
    CORE_TESTS = Path(__file__).parent / "tests"
MISBEHAVING = CORE_TESTS / "engine" / "misbehaving.py"


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
QUIET = "--disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"


# What differs between databases: their schemas, locks and leases, and several servers on one.
ABOUT_DATABASES = (
    "/db/",
    "/jobs/",
    "/workers/",
    "/test_migrations.py",
    "/test_concurrency.py",
    "/test_fair_queue.py",
    "/test_outages.py",
    "/runs/test_submissions.py",
)


def pytest_collection_modifyitems(items):
    """Mark tests that need a browser, so that `pytest -m browser` runs only these.

    Most tests of the server are about rules, which depend little on the database: only `make test-long` runs all of
    them on PostgreSQL. Except for the queries of pages and mails, each query runs there in every run of the suite: in
    a test that is about databases, or in one that has the marker `postgresql`.
    """
    for item in items:
        if "browser" in item.fixturenames:
            item.add_marker("browser")
        is_on_postgresql = "[postgresql" in item.nodeid or "-postgresql" in item.nodeid
        is_about_it = any(place in item.nodeid for place in ABOUT_DATABASES)
        if is_on_postgresql and not is_about_it and not item.get_closest_marker("postgresql"):
            item.add_marker("long")


def pytest_collection_finish():
    """Exclude all objects created so far from garbage collection, and run it less often, to save time."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Keep the hashes that are cached between runs out of the cache of the person who runs the tests."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("XDG_CACHE_HOME") if before is None else os.environ.update(XDG_CACHE_HOME=before)


@pytest.fixture(autouse=True, scope="session")
def disks_are_not_waited_for():
    """Disable fsync: no test depends on the state after a power failure, and a small run syncs 40 times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def commands_are_built_once():
    """Build the command tree for CliRunner only once: it takes longer than most commands, and none changes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", cache(get_command))
        yield


@pytest.fixture(autouse=True, scope="session")
def certificates_are_read_once():
    """Let HTTP clients share the trusted certificates: reading them takes longer than a local request."""
    try:
        import httpcore2
    except ImportError:  # A contributor to the core may have no HTTP client.
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpcore2.default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture(scope="session")
def worker_server():
    """Start a process with all imports of a worker, which forks itself for each worker that is asked for."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["worker_imports"])
    with pytest.MonkeyPatch.context() as patch:
        support = (str(CORE_TESTS / "support"), os.environ.get("PYTHONPATH", ""))
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, support)))
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        patch.setenv("POLARS_MAX_THREADS", "1")
        forkserver.ensure_running()
    return server


@pytest.fixture
def quick_workers(worker_server, monkeypatch):
    """Start worker processes without importing all modules again, which takes a second of processor each.

    For tests of what workers do; those of how processes start and end, in work/ and elsewhere, do without.
    """
    started = SimpleNamespace(get_context=lambda method: worker_server)
    monkeypatch.setattr("segarena.work.worker_handle.multiprocessing", started)


@pytest.fixture(scope="module")
def browser():
    """Start Chromium once per test file; not once for all, because it keeps an event loop running in this thread."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine; make browser installs Debian's")
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--disable-gpu", *QUIET.split()]
        )
        yield started
        started.close()


@pytest.fixture
def open_page(browser):
    """Open an address in a new browser context, light or dark; errors of the page fail the test at its end."""
    contexts = []
    complaints = []

    def opened(address, *, width=1400, height=900, scheme="light", **options):
        size = {"width": width, "height": height}
        context = browser.new_context(
            viewport=size, color_scheme=scheme, reduced_motion="reduce", **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on(
            "console",
            lambda told: told.type in ("error", "warning") and complaints.append(told.text),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def one_page(browser):
    """Keep one page open for the tests of a file: to open another takes longer than to go through most pages."""
    page = browser.new_context(reduced_motion="reduce").new_page()
    page.set_default_timeout(60_000)
    yield page
    page.context.close()


@pytest.fixture
def go_to(one_page):
    """Go to an address in the page that all tests of a file share, light or dark; for pages that store nothing.

    Errors of the page fail the test at its end, as those of `open_page` do.
    """
    complaints = []
    told = {
        "console": lambda one: one.type in ("error", "warning") and complaints.append(one.text),
        "pageerror": lambda error: complaints.append(str(error)),
    }
    for event, handler in told.items():
        one_page.on(event, handler)

    def gone_to(address, *, width=1400, height=900, scheme="light"):
        # Addresses that differ in what follows the # would stay on the page.
        one_page.goto("about:blank")
        one_page.set_viewport_size({"width": width, "height": height})
        one_page.emulate_media(color_scheme=scheme)
        one_page.goto(address)
        return one_page

    yield gone_to
    for event, handler in told.items():
        one_page.remove_listener(event, handler)
    assert complaints == []


# Letters per em, about those of the widest and the narrowest text fonts that people have installed: DejaVu Sans and
# Verdana average .6, Arial Narrow .41.
FONT_WIDTHS = {"wide": 0.62, "narrow": 0.4}
MEASURED_IN_FONT = """async ([name, data]) => {
    const face = new FontFace(name, Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)).buffer);
    document.fonts.add(await face.load());
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`* { font-family: "${name}" !important; }`);
    document.adoptedStyleSheets = [sheet];
    const found = document.documentElement.scrollWidth;
    const window_px = document.documentElement.clientWidth;
    const scrolls = (one) => one && (getComputedStyle(one).overflowX !== "visible" || scrolls(one.parentElement));
    const wide = [...document.querySelectorAll("body *")].filter(
        (one) => one.getBoundingClientRect().right > window_px + 1 && !scrolls(one.parentElement));
    if (found > window_px) console.log(`wider in ${name}: ${wide.slice(-3).map((one) => one.outerHTML.slice(0, 200))}`);
    document.adoptedStyleSheets = [];
    return found;
}"""


def make_font(name, width):
    """Return a base64-encoded TrueType font whose printable letters are boxes of this width, in em."""
    units = 1000
    pen = TTGlyphPen(None)
    right = round(units * width) - 60
    pen.moveTo((60, 0))
    for corner in ((60, 600), (right, 600), (right, 0)):
        pen.lineTo(corner)
    pen.closePath()
    box = pen.glyph()
    letters = [
        chr(code) for code in (*range(0x20, 0x17F), *range(0x2010, 0x2060), *range(0x2190, 0x2600))
    ]
    names = {ord(letter): f"u{ord(letter):04X}" for letter in letters}
    builder = FontBuilder(units, isTTF=True)
    builder.setupGlyphOrder([".notdef", *names.values()])
    builder.setupCharacterMap(names)
    builder.setupGlyf(dict.fromkeys([".notdef", *names.values()], box))
    builder.setupHorizontalMetrics(
        dict.fromkeys([".notdef", *names.values()], (round(units * width), 60))
    )
    builder.setupHorizontalHeader(ascent=930, descent=-240)
    builder.setupNameTable({"familyName": name, "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=930, sTypoDescender=-240, usWinAscent=930, usWinDescent=240)
    builder.setupPost()
    file = BytesIO()
    builder.save(file)
    return base64.b64encode(file.getvalue()).decode()


@pytest.fixture(scope="session")
def test_fonts():
    """Return artificial fonts by name: the layout of a page must not depend on the installed fonts."""
    return {name: make_font(name, width) for name, width in FONT_WIDTHS.items()}


@pytest.fixture
def page_widths(test_fonts):
    """Return a function that measures the width of a page in px, in the machine's font, a wide and a narrow one."""

    def measure(page):
        page.on(
            "console", lambda message: print(message.text)
        )  # pytest shows it of a test that fails
        widths = {"installed": page.evaluate("document.documentElement.scrollWidth")}
        for name, data in test_fonts.items():
            widths[name] = page.evaluate(MEASURED_IN_FONT, [name, data])
        return widths

    return measure


@pytest.fixture
def barriers():
    """Return the rules that axe-core finds broken on a page, each with its name and the HTML of the elements."""
    axe_of = pytest.importorskip("axe_playwright_python.sync_playwright").Axe

    def found(page):
        # The script has half a megabyte, and stays on the page.
        is_there = page.evaluate("typeof axe === 'object'")
        axe = axe_of(axe_script="0") if is_there else axe_of()
        broken = axe.run(page).response["violations"]
        return {rule["id"]: [node["html"] for node in rule["nodes"]] for rule in broken}

    return found


SMALL_TARGETS = """() => {
  const small = [];
  for (const one of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
    const target = one.closest("label") ?? one;
    const { width, height } = target.getBoundingClientRect();
    const isShown = width > 0 && height > 0 && !one.closest(".unseen");
    const around = one.parentElement.textContent.trim();
    const isInSentence = one.matches("p a, li a, dd a") && around !== one.textContent.trim();
    const isSmall = isShown && !isInSentence && Math.min(width, height) < 24;
    if (isSmall) small.push(`${width} x ${height}: ${target.outerHTML}`);
  }
  return small;
}"""


@pytest.fixture
def small_targets():
    """Return the links and controls below 24 px (WCAG 2.2, 2.5.8) on a page, except links in sentences."""
    return lambda page: page.evaluate(SMALL_TARGETS)


@pytest.fixture
def rng():
    """Return a random generator for one test, so that its numbers do not depend on which tests ran before."""
    return np.random.default_rng(0)


@pytest.fixture
def plugin():
    """Return a function that gives the specification of a misbehaving plug-in class, with options."""

    def name(class_name, **options):
        inner = ", ".join(f"{key}={value!r}" for key, value in options.items())
        return f"{MISBEHAVING}:{class_name}" + (f"({inner})" if inner else "")

    return name


@pytest.fixture
def rules():
    """A small benchmark: three rounds, a deterministic user."""
    return Benchmark(
        name="small",
        users=("sample-first-pixel",),
        metrics=("iou",),
        rounds=3,
        summary=(Statistic(name="IoU@1", kind="at_round"),),
        dataset="sample-squares",
    )


@pytest.fixture
def small_run(rules, plugin, tmp_path):
    """Run the small benchmark in a fresh folder; keyword arguments change it."""

    def run(segmenter=None, out=None, **options):
        options.setdefault("dataset", "sample-squares(count=4)")
        return evaluate(
            rules, segmenter=segmenter or plugin("Good"), out=out or tmp_path / "run", **options
        )

    return run


PHOTOGRAPHS = f"{CORE_TESTS / 'reports' / 'photographs.py'}:Photographs"
SUMMARY = (
    {
        "name": "NoC@90",
        "kind": "noc",
        "metric": "iou",
        "threshold": 0.9,
        "round": 1,
        "higher_is_better": False,
    },
    {
        "name": "NoF@90",
        "kind": "nof",
        "metric": "iou",
        "threshold": 0.9,
        "round": 1,
        "higher_is_better": False,
    },
    {
        "name": "IoU@1",
        "kind": "at_round",
        "metric": "iou",
        "threshold": 0.9,
        "round": 1,
        "higher_is_better": True,
    },
    {
        "name": "AuC",
        "kind": "auc",
        "metric": "iou",
        "threshold": 0.9,
        "round": 1,
        "higher_is_better": True,
    },
)


def dialogue(
    sample, target, user, values, *, repeat=0, failure=None, label="disc", attributes=None
):
    """Return a dialogue with the IoU after each round, and optionally a failure after them."""
    attributes = {"size": "small"} if attributes is None else attributes
    return {
        "key": {"sample": sample, "target": target, "user": user, "repeat": repeat},
        "values": values,
        "failure": failure,
        "about": {"label": label, "attributes": json.dumps(attributes)},
    }


def ramps(users=("centre", "edge"), *, samples=4, targets=2, rounds=4, lift=0.0, seed=0):
    """Return plausible dialogues: IoU that rises round by round."""
    rng = np.random.default_rng(seed)
    return [
        dialogue(
            f"photo-{sample}",
            f"disc-{target}",
            user,
            np.clip(np.sort(rng.uniform(0.3, 0.97, rounds)) + lift, 0, 1).tolist(),
            attributes={
                "size": ("small", "large")[target],
                "area_px": 100.0 * (1 + sample) + target,
            },
        )
        for sample in range(samples)
        for target in range(targets)
        for user in users
    ]


@pytest.fixture
def segarena(tmp_path, monkeypatch):
    """Return a function that runs a command; its result has `exit_code`, `stdout` and `stderr`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "dumb")
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def refused(segarena):
    """Return a function that runs a command, checks that it fails, and returns its one-line message."""

    def call(*arguments):
        answer = segarena(*arguments)
        lines = answer.stderr.strip().splitlines()
        assert answer.exit_code == 2, answer.output
        assert len(lines) == 1, answer.stderr
        assert lines[0].startswith("error: ")
        assert "Traceback" not in answer.output
        return lines[0]

    return call


@pytest.fixture(scope="session")
def make_dialogue():
    return dialogue


@pytest.fixture(scope="session")
def make_ramps():
    return ramps


@pytest.fixture(scope="session")
def write_run():
    """Return a function that writes a run folder at a path, which it returns."""

    def write(
        path,
        dialogues,
        *,
        undone=(),
        from_cache=(),
        rounds=4,
        predict_s=0.01,
        masks=True,
        **changes,
    ):
        samples = list(dict.fromkeys(d["key"]["sample"] for d in dialogues)) + list(undone)
        users = list(dict.fromkeys(d["key"]["user"] for d in dialogues if d["key"]["user"])) or [
            "centre"
        ]
        folder = RunFolder.create(
            path, parse_configuration(_merge(_config(samples, users, rounds), changes))
        )
        for index, sample in enumerate(samples):
            own = [d for d in dialogues if d["key"]["sample"] == sample]
            if own:
                rows = Rows(timings=[encoder_row(sample, 1.0, -1 if sample in from_cache else 0)])
                for one in own:
                    _write(one, rows, predict_s, masks)
                folder.write(index, rows)
        return folder.path

    return write


@pytest.fixture
def make_run(write_run, tmp_path):
    """Return a function that writes a run folder of a name and returns its path."""
    return lambda dialogues, name="run", **how: write_run(tmp_path / name, dialogues, **how)


@pytest.fixture
def rclicks(make_run):
    """Return a function that writes a run of rclicks with four groups; other `options` may be given."""

    def make(
        dialogues,
        name="run",
        *,
        protocol="careful",
        dataset=None,
        segmenter="disc",
        masks=True,
        **options,
    ):
        groups = [{"user": f"G{k}", "low": (k - 1) / 4, "high": k / 4} for k in range(1, 5)]
        last = "failure" if protocol == "published" else "solved"
        named = {
            "solved_at_last": last,
            "base": "centre",
            "groups": groups,
            "real": None,
            "sampled": None,
        }
        rules = {"name": "rclicks", "protocol": protocol, "options": {**named, **options}}
        changes = {"benchmark": rules, "segmenter": {"name": segmenter}}
        return make_run(
            dialogues,
            name,
            masks=masks,
            **changes,
            **({} if dataset is None else {"dataset": dataset}),
        )

    return make


def encoder_row(sample, seconds, round_):
    return Timing(sample=sample, target="", user="", repeat=0, round=round_, predict_s=seconds)


def _write(one, rows, predict_s, masks):
    key = {"benchmark": "small", "dataset": "photographs", **one["key"]}
    for number, value in enumerate(one["values"], 1):
        click = {
            "kind": "click",
            "position": [10 + number, 20],
            "is_positive": number % 2 == 1,
            "object_id": 1,
        }
        row = {
            "round": number,
            "effort": float(number),
            "prompts": json.dumps([click]),
            "failure": None,
        }
        rows.records.append(RoundRecord(**key, **one["about"], **row, values={"iou": value}))
        rows.timings.append(Timing(**one["key"], round=number, predict_s=predict_s))
        mask = np.zeros((90, 120), dtype=bool)
        mask[20 : 30 + number, 15:40] = True
        if masks:
            rows.masks.append(
                MaskRow(**one["key"], round=number, rle=encode_rle(mask), shape=(90, 120))
            )
    if one["failure"] is not None:
        number = len(one["values"]) + 1 if one["key"]["user"] else 0
        row = {"round": number, "effort": float(number), "prompts": "[]", "failure": one["failure"]}
        rows.records.append(RoundRecord(**key, **one["about"], **row, values={"iou": None}))


def _config(samples, users, rounds):
    return {
        "version": "0.1.0",
        "benchmark": {
            "name": "small",
            "protocol": "careful",
            "paper": "",
            "stop_at": None,
            "options": {},
            "summary": list(SUMMARY),
        },
        "segmenter": {"kind": "segmenter", "name": "disc", "options": {}},
        "dataset": {
            "kind": "dataset",
            "name": PHOTOGRAPHS,
            "options": {"count": 4, "targets": 2},
            "fingerprint": "photo-4-2",
            "samples": samples,
        },
        "users": [{"kind": "user", "name": user, "options": {}, "written": user} for user in users],
        "metrics": [{"kind": "metric", "name": "iou", "options": {}}],
        "rounds": rounds,
        "repeats": 1,
        "seed": 0,
        "created": "2026-01-02T03:04:05+00:00",
        "environment": {"python": "3.11.7"},
        "command": "segarena run small disc",
    }


def _merge(config, changes):
    merged = dict(config)
    for key, value in changes.items():
        merged[key] = (
            {**config[key], **value} if isinstance(value, dict) and key in config else value
        )
    return merged

"""Browser: people at seats with an image, a video, a volume; by mouse, pen, touch and keyboard alone."""

import re
import threading
from contextlib import contextmanager

import pytest
from input_devices import Pen

import segarena
from segarena.engine import evaluate
from segarena.engine.human_dialogue_files import Seats
from segarena.engine.human_page_server import NoPageServer
from segarena.records.prompts import read_prompts
from segarena_studio.human_user.run_registry import register_run

KEY = ["sample", "target", "user", "repeat", "round"]
MARGIN = 24


class RunThread(threading.Thread):
    """A run in a thread of this process, whose people use a running studio."""

    def __init__(self, served, out, benchmark, **options):
        super().__init__(daemon=True)
        self.served, self.options, self.folder = (
            served,
            {"out": out, "benchmark": benchmark, **options},
            None,
        )
        self.is_open = threading.Event()

    def run(self):
        self.folder = segarena.evaluate(**self.options)

    def done(self):
        self.join(60)
        assert self.folder is not None
        return self.folder


@pytest.fixture
def run_asks(alone, monkeypatch, tmp_path):
    """Start a run that requests prompts from the person of the studio: `run_asks(benchmark, **options)`."""
    begun = []

    @contextmanager
    def pages(asked, run, told, ask):
        if not asked:
            yield NoPageServer()
            return
        Seats(run).open(told)
        with register_run(alone.served.site.folder, run):
            begun[-1].is_open.set()
            yield NoPageServer(address="here")

    def start(benchmark, **options):
        begun.append(RunThread(alone.served, tmp_path / f"run{len(begun)}", benchmark, **options))
        begun[-1].start()
        assert begun[-1].is_open.wait(60)
        return begun[-1]

    monkeypatch.setattr(evaluate, "page_server", pages)
    return start


@pytest.fixture
def sit(alone, open_warm_page):
    """Open the page of a run, and wait until an element is visible."""

    def seated(asked, **options):
        page = open_warm_page(f"{alone.link}&to=seats", **options)
        id_ = Seats(asked.options["out"]).info().id
        page.locator(f"a[href='/studio/seats/{id_}']").click()
        page.locator("#controls").wait_for()
        return page

    return seated


def on_screen(page, shape, row, column):
    """Return the screen position of a pixel's centre on a page that shows the whole picture."""
    box = page.locator("#picture canvas").last.bounding_box()
    height, width = shape
    scale = min((box["width"] - 2 * MARGIN) / width, (box["height"] - 2 * MARGIN) / height)
    left, top = (
        box["x"] + (box["width"] - scale * width) / 2,
        box["y"] + (box["height"] - scale * height) / 2,
    )
    return left + scale * (column + 0.5), top + scale * (row + 0.5)


def round_is(page, number):
    page.locator("#round", has_text=re.compile(rf"^Round {number}\b")).wait_for()


def test_five_targets_by_clicks_beside_a_simulated_user(run_asks, sit, barriers, tmp_path):
    options = {"segmenter": "image-blind", "dataset": "demo", "limit": 1, "rounds": 2}
    simulated = segarena.evaluate("clicks", out=tmp_path / "simulated", **options)
    asked = run_asks("clicks", users=["human", "centre"], verify=10, **options)
    page = sit(asked)
    assert barriers(page) == {}
    target = simulated.records()["target"].unique(maintain_order=True).to_list()
    shape = tuple(simulated.masks()["shape"][0])
    for place in range(5):
        for row in (
            simulated.records().filter(target=target[place]).sort("round").iter_rows(named=True)
        ):
            (click,) = read_prompts(row["prompts"])
            round_is(page, row["round"])
            if place == 0 and click.is_positive:
                Pen(page, shape[::-1]).tap([side + 0.5 for side in click.position[::-1]])
            else:
                button = "left" if click.is_positive else "right"
                page.mouse.click(*on_screen(page, shape, *click.position), button=button)
        page.locator("#cover").get_by_text("This dialogue has ended").wait_for()
        if place == 0:
            assert barriers(page) == {}
        if place < 4:
            page.get_by_role("button", name="Next one").click()
    run = asked.done()

    of_person, of_robot = (
        run.records().filter(user=user).drop("user") for user in ("human", "centre")
    )
    assert of_person.equals(of_robot)
    assert of_robot.equals(simulated.records().drop("user"))
    assert run.people().select(KEY).equals(run.records().filter(user="human").select(KEY))
    assert set(run.people()["pointer"]) == {"mouse", "pen"}
    assert run.people()["user_s"].is_between(0, 60, closed="none").all()
    assert (run.config.verified.asked, run.config.verified.differed) == (10, 0)


@pytest.mark.long
def test_two_rounds_of_scribbles_on_a_video_by_mouse_and_touch(run_asks, sit, barriers):
    asked = run_asks("davis", segmenter="colour-flow", users=["human"], limit=1, rounds=2)
    page = sit(asked, has_touch=True)
    assert barriers(page) == {}
    box = page.locator("#picture canvas").last.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    round_is(page, 1)
    page.mouse.move(x - 40, y)
    page.mouse.down()
    page.mouse.move(x + 40, y + 10, steps=8)
    page.mouse.up()
    page.get_by_role("button", name="Send").click()
    round_is(page, 2)
    page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_role("radio", name="background").check()
    touch = page.context.new_cdp_session(page)
    for kind, points in (
        ("touchStart", [(x, y - 60)]),
        *(("touchMove", [(x + 9 * n, y - 60)]) for n in range(1, 9)),
        ("touchEnd", []),
    ):
        at = [{"x": left, "y": top} for left, top in points]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})
    page.locator("#drawn li").wait_for()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("This dialogue has ended").first.wait_for()
    run = asked.done()

    first, second = map(read_prompts, run.records()["prompts"])
    assert [(prompt.kind, prompt.object_id) for prompt in (*first, *second)] == [
        ("scribble", 1),
        ("scribble", 0),
    ]
    frames = [{point[0] for point in prompt.points} for prompt in (*first, *second)]
    assert [len(frame) for frame in frames] == [1, 1]
    assert frames[1] == {next(iter(frames[0])) + 1}
    assert run.people()["pointer"].to_list() == ["mouse", "touch"]
    assert run.records()["failure"].null_count() == 2


def planes_of(page):
    return [
        (name, int(index))
        for name, index in map(str.split, page.locator("#picture .plane p").all_inner_texts())
    ]


@pytest.mark.long
def test_a_volume_by_keys_alone_and_a_page_that_is_lost_in_between(run_asks, sit, barriers):
    asked = run_asks("radioactive", segmenter="image-blind", users=["human"], limit=1, rounds=2)
    page = sit(asked)
    round_is(page, 1)
    assert barriers(page) == {}
    (_, axial), (_, coronal), (_, sagittal) = planes_of(page)
    for key in ("3", "ArrowRight", "ArrowRight", "ArrowDown", "PageDown", "1"):
        page.keyboard.press(
            key
        )  # one to the posterior, one to the inferior, and another sagittal slice
    assert planes_of(page) == [
        ("axial", axial - 1),
        ("coronal", coronal - 1),
        ("sagittal", sagittal + 1),
    ]
    page.locator("#picture .plane").last.hover()
    page.mouse.wheel(0, 120)
    page.wait_for_function(
        f"() => document.querySelector('#picture').innerText.includes('sagittal {sagittal + 2}')"
    )
    for key in (
        "ArrowUp",
        "Space",
        "Shift+ArrowRight",
        "Shift+ArrowDown",
        "Space",
        "t",
        "PageDown",
        "x",
        "Space",
    ):
        page.keyboard.press(key)
    drawn = page.locator("#drawn li").all_inner_texts()
    page.reload()  # what was drawn and not sent outlives the page
    page.locator("#controls").wait_for()
    round_is(page, 1)
    assert page.locator("#drawn li").all_inner_texts() == drawn == ["box", "click, not part of it"]
    page.keyboard.press("Enter")
    round_is(page, 2)
    page.keyboard.press("p")
    page.get_by_text("Paused").wait_for()
    page.keyboard.press("Enter")
    others = len(list((asked.options["out"] / "seats").glob("*-*/about.bin"))) - 1
    for place in range(1 + others):
        page.keyboard.press("g")  # nothing is left to correct
        page.locator("#cover").get_by_text("This dialogue has ended").wait_for()
        if place < others:
            page.keyboard.press("Enter")
            page.locator("#round", has_text="Round 1").wait_for()
    run = asked.done()

    first = run.records().sort("round").row(0, named=True)
    box, click = read_prompts(first["prompts"])
    assert (box.kind, click.kind, click.is_positive) == ("box", "click", False)
    assert box.stop[0] - box.start[0] == 1
    assert click.position[0] == box.start[0] + 1
    assert (box.stop[1] - box.start[1], box.stop[2] - box.start[2]) == (11, 11)
    assert run.people()["pointer"][0] == "keyboard"
    assert run.people()["away_s"][1] > 0

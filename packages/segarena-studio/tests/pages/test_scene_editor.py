"""Browser: a whole scene drawn by mouse, finger, pen or keyboard alone; saved, reordered, undone after a reload."""

import pytest
from annotation_fixtures import give_task, picture, tasks_of
from input_devices import Finger, Keys, Mouse, Pen

from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.annotation.projects import ProjectRules, create_project
from segarena_studio.orm_models import Project

SIZE = (640, 480)
OUTLINES = {
    "sky": ((0, 0), (640, 0), (640, 200), (0, 200)),
    "ground": ((0, 200), (640, 200), (640, 480), (0, 480)),
    "house": ((100, 120), (300, 120), (300, 320), (100, 320)),
    "roof": ((100, 120), (300, 120), (240, 30), (160, 30)),
    "door": ((170, 320), (230, 320), (230, 230), (170, 230)),
    "tree": ((400, 150), (540, 150), (540, 350), (400, 350)),
    "Auto 车": ((350, 290), (480, 290), (480, 390), (350, 390)),
}
SHARED = (("sky", "ground"), ("house", "roof"), ("house", "door"))
"""Regions with a border in common: two vertices that are those of both."""

HANDS = {"mouse": Mouse, "finger": Finger, "pen": Pen, "keys": Keys}
BROWSERS = {"finger": {"width": 1180, "height": 820, "has_touch": True}}


@pytest.fixture
def task(alone):
    """A task of the one person, on a picture that nobody has drawn on."""
    site = alone.served.site
    with site.database.writing() as session:
        project = create_project(
            session, ProjectRules(name="Street", labels=("sky", "木")), site.only_person, 0.0
        ).id
        drawn_on = check_picture("street.png", picture(size=SIZE))
        add_picture(
            session, session.get_one(Project, project), site.folder.photographs, drawn_on, 0.0
        )
    return give_task(site, tasks_of(site, project)[0], site.only_person)


@pytest.fixture
def enter(alone, task):
    """Go to the editor of the task in a page of somebody who was let in."""

    def entered(page):
        page.goto(f"{alone.served.address}/studio/tasks/{task}")
        page.locator("#scene[data-ready]").wait_for()
        return page

    return entered


@pytest.fixture
def editor(alone, enter, open_page):
    """Open the editor of the task."""
    return lambda **options: enter(open_page(alone.link, **options))


@pytest.fixture
def kept(alone, task):
    """What the server has of the task, once the page says that it is saved."""
    client = alone.client()

    def scene(page):
        page.evaluate(
            "dispatchEvent(new Event('online'))"
        )  # whoever is back from a tunnel need not wait two seconds
        page.locator("#saved.saved-saved").wait_for()
        return client.get(
            f"/studio/tasks/{task}/draft", headers={"accept": "application/json"}
        ).json()["scene"]

    return scene


def draw(page, hand, *names):
    """Draw regions and name them."""
    for name in names:
        hand.outline(*OUTLINES[name])
        page.locator(".regions li.is-selected input").fill(name)
        page.keyboard.press("Enter")


def rings(scene):
    return {region["name"]: region["ring"] for region in scene["regions"]}


def assert_drawn(scene, *names, tolerance=4):
    """Hold what was kept against the outlines, and its shared vertices against those that were to be shared."""
    found = rings(scene)
    assert list(found) == list(reversed(names))
    for name in names:
        corners = [scene["points"][point] for point in found[name]]
        for place in OUTLINES[name]:
            assert min(abs(x - place[0]) + abs(y - place[1]) for x, y in corners) < tolerance, (
                name,
                place,
            )
    for one, other in SHARED:
        if not {one, other} <= set(names):
            continue
        assert len(set(found[one]) & set(found[other])) == 2, (one, other)


@pytest.mark.parametrize("kind", HANDS)
def test_a_whole_scene_is_drawn_by_hand(kind, editor, kept):
    page = editor(**BROWSERS.get(kind, {}))
    hand = HANDS[kind](page, SIZE)
    draw(page, hand, *OUTLINES)
    assert_drawn(kept(page), *OUTLINES)
    assert (
        page.locator(".regions li").filter(has_text="%").count() == 4
    )  # sky, ground, house and tree are hidden in part
    hand.take("adjust")
    hand.tap((520, 200))
    assert page.locator(".regions li.is-selected input").input_value() == "tree"
    hand.drag((540, 150), (580, 120))
    hand.press('[aria-label="Swap: Put tree before Auto 车"]')
    page.locator('[aria-label="Swap: Put Auto 车 before tree"]').wait_for()
    after = kept(page)
    assert list(rings(after))[:2] == ["tree", "Auto 车"]
    corner = after["points"][rings(after)["tree"][1]]
    assert abs(corner[0] - 580) + abs(corner[1] - 120) < 4


def test_steps_are_undone_after_a_reload_one_by_one(editor, kept):
    page = editor()
    mouse = Mouse(page, SIZE)
    draw(page, mouse, "sky", "ground")
    mouse.take("adjust")
    mouse.tap((300, 430))
    mouse.drag((640, 200), (600, 220))
    kept(page)
    page.reload()
    page.locator("#scene[data-ready]").wait_for()
    page.keyboard.press("Control+z")
    assert_drawn(kept(page), "sky", "ground")
    for _ in range(3):
        page.keyboard.press("z")
    scene = kept(page)
    assert (len(scene["regions"]), len(scene["open"])) == (
        1,
        3,
    )  # name, closing, and the last vertex
    page.keyboard.press("Control+Shift+z")
    page.keyboard.press("x")
    assert len(kept(page)["regions"]) == 2


def test_of_two_windows_neither_overwrites_the_other_and_both_are_shown(
    alone, browser, editor, enter, kept
):
    other = (
        browser.new_page()
    )  # not by `open_page`: a browser itself complains of an answer that is a conflict
    other.goto(alone.link)
    first, second = enter(other), editor()
    draw(second, Mouse(second, SIZE), "sky")
    kept(second)
    Mouse(first, SIZE).outline(*OUTLINES["house"])
    first.locator("#conflict[open]").wait_for()
    assert first.locator("#mine figcaption").text_content() == "1 region"
    assert first.locator("#theirs figcaption").text_content() == "1 region: sky"
    first.locator("#take-theirs").click()
    assert list(rings(kept(first))) == ["sky"]
    first.keyboard.press("z")
    assert list(rings(kept(first))) == [""]
    other.close()


def test_rows_are_dragged_in_depth(editor, kept):
    page = editor()
    draw(page, Mouse(page, SIZE), "house", "tree", "Auto 车")
    grips = page.locator(".regions .grip")
    start, end = grips.nth(0).bounding_box(), grips.nth(2).bounding_box()
    page.mouse.move(start["x"] + 22, start["y"] + 22)
    page.mouse.down()
    page.mouse.move(start["x"] + 22, end["y"] + 30, steps=8)
    page.mouse.up()
    assert list(rings(kept(page)))[-1] == "Auto 车"
    grips.nth(2).focus()
    page.keyboard.press("Alt+ArrowUp")
    assert list(rings(kept(page)))[-2] == "Auto 车"


@pytest.mark.parametrize(
    "options", [{}, {"width": 390, "height": 844, "scheme": "dark", "has_touch": True}]
)
def test_nothing_of_the_editor_bars_anybody(editor, barriers, options):
    page = editor(**options)
    hand = Finger(page, SIZE) if options else Mouse(page, SIZE)
    hand.outline(*OUTLINES["house"])
    hand.outline(*OUTLINES["tree"])
    hand.take("trace")
    hand.tap((100, 120))
    assert barriers(page) == {}
    hand.tap((300, 320))
    page.locator('.tools [data-action="draw"][aria-pressed="true"]').wait_for()
    assert page.evaluate(
        "(({ scene }) => scene.open.map((point) => scene.owners(point).length))(segarena.editor)"
    ) == [
        1,
        1,
        1,
    ]
    hand.press("#help-open")
    assert barriers(page) == {}
    page.keyboard.press("Escape")
    hand.press("#finish")
    assert barriers(page) == {}


def test_fingers_zoom_and_every_target_is_large_enough(editor):
    page = editor(width=390, height=844, has_touch=True)
    finger = Finger(page, SIZE)
    finger.outline(*OUTLINES["house"])
    before = page.locator("#zoom").text_content()
    x, y = finger.at((320, 240))
    finger.send("touchStart", (x - 20, y), (x + 20, y))
    finger.send("touchMove", (x - 80, y), (x + 80, y))
    finger.send("touchEnd")
    page.locator("#minimap").wait_for()
    after = page.locator("#zoom").text_content()
    assert int(after.split()[0]) > 3 * int(before.split()[0])
    finger.press("#list-open")
    small = page.evaluate(
        """() => [...document.querySelectorAll(".scene button")].filter((each) => {
            const { width, height } = each.getBoundingClientRect();
            return each.checkVisibility() && (height < 43.5 || width < 43.5);
          }).map((each) => each.outerHTML)"""
    )
    assert small == []

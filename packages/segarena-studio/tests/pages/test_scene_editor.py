"""Browser: a whole scene drawn by mouse, finger, pen or keyboard alone; saved, reordered, undone after a reload."""

import re
import time
import zlib
from urllib.parse import urljoin

import pytest
from annotation_fixtures import give_task, picture, tasks_of
from input_devices import Finger, Keys, Mouse, Pen
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.annotation.projects import ProjectRules, create_project
from segarena_studio.orm_models import Project, Task

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

PART = ("house", "roof", "tree", "Auto 车")

ATTRIBUTES = "occluded: checkbox\nview: front, side\nnote: text"

HINTS_FIT = """(() => {
  const line = document.querySelector("#hints");
  return line.scrollWidth <= line.clientWidth && line.scrollHeight <= line.clientHeight;
})()"""

COUNT_PATCHES = """(() => {
  const { prototype } = CanvasRenderingContext2D;
  const { drawImage } = prototype;
  window.patches = 0;
  prototype.drawImage = function (source, ...places) {
    if (source instanceof HTMLCanvasElement && places.length === 8) window.patches += 1;
    return drawImage.call(this, source, ...places);
  };
})()"""

HANDS = {"mouse": Mouse, "finger": Finger, "pen": Pen, "keys": Keys}
BROWSERS = {"finger": {"width": 1180, "height": 820, "has_touch": True}}


@pytest.fixture
def task(alone):
    """A task of the one person, on a picture that nobody has drawn on."""
    site = alone.served.site
    with site.database.writing() as session:
        project = create_project(
            session,
            ProjectRules(name="Street", labels=("sky", "木")),
            site.only_person,
            0.0,
        ).id
        drawn_on = check_picture("street.png", picture(size=SIZE))
        add_picture(
            session, session.get_one(Project, project), site.folder.photographs, drawn_on, 0.0
        )
    return give_task(site, tasks_of(site, project)[0], site.only_person)


@pytest.fixture
def enter(alone, task):
    """Open the editor of the task in a page of a signed-in person."""

    def entered(page):
        page.goto(f"{alone.served.address}/studio/tasks/{task}")
        page.locator("#scene[data-ready]").wait_for()
        return page

    return entered


@pytest.fixture
def editor(alone, task, open_warm_page):
    """Open the editor of the task."""

    def opened(**options):
        address = f"{alone.served.address}/studio/tasks/{task}"
        page = open_warm_page(address, cookies=alone.cookies(), **options)
        page.locator("#scene[data-ready]").wait_for()
        return page

    return opened


@pytest.fixture
def kept(alone, task):
    """The server's data of the task, once the page says that it is saved."""
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
        page.locator(".regions li.is-selected .line input").fill(name)
        page.keyboard.press("Enter")


def rings(scene):
    return {region["name"]: region["ring"] for region in scene["regions"]}


def assert_drawn(scene, *names, tolerance=4):
    """Compare the stored drawing with the outlines, and its shared vertices with the expected ones."""
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


def press_until_shown(page, hand, button, selector):
    """Press a button again if a busy browser used the first touch to stop scrolling."""
    for _ in range(3):
        hand.press(button)
        try:
            page.locator(selector).wait_for(timeout=5000)
        except PlaywrightTimeoutError:
            continue
        return
    pytest.fail(f"{button} was pressed three times, and {selector} does not appear")


@pytest.mark.long
def test_what_the_editor_needs_at_the_start_weighs_little(alone, task):
    client = alone.client()
    text = client.get(f"/studio/tasks/{task}").text
    wanted = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)
    files = {}
    while wanted:
        path = wanted.pop()
        if path in files:
            continue
        files[path] = client.get(path).text
        first = r"|import\(" if path.endswith("/preview-first.js") else ""
        names = re.findall(rf'(?:from |^import {first})"([^"]+)"', files[path], re.MULTILINE)
        wanted += [urljoin(path, name) for name in names]
    assert sum(name.endswith(".js") for name in files) > 60
    assert not any("timeline" in name or "assist" in name for name in files)
    assert sum(len(zlib.compress(file.encode())) for file in [text, *files.values()]) < 150_000


@pytest.mark.long
@pytest.mark.parametrize("width", [1400, 390])
def test_the_hint_of_an_empty_picture_fits_below_it(width, editor):
    page = editor(width=width)
    page.locator(".hints .advice").wait_for()
    assert page.evaluate(HINTS_FIT)


@pytest.mark.long
def test_the_hints_after_a_region_fit_below_the_picture(editor):
    page = editor()
    draw(page, Mouse(page, SIZE), "house")
    page.locator('.hints [data-action="trace"]').wait_for()
    assert page.evaluate(HINTS_FIT)


@pytest.mark.long
@pytest.mark.parametrize("width", [901, 1180, 1400])
def test_hints_do_not_resize_the_picture(width, editor):
    page = editor(width=width)
    before = page.locator("#picture").bounding_box()
    draw(page, Mouse(page, SIZE), "house")
    page.locator('.hints [data-action="trace"]').wait_for()
    assert page.locator("#picture").bounding_box() == before


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("mouse", tuple(OUTLINES)),
        ("finger", PART),
        pytest.param("pen", PART, marks=pytest.mark.long),
        pytest.param("keys", PART, marks=pytest.mark.long),
        pytest.param("finger", tuple(OUTLINES), marks=pytest.mark.long),
        pytest.param("pen", tuple(OUTLINES), marks=pytest.mark.long),
        pytest.param("keys", tuple(OUTLINES), marks=pytest.mark.long),
    ],
)
def test_a_scene_is_drawn_by_hand(kind, names, editor, kept):
    page = editor(**BROWSERS.get(kind, {}))
    hand = HANDS[kind](page, SIZE)
    draw(page, hand, *names)
    assert_drawn(kept(page), *names)
    hidden_in_part = {"sky", "ground", "house", "tree"} if names != PART else {"tree"}
    assert page.locator(".regions li").filter(has_text="%").count() == len(hidden_in_part)
    hand.take("adjust")
    hand.tap((520, 200))
    assert page.locator(".regions li.is-selected input").input_value() == "tree"
    hand.drag((540, 150), (580, 120))
    press_until_shown(
        page,
        hand,
        '[aria-label="Swap: Put tree in front of Auto 车"]',
        '[aria-label="Swap: Put Auto 车 in front of tree"]',
    )
    after = kept(page)
    assert list(rings(after))[:2] == ["tree", "Auto 车"]
    corner = after["points"][rings(after)["tree"][1]]
    assert abs(corner[0] - 580) + abs(corner[1] - 120) < 4


@pytest.mark.long
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


@pytest.mark.long
def test_of_two_windows_neither_overwrites_the_other_and_both_are_shown(editor, kept):
    first, second = editor(expects="409"), editor()
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


def order(page):
    """Return the names in the depth list, front first."""
    inputs = page.locator(".regions input")
    return inputs.evaluate_all("all => all.map((each) => each.value)")


@pytest.mark.long
def test_a_dragged_row_lands_where_the_pointer_is(editor, kept):
    page = editor()
    mouse = Mouse(page, SIZE)
    # The ground hides parts of two others, so its selected row is much higher than the rest.
    draw(page, mouse, "house", "tree", "Auto 车", "roof", "ground")
    for start, end in [(0, 3), (3, 0), (1, 2), (2, 1), (0, 1), (3, 2), (4, 0), (0, 4)]:
        drag_row(page, start, end, kept)


def drag_row(page, start, end, kept):
    """Drag a row of the depth list to the position of another, and check each step."""
    page.locator(".regions input").nth(start).focus()
    expected = order(page)
    expected.insert(end, expected.pop(start))
    grips = page.locator(".regions .grip")
    source = grips.nth(start).bounding_box()
    x = source["x"] + source["width"] / 2
    y = source["y"] + source["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 6)
    # Rows are aimed at as they look while something is being dragged.
    page.locator(".regions.is-dragging").wait_for()
    list_box = page.locator(".regions").bounding_box()
    tops = page.locator(".regions > li:not(.landing)").evaluate_all(
        "all => all.map((each) => [each.offsetTop, each.offsetHeight])"
    )
    assert len({height for _, height in tops}) == 1
    aim = list_box["y"] + tops[end][0] + tops[end][1] / 2
    page.mouse.move(x, aim, steps=8)
    landing = page.locator(".regions .landing").bounding_box()
    assert landing["y"] <= aim <= landing["y"] + landing["height"]
    assert grips.nth(start).text_content() == str(end + 1)
    page.mouse.up()
    assert page.locator(".regions .landing").count() == 0
    assert list(rings(kept(page))) == expected == order(page)


@pytest.mark.long
def test_escape_cancels_a_drag_and_a_press_alone_does_not_move(editor, kept):
    page = editor()
    draw(page, Mouse(page, SIZE), "house", "tree", "Auto 车")
    before = order(page)
    grip = page.locator(".regions .grip").nth(2).bounding_box()
    x = grip["x"] + 22
    y = grip["y"] + 22
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 60, steps=4)
    page.keyboard.press("Escape")
    page.mouse.up()
    assert order(page) == before
    page.mouse.click(x, y)
    assert page.locator(".regions li.is-selected input").input_value() == before[2]
    assert list(rings(kept(page))) == before


@pytest.mark.long
def test_buttons_move_a_region_in_depth_and_keep_the_focus(editor, kept):
    page = editor()
    draw(page, Mouse(page, SIZE), "house", "tree", "Auto 车")
    page.locator(".regions .grip").nth(2).click()
    group = page.get_by_role("group", name="Depth order")
    group.get_by_role("button").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert order(page) == ["Auto 车", "house", "tree"]
    assert page.evaluate("document.activeElement.textContent") == "Up"
    page.keyboard.press("Enter")
    assert order(page) == ["house", "Auto 车", "tree"]
    for name, expected in [
        ("Back", ["Auto 车", "tree", "house"]),
        ("Front", ["house", "Auto 车", "tree"]),
        ("Down", ["Auto 车", "house", "tree"]),
    ]:
        group.locator("button", has_text=name).click()
        assert order(page) == expected
        assert page.evaluate("document.activeElement.textContent") == name
    page.locator(".regions .grip").nth(1).focus()
    page.keyboard.press("Alt+ArrowUp")
    assert list(rings(kept(page))) == ["house", "Auto 车", "tree"]


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
def test_a_closed_outline_asks_for_its_name_in_place(editor, kept):
    page = editor()
    mouse = Mouse(page, SIZE)
    mouse.outline(*OUTLINES["house"])
    field = page.locator("#naming input")
    field.wait_for()
    # Each of these letters is a shortcut, and so is Enter.
    page.keyboard.type("dazxb")
    page.keyboard.press("Enter")
    field.wait_for(state="hidden")
    page.keyboard.press("Enter")
    assert field.input_value() == "dazxb"
    page.keyboard.press("Escape")
    mouse.outline(*OUTLINES["tree"])
    page.keyboard.type("sea")
    page.keyboard.press("Escape")
    mouse.outline(*OUTLINES["Auto 车"])
    page.keyboard.type("car")
    mouse.take("adjust")
    scene = kept(page)
    assert list(rings(scene)) == ["car", "", "dazxb"]
    assert "open" not in scene
    page.keyboard.press("z")
    assert [region["name"] for region in kept(page)["regions"]] == ["", "", "dazxb"]


@pytest.mark.long
def test_regions_are_searched_selected_together_and_moved(editor, kept, barriers):
    page = editor()
    mouse = Mouse(page, SIZE)
    draw(page, mouse, "house", "tree", "Auto 车")
    search = page.get_by_role("searchbox")
    mouse.take("adjust")
    page.keyboard.press("/")
    page.keyboard.type("e")
    assert page.locator(".regions > li:visible").count() == 2
    page.keyboard.press("Enter")
    assert page.locator(".regions li.is-selected input").input_value() == "tree"
    page.keyboard.press("Shift+ArrowDown")
    assert page.locator("#selected-regions strong").text_content() == "2 selected"
    search.fill("")
    before = kept(page)
    mouse.take("move")
    mouse.drag((200, 200), (230, 220))
    page.locator('#selected-regions [data-action="name"]').click()
    page.keyboard.type("both")
    page.keyboard.press("Enter")
    after = kept(page)
    assert [region["name"] for region in after["regions"]] == ["Auto 车", "both", "both"]

    def corners(scene, place):
        return [scene["points"][point] for point in scene["regions"][place]["ring"]]

    assert corners(after, 0) == corners(before, 0)
    for place in (1, 2):
        for (x, y), (left, top) in zip(corners(after, place), corners(before, place), strict=True):
            assert abs(x - left - 30) < 1
            assert abs(y - top - 20) < 1
    assert barriers(page) == {}
    page.get_by_role("button", name="Several").click()
    page.locator(".regions input").nth(0).click()
    page.locator(".regions input").nth(2).click()
    assert page.locator("#selected-regions strong").text_content() == "2 selected"
    assert page.locator(".regions input:focus").count() == 0
    page.keyboard.press("z")
    page.keyboard.press("z")
    assert kept(page)["regions"] == before["regions"]


@pytest.mark.long
def test_regions_are_copied_from_another_picture_and_another_picture_is_chosen(
    alone, task, editor, kept, barriers
):
    site = alone.served.site
    with site.database.writing() as session:
        project = session.get_one(Project, session.get_one(Task, task).project_id)
        drawn_on = check_picture("other.png", picture(2, size=(320, 240)))
        add_picture(session, project, site.folder.photographs, drawn_on, 0.0)
    page = editor()
    draw(page, Mouse(page, SIZE), "house", "roof")
    kept(page)
    page.keyboard.press("Shift+P")
    assert barriers(page) == {}
    page.locator(".picker button", has_text="free").click()
    page.wait_for_url(lambda url: not url.endswith(f"/{task}"))
    page.locator("#scene[data-ready]").wait_for()
    page.keyboard.press("Shift+C")
    page.locator(".picker button:focus").wait_for()
    page.keyboard.press("Enter")
    page.locator(".regions > li").nth(1).wait_for()
    scene = page.evaluate("segarena.editor.scene.toDocument()")
    assert page.locator("#selected-regions strong").text_content() == "2 selected"
    assert list(rings(scene)) == ["roof", "house"]
    corners = [scene["points"][point] for point in rings(scene)["house"]]
    for x, y in OUTLINES["house"]:
        assert min(abs(left - x / 2) + abs(top - y / 2) for left, top in corners) < 4
    page.keyboard.press("z")
    assert page.locator(".regions > li").count() == 0


@pytest.mark.long
def test_a_key_is_changed_in_the_dialog_and_shown_everywhere(editor, barriers):
    page = editor()
    page.locator("#help-open").click()
    page.locator("#own-keys-open").click()
    change = page.get_by_role("button", name="Change the key of: Fill regions in depth order")
    change.click()
    page.keyboard.press("d")
    said = page.locator("#own-keys-said")
    assert "is the key of “Draw a region”" in said.text_content()
    change.click()
    page.keyboard.press("Shift+F")
    assert said.text_content() == "“Fill regions in depth order” has the key Shift F."
    assert barriers(page) == {}
    page.keyboard.press("Escape")
    assert "Shift" in page.locator("#keys div", has_text="Fill regions").text_content()
    page.keyboard.press("Escape")
    button = page.locator('.tools [data-action="fills"]')
    assert button.get_attribute("title") == "Fill regions in depth order (Shift F)"
    page.reload()
    page.locator("#scene[data-ready]").wait_for()
    page.keyboard.press("f")
    assert button.get_attribute("aria-pressed") == "false"
    page.keyboard.press("Shift+F")
    assert button.get_attribute("aria-pressed") == "true"


@pytest.mark.long
def test_strokes_of_the_brush_become_outlines(editor, kept):
    page = editor()
    mouse = Mouse(page, SIZE)
    page.keyboard.press("Shift+B")
    mouse.drag((100, 100), (300, 100))
    page.keyboard.press("]")
    mouse.drag((300, 100), (300, 200))
    page.keyboard.down("Alt")
    mouse.drag((100, 60), (100, 140))
    page.keyboard.up("Alt")
    page.keyboard.press("Enter")
    page.keyboard.type("worm")
    page.keyboard.press("Enter")
    scene = kept(page)
    assert list(rings(scene)) == ["worm"]
    corners = [scene["points"][point] for point in rings(scene)["worm"]]
    assert min(x for x, _ in corners) > 100
    assert max(y for _, y in corners) > 200
    for count in (1, 1, 1, 0):
        page.keyboard.press("z")
        assert page.locator(".regions > li").count() == count


@pytest.mark.long
def test_regions_are_painted_selected_together_and_moved_by_finger(editor, kept):
    page = editor(**BROWSERS["finger"])
    hand = Finger(page, SIZE)
    hand.take("mask")
    hand.drag((100, 100), (300, 100))
    hand.drag((300, 100), (300, 200))
    kept(page)
    selected = page.locator(".regions li.is-selected")
    for _ in range(20):
        # On a busy machine, hints still change while a stroke is traced, and a touch then hits none.
        hand.press('.hints [data-action="paint-new"]')
        page.wait_for_timeout(500)
        if not selected.count():
            break
    assert not selected.count()
    hand.drag((420, 300), (520, 300))
    page.locator(".regions > li").nth(1).wait_for()
    before = kept(page)["points"]
    hand.take("move")
    hand.tap((200, 100), hold_ms=1200)
    page.locator("#selected-regions strong", has_text="2 selected").wait_for()
    hand.drag((470, 300), (500, 320))
    after = kept(page)["points"]
    assert len(after) == len(before)
    for (x, y), (left, top) in zip(after, before, strict=True):
        assert abs(x - left - 30) + abs(y - top - 20) < 3


@pytest.mark.long
def test_fills_stay_while_a_region_is_moved_and_a_dialog_covers_what_is_said(editor):
    page = editor()
    hand = Mouse(page, SIZE)
    draw(page, hand, "house", "tree")
    page.keyboard.press("f")
    page.wait_for_timeout(200)
    hand.take("move")
    x, y = hand.at((200, 200))
    page.mouse.move(x, y)
    page.mouse.down()
    # The colour of the fill in every frame of the drag, at a place that the region never leaves.
    colours = page.evaluate_handle(
        """([x, y]) => {
            const canvas = segarena.editor.picture.overlay;
            const box = canvas.getBoundingClientRect();
            const [, ...painted] = document.querySelectorAll("#picture canvas"); // the first is the picture
            const ratio = canvas.width / box.width;
            const probe = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
            const seen = [];
            const look = () => {
              probe.clearRect(0, 0, 1, 1);
              const place = [(box.x - x) * ratio, (box.y - y) * ratio].map(Math.round);
              for (const one of painted) probe.drawImage(one, ...place);
              seen.push(probe.getImageData(0, 0, 1, 1).data[3]);
              requestAnimationFrame(look);
            };
            requestAnimationFrame(look);
            return seen;
          }""",
        list(hand.at((220, 260))),
    )
    page.mouse.move(x + 30, y + 20, steps=12)
    page.mouse.up()
    page.wait_for_timeout(100)
    alphas = colours.json_value()
    assert len(alphas) > 3
    assert min(alphas) > 0.9 * max(alphas) > 0
    page.evaluate("segarena.editor.say('Something to read.')")
    assert page.locator("#said").is_visible()
    page.locator("#help-open").click()
    page.evaluate("segarena.editor.say('Something to read.')")
    assert page.locator("#said").is_hidden()


@pytest.mark.long
def test_a_repaint_around_a_moved_region_looks_like_a_whole_one(editor):
    page = editor()
    mouse = Mouse(page, SIZE)
    draw(page, mouse, *PART)
    page.evaluate(COUNT_PATCHES)
    page.keyboard.press("a")
    mouse.tap((500, 250))
    mouse.drag((540, 150), (580, 120))
    patched = painting_at_rest(page)
    # One patch without the region when the drag began, and one with it at the end; each of lines and numbers.
    assert page.evaluate("window.patches") >= 4
    # The other setting repaints everything, and the setting itself once more.
    page.keyboard.press("p")
    assert painting_at_rest(page) != patched
    page.keyboard.press("p")
    assert painting_at_rest(page) == patched


def painting_at_rest(page):
    """Return what is painted above the picture once it no longer changes."""
    before = None
    until = time.monotonic() + 60
    while time.monotonic() < until:
        page.wait_for_timeout(400)
        now = page.evaluate(
            "[...document.querySelectorAll('#picture canvas')].slice(1).map((one) => one.toDataURL())"
        )
        if now == before:
            return now
        before = now
    pytest.fail("the painting goes on changing")


@pytest.mark.long
def test_brightness_and_contrast_change_the_display_alone_and_are_remembered(
    editor, enter, barriers
):
    page = editor()
    filter_of = "segarena.editor.picture.base.style.filter"
    page.keyboard.press("Shift+W")
    page.get_by_label("Brightness", exact=True).fill("50")
    assert page.evaluate(filter_of) == "brightness(2) contrast(1)"
    assert barriers(page) == {}
    page.keyboard.press("8")
    assert page.evaluate(filter_of) == "brightness(2) contrast(1.1487)"
    enter(page)
    assert page.evaluate(filter_of) == "brightness(2) contrast(1.1487)"
    page.keyboard.press("9")
    assert page.evaluate(filter_of) == ""
    assert page.evaluate("segarena.saving.base") == 0


@pytest.mark.long
def test_attributes_are_filled_in_by_keyboard_and_undone(alone, task, editor, kept, barriers):
    with alone.served.site.database.writing() as session:
        session.get_one(Project, session.get_one(Task, task).project_id).attributes = ATTRIBUTES
    page = editor()
    draw(page, Mouse(page, SIZE), "house")
    fields = page.locator(".regions .attributes")
    fields.get_by_label("occluded").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("s")
    page.keyboard.press("Tab")
    page.keyboard.type("zebra")
    page.keyboard.press("Enter")
    values = {"occluded": True, "view": "side", "note": "zebra"}
    assert kept(page)["regions"][0]["attributes"] == values
    assert barriers(page) == {}
    shown = alone.client().get(f"/studio/tasks/{task}/look").text
    assert "occluded, view: side, note: zebra" in shown
    page.keyboard.press("z")
    assert "note" not in kept(page)["regions"][0]["attributes"]
    assert fields.get_by_label("note").input_value() == ""
    page.reload()
    page.locator("#scene[data-ready]").wait_for()
    page.keyboard.press("a")
    assert fields.get_by_label("view").input_value() == "side"
    page.keyboard.press("z")
    page.keyboard.press("z")
    assert "attributes" not in kept(page)["regions"][0]


HOLE = ((140, 160), (200, 160), (200, 220), (140, 220))
ISLAND = ((360, 160), (420, 160), (420, 220), (360, 220))


@pytest.mark.long
@pytest.mark.parametrize("name", ["finger", "keys"])
def test_a_hole_and_a_further_part_are_drawn_deleted_and_undone(name, editor, kept, barriers):
    page = editor(**BROWSERS.get(name, {}))
    hand = HANDS[name](page, SIZE)
    draw(page, hand, "house")
    for outline, said in ((HOLE, "A hole was cut."), (ISLAND, "The region has a further part.")):
        hand.press('.regions li.is-selected button:has-text("Hole or part")')
        for place in outline:
            hand.tap(place)
        hand.close()
        page.locator("#said", has_text=said).wait_for()
    (house,) = kept(page)["regions"]
    assert (house["name"], house["starts"]) == ("house", [4, 8])
    lines = page.locator(".regions li.is-selected .overlap span")
    assert [text.split(" of ")[0] for text in lines.all_text_contents()] == ["Part", "Hole", "Part"]
    assert barriers(page) == {}
    hand.press('.regions li.is-selected .overlap:nth-child(2) button:has-text("Delete")')
    assert kept(page)["regions"][0]["starts"] == [4]
    page.keyboard.press("z")
    page.keyboard.press("z")
    assert page.evaluate("segarena.editor.scene.open.length") == 4, "the part is open again"
    hand.close()
    assert kept(page)["regions"][0]["starts"] == [4, 8]


@pytest.mark.long
def test_the_brush_cuts_holes_except_behind_what_covers_them(editor, kept):
    page = editor()
    mouse = Mouse(page, SIZE)
    draw(page, mouse, "house", "door")
    page.locator(".regions .grip").nth(1).click()
    page.keyboard.press("Shift+B")
    page.keyboard.down("Alt")
    mouse.drag((130, 170), (140, 170))
    assert "A hole was cut." in page.locator("#said").text_content()
    mouse.drag((200, 270), (201, 270))
    assert "so there is no hole here" in page.locator("#said").text_content()
    page.keyboard.up("Alt")
    house = kept(page)["regions"][1]
    assert len(house["starts"]) == 1
    page.keyboard.press("z")
    assert "starts" not in kept(page)["regions"][1]

"""Viewer: its responses, its permissions, and a person who views a run, a volume and a video."""

import re
import zlib
from urllib.parse import urljoin

import numpy as np
import pytest
from at_work import Served
from PIL import Image

import segarena
from segarena.reports.overlays import pixel_outline
from segarena_studio.pages import viewer as viewer_pages
from segarena_studio.standalone import open_standalone
from segarena_studio.viewer.catalog import Catalog, open_catalog

ADDRESSES = [route.path for route in viewer_pages.router.routes]


class ViewerSession:
    """A running viewer, and the address with the key of its person."""

    def __init__(self, folder, named, **how):
        site, key = open_standalone(folder, 0, workers=0)
        self.shelf = site.things[Catalog] = open_catalog(named, folder / "shelf", **how)
        self.served = Served(site)
        self.link = f"{self.served.address}/studio/open?key={key}&to=look"
        self.client = self.served.client(follow_redirects=True)
        assert self.client.get(self.link).status_code == 200

    def get(self, path, **parameters):
        return self.client.get(f"/studio/look/{path}", params=parameters)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder above two runs by the same rules; masks were kept after the first and the last round."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("watershed", "graph"):
        how = {"limit": 1, "rounds": 4, "keep_rounds": (1,), "stop_at_iou": None}
        segarena.evaluate("clicks", segmenter=name, dataset="demo", out=folder / name, **how)
    return folder


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """A folder of two photographs with masks, of which the second is damaged; and the mask."""
    folder = tmp_path_factory.mktemp("mine")
    for name in ("images", "masks"):
        (folder / name).mkdir()
    mask = np.zeros((20, 30), np.uint8)
    mask[5:9, 4:22] = 255
    for name in ("a", "b"):
        image = np.random.default_rng(3).integers(0, 256, (20, 30, 3), dtype=np.uint8)
        Image.fromarray(image).save(folder / "images" / f"{name}.png")
        Image.fromarray(mask).save(folder / "masks" / f"{name}.png")
    damaged = folder / "images/b.png"
    damaged.write_bytes(damaged.read_bytes()[:200])
    return folder, mask > 0


@pytest.fixture(scope="module")
def viewer(runs, photographs, tmp_path_factory):
    """Two runs on demo photographs, volumes, videos, and your own photographs."""
    named = map(str, (runs, "phantom", "demo-videos", photographs[0]))
    made = ViewerSession(tmp_path_factory.mktemp("look"), list(named))
    yield made
    made.served.stop()


@pytest.mark.parametrize("role", ["participant", "organiser", "admin"])
def test_a_server_with_accounts_has_none_of_it(served, role):
    client = served.person(f"looks as {role}", role)
    for address in ADDRESSES:
        path = re.sub(r"\{[a-z:]+\}", "0", address)
        answer = (
            client.post(path)
            if path.endswith("/replay")
            else client.get(path, params={"sample": "a", "names": "target"})
        )
        assert answer.status_code == 404, path


@pytest.mark.long
def test_a_shelf_on_a_site_with_accounts_stays_shut(served, viewer):
    served.site.things[Catalog] = viewer.shelf
    try:
        assert served.person("curious", "admin").get("/studio/look/0").status_code == 404
    finally:
        del served.site.things[Catalog]


def test_nobody_is_let_in_without_the_link(viewer):
    assert viewer.served.client().get("/studio/look/0").status_code == 303


def test_masks_come_as_the_dataset_has_them(viewer, photographs):
    content = viewer.get("3/content", sample="a").json()["content"]
    assert content["objects"] == [{"number": 1, "id": "object", "label": ""}]
    assert content["planes"][0]["size"] == [20, 30]
    assert viewer.get("3/layers/0/0", sample="a", names="target,ignored").json() == {
        "target": {"1": pixel_outline(photographs[1])},
        "ignored": {},
    }


def test_a_damaged_picture_is_a_sentence_and_its_neighbours_are_there(viewer):
    told = viewer.get("3/content", sample="b").json()
    assert "b.png" in told["problem"]
    assert told["around"]["previous"] == ["a", "", "", 0]
    for path in ("3/plane/0/0", "3/thumb"):
        answer = viewer.get(path, sample="b")
        assert answer.status_code == 422
        assert "b.png" in answer.json()["message"]
    assert viewer.get("3/plane/0/0", sample="a").status_code == 200


def test_what_is_not_there_is_said_or_unknown(viewer):
    assert "no sample 'none'" in viewer.get("0/content", sample="none").json()["problem"]
    assert (
        "no target 'none'"
        in viewer.get("0/content", sample="astronaut", target="none").json()["problem"]
    )
    assert "expected one of the columns" in viewer.get("0/rows", where="none<1").json()["message"]
    for path in ("9", "0/plane/3/0", "0/plane/0/1", "1/report"):
        assert viewer.get(path, sample="astronaut").status_code == 404
    for names in ("7", "99.1"):
        assert viewer.get("0/layers/0/0", sample="astronaut", names=names).status_code == 422


def test_the_colour_of_a_thumbnail_is_known_once_it_was_rendered(viewer):
    row = viewer.get("0/rows").json()["rows"][0]
    assert viewer.get("0/thumb", sample=row["sample"], target=row["target"]).status_code == 200
    assert re.fullmatch("#[0-9a-f]{6}", viewer.get("0/rows").json()["colours"][0])


@pytest.mark.long
def test_the_report_leads_here(viewer):
    report = viewer.get("0/report").text
    places = re.findall(r'href="(/studio/look/0/view\?[^"]+)"', report)
    assert len(set(places)) == viewer.shelf.collections[0].table.count(viewer_pages.TableQuery())
    assert "<style>" not in report
    assert viewer.client.get(places[0].replace("&amp;", "&")).status_code == 200


@pytest.mark.long
def test_a_page_weighs_little(viewer):
    text = viewer.get("0/view", sample="astronaut").text
    wanted = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)
    files = {}
    while wanted:
        path = wanted.pop()
        if path not in files:
            files[path] = viewer.client.get(path).text
            wanted += [urljoin(path, name) for name in re.findall(r'from "([^"]+)"', files[path])]
    assert sum(name.endswith(".js") for name in files) > 10
    assert sum(len(zlib.compress(file.encode())) for file in [text, *files.values()]) < 150_000


def until(page, is_so):
    """Wait until a condition holds, without the browser's own wait, which needs code in strings."""
    for _ in range(1200):
        if is_so():
            return
        page.wait_for_timeout(50)
    pytest.fail("it did not come to that")


def test_a_person_looks_at_a_run_a_volume_and_a_clip(viewer, open_page, barriers):
    page = open_page(viewer.link)
    page.get_by_role("link", name="demo", exact=True).click()
    page.get_by_role("listitem").first.wait_for()
    assert not barriers(page)
    page.get_by_label("Sort by").select_option("spread")
    page.get_by_label("largest first").check()
    first = viewer.get("0/rows", sort="-spread").json()["rows"][0]
    page.locator(f".thumbs .name >> text={first['target']}").click()
    page.locator("figcaption .value").first.wait_for()
    assert (
        page.get_by_role("heading", level=1).inner_text()
        == f"{first['sample']} / {first['target']}"
    )
    assert "1 of " in page.locator(".at").inner_text()
    # The keys change the round; the caption says that this one was not stored.
    page.keyboard.press("ArrowLeft")
    caption = page.locator("figcaption").last.inner_text()
    assert "answer after round 1; 3 was not stored" in caption
    page.keyboard.press("t")  # without panes of the target the curve stays
    assert page.locator("figure.target").count() == 0
    assert page.locator(".curve-of-rounds").count() == 1
    page.keyboard.press("t")
    page.keyboard.press("End")
    assert not page.locator("figcaption small").count()
    painted = "document.querySelectorAll('canvas')[3].toDataURL()"
    areas = page.evaluate(painted)
    page.keyboard.press("3")
    until(page, lambda: page.evaluate(painted) != areas)
    assert page.locator("[name=mode]").input_value() == "errors"
    assert not barriers(page)
    page.keyboard.press(".")
    until(page, lambda: page.locator(".at").inner_text().startswith("2 of"))
    assert "sort=-spread" in page.url

    # The report has the same viewer, and links back.
    page.get_by_role("link", name="Report").click()
    card = page.locator(".card").first
    card.locator(".bar input").first.fill("3")
    caption = card.locator("figcaption").last.inner_text()
    assert "answer after click 1; 3 was not stored" in caption
    card.get_by_role("link", name="In the viewer").click()
    page.locator("figcaption .value").first.wait_for()

    page.goto(f"{viewer.served.address}/studio/look/1/view?sample=ct-01")
    plates = page.locator(".plate")
    plates.nth(2).wait_for()
    before = plates.all_inner_texts()
    told = page.locator("[name=told-window]").inner_text()
    level, width = (
        float(page.locator(f"[name={name}]").input_value()) for name in ("level", "width")
    )
    assert [int(number) for number in re.findall(r"-?\d+", told)] == pytest.approx(
        [level, width], abs=1
    )
    page.locator(".frame").first.click(position={"x": 150, "y": 120})
    until(page, lambda: plates.nth(1).inner_text() != before[1])
    assert plates.first.inner_text() == before[0]
    page.mouse.wheel(0, 100)
    until(page, lambda: plates.first.inner_text() != before[0])
    page.locator("[name=preset]").select_option("bone")
    assert page.locator("[name=told-window]").inner_text() == "level 400, width 1800"
    assert not barriers(page)

    page.goto(f"{viewer.served.address}/studio/look/2/view?sample=crossing")
    plates.wait_for()
    page.keyboard.press(" ")
    until(page, lambda: "frame 1 of" not in plates.inner_text())
    page.keyboard.press(" ")
    assert page.get_by_role("button", name="Play").is_visible()
    assert not barriers(page)

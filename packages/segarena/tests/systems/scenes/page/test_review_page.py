import base64
import html
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from segarena.arrays.coco_rle import Rle
from segarena.systems.scenes.checks.consensus import check_set
from segarena.systems.scenes.demo.demo_files import write_demo
from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, SceneSet
from segarena.systems.scenes.page.review_page import review_page

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("review")
    write_demo(demo_scenes(images=2), folder)
    return folder


@pytest.fixture(scope="module")
def scenes():
    return SceneSet(
        scenes=tuple(drawing.scene for one in demo_scenes(images=2) for drawing in one.drawings)
    )


@pytest.fixture(scope="module")
def whole(scenes, folder):
    """The page of all scenes, which takes long to write."""
    return review_page(scenes, images=folder)  # also finds images/ in the folder


class Tags(HTMLParser):
    """Counts open tags, and records end tags without a start tag."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "input", "rect", "circle", "image", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in ("rect", "circle", "image"):
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass


@pytest.mark.long
def test_what_is_hidden_is_told_only_where_it_was_annotated(scenes, folder, whole):
    assert ">not annotated</td>" not in whole
    unordered = tuple(replace(scene, has_depth=False) for scene in scenes.scenes)
    page = review_page(replace(scenes, scenes=unordered), images=folder)
    assert page.count(">not annotated</td>") == sum(len(scene.regions) for scene in unordered)


@pytest.mark.long
def test_every_annotation_and_every_finding_is_on_the_page(scenes, folder):
    page = review_page(scenes, images=folder / "images")
    assert page.count('<section class="annotation"') == len(scenes.scenes)
    found = check_set(scenes)
    shown = re.findall(
        r'class="finding (\w+)" data-regions="([^"]*)"(?: data-x="([\d.]+)" data-y="([\d.]+)")?',
        page,
    )
    assert sorted(shown) == sorted(
        (
            d.severity,
            " ".join(d.regions),
            f"{d.place[1]:.1f}" if d.place else "",
            f"{d.place[0]:.1f}" if d.place else "",
        )
        for d in found
    )
    for defect in found:
        assert defect.message in html.unescape(page)


def test_the_page_is_whole_and_needs_nothing_else(whole):
    tags = Tags()
    tags.feed(whole)
    assert not tags.wrong
    assert not tags.open
    assert "http://" not in whole
    assert "https://" not in whole
    assert "default-src 'none'" in whole
    data = re.search(r"data:image/jpeg;base64,([^\"]+)", whole)[1]
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (320, 240)


def test_the_worst_come_first_and_the_rest_is_said_to_be_left_out(scenes, folder):
    page = review_page(scenes, images=folder, most=3)
    assert page.count('<section class="annotation"') == 3
    assert "7 annotations with fewer errors are not shown" in page
    rows = re.findall(r'<td>\w+</td><td class="num">\d+</td><td class="num">(\d*)</td>', page)
    errors = [int(count or 0) for count in rows]
    assert len(errors) == 3
    assert errors == sorted(errors, reverse=True)


@pytest.mark.long
def test_annotators_without_names_keep_their_own_findings(scenes, folder):
    nameless = replace(
        scenes, scenes=tuple(replace(scene, annotator="") for scene in scenes.scenes)
    )
    page = review_page(nameless, images=folder)
    assert page.count('class="finding ') == len(check_set(nameless)) == len(check_set(scenes))


def test_names_are_shown_and_never_run(tmp_path):
    mask = np.zeros((40, 50), dtype=bool)
    mask[5:30, 5:40] = True
    region = Region(id='1"', name=SCRIPT, mask=Rle.of(mask))
    image = ImageRecord(id="<b>", shape=mask.shape, file_name=f"{SCRIPT}.png")
    page = review_page(
        SceneSet(scenes=(Scene(image=image, annotator=SCRIPT, regions=(region,)),)),
        images=tmp_path,
        title=SCRIPT,
    )
    assert SCRIPT not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "no photograph" in page
    assert 'class="region c0"' in page


def test_no_file_outside_the_folder_gets_onto_the_page(tmp_path):
    Image.fromarray(np.zeros((40, 50, 3), np.uint8)).save(tmp_path / "secret.png")
    (tmp_path / "photos").mkdir()
    for name in ("../secret.png", str(tmp_path / "secret.png"), "..\\secret.png"):
        scene = Scene(image=ImageRecord(id="1", shape=(40, 50), file_name=name))
        assert "data:image" not in review_page(
            SceneSet(scenes=(scene,)), images=tmp_path / "photos"
        )


def test_annotations_that_cannot_be_drawn_are_on_the_page_all_the_same(scenes, folder):
    broken = replace(scenes.scenes[0].regions[0], rings=(), mask=Rle((3, 3), "9"))
    page = review_page(SceneSet(scenes=(scenes.scenes[0].replaced(broken),)), images=folder)
    assert "expected a mask of the image's size" in html.unescape(page)


@pytest.mark.long
@pytest.mark.parametrize("width", [1400, 390])
def test_every_link_and_control_is_large_enough(whole, tmp_path, open_page, small_targets, width):
    path = tmp_path / "review.html"
    path.write_text(whole, encoding="utf-8")
    page = open_page(path.as_uri(), width=width)
    page.locator(".annotation input").first.wait_for()
    assert small_targets(page) == []

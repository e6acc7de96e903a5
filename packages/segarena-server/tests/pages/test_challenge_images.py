"""Descriptions on pages: formatting, uploaded images, a preview in the form, and no scripts."""

import io
import re
import zipfile

import pytest
from PIL import Image
from sqlalchemy import select

from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import AuditEvent
from segarena_server.pages.challenge_export import export_challenge

TEXT = """Find **all** cats.

![A cat](cat.png) ![Elsewhere](https://evil.example/x.png)

# Data

| set | images |
|---|--:|
| train | 10 |

# Rules

<script>document.title = "run"</script> [x](javascript:document.title='run')

```
{long}
```
""".replace("{long}", "segarena run " * 30)


def image_file(size=(8, 6)):
    file = io.BytesIO()
    Image.new("RGB", size, (200, 80, 40)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def cats(served):
    """A challenge whose description uses everything; only people with an account see it."""
    challenge = ChallengeDescription(
        slug="cats",
        title="Cats",
        text=TEXT,
        benchmark="clicks(rounds=2)",
        dataset="sample-squares(count=2)",
        phases=(Phase(name="test"),),
        is_public=False,
    )
    make_challenge(served.site, challenge, lambda *_: None)
    return challenge


@pytest.fixture(scope="module")
def organiser(served, cats):
    client = served.person("Olga", "organiser", ["cats"])
    answer = upload(client, "Cat.png", image_file())
    assert answer.status_code == 303, answer.text
    return client


def key_of(client):
    return re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/organise/new").text)[1]


def upload(client, name, content):
    return client.post(
        "/organise/challenges/cats/images",
        data={"key": key_of(client)},
        files={"file": (name, content, "text/html")},
    )


def image_address(client):
    return re.search(
        r'<img src="(/challenges/cats/images/[^"]+)"', client.get("/challenges/cats").text
    )[1]


@pytest.mark.long
def test_the_page_shows_the_description_in_sections(organiser):
    page = organiser.get("/challenges/cats").text
    assert "<strong>all</strong>" in page
    assert '<section id="section-1"><h2>Data</h2>' in page
    assert 'data-tabs="Description"' in page
    assert "evil.example" not in page
    assert "javascript:" not in re.sub(r"\[x\]\(javascript:[^)]*\)", "", page)
    assert "<script>document" not in page
    assert '<p class="teaser">Find all cats.</p>' in organiser.get("/").text


def test_an_image_comes_from_our_origin_with_its_own_type(organiser):
    answer = organiser.get(image_address(organiser))
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == 'inline; filename="cat.png"'
    assert answer.headers["cache-control"].startswith("private")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "img-src 'self' data:;" in policy
    with Image.open(io.BytesIO(answer.content)) as image:
        assert image.size == (8, 6)


def test_an_image_is_as_hidden_as_its_challenge(served, organiser):
    address = image_address(organiser)
    assert served.client().get(address).status_code in (303, 404)
    assert served.person("Vera", "viewer").get(address).status_code == 200
    assert organiser.get("/challenges/cats/images/dog.png").status_code == 404


@pytest.mark.parametrize(
    "content", [b"<svg onload='alert(1)'/>", b"<script>alert(1)</script>", b"\x89PNG\r\n\x1a\n"]
)
def test_a_file_that_is_no_image_is_rejected_on_the_page(organiser, content):
    answer = upload(organiser, "<b>x</b>.png", content)
    assert answer.status_code == 422
    assert "expected a" in re.search(r'role="alert">([^<]*)<', answer.text)[1]
    assert "<b>x</b>" not in answer.text


def test_a_file_that_is_too_large_is_rejected_before_it_is_read(organiser):
    assert upload(organiser, "x.png", b"x" * (3 * 2**20)).status_code == 413


def test_only_a_form_of_this_site_uploads_and_deletes(organiser):
    files = {"file": ("x.png", image_file(), "image/png")}
    path = "/organise/challenges/cats/images"
    assert organiser.post(path, data={"key": "0" * 64}, files=files).status_code == 403
    assert organiser.post(f"{path}/delete", data={"image": "cat.png"}).status_code == 403
    assert "cat.png" in organiser.get(path).text


def test_images_are_deleted_and_both_are_in_the_log(served, organiser):
    path = "/organise/challenges/cats/images"
    assert upload(organiser, "dog.png", image_file()).status_code == 303
    assert "dog.png" in organiser.get(path).text
    for _ in range(2):
        form = {"key": key_of(organiser), "image": "dog.png"}
        assert organiser.post(f"{path}/delete", data=form).status_code == 303
    assert "dog.png" not in organiser.get(path).text
    with served.site.database.reading() as session:
        about = AuditEvent.about == "cats: dog.png"
        actions = session.scalars(select(AuditEvent.action).where(about)).all()
    assert actions == ["image uploaded", "image deleted"]


def test_the_form_shows_the_description_before_it_is_saved(organiser):
    form = {
        "key": key_of(organiser),
        "do": "describe",
        "text": "# A\n\n*new* ![x](cat.png)\n\n# B\n\n![y](no.png)",
    }
    changed = organiser.post("/organise/challenges/cats/change", data=form)
    assert changed.status_code == 200
    assert "<em>new</em> <img" in changed.text
    assert re.search(r'role="status">[^<]*no\.png', changed.text)
    assert "<em>new</em>" not in organiser.get("/challenges/cats").text
    new = organiser.post("/organise/new", data={**form, "title": "Kept"})
    assert "<em>new</em>" in new.text
    assert 'value="Kept"' in new.text


def test_the_export_has_the_description_and_its_images(served, organiser, tmp_path):
    file = export_challenge(served.site, "cats", tmp_path / "cats.zip")
    with zipfile.ZipFile(file) as archive:
        page = archive.read("cats/index.html").decode()
        assert '<img src="files/images/cat.png"' in page
        assert "<h2>Rules</h2>" in page
        assert archive.read("cats/files/images/cat.png").startswith(b"\x89PNG")


@pytest.mark.long
def test_sections_are_tabs_for_the_keyboard_and_follow_each_other_without_scripts(
    served, organiser, open_page, barriers, page_widths
):
    page = open_page(served.address)
    for name, value in organiser.cookies.items():
        page.context.add_cookies([{"name": name, "value": value, "url": served.address}])
    page.goto(f"{served.address}/challenges/cats")
    tabs = page.get_by_role("tab")
    assert tabs.all_inner_texts() == ["Data", "Rules"]
    assert page.get_by_role("tabpanel").count() == 1
    tabs.first.focus()
    for key, name in (
        ("ArrowRight", "Rules"),
        ("ArrowRight", "Data"),
        ("ArrowLeft", "Rules"),
        ("Home", "Data"),
        ("End", "Rules"),
    ):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.innerText") == name
        assert page.get_by_role("tab", selected=True).inner_text() == name
        assert page.get_by_role("tabpanel").get_attribute("aria-labelledby") == (
            page.get_by_role("tab", selected=True).get_attribute("id")
        )
    page.goto(f"{served.address}/challenges/cats#section-2")
    page.reload()
    assert page.get_by_role("tab", selected=True).inner_text() == "Rules"
    assert page.title() == "Cats · segarena"
    places = ("/challenges/cats", "/organise/challenges/cats/images")
    for place in places:
        page.goto(f"{served.address}{place}")
        for width, scheme in ((1400, "light"), (390, "dark"), (390, "light"), (1400, "dark")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            assert max(page_widths(page).values()) <= width, (place, width)
            assert barriers(page) == {}, (place, width, scheme)
    without = page.context.browser.new_context(java_script_enabled=False)
    without.add_cookies(
        [{"name": n, "value": v, "url": served.address} for n, v in organiser.cookies.items()]
    )
    plain = without.new_page()
    plain.goto(f"{served.address}/challenges/cats")
    assert plain.locator(".described > section").count() == 2
    assert plain.get_by_role("heading", name="Rules", exact=True).is_visible()
    assert plain.get_by_role("heading", name="Data", exact=True).is_visible()
    without.close()

"""A study from its form to its export, with leaders and participants in a browser."""

import re
import shutil
import zipfile
from io import BytesIO

import numpy as np
import polars as pl
import pytest
from at_work import Here
from participant_browser import ParticipantBrowser
from PIL import Image
from sqlalchemy import delete, update
from study_fixtures import NO_TIME, ParticipantClient, answer, link_of, study_of
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena.errors import InvalidInput
from segarena.registry import build
from segarena.systems.clicks.crowd.clicks_table import check_clicks, read_clicks
from segarena_people.prompt_checks import check_prompts
from segarena_people.prompt_table import read_prompt_frame
from segarena_server.auth.permissions import cookie_name
from segarena_server.challenges.description import ChallengeDescription, Phase, challenge_text
from segarena_server.db import orm_models
from segarena_server.db.orm_models import Job
from segarena_server.workers.pool import JobRunner
from segarena_studio.studies.description import Study
from segarena_studio.studies.hidden_datasets import HiddenDataset, check_samples
from segarena_studio.studies.jobs import CorrectStudy, MakeStudy
from segarena_studio.studies.management import check_new

SIZES = ((1400, "light"), (390, "dark"))
FORM = {
    "title": "On a page", "slug": "on-a-page", "dataset": "sample-squares(count=4)", "batch": "2", "batches": "2",
    "answers": "5", "training": "0", "attention": "1", "kinds.click": "on", "modes.silhouette": "on",
    "modes.text": "on", "devices.pc": "on", "free_s": "0.5", "seed": "3",
}  # fmt: skip


@pytest.fixture(scope="module")
def leader(served):
    return served.person("Lea", "organiser")


def key_of(client):
    return re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/team").text)[1]


@pytest.mark.long
def test_a_study_is_made_on_a_page_by_a_job(served, leader):
    wrong = {
        **FORM,
        "key": key_of(leader),
        "slug": "No",
        "answers": "many",
        "dataset": "folder(path='/etc')",
    }
    told = leader.post("/studio/studies/new", data=wrong)
    assert told.status_code == 422
    assert "expected a whole number, got &#39;many&#39;" in told.text
    told = leader.post("/studio/studies/new", data={**wrong, "answers": "5", "slug": "on-a-page"})
    assert "the server&#39;s settings name no roots" in told.text
    made = leader.post("/studio/studies/new", data={**FORM, "key": key_of(leader)})
    assert made.headers["location"] == "/studio/studies/on-a-page"
    waiting = leader.get("/studio/studies/on-a-page")
    assert waiting.headers["refresh"] == "2"
    assert "being created" in leader.get("/studio/studies").text
    assert JobRunner(served.site, [MakeStudy()], Here()).run_next()
    page = leader.get("/studio/studies/on-a-page").text
    assert "4 targets" in page
    assert "silhouette" in page
    again = leader.post("/studio/studies/new", data={**FORM, "key": key_of(leader)})
    assert "choose another name" in again.text
    like = leader.get("/studio/studies/new?like=on-a-page").text
    assert 'name="modes.text" value="on" checked' in like
    assert 'name="free_s" type="text" value="0.5"' in like


def test_no_study_shows_what_an_open_challenge_hides(served, leader):
    hidden, given = "sample-squares(count=7, side=30)", "sample-squares(count=7, side=31)"
    phases = (
        Phase(name="final", seed=1),
        Phase(name="try", kind="practice", dataset=given, takes=("run",)),
    )
    told = ChallengeDescription(
        slug="hides", title="Hides", benchmark="clicks", dataset=hidden, phases=phases
    )
    with served.site.database.writing() as session:
        session.add(
            orm_models.Challenge(slug="hides", description=challenge_text(told), made_at=0.0)
        )
    form = {
        **FORM,
        "key": key_of(leader),
        "dataset": "sample-squares(side=30,count=7)",
        "slug": "shows",
    }
    refused = leader.post("/studio/studies/new", data=form)
    assert refused.status_code == 422
    assert "challenge hides hides them" in refused.text
    with served.site.database.writing() as session:
        check_new(session, Study(slug="shows", title="S", dataset=given))
        session.execute(
            update(orm_models.Challenge)
            .where(orm_models.Challenge.slug == "hides")
            .values(state="closed")
        )
        check_new(session, Study(slug="shows", title="S", dataset=hidden))
        session.execute(delete(orm_models.Challenge).where(orm_models.Challenge.slug == "hides"))


def test_the_files_of_a_challenge_are_known_under_other_names(served, leader, tmp_path):
    (tmp_path / "hidden" / "images").mkdir(parents=True)
    (tmp_path / "hidden" / "masks").mkdir()
    for number in range(3):
        mask = np.zeros((40, 50), np.uint8)
        mask[5 : 20 + number, 8:30] = 255
        for kind, pixels in (
            ("images", np.full((40, 50, 3), 80 + number, np.uint8)),
            ("masks", mask),
        ):
            Image.fromarray(pixels).save(tmp_path / "hidden" / kind / f"{number}.png")
    shutil.copytree(tmp_path / "hidden", tmp_path / "copy")
    (tmp_path / "copy" / "images" / "0.png").rename(tmp_path / "copy" / "images" / "z.png")
    (tmp_path / "copy" / "masks" / "0.png").rename(tmp_path / "copy" / "masks" / "z.png")
    copy = build("dataset", f"folder(path={str(tmp_path / 'copy')!r})")
    hidden = [
        HiddenDataset("secret", f"folder(path={str(tmp_path / 'hidden')!r})"),
        HiddenDataset("gone", "folder(path='/none')"),
    ]
    with pytest.raises(InvalidInput, match="challenge secret hides them"):
        check_samples("folder(path='copy')", copy, hidden)
    for (
        number
    ) in "12z":  # the photographs are there, and what is to be segmented in them is something else
        Image.fromarray(np.full((40, 50), 255, np.uint8)).save(
            tmp_path / "copy" / "masks" / f"{number}.png"
        )
    check_samples(
        "folder(path='copy')", build("dataset", f"folder(path={str(tmp_path / 'copy')!r})"), hidden
    )


@pytest.mark.long
def test_a_second_round_is_asked_for_on_the_page(served, leader):
    site = served.site
    made = study_of(
        site,
        slug="again",
        training=0,
        attention=0,
        dataset="sample-squares(count=1)",
        batch=1,
        batches=1,
    )
    place, key = f"/studio/studies/{made.slug}", key_of(leader)
    refused = leader.post(f"{place}/corrections", data={"key": key, "segmenter": "graph"})
    assert refused.status_code == 422
    assert "no counted click in the first round" in refused.text
    assert 'value="graph"' in refused.text
    for text, why in (
        ("worker('x')", "starts programs"),
        ("model.py:Model", "expected an installed segmenter"),
        ("((", "expected NAME"),
        ("geodesic", "geodesic, which takes volumes"),
        ("colour-flow", "which takes videos"),
        ("target-box", "which sees the ground truth"),
        ("copy-support-mask", "which takes no clicks"),
    ):
        assert why in leader.post(f"{place}/corrections", data={"key": key, "segmenter": text}).text
    offered = re.findall(
        r"<option>([\w-]+)</option>",
        refused.text.partition('id="segmenters"')[2].partition("</datalist>")[0],
    )
    assert {"graph", "grabcut", "image-blind"} <= {*offered}
    assert not {"geodesic", "colour-flow", "target-box", "copy-support-mask", "worker", "sam2"} & {
        *offered
    }
    taker = ParticipantClient(served.client(), link_of(made))
    taker.give(taker.post("batch").json(), answer((7.5, 5.5)))
    assert taker.next()["state"] == "done"
    asked = leader.post(
        f"{place}/corrections", data={"key": key, "segmenter": "whole=nearest-prompt"}
    )
    assert asked.headers["location"] == f"{place}#corrections"
    assert "under way" in leader.get(place).text
    assert JobRunner(site, [CorrectStudy()], Here()).run_next()
    page = leader.get(place).text
    added = int(re.search(r"<b>whole</b>: (\d+) targets? added", page)[1])
    assert added >= 1
    assert f"{1 + added} targets" in page
    again = leader.post(
        f"{place}/corrections", data={"key": key, "segmenter": "whole=nearest-prompt"}
    )
    assert "has corrections of whole already" in again.text
    leader.post(place, data={"key": key, "state": "deleted"})
    study_of(
        site,
        slug="again",
        training=0,
        attention=0,
        dataset="sample-squares(count=1)",
        batch=1,
        batches=1,
    )
    assert "added" not in leader.get(place).text, "that was another study"


def test_what_cannot_be_made_is_told(served, leader):
    key = key_of(leader)
    leader.post("/studio/studies/new", data={**FORM, "key": key, "slug": "too-few", "batch": "9"})
    runner = JobRunner(served.site, [MakeStudy()], Here())
    while runner.run_next():
        pass
    assert (
        "expected at least 9 different images, got 4" in leader.get("/studio/studies/too-few").text
    )
    with served.site.database.reading() as session:
        assert session.query(Job).filter(Job.about == "too-few").one().state == "dead"


def test_links_are_made_and_ended_and_a_study_is_closed_and_deleted(served, leader):
    made = study_of(served.site, slug="short-lived", training=0)
    key, place = key_of(leader), f"/studio/studies/{made.slug}"
    assert leader.post(f"{place}/links", data={"key": key, "most": "0"}).status_code == 422
    assert (
        leader.post(
            f"{place}/links", data={"key": key, "most": "2", "label": "<b>x</b>"}
        ).status_code
        == 303
    )
    page = leader.get(place).text
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    text = re.search(r"/studio/take/([\w-]+)", page)[1]
    taker = ParticipantClient(served.client(), text)
    step = taker.post("batch").json()
    taker.give(step, answer((10, 10), pointer="touch"))
    leader.post(f"{place}/links/{text}/end", data={"key": key})
    assert "is no longer valid" in served.client().get(f"/studio/take/{text}").text
    leader.post(place, data={"key": key, "state": "closed"})
    assert taker.next()["state"] == "working"
    leader.post(place, data={"key": key, "state": "deleted"})
    assert leader.get(place).status_code == 404
    assert taker.client.get(f"{taker.base}/next").status_code == 404


def test_a_rejected_link_is_told_in_its_form_and_keeps_what_was_typed(served, leader):
    made = study_of(served.site, slug="few-links", training=0)
    key, place = key_of(leader), f"/studio/studies/{made.slug}"
    for most, told in (
        ("0", "People per link: expected 1 to"),
        ("many", "People per link: expected a whole number"),
    ):
        form = {"key": key, "most": most, "label": "first week"}
        answer = leader.post(f"{place}/links", data=form)
        assert answer.status_code == 422
        form = re.search(rf'<form[^>]*action="{place}/links".*?</form>', answer.text, re.DOTALL)[0]
        assert told in form
        assert 'value="first week"' in form
        assert f'value="{most}"' in form
    answer = leader.post(place, data={"key": key, "state": "sideways"})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text.partition('id="end"')[2]


def test_links_have_the_address_at_which_the_server_listens(served, leader, segarena):
    made = study_of(served.site, slug="found-links", training=0)
    leader.post(f"/studio/studies/{made.slug}/links", data={"key": key_of(leader), "most": "2"})
    # The settings have port 0, for which the system chose another one.
    on_page = re.search(r"\S+/studio/take/[\w-]+", leader.get(f"/studio/studies/{made.slug}").text)
    assert served.address in on_page[0]
    data = served.site.folder.path
    printed = segarena("people", "study", "link", made.slug, "--data", data).stdout.strip()
    assert printed.startswith(f"{served.address}/studio/take/")
    path = printed.removeprefix(served.address)
    assert served.client().get(path).status_code == 200


def export_of(client, slug):
    archive = client.get(f"/studio/studies/{slug}/export")
    assert archive.headers["content-type"] == "application/zip"
    return zipfile.ZipFile(BytesIO(archive.content))


@pytest.fixture(scope="module")
def collected(served):
    """A study with clicks and scribbles on objects and on missing parts of masks."""
    return study_of(
        served.site, slug="clicks-and-scribbles", dataset="sample-squares(count=8)", kinds=("click", "scribble"),
        modes=("highlighted",), corrections=("graph",), batches=1, batch=1, seed=1, **NO_TIME,
    )  # fmt: skip


@pytest.mark.long
def test_three_people_with_mouse_finger_and_keys(
    served, leader, collected, open_warm_page, barriers, tmp_path
):
    link = f"{served.address}/studio/take/{link_of(collected)}"
    mouse = ParticipantBrowser(open_warm_page(link), served.site)
    mouse.agree("pc")
    finger = ParticipantBrowser(
        open_warm_page(link, width=390, height=800, scheme="dark", has_touch=True, is_mobile=True),
        served.site,
    )
    assert barriers(finger.page) == {}
    finger.agree("mobile")
    keys = ParticipantBrowser(open_warm_page(link), served.site)
    keys.agree("pc")
    for runner in (mouse, finger, keys):
        runner.allowed()
        if runner is finger:
            assert barriers(runner.page) == {}
        give = runner.give_by_keys if runner is keys else runner.give
        give(is_touch=runner is finger)
        runner.go_on("Next")
        runner.go_on("Continue")
        for _ in range(2):
            give(is_touch=runner is finger)
        runner.page.locator(".code").wait_for()
        assert runner is mouse or barriers(runner.page) == {}
        assert runner.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    with export_of(leader, collected.slug) as archive:
        archive.extractall(tmp_path)
    frame = read_prompt_frame(tmp_path / "prompts.parquet")
    assert [finding for finding in check_prompts(frame) if finding.is_error] == []
    assert frame.height == 9
    found = frame.select("person", "pointer", "kind", "device").unique()
    assert found["person"].n_unique() == 3
    assert frame["person"].is_sorted()  # and not in the order in which they came
    assert found.select("pointer", "device").sort("pointer").rows() == [
        ("keyboard", "pc"), ("mouse", "pc"), ("touch", "mobile"),
    ]  # fmt: skip
    assert set(found.filter(device="pc")["kind"]) == {
        "click",
        "scribble",
    }  # one each, whoever came first
    assert set(frame.filter(pl.col("purpose") == "main")["fate"]) == {""}
    strokes = frame.filter(pl.col("kind") == "scribble")["points"].list.len()
    assert strokes.min() >= 3
    clicks = read_clicks(tmp_path / "clicks.csv")
    assert not any(finding.is_error for finding in check_clicks(clicks).findings)
    assert (clicks["w"].unique().to_list(), clicks["batch"].n_unique()) == (
        [32],
        clicks["person"].n_unique(),
    )
    checked = CliRunner().invoke(
        app, ["people", "check-prompts", str(tmp_path / "prompts.parquet")]
    )
    assert checked.exit_code == 0
    assert "9 prompts of 3 people" in checked.output
    told = [
        "click-data",
        "check-table",
        str(tmp_path / "clicks.csv"),
        "--dataset",
        "sample-squares(count=8)",
    ]
    assert CliRunner().invoke(app, told).exit_code == 0


def test_boxes_and_lassos_are_drawn_and_withdrawn(served, leader, open_warm_page, barriers):
    made = study_of(
        served.site,
        slug="around",
        kinds=("box", "lasso"),
        training=0,
        attention=0,
        batch=1,
        batches=1,
        **NO_TIME,
    )
    link = f"{served.address}/studio/take/{link_of(made)}"
    runner = ParticipantBrowser(open_warm_page(link), served.site)
    for is_first in (True, False):  # people, of whom each gives another kind
        runner.agree("pc")
        runner.page.locator("#go").wait_for()
        assert is_first or barriers(runner.page) == {}
        runner.go_on()
        runner.give()
        runner.page.locator(".code").wait_for()
        if is_first:
            runner.page.context.clear_cookies()
            runner.page.goto(link)
    with export_of(leader, made.slug) as archive:
        frame = pl.read_parquet(archive.read("prompts.parquet"))
    assert frame.select("kind", "fate").sort("kind").rows() == [("box", ""), ("lasso", "")]
    runner.page.locator("summary").click()
    runner.page.get_by_label("Delete all my answers").check()
    runner.page.get_by_role("button", name="Delete").click()
    runner.page.get_by_role("heading", name="Your answers are deleted").wait_for()
    assert barriers(runner.page) == {}
    with export_of(leader, made.slug) as archive:
        assert pl.read_parquet(archive.read("prompts.parquet")).height == 1


@pytest.mark.long
def test_the_leader_s_pages_are_whole(
    served, leader, collected, open_warm_page, barriers, page_widths
):
    place = f"{served.address}/studio/studies"
    name = cookie_name(served.site)
    cookie = {"name": name, "value": leader.cookies[name], "url": served.address}
    page = open_warm_page(place, cookies=[cookie])
    own = f"{place}/{collected.slug}"
    for address, sizes in (
        (place, SIZES[1:]),
        (f"{place}/new", SIZES),
        (own, SIZES),
        (f"{own}/items/0", SIZES[:1]),
    ):
        page.goto(address)
        for width, scheme in sizes:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            assert page.locator("h1").count() == 1
            assert max(page_widths(page).values()) <= width, (address, width)
            assert barriers(page) == {}, (address, width)


@pytest.mark.long
def test_a_page_that_is_loaded_again_comes_back_to_the_same_moment(served, leader, open_warm_page):
    """The target is shown for a minute; a participant who returns after a minute can give a prompt immediately."""
    site = served.site
    slow = study_of(
        site, slug="slowly", training=0, attention=0, free_s=0.0, shown_s=60.0, blocked_s=0.0
    )
    runner, clock = (
        ParticipantBrowser(open_warm_page(f"{served.address}/studio/take/{link_of(slow)}"), site),
        site.clock,
    )
    runner.agree("pc")
    runner.go_on()
    runner.page.locator('#stage[data-phase="shown"]').wait_for()
    try:
        site.clock = lambda: clock() + 60.0
        runner.page.reload()
        runner.give()
        runner.page.wait_for_function(
            "() => document.getElementById('place').textContent.startsWith('2 of')"
        )
    finally:
        site.clock = clock
    with export_of(leader, slow.slug) as archive:
        frame = pl.read_parquet(archive.read("prompts.parquet"))
    assert frame["reloads"].to_list() == [1]
    assert frame["shown_ms"].to_list() == [0.0]
    assert frame["server_ms"][0] > 60_000

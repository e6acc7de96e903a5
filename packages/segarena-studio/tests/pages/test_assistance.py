"""Prompts about the picture of one's own task are answered; all other requests are rejected early."""

import os
import signal

import pytest
from annotation_fixtures import (
    HEIGHT,
    WIDTH,
    EditorClient,
    give_task,
    picture,
    project_of,
    tasks_of,
)

from segarena.plugin_spec import PluginSpec
from segarena_studio.assistance.offered_segmenters import assistants_of
from segarena_studio.assistance.prompt_messages import ClickMessage
from segarena_studio.assistance.segmenter_process import (
    AnswerRequest,
    AssistantLimits,
    PictureFile,
    SegmenterJob,
)
from segarena_studio.pages.assistance import MOST_BYTES

CLICK = {"kind": "click", "at": [60.5, 45.5]}


@pytest.fixture(scope="module")
def people(served):
    roles = {"Lou": "organiser", "Ann": "participant", "Ben": "participant", "Rob": "participant"}
    return {name: EditorClient(served, name, role) for name, role in roles.items()}


@pytest.fixture(scope="module")
def task(served, people):
    """A task of Ann, in a project where Rob reviews and Ben annotates something else."""
    members = {"Rob": "reviewer", "Ann": "annotator", "Ben": "annotator"}
    project = project_of(served.site, people["Lou"].id, members, segmenters=("watershed",))
    return give_task(served.site, tasks_of(served.site, project)[0], people["Ann"].id)


def asked(*prompts, segmenter="watershed"):
    return {"segmenter": segmenter, "prompts": list(prompts)}


@pytest.mark.long
def test_a_click_is_answered_with_the_run_lengths_of_a_mask(served, people, task, tmp_path):
    ann = people["Ann"]
    ready = ann.ask("POST", f"{task}/encode", {"segmenter": "watershed"})
    assert ready.status_code == 202
    answer = ann.ask("POST", f"{task}/ask", asked(CLICK))
    assert answer.status_code == 200, answer.text
    told = answer.json()
    (tmp_path / "picture.png").write_bytes(picture(0))
    unit = AnswerRequest(PictureFile(tmp_path / "picture.png", "x"), (ClickMessage((60.5, 45.5)),))
    expected = SegmenterJob(PluginSpec("watershed"), AssistantLimits()).open()(unit)
    assert told["size"] == [HEIGHT, WIDTH]
    assert told["counts"] == expected.runs.tolist()
    assert told["encode_ms"] == 0 <= told["model_ms"] <= told["total_ms"]


def test_nobody_asks_about_a_task_that_is_not_theirs(people, task):
    for name in ("Ben", "Rob", "Lou"):
        for place, body in (("ask", asked(CLICK)), ("encode", {"segmenter": "watershed"})):
            assert people[name].ask("POST", f"{task}/{place}", body).status_code == 404


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (asked(CLICK, segmenter="grabcut"), "one that the project offers, watershed"),
        (asked(CLICK, segmenter="worker('rm -rf /')"), "one that the project offers"),
        (asked({"kind": "click", "at": [WIDTH, 1]}), "outside"),
        (asked(), "length"),
        (asked({"kind": "mask"}), "Invalid value"),
        ({**asked(CLICK), "more": 1}, "unknown field"),
        ([], "Expected `object`"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_line(people, task, body, told):
    answer = people["Ann"].ask("POST", f"{task}/ask", body)
    assert answer.status_code == 422
    assert told in answer.json()["message"]
    assert "\n" not in answer.json()["message"]


def test_too_much_another_site_and_an_old_key_are_refused_before_the_body_is_read(people, task):
    ann = people["Ann"]
    large = {"kind": "scribble", "points": [[1.23456789, 2.3456789]] * (MOST_BYTES // 20)}
    assert ann.ask("POST", f"{task}/ask", asked(large)).status_code == 413
    assert (
        ann.ask("POST", f"{task}/ask", asked(CLICK), origin="https://elsewhere.example").status_code
        == 403
    )
    refused = ann.ask("POST", f"{task}/ask", asked(CLICK), **{"x-form-key": "0" * 64})
    assert (refused.status_code, refused.json()["error"]) == (403, "form")


def test_a_page_of_an_earlier_session_gets_the_key_of_this_one(served, people):
    ann = people["Ann"]
    answer = ann.client.get("/studio/key", headers={"accept": "application/json"})
    assert answer.json() == {"key": ann.key, "person": ann.id}
    signed_out = served.client().get("/studio/key", headers={"accept": "application/json"})
    assert (signed_out.status_code, signed_out.json()["error"]) == (401, "token")


def test_a_project_is_offered_what_it_chose_of_what_there_is_and_else_everything(
    served, people, task
):
    assert people["Ann"].ask("GET", f"{task}/draft").json()["segmenters"] == ["watershed"]
    there = assistants_of(served.site)
    assert there.among(()) == ("graph", "grabcut", "watershed")
    assert there.among(("grabcut", "of another server")) == ("grabcut",)


@pytest.mark.long
def test_a_process_that_was_killed_is_not_noticed(served, people, task):
    for number in assistants_of(served.site).of("watershed").numbers:
        os.kill(number, signal.SIGKILL)
    assert people["Ann"].ask("POST", f"{task}/ask", asked(CLICK)).status_code == 200

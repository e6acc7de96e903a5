import json

import pytest
from typer.testing import CliRunner

from segarena.cli.main import app


def run(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["amodal", *map(str, arguments)])


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    assert run("demo", "--out", folder, "--images", 2).exit_code == 0
    return folder


def test_demo_writes_photographs_drawings_and_the_truth(demo):
    assert {file.name for file in demo.iterdir()} == {
        "images",
        "scenes.json",
        "true_scenes.json",
        "truth.json",
    }
    assert len(list((demo / "images").glob("*.png"))) == 2
    assert len(json.loads((demo / "truth.json").read_text())) == 2


@pytest.mark.long
def test_check_finds_no_error_in_what_is_true_and_some_in_what_was_drawn(demo):
    sound = run("check-annotations", demo / "true_scenes.json")
    assert sound.exit_code == 0
    assert "2 annotations of 2 images: 0 errors" in sound.output
    drawn = run("check-annotations", demo / "scenes.json")
    assert drawn.exit_code == 1
    assert "error: image 2, annotator confused, region " in drawn.output
    assert (
        "and " in run("check-annotations", demo / "scenes.json").output
        or "10 annotations" in drawn.output
    )


@pytest.mark.long
def test_repair_leaves_no_outline_that_crosses_itself(demo):
    assert "[self-intersection]" in run("check-annotations", demo / "scenes.json", "--all").output
    assert (
        "[self-intersection]"
        not in run("check-annotations", demo / "scenes.json", "--repair", "--all").output
    )


def test_convert_says_what_is_lost_and_picks_an_annotator(demo, tmp_path):
    done = run(
        "convert",
        demo / "scenes.json",
        tmp_path / "labels",
        "--to",
        "png-16",
        "--annotator",
        "exact",
    )
    assert done.exit_code == 0
    assert "png-16 cannot store names" in done.output
    assert "2 annotations of 2 images" in done.output
    assert sorted(file.name for file in (tmp_path / "labels").iterdir()) == [
        "scene-1.png",
        "scene-2.png",
    ]


def test_convert_tells_what_was_left_out_by_its_exit_code(demo, tmp_path):
    value = json.loads((demo / "true_scenes.json").read_text())
    value["annotations"][0]["regions"][0]["segmentation"] = [1, 2, 3]
    (tmp_path / "a.json").write_text(json.dumps(value))
    done = run("convert", tmp_path / "a.json", tmp_path / "b.json", "--to", "coco")
    assert done.exit_code == 1
    assert (
        "error: image 1, annotator truth, region 1: polygon: expected an even number" in done.output
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("check-annotations", "none.json"),
        ("convert", "none.json", "x"),
        ("check-annotations", "none.json", "--from", "word"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(arguments):
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.output.startswith("error: ")
    assert done.output.count("\n") == 1


def test_reduce_writes_a_picture_for_each_annotation(demo, tmp_path):
    done = run(
        "reduce", demo / "scenes.json", tmp_path / "edges", "--to", "edges", "--annotator", "steady"
    )
    assert done.exit_code == 0
    assert "edges of 2 annotations of 2 images: 2 files in" in done.output
    assert run("reduce", demo / "scenes.json", tmp_path / "x", "--to", "depth").exit_code == 2


def test_review_writes_one_page(demo, tmp_path):
    done = run("review", demo / "scenes.json", "--out", tmp_path / "review.html", "--most", 4)
    assert done.exit_code == 0
    page = (tmp_path / "review.html").read_text(encoding="utf-8")
    assert page.count('<section class="annotation"') == 4
    assert "data:image/jpeg" in page


def test_what_holds_no_annotations_is_refused_and_writes_nothing(demo, tmp_path):
    done = run("convert", demo / "truth.json", tmp_path / "x.json", "--from", "coco-amodal")
    assert done.exit_code == 2
    assert not (tmp_path / "x.json").exists()
    nowhere = run(
        "review",
        demo / "scenes.json",
        "--images",
        tmp_path / "nowhere",
        "--out",
        tmp_path / "x.html",
    )
    assert (nowhere.exit_code, "expected a folder of photographs" in nowhere.output) == (2, True)


def test_convert_counts_what_the_format_keeps(demo, tmp_path):
    done = run("convert", demo / "scenes.json", tmp_path / "x.json", "--to", "coco")
    assert "8 annotations are left out" in done.output
    assert "2 of 10 annotations of 2 images" in done.output
    numbers = run("convert", demo / "scenes.json", tmp_path / "x.csv", "--to", "csv").output
    assert "csv cannot store outlines and masks: the file contains only numbers" in numbers
    assert "only visible parts" not in numbers

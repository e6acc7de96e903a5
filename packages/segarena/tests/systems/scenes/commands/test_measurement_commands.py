import json
import re
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from segarena.arrays.coco_rle import Rle
from segarena.arrays.label_edges import thin_label_edges
from segarena.cli.main import app
from segarena.systems.scenes.demo.demo_files import write_demo
from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.model.rasters import rasterise


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder, demo = tmp_path_factory.mktemp("demo"), demo_scenes(images=2)
    write_demo(demo, folder)
    return folder, demo


@pytest.fixture
def scenes(written, tmp_path):
    folder, demo = written
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return demo


def run(*arguments, code=0):
    done = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["amodal", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.long
def test_statistics_are_printed_and_written_and_go_on(tmp_path, scenes):
    for _ in range(2):
        text = run("statistics", tmp_path / "scenes.json", "--out", tmp_path / "out")
        assert "regions per annotation" in text
    page = (tmp_path / "out" / "statistics.html").read_text()
    assert "Depth layers" in page
    assert json.loads((tmp_path / "out" / "statistics.json").read_text())["images"] == 2
    assert len((tmp_path / "out" / "images.jsonl").read_text().splitlines()) == 3


@pytest.mark.long
def test_agreement_is_printed_and_written_with_pictures(tmp_path, scenes):
    text = run("agreement", tmp_path / "scenes.json", "--out", tmp_path / "out", "--overlays", 2)
    assert "depth order" in text
    page = (tmp_path / "out" / "agreement.html").read_text()
    assert page.count("<img") == 2
    shown = [float(number) for number in re.findall(r"<figcaption>[^<]*: mean F ([\d.]+);", page)]
    assert len(shown) == 2
    assert shown == sorted(shown, reverse=True)
    assert json.loads((tmp_path / "out" / "agreement.json").read_text())["pairs"] == 20
    refused = run(
        "agreement", tmp_path / "scenes.json", "--out", tmp_path / "out", "--strict", code=2
    )
    assert "choose another --out" in refused


def test_edges_of_the_truth_are_nearly_those_of_everyone(tmp_path, scenes):
    maps = tmp_path / "maps"
    maps.mkdir()
    for number, scene in enumerate(scenes, 1):
        np.save(
            maps / f"{number}.npy",
            thin_label_edges(rasterise(scene.truth.scene).owner).astype(float),
        )
    text = run(
        "edges", maps, tmp_path / "scenes.json", "--thresholds", 1, "--out", tmp_path / "out"
    )
    assert "eval_bdry.txt" in text
    assert "Precision and recall" in (tmp_path / "out" / "edges.html").read_text()
    assert np.loadtxt(tmp_path / "out" / "eval_bdry.txt")[3] > 0.9


def test_segments_that_are_the_truth_are_all_found(tmp_path, scenes):
    segments = [
        {
            "image_id": number,
            "score": 1.0,
            "segmentation": {"size": list(region.shape), "counts": Rle.of(mask).counts},
        }
        for number, scene in enumerate(scenes, 1)
        for rasters in [rasterise(scene.truth.scene)]
        for place, region in enumerate(rasters.regions)
        for mask in [rasters.amodal(place)]
    ]
    (tmp_path / "segments.json").write_text(json.dumps(segments))
    text = run(
        "quality",
        tmp_path / "segments.json",
        "--truth",
        tmp_path / "true_scenes.json",
        "--most",
        100,
    )
    rows = [line.split() for line in text.splitlines() if line.startswith("all")]
    assert [row[3] for row in rows if row[1] == "all"] == ["1.000"]


@pytest.mark.parametrize(
    "arguments",
    [("statistics", "--estimator", "guess"), ("agreement", "--only", "names"), ("edges", "maps")],
)
def test_what_cannot_be_done_is_said_in_one_line(tmp_path, scenes, arguments):
    command, *more = arguments
    given = (
        (command, tmp_path / "nowhere", tmp_path / "scenes.json") if command == "edges" else None
    )
    text = run(*(given or (command, tmp_path / "scenes.json", *more)), code=2)
    assert "error: " in text

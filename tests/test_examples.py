"""Every file in examples/ works unchanged, and the plug-ins are as short as the documentation says."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import segarena
from segarena.comparison import Comparison
from segarena.registry import build

EXAMPLES = Path(__file__).parents[1] / "examples"
PLUGINS = (
    "grow_regions.py",
    "trembling_hand.py",
    "largest_error.py",
    "npz_folder.py",
    "spread_intensity.py",
)
SCRIPTS = ("own_loop.py", "library.py", "davis_script.py")
SEGMENTER = f"{EXAMPLES / 'grow_regions.py'}:GrowRegions"
USER = f"{EXAMPLES / 'trembling_hand.py'}:TremblingHand"
METRIC = f"{EXAMPLES / 'largest_error.py'}:LargestError"
DATASET = f"{EXAMPLES / 'npz_folder.py'}:NpzFolder"


@pytest.fixture
def arrays(tmp_path):
    """Return a folder of three photographs with one or two squares each."""
    folder = tmp_path / "arrays"
    folder.mkdir()
    for index in range(3):
        image, left, right = (
            np.full((40, 60, 3), 40, np.uint8),
            np.zeros((40, 60), bool),
            np.zeros((40, 60), bool),
        )
        left[5 : 20 + index, 5:25] = right[10:30, 35:55] = True
        image[left], image[right] = (200, 60, 60), (60, 200, 60)
        masks = {"mask_left": left} if index == 1 else {"mask_left": left, "mask_right": right}
        np.savez(folder / f"photo-{index}.npz", image=image, **masks)
    return folder


def run_script(name, folder):
    return subprocess.run(
        [sys.executable, EXAMPLES / name],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_every_example_is_tested_here():
    assert {file.name for file in EXAMPLES.glob("*.py")} == {*PLUGINS, *SCRIPTS}


@pytest.mark.long
def test_a_job_array_of_slurm_shares_one_run(tmp_path):
    """Two tasks run at once, as SLURM starts them; the second one finds the work of the first."""
    words = [
        "clicks",
        "-s",
        "sample-disc",
        "-d",
        "sample-squares",
        "--rounds",
        "2",
        "--out",
        str(tmp_path / "run"),
    ]
    there = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SLURM_CPUS_PER_TASK": "1",
    }
    tasks = [
        subprocess.Popen(
            ["bash", EXAMPLES / "slurm" / "array.sh", *words], env=there, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    told = [task.communicate()[1].decode() for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0], told
    assert segarena.RunFolder.open(tmp_path / "run").is_complete


def test_the_scripts_of_slurm_stand_in_the_page_as_they_are():
    page = (EXAMPLES.parent / "docs" / "clusters.md").read_text(encoding="utf-8")
    for script in sorted((EXAMPLES / "slurm").iterdir()):
        assert f"```bash\n{script.read_text(encoding='utf-8')}```" in page
        subprocess.run(["bash", "-n", script], check=True)


def test_four_plugins_by_path_make_a_run(arrays, tmp_path):
    run = segarena.evaluate(
        "clicks",
        segmenter=f"{SEGMENTER}(tolerance=12)",
        dataset=f"{DATASET}(path={str(arrays)!r})",
        users=["centre", f"{USER}(sigma_px=2.0)"],
        metrics=[METRIC],
        rounds=3,
        out=tmp_path / "run",
    )
    records = run.records()
    assert run.config.counts.failures == 0
    assert run.config.counts.targets == 5
    assert records["user"].unique().sort().to_list() == sorted(["centre", f"{USER}(sigma_px=2.0)"])
    wrong = records["union"] - records["intersection"]
    assert (records["largest_missing_px"] + records["largest_surplus_px"] <= wrong).all()
    first = records.filter((pl.col("user") == "centre") & (pl.col("round") == 1))
    assert first["iou"].min() > 0.9


@pytest.mark.long
def test_a_2d_and_a_3d_segmenter_by_path_answer_ones_own_volumes(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    rng = np.random.default_rng(0)
    for index in range(2):
        labels = np.zeros((24, 30, 8), dtype=np.uint8)
        labels[4 : 14 + index, 6:20, 2:6] = 1
        scan = (400.0 * labels + rng.normal(0, 30, labels.shape)).astype(np.int16)
        for folder, data in (("images", scan), ("labels", labels)):
            (tmp_path / "scans" / folder).mkdir(parents=True, exist_ok=True)
            image = nibabel.Nifti1Image(data, np.diag([-1.0, -1.0, 4.0, 1.0]))
            nibabel.save(image, tmp_path / "scans" / folder / f"case{index}.nii.gz")
    for segmenter in (SEGMENTER, f"{EXAMPLES / 'spread_intensity.py'}:SpreadIntensity"):
        run = segarena.evaluate(
            "radioactive(prompts='1-pps')",
            segmenter=segmenter,
            dataset=f"nifti-folder(path={str(tmp_path / 'scans')!r})",
            out=tmp_path / Path(segmenter).stem,
        )
        assert run.config.counts.failures == 0
        assert run.records()["dice"].min() > 0.85
    assert run.config.benchmark.sample_kind == "volume"


def test_boxes_of_a_volume_seed_by_their_middle():
    voxels = np.zeros((6, 9, 9), np.int16)
    voxels[1:5, 2:7, 2:7] = 100
    sample = segarena.VolumeSample(id="cube", voxels=voxels, spacing_mm=(1.0, 1.0, 1.0))
    segmenter = build(
        "segmenter", f"{EXAMPLES / 'spread_intensity.py'}:SpreadIntensity(smooth_mm=0.1)"
    )
    dialogue = segarena.Dialogue().ask((segarena.Box((1, 2, 2), (5, 7, 7)),))
    nothing = segarena.Dialogue().ask((segarena.Click((0, 0, 0), is_positive=False),))
    answers = segmenter.predict(segmenter.encode(sample), [dialogue, nothing])
    assert np.array_equal(answers[0], voxels > 0)
    assert not answers[1].any()


def test_regions_grow_over_like_colours_and_the_nearer_click_wins():
    image = np.zeros((20, 40, 3), dtype=np.uint8)
    image[:, 20:] = 255
    segmenter = build("segmenter", SEGMENTER)
    encoded = segmenter.encode(segarena.ImageSample(id="halves", image=image))
    positive, negative = segarena.Click((10, 5)), segarena.Click((10, 15), is_positive=False)
    dialogues = [segarena.Dialogue(((positive,),)), segarena.Dialogue(((positive,), (negative,)))]
    one, both = segmenter.predict(encoded, dialogues)
    assert (one == (image[:, :, 0] == 0)).all()
    assert both[10, 9]
    assert not both[10, 11]
    assert not both[:, 20:].any()


@pytest.mark.long
def test_a_trembling_hand_clicks_near_the_centre_and_inside_the_frame(arrays, tmp_path):
    users = ["centre", f"{USER}(sigma_px=1.5)", f"{USER}(sigma_px=500.0)"]
    dataset = f"{DATASET}(path={str(arrays)!r})"
    options = {
        "dataset": dataset,
        "users": users,
        "rounds": 1,
        "repeats": 20,
        "out": tmp_path / "run",
    }
    records = segarena.evaluate("clicks", segmenter=SEGMENTER, **options).records()
    assert records["failure"].is_null().all()
    clicks = {user: [] for user in users}
    for row in records.iter_rows(named=True):
        clicks[row["user"]].append(
            (row["sample"], row["target"], *json.loads(row["prompts"])[0]["position"])
        )
    centre = {(sample, target): position for sample, target, *position in clicks[users[0]]}
    distance = [
        math.dist(position, centre[sample, target])
        for sample, target, *position in clicks[users[1]]
    ]
    far = np.array([position for _, _, *position in clicks[users[2]]])
    assert len(distance) == len(far) == 5 * 20
    assert 1 < np.mean(distance) < 3  # 1.5 px along both axes: 1.9 px on average
    assert far.max(axis=0).tolist() == [39, 59]
    assert far.min(axis=0).tolist() == [0, 0]


def test_the_largest_error_is_that_of_one_patch():
    target, prediction = np.zeros((10, 10), dtype=bool), np.zeros((10, 10), dtype=bool)
    target[0:3, 0:3] = target[6, 6] = True
    prediction[8, 0:4] = prediction[2, 2] = True
    metric = build("metric", METRIC)
    assert metric(Comparison.of(prediction, target)) == {
        "largest_missing_px": 8,
        "largest_surplus_px": 4,
    }
    assert metric(Comparison.of(target, target)) == {
        "largest_missing_px": 0,
        "largest_surplus_px": 0,
    }


def test_a_folder_of_arrays_says_what_is_in_it(arrays, tmp_path):
    dataset = build("dataset", f"{DATASET}(path={str(arrays)!r})")
    assert isinstance(dataset, segarena.Dataset)
    assert dataset.sample_ids == ("photo-0", "photo-1", "photo-2")
    assert [target.id for target in dataset.load("photo-0").targets] == ["left", "right"]
    assert [finding.message for finding in dataset.check()] == ["3 .npz files"]
    assert build("dataset", f"{DATASET}(path={str(tmp_path)!r})").check()[0].is_error


@pytest.mark.long
def test_the_script_that_holds_the_loop_leaves_a_run(tmp_path):
    done = run_script("own_loop.py", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "IoU after" in done.stdout
    run = segarena.RunFolder.open(tmp_path / "runs" / "own_loop")
    assert run.is_complete
    assert run.config.segmenter.name == "mine"
    assert run.records().filter(pl.col("failure").is_not_null()).is_empty()


@pytest.mark.long
def test_the_library_script_leaves_two_runs_and_a_report(tmp_path):
    done = run_script("library.py", tmp_path)
    assert done.returncode == 0, done.stderr
    assert Path(tmp_path, done.stdout.splitlines()[-1]).is_file()

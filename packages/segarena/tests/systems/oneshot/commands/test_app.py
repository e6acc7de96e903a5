"""`segarena toss`: audit, score, recover."""

import json

import cv2
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import segarena
from segarena.cli.main import app
from segarena.roles import Benchmark, Statistic
from segarena.systems.oneshot.datasets.demo import OneShotDemoDataset
from segarena.systems.oneshot.list_analysis.partition_recovery import ATTRIBUTE_NAMES

RULES = Benchmark(
    name="one-shot", users=("support",), metrics=("iou", "void"), rounds=1, dataset="oneshot-demo",
    summary=(Statistic(name="IoU@1", kind="at_round"),),
)  # fmt: skip


def toss(*arguments):
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, ["toss", *map(str, arguments)])


@pytest.fixture
def general(tmp_path):
    file = tmp_path / "general_tier.txt"
    file.write_text("1_psp_1 1_psp_2\n1_psp_1 2_pspgo_2\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    demo = OneShotDemoDataset(lists="complexity,cognizance,generalization")
    out = tmp_path_factory.mktemp("runs") / "everything"
    return segarena.evaluate(RULES, segmenter="everything", dataset=demo, out=out)


def test_audit_prints_and_writes_findings(general, tmp_path):
    done = toss("audit", general, "--out", tmp_path / "a.json")
    assert done.exit_code == 0
    assert "1 rows (50.0 %) show a class other" in done.stdout
    written = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert {"cross-class", "tiny-cell"} <= {finding["kind"] for finding in written["findings"]}
    assert written["counts"][0]["pairs"] == 2
    toss("audit", general, "--out", tmp_path / "a.csv")
    assert pl.read_csv(tmp_path / "a.csv").columns == ["kind", "list", "count", "message"]


def test_audit_compares_with_class_lists_and_training_classes(general, tmp_path):
    (tmp_path / "names").write_text("psp\nabacus\n", encoding="utf-8")
    done = toss(
        "audit", general, "--class-list", tmp_path / "names", "--train-classes", tmp_path / "names"
    )
    assert "names of the class list that are not in any pair (1): abacus" in done.stdout
    assert "2 rows request 1 of 1 classes that the model was trained on: psp" in done.stdout


def test_audit_looks_for_files(general, tmp_path):
    (tmp_path / "fss/psp").mkdir(parents=True)
    for number in (1, 2):
        cv2.imwrite(str(tmp_path / f"fss/psp/{number}.jpg"), np.zeros((4, 4, 3), np.uint8))
        cv2.imwrite(str(tmp_path / f"fss/psp/{number}.png"), np.full((4, 4), 255, np.uint8))
    done = toss("audit", general, "--dataset", f"fss1000(path='{tmp_path / 'fss'}')")
    assert done.exit_code == 1
    assert "2 files do not exist" in done.stdout.replace("\n", " ")
    done = toss("audit", general, "--dataset", "demo")
    assert done.exit_code == 2
    assert "expected a one-shot dataset" in done.stderr


def test_lists_that_cannot_be_read_end_with_one_line(tmp_path):
    done = toss("audit", tmp_path)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert toss("audit", tmp_path, "--out", "x.txt").exit_code == 2


@pytest.mark.long
def test_scores_of_a_run_say_their_mode(run, tmp_path):
    done = toss("score", run.path, "--classes", "--repeats", "20", "--out", tmp_path / "s.json")
    assert done.exit_code == 0
    assert done.stdout.startswith(
        "mode: IoU accumulate, empty union clamp, void ignore, SCS published"
    )
    assert all(
        name in done.stdout
        for name in ("LCA", "HCA", "SCS", "GS", "mIoU", "FB-IoU", "easy_nsal", "L6", "tiny")
    )
    written = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert written["settings"]["repeats"] == 20
    assert {"scores", "levels", "classes", "mode", "left_out"} <= set(written)
    toss("score", run.path, "--repeats", "0", "--out", tmp_path / "s.csv")
    assert pl.read_csv(tmp_path / "s.csv")["name"].to_list()[0] == "LCA"


@pytest.mark.long
def test_other_variants_need_no_other_run(run):
    published, paper = (
        toss("score", run.path, "--variant", variant, "--repeats", "0").stdout
        for variant in ("published", "paper")
    )
    assert "SCS paper" in paper
    line = [
        [row for row in text.splitlines() if row.startswith("SCS")][-1]
        for text in (published, paper)
    ]
    assert line[0] != line[1]
    assert "1 2 3 4" in toss("score", run.path, "--weights", "1,2,3,4", "--repeats", "0").stdout
    assert (
        "simplicity" in toss("score", run.path, "--weights", "simplicity", "--repeats", "0").stdout
    )


@pytest.mark.parametrize(
    "options",
    [
        ["--variant", "x"],
        ["--weights", "1,x"],
        ["--weights", "x"],
        ["--void", "x"],
        ["--aggregate", "x"],
    ],
)
def test_options_that_do_not_exist_are_refused(run, options):
    assert toss("score", run.path, *options).exit_code == 2


@pytest.mark.long
def test_scores_of_a_table_name_what_is_left_out_and_may_drop_other_classes(general, tmp_path):
    (tmp_path / "c.csv").write_text("row,inter,union\n0,1,2\n1,0,2\n", encoding="utf-8")
    done = toss("score", tmp_path / "c.csv", "--pairs", general, "--repeats", "0")
    assert (done.exit_code, "25.00" in done.stdout) == (0, True)
    done = toss(
        "score", tmp_path / "c.csv", "--pairs", general, "--repeats", "0", "--drop-cross-class"
    )
    assert "50.00" in done.stdout
    (tmp_path / "c.csv").write_text("row,inter,union\n0,1,2\n", encoding="utf-8")
    done = toss("score", tmp_path / "c.csv", "--pairs", general, "--repeats", "0")
    assert done.exit_code == 1
    assert "general_tier/1: no row in c.csv" in done.stderr
    assert toss("score", tmp_path / "c.csv").exit_code == 2


def test_a_tier_that_cannot_be_scored_is_named_and_the_others_are_scored(general, tmp_path):
    easy = tmp_path / "attribute" / "split0_q_easy_sal.txt"
    easy.parent.mkdir()
    easy.write_text("1_2007_1 1_2007_2\n", encoding="utf-8")
    rows = "list,row,inter,union\ngeneral_tier,0,1,2\ngeneral_tier,1,0,2\nsplit0_q_easy_sal,0,1,2\n"
    (tmp_path / "c.csv").write_text(rows, encoding="utf-8")
    words = ["score", tmp_path / "c.csv", "--pairs", general, "--pairs", easy, "--repeats", "0"]
    done = toss(*words)
    assert (done.exit_code, "25.00" in done.stdout) == (0, True), done.output
    assert "LCA" not in done.stdout
    assert "query-complexity: fold 0: no pairs of hard_sal, easy_nsal, hard_nsal" in done.stderr
    assert "LCA" in toss(*words, "--strict-published").stdout


def test_scores_of_a_folder_of_masks(tmp_path):
    """Masks of another tool: the ground truth of the demo, written as masks, is an oracle."""
    demo = OneShotDemoDataset(lists="generalization")
    for sample_id in demo.sample_ids:
        for target in demo.load(sample_id).targets:
            file = tmp_path / "masks" / f"{target.id}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(file), target.mask.astype(np.uint8) * 255)
    done = toss(
        "score",
        tmp_path / "masks",
        "--dataset",
        "oneshot-demo(lists='generalization')",
        "--repeats",
        "0",
    )
    assert done.exit_code == 0
    assert "GS      generalization        100.00" in done.stdout


def test_recovery_prints_shares_and_ranking(tmp_path):
    rng = np.random.default_rng(0)
    rows = 200
    names = [f"1_2009_{n:06d}" for n in range(rows)]
    table = pl.DataFrame(
        {
            "filename": names,
            "oss_perf": rng.random(rows),
            **{n: rng.random(rows) for n in ATTRIBUTE_NAMES},
        }
    )
    table.write_csv(tmp_path / "stats.csv")
    for partition in ("easy_sal", "easy_nsal", "hard_sal", "hard_nsal"):
        own = table.filter((pl.col("iou") >= 0.75) == partition.startswith("easy"))
        own = own.filter((pl.col("saliou") >= 0.5) == partition.endswith("_sal"))
        text = "\n".join(f"{name} 1_2010_000001" for name in own["filename"])
        (tmp_path / f"split0_q_{partition}.txt").write_text(text, encoding="utf-8")
    done = toss("recover", tmp_path / "stats.csv", "--tiers", tmp_path)
    assert done.exit_code == 0
    assert "200 of 200 query targets (a class in an image) have statistics" in done.stdout
    assert done.stdout.count(" 100.0\n") == 4
    assert "ranked NOT as published" in done.stdout
    assert toss("recover", tmp_path / "none.csv", "--tiers", tmp_path).exit_code == 2

"""`segarena click-data`: each command on a small synthetic collection, and one-line messages for bad input."""

import csv
import shutil

import cv2
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena.systems.clicks.crowd.clicks_table import DISPLAY_MODES, read_clicks, write_clicks

DATA = "sample-squares(count=4)"


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """A folder with a raw collection, its previous masks, and the valid clicks."""
    folder = tmp_path_factory.mktemp("collection")
    masks = ("--previous-masks", str(folder / "masks"))
    raw = str(folder / "raw.csv")
    for arguments in (
        ("crowd", "-d", DATA, "-o", raw, "--clicks", "20", *masks),
        ("filter", raw, "-d", DATA, "-o", str(folder / "clicks.csv"), *masks),
    ):
        answer = CliRunner().invoke(app, ["clicks", *arguments])
        assert answer.exit_code == 0, answer.output
    return folder


@pytest.fixture
def raw(collection, tmp_path):
    """The raw collection in the empty folder of the test, with `masks`."""
    shutil.copytree(collection / "masks", tmp_path / "masks")
    return shutil.copy(collection / "raw.csv", tmp_path / "raw.csv")


@pytest.fixture
def clicks(raw, collection):
    """The valid clicks of the collection."""
    return shutil.copy(collection / "clicks.csv", raw.with_name("clicks.csv"))


def rows_of(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_crowd_clicks_on_every_target_in_every_round(raw):
    table = read_clicks(raw)
    counts = dict(table["click_type"].value_counts().iter_rows())
    assert counts["first"] == 4 * 20
    assert set(counts) == {"first", "fn", "fp"}
    later = table.filter(pl.col("click_type") != "first")["full_stem"].unique()
    assert {f"{stem}.png" for stem in later} == {
        file.name for file in (raw.parent / "masks").iterdir()
    }


def test_the_crowd_is_the_same_again(segarena, raw):
    segarena(
        "click-data",
        "crowd",
        "-d",
        DATA,
        "-o",
        "again.csv",
        "--clicks",
        "20",
        "--previous-masks",
        "masks",
    )
    assert raw.read_bytes() == raw.with_name("again.csv").read_bytes()


def test_filter_says_what_was_dropped_and_keeps_the_rest(segarena, raw):
    answer = segarena(
        "click-data",
        "filter",
        raw,
        "-d",
        DATA,
        "-o",
        "clicks.csv",
        "--dropped",
        "dropped.csv",
        "--previous-masks",
        "masks",
    )
    kept = read_clicks(raw.with_name("clicks.csv"))
    dropped = pl.read_csv(raw.with_name("dropped.csv"))
    assert answer.stdout.startswith(
        f"kept {kept.height} of {kept.height + dropped.height} clicks; dropped "
    )
    assert kept.height + dropped.height == read_clicks(raw).height
    assert 0 < dropped.height < kept.height
    assert set(dropped["reason"]) <= {"batch", "far"}


def test_counts_are_those_of_the_table(segarena, clicks):
    table = read_clicks(clicks)
    first = table.filter(click_type="first").height
    answer = segarena("click-data", "counts", clicks, "--out", "counts.csv")
    assert answer.exit_code == 0
    rows = rows_of(clicks.with_name("counts.csv"))
    assert [row["dataset"] for row in rows] == ["sample-squares", "all"]
    assert [int(rows[1][name]) for name in ("first", "subsequent", "sum")] == [
        first, table.height - first, table.height,
    ]  # fmt: skip
    assert str(table.height) in answer.stdout


def test_a_sound_table_passes_the_check_and_a_wrong_one_does_not(segarena, clicks):
    answer = segarena("click-data", "check-table", clicks, "-d", DATA)
    assert answer.exit_code == 0, answer.output
    assert f"{read_clicks(clicks).height} clicks on" in answer.stdout
    wrong = read_clicks(clicks).with_columns(click_type=pl.lit("second"), x=pl.lit(99))
    write_clicks(wrong, clicks)
    answer = segarena("click-data", "check-table", clicks)
    assert answer.exit_code == 1
    assert "click_type other than first, fn, fp" in answer.stdout
    assert "clicks outside the image" in answer.stdout


def test_check_tells_images_of_another_size_and_instances_without_clicks(segarena, clicks):
    few = read_clicks(clicks).filter(pl.col("image_stem") != "square-3")
    write_clicks(few.with_columns(w=pl.col("w") + 1), clicks)
    answer = segarena("click-data", "check-table", clicks, "-d", DATA)
    assert "1 instances without clicks: square-3" in answer.stdout
    assert "3 instances have an image of another size" in answer.stdout


def test_maps_sum_to_one_and_come_with_pictures(segarena, clicks, tmp_path):
    answer = segarena(
        "click-data",
        "maps",
        clicks,
        "-d",
        DATA,
        "-o",
        "maps",
        "--previous-masks",
        "masks",
        "--limit",
        "5",
    )
    assert answer.exit_code == 0, answer.output
    files = sorted((tmp_path / "maps" / "maps").iterdir())
    assert len(files) == 5
    for file in files:
        values = np.load(file)["map"]
        assert values.shape == (32, 32)
        assert values.sum() == pytest.approx(1, abs=1e-5)
    assert {file.stem for file in (tmp_path / "maps" / "pictures").iterdir()} == {
        file.stem for file in files
    }


def test_maps_pictures_click_models_beside_the_clicks(segarena, clicks, tmp_path):
    answer = segarena(
        "click-data", "maps", clicks, "-d", DATA, "-o", "maps", "--previous-masks", "masks", "--limit", "1",
        "-m", "UD=uniform", "-m", "depth",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    [file] = (tmp_path / "maps" / "pictures").iterdir()
    assert cv2.imread(str(file)).shape == (32 + 26, 3 * (32 + 6), 3)


def test_judge_ranks_the_crowds_own_map_above_a_wrong_one(segarena, clicks, tmp_path):
    model = tmp_path / "corner.py"
    model.write_text(
        "import numpy as np\n"
        "class Corner:\n"
        "    def __call__(self, image, target, error):\n"
        "        values = np.full(target.shape, 1e-6, dtype=np.float32)\n"
        "        values[:3, -3:] = 1\n"
        "        return values\n",
        encoding="utf-8",
    )
    answer = segarena(
        "click-data", "judge", clicks, "-d", DATA, "-m", "best=crowd", "-m", f"corner={model}:Corner", "--draws", "10",
        "--previous-masks", "masks", "--against", "best", "--out", "quality.csv", "--instances", "instances.csv",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    rows = {(row["round"], row["model"]): row for row in rows_of(tmp_path / "quality.csv")}
    assert {round_ for round_, _ in rows} == {"first", "fn", "fp", "all"}
    best = rows["all", "best"]
    corner = rows["all", "corner"]
    assert float(best["pl1"]) < float(corner["pl1"])
    assert float(best["wd"]) < float(corner["wd"])
    assert all(float(best[name]) > float(corner[name]) for name in ("ks", "nss", "pde"))
    assert float(best["pl1_low"]) <= float(best["pl1"]) <= float(best["pl1_high"])
    values = [
        float(row["pl1"]) for row in rows_of(tmp_path / "instances.csv") if row["model"] == "best"
    ]
    assert float(best["pl1"]) == pytest.approx(np.mean(values))
    assert int(best["instances"]) == len(values)
    paired = {
        (row["round"], row["model"]): row for row in rows_of(tmp_path / "quality-differences.csv")
    }
    assert {model for _, model in paired} == {"corner"}
    assert float(paired["all", "corner"]["wd"]) == pytest.approx(
        float(corner["wd"]) - float(best["wd"])
    )


def test_judge_leaves_out_what_cannot_be_judged_and_says_so(segarena, clicks, tmp_path):
    model = tmp_path / "nothing.py"
    model.write_text(
        "import numpy as np\n"
        "class Nothing:\n"
        "    def __call__(self, image, target, error):\n"
        "        return np.zeros(target.shape) if image[4, 6, 0] > 100 else np.ones(target.shape)\n",
        encoding="utf-8",
    )
    answer = segarena(
        "click-data",
        "judge",
        clicks,
        "-d",
        DATA,
        "-m",
        f"{model}:Nothing",
        "--draws",
        "2",
        "--previous-masks",
        "masks",
    )
    assert answer.exit_code == 0, answer.output
    assert "skipped instances (3), for example square-0" in answer.stderr
    assert "not all 0" in answer.stderr


def test_compare_devices_gives_one_row_per_dataset(segarena, clicks, tmp_path):
    answer = segarena(
        "click-data",
        "compare-devices",
        clicks,
        "-d",
        DATA,
        "--least-clicks",
        "3",
        "--out",
        "devices.tex",
    )
    assert answer.exit_code == 0, answer.output
    text = (tmp_path / "devices.tex").read_text(encoding="utf-8")
    assert r"dataset & KS & WD & PL1 & instances \\" in text
    assert "sample-squares & " in text


def test_compare_modes_holds_each_mode_against_the_text(segarena, clicks, tmp_path):
    table = read_clicks(clicks).filter(click_type="first")
    modes = [table.with_columns(dataset=pl.lit(mode)) for mode in DISPLAY_MODES[:2]]
    shifted = modes[1].with_columns(x=pl.min_horizontal(pl.col("x") + 6, pl.col("w") - 1))
    write_clicks(
        pl.concat([modes[0], shifted, modes[0].with_columns(dataset=pl.lit(DISPLAY_MODES[2]))]),
        clicks,
    )
    answer = segarena("click-data", "compare-modes", clicks, "-d", DATA, "--out", "modes.csv")
    assert answer.exit_code == 0, answer.output
    rows = rows_of(tmp_path / "modes.csv")
    assert [row["mode"] for row in rows] == list(DISPLAY_MODES[1:3])
    assert float(rows[1]["wd"]) == 0
    assert float(rows[1]["ks"]) == 1
    assert float(rows[0]["wd"]) > 0.1


@pytest.mark.long
def test_train_leaves_a_network_that_judge_and_rclicks_take(segarena, clicks, tmp_path):
    pytest.importorskip("torch").set_num_threads(1)
    answer = segarena(
        "click-data", "train", clicks, "-d", DATA, "--previous-masks", "masks", "-o", "net", "--size", "tiny",
        "--epochs", "1", "--device", "cpu",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    assert len(rows_of(tmp_path / "net" / "history.csv")) == 1
    assert "KL divergence" in (tmp_path / "net" / "curves.svg").read_text()
    assert "epoch 1: " in answer.stderr
    model = "network(path='net/best.pt', device='cpu')"
    judged = segarena(
        "click-data",
        "judge",
        clicks,
        "-d",
        DATA,
        "-m",
        f"net={model}",
        "--draws",
        "2",
        "--previous-masks",
        "masks",
    )
    assert judged.exit_code == 0, judged.output
    run = segarena(
        "run", "rclicks", "-s", "sample-disc", "-d", DATA, "--rounds", "2", "-w", "0", "-o", "r", "--limit", "1",
        "--click-model", model, "--clicks", clicks,
    )  # fmt: skip
    assert run.exit_code == 0, run.output


@pytest.mark.long
def test_train_makes_a_network_for_each_of_several_sigmas(segarena, clicks, tmp_path):
    torch = pytest.importorskip("torch")
    answer = segarena(
        *(
            "click-data",
            "train",
            clicks,
            "-d",
            DATA,
            "--previous-masks",
            "masks",
            "-o",
            "net",
            "--size",
            "tiny",
        ),
        *("--epochs", "1", "--device", "cpu", "--sigma", "20", "--sigma", "0.5"),
    )
    assert answer.exit_code == 0, answer.output
    assert sorted(path.name for path in (tmp_path / "net").iterdir()) == ["sigma_0.5", "sigma_20"]
    wide, narrow = (
        torch.load(tmp_path / "net" / f"sigma_{n}" / "last.pt")["state_dict"] for n in ("20", "0.5")
    )
    assert any((wide[name] != narrow[name]).any() for name in wide)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["counts", "nowhere.csv"], "nowhere.csv: expected a clicks table"),
        (["counts", "{clicks}", "-o", "t.xlsx"], "expected a name ending in .csv or .tex"),
        (
            ["judge", "{clicks}", "-d", DATA, "-m", "dpeth"],
            "no click-model is called 'dpeth'; did you mean 'depth'",
        ),
        (["judge", "{clicks}", "-d", DATA, "-m", "depth"], "expected a folder of previous masks"),
        (
            ["judge", "{clicks}", "-d", "demo", "-m", "depth"],
            "no row of the table refers to an image of demo",
        ),
        (
            ["judge", "{clicks}", "-d", DATA, "-m", "a=depth", "-m", "a=uniform"],
            "each model may be named once",
        ),
        (
            ["judge", "{clicks}", "-d", DATA, "-m", "depth", "--rows-of", "X"],
            "no row of the table refers to an image",
        ),
        (
            ["judge", "{clicks}", "-d", DATA, "-m", "depth", "--against", "depth"],
            "expected one of several models",
        ),
        (
            ["maps", "{clicks}", "-d", DATA, "-o", "m", "--radius", "big"],
            "expected paper or published",
        ),
        (["filter", "{clicks}", "-d", "nodata", "-o", "c.csv"], "no dataset is called 'nodata'"),
        (["compare-modes", "{clicks}", "-d", DATA], "are not display modes"),
        (
            ["compare-devices", "{clicks}", "-d", DATA, "--least-clicks", "99"],
            "no instance has 99 clicks on each",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(segarena, clicks, arguments, message):
    answer = segarena("clicks", *(argument.format(clicks=clicks) for argument in arguments))
    assert answer.exit_code == 2, answer.output
    assert message in answer.stderr
    assert "Traceback" not in answer.output
    assert answer.stderr.strip().splitlines()[-1].startswith("error: ")


def test_options_of_rclicks_are_refused_elsewhere(refused):
    assert "clicks has no option --click-model" in refused(
        "run", "clicks", "-s", "sample-disc", "-d", DATA, "--click-model", "depth"
    )


def test_a_run_says_which_users_had_nothing_to_say(segarena, clicks):
    few = read_clicks(clicks).filter(image_stem="square-0")
    write_clicks(few, clicks)
    answer = segarena(
        "run", "rclicks(groups=2)", "-s", "sample-disc", "-d", DATA, "--rounds", "1", "-w", "0", "-o", "r",
        "--clicks", clicks,
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    assert "user real had no dialogue about 3 of 4 targets" in answer.stderr

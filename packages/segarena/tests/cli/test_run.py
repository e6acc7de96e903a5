"""`segarena run`: output, exit codes, options from a file, and one-line messages for bad input."""

import io
import shlex
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

import segarena as package
from segarena.engine.evaluate import _command
from segarena.records.configuration import plain_configuration
from segarena.terminal.progress import ProgressBar, duration_text
from segarena.work.progress import Progress

pytestmark = pytest.mark.usefixtures("quick_workers")

PACKING = Path(__file__).parents[1] / "engine" / "packing.py"
QUICK = (
    "run",
    "clicks",
    "-s",
    "sample-disc",
    "-d",
    "sample-squares",
    "--rounds",
    "2",
    "-o",
    "r",
    "-w",
    "0",
)


def config(folder):
    return plain_configuration(package.RunFolder.open(folder).config)


def test_a_run_ends_with_its_summary_and_where_it_lies(segarena, tmp_path):
    answer = segarena(*QUICK)
    assert answer.exit_code == 0
    assert "NoC@90" in answer.stdout
    assert "run: r   report: segarena report r" in answer.stderr
    assert package.RunFolder.open(tmp_path / "r").is_complete


def test_the_command_and_the_library_give_the_same_records(segarena, tmp_path):
    segarena(*QUICK)
    run = package.evaluate(
        "clicks",
        segmenter="sample-disc",
        dataset="sample-squares",
        rounds=2,
        out=tmp_path / "library",
    )
    assert run.records().equals(package.RunFolder.open(tmp_path / "r").records())


def test_the_same_command_again_resumes_and_finds_nothing_to_do(segarena, tmp_path):
    segarena(*QUICK)
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "r").glob("*/*.parquet")}
    answer = segarena(*QUICK)
    assert answer.exit_code == 0
    assert "3 done before" in answer.stderr
    assert before == {
        file: file.stat().st_mtime_ns for file in (tmp_path / "r").glob("*/*.parquet")
    }


def test_failed_dialogues_make_exit_code_1_and_are_counted(segarena, plugin):
    answer = segarena(
        "run", "-s", plugin("At", how="raises"), "-d", "sample-squares", "--rounds", "2", "-w", "0"
    )
    assert answer.exit_code == 1
    told = "1 × predict: RuntimeError: no memory left (misbehaving.py, line "
    assert f"At: 1 failure, by cause:\n  {told}" in answer.stdout
    assert "(first: square-1 / object, user centre)" in " ".join(answer.stdout.split())
    assert (
        "failed: square-1 / object, user centre: predict: RuntimeError: no memory left"
        in answer.stderr
    )
    assert "Traceback" not in answer.output


@pytest.mark.parametrize(
    "words",
    [
        ["-d", "folder(path='my photos')", "-o", "runs/a b"],
        ["-d", 'folder(path="x")', "-s", "it's $HOME"],
        ["-u", "a=depth(low=0.1)", "--rounds", "2"],
    ],
)
def test_the_recorded_command_is_one_that_a_shell_takes(words):
    command = _command(["/opt/bin/segarena", "run", *words])
    assert shlex.split(command) == ["segarena", "run", *words]
    shell = subprocess.run(
        ["sh", "-c", f"segarena() {{ printf '%s\\0' \"$@\"; }}; {command}"], stdout=subprocess.PIPE
    )
    assert shell.stdout.decode().split("\0")[:-1] == ["run", *words]
    assert _command(["own_loop.py", "a b"]) == "python own_loop.py 'a b'"


def test_a_run_in_which_everything_fails_ends_early_unless_told_to_go_on(segarena, plugin):
    words = (
        "run",
        "-s",
        plugin("Refuses"),
        "-d",
        "sample-squares(count=4)",
        "--rounds",
        "2",
        "-w",
        "0",
        "-o",
        "r",
    )
    ended = segarena(*words)
    assert ended.exit_code == 2
    assert "the first 3 samples all failed for the same reason" in ended.stderr
    whole = segarena(*words, "--keep-going")
    assert whole.exit_code == 1
    assert "4 × predict: RuntimeError" in whole.stdout
    assert "4 × predict: RuntimeError" in segarena("report", "r").stdout


@pytest.mark.long
def test_an_answer_that_differs_when_asked_again_makes_exit_code_1(segarena):
    moody = PACKING.with_name("moody.py")
    words = (
        "run",
        "clicks",
        "-d",
        "sample-squares(count=1)",
        "--rounds",
        "1",
        "-w",
        "0",
        "-o",
        "r",
        "--overwrite",
    )
    sound = segarena(*words, "-s", f"{moody}:Steady", "--verify", "1")
    assert sound.exit_code == 0, sound.output
    assert "1 answer recomputed in another process: all equal" in sound.stdout
    moved = segarena(*words, "-s", f"{moody}:OfBatch", "--verify", "1")
    assert moved.exit_code == 1, moved.output
    assert "1 answer recomputed in another process: 1 differed" in moved.stdout
    assert segarena(*words, "-s", f"{moody}:OfBatch").exit_code == 0


def test_without_out_the_folder_is_named_after_the_run(segarena, tmp_path):
    segarena(*QUICK[:-4], "-w", "0")
    assert (tmp_path / "runs" / "clicks-sample-disc-sample-squares" / "run.json").is_file()


def test_all_options_arrive_in_run_json(segarena):
    answer = segarena(
        *QUICK, "-u", "centre", "-u", "sample-first-pixel", "-m", "dice", "--limit", "2", "--repeats", "2",
        "--seed", "7", "--time-limit", "9",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    run = config("r")
    assert [user["written"] for user in run["users"]] == ["centre", "sample-first-pixel"]
    assert [metric["name"] for metric in run["metrics"]] == ["iou", "boundary_iou", "dice"]
    assert (len(run["dataset"]["samples"]), run["repeats"], run["seed"], run["time_limit_s"]) == (
        2,
        2,
        7,
        9.0,
    )


def test_options_come_from_a_file_and_the_command_line_wins(segarena, tmp_path):
    (tmp_path / "run.toml").write_text(
        """
        benchmark = "clicks"
        segmenter = "sample-disc(radius_px=4)"
        dataset = "sample-squares(count=2)"
        users = ["sample-first-pixel"]
        metrics = ["dice"]
        rounds = 3
        out = "from-file"
        workers = 0
        limit = 1
        repeats = 2
        seed = 5
        time_limit_s = 30
        """,
        encoding="utf-8",
    )
    answer = segarena("run", "--config", "run.toml", "--rounds", "2", "--out", "mine")
    assert answer.exit_code == 0, answer.output
    run = config("mine")
    assert (run["rounds"], run["seed"], run["repeats"], run["time_limit_s"]) == (2, 5, 2, 30)
    assert run["segmenter"]["options"] == {"radius_px": 4}
    assert run["users"][0]["name"] == "sample-first-pixel"
    assert not (tmp_path / "from-file").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("segmentor = 'x'", "unknown option 'segmentor'; did you mean 'segmenter'"),
        ("time_limit = 3", "unknown option 'time_limit'; did you mean 'time_limit_s'"),
        ("zzz = 3", "unknown option 'zzz'; known: benchmark, segmenter, name, note, tags, dataset"),
        ("rounds = ", "run.toml is not valid TOML"),
        ("rounds = '3'", "rounds: expected a whole number; got '3'"),
        ("rounds = true", "rounds: expected a whole number; got True"),
        ("cache = 3", "cache: expected text; got 3"),
        ("cache_gb = '3'", "cache_gb: expected a number; got '3'"),
        ("time_limit_s = '3'", "time_limit_s: expected a number; got '3'"),
        ("users = 'centre'", "users: expected a list, each text; got 'centre'"),
        ("metrics = [1]", "metrics: expected a list, each text; got [1]"),
        ("out = 3", "out: expected text; got 3"),
    ],
)
def test_a_wrong_option_in_the_file_is_named(refused, tmp_path, text, message):
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    line = refused("run", "-s", "sample-disc", "-d", "sample-squares", "-c", "run.toml")
    assert "--config run.toml" in line
    assert message in line


def test_a_file_of_options_that_is_not_there_is_named(refused):
    assert "--config absent.toml cannot be read: No such file or directory" in refused(
        "run", "-c", "absent.toml"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["run"],
            "no segmenter given; add --segmenter NAME (see 'segarena list segmenters')",
        ),
        (
            ["run", "click", "-s", "sample-disc"],
            "no benchmark is called 'click'; did you mean 'clicks'",
        ),
        (
            ["run", "-s", "sample-disc", "-d", "dmeo"],
            "no dataset is called 'dmeo', and there is no such folder; did you mean 'demo'",
        ),
        (
            ["run", "-s", "sample-disc", "-d", "pictures/monday"],
            "no folder 'pictures/monday'; expected the path of a folder, the name of a dataset",
        ),
        (
            ["run", "-s", "sample-disc", "-u", "center"],
            "no user is called 'center'; did you mean 'centre'?",
        ),
        (
            ["run", "-s", "sample-disc", "-m", "diec"],
            "no metric is called 'diec'; did you mean 'dice'?",
        ),
        (["run", "-s", "mine.py:Mine"], "there is no file mine.py"),
        (
            ["run", "-s", "sample-disc(radius=3)"],
            "'radius'; did you mean 'radius_px'? it takes radius_px=10",
        ),
        (["run", "-s", "sample-disc(", "-d", "demo"], "expected NAME"),
        ([*QUICK, "--rounds", "0"], "rounds must be at least 1, got 0"),
        ([*QUICK, "--repeats", "0"], "repeats must be at least 1, got 0"),
        ([*QUICK, "--limit", "0"], "limit must be at least 1, got 0"),
        ([*QUICK, "--executor", "dask"], "--executor dask: expected local or ray"),
        ([*QUICK, "--executor", "ray", "-w", "0"], "workers on Ray must be 1 or more, got 0"),
        ([*QUICK, "--address", "auto"], "apply only to Ray; give --executor ray too"),
        (
            [*QUICK, "--executor", "ray", "-w", "1", "--address", "here"],
            "expected host:port or auto, got 'here'",
        ),
        ([*QUICK, "--workers", "-1"], "workers must be 0 or more, got -1"),
        (
            [*QUICK, "--cache", "kept", "--cache-gb", "0"],
            "the cache needs more than 0 GB, got 0",
        ),
        (
            [*QUICK, "--time-limit", "0"],
            "the time limit must be above 0 and at most 1000000 s, got 0",
        ),
        (
            [*QUICK, "--time-limit", "inf"],
            "the time limit must be above 0 and at most 1000000 s, got inf",
        ),
        ([*QUICK, "-u", "centre", "-u", "centre"], "user names must differ"),
        (
            [*QUICK, "-m", "sample-area-error", "-d", "folder(path='nowhere')"],
            "nowhere/images: expected a folder",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line_before_anything_runs(
    refused, tmp_path, arguments, message
):
    assert message in refused(*arguments)
    assert not (tmp_path / "r").exists()


def test_a_folder_of_another_run_is_refused_with_the_difference(segarena, refused):
    segarena(*QUICK)
    assert (
        "r holds a run with seed = 0, but the requested run has 1; choose another --out"
        in refused(*QUICK, "--seed", "1")
    )


def test_a_folder_that_cannot_be_written_is_refused(refused, tmp_path):
    (tmp_path / "r").write_text("a file", encoding="utf-8")
    assert "r cannot be written" in refused(*QUICK)


@pytest.mark.parametrize(
    ("resumed", "workers", "line"),
    [
        (0, 1, "about 50 min in total, estimated from 3 of 100 samples"),
        (0, 4, "about 10 min in total, estimated from 9 of 100 samples"),
        (80, 1, "about 9 min in total, estimated from 3 of 20 samples"),
    ],
)
def test_after_a_few_samples_a_line_says_how_long_all_may_take(resumed, workers, line):
    text = io.StringIO()
    with ProgressBar("title", Console(file=text, width=100), workers=workers) as shown:
        shown.update(Progress(units=100, done=resumed, resumed=resumed))
        for done in range(1, 11):
            shown.update(
                Progress(units=100, done=resumed + done, resumed=resumed, seconds=30.0 * done)
            )
    assert [said for said in text.getvalue().splitlines() if "in total" in said] == [line]


def test_progress_counts_what_the_tables_count(segarena):
    answer = segarena(*QUICK)
    assert "/3 photographs" in answer.stderr
    assert "3 photographs" in answer.stdout
    assert "samples" not in answer.stderr


def test_what_others_do_counts_for_how_long_all_may_take_and_who_is_waited_for_is_said():
    text = io.StringIO()
    with ProgressBar("title", Console(file=text, width=100)) as shown:
        for done in (1, 2, 3):
            shown.update(
                Progress(
                    units=100,
                    done=40 + done,
                    elsewhere=40,
                    sharers=3,
                    seconds=30.0 * done,
                )
            )
        shown.update(
            Progress(units=100, done=100, elsewhere=60, waiting_for="b (process 7) with 2")
        )
    assert "about 10 min in total, estimated from 3 of 100 samples" in text.getvalue()
    assert "title: 100/100 samples, waiting for b (process 7) with 2" in text.getvalue()


@pytest.mark.parametrize(("samples", "seconds"), [(100, 0.05), (1, 30.0)])
def test_nothing_is_said_of_runs_of_seconds_or_of_one_sample(samples, seconds):
    text = io.StringIO()
    with ProgressBar("title", Console(file=text, width=100)) as shown:
        for done in range(1, min(samples, 5) + 1):
            shown.update(Progress(units=samples, done=done, seconds=seconds * done))
    assert "in total" not in text.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (89, "89 s"),
        (90, "2 min"),
        (5399, "90 min"),
        (5400, "1.5 h"),
        (172799, "48.0 h"),
        (172800, "2.0 days"),
    ],
)
def test_durations_read_in_the_unit_that_fits(seconds, text):
    assert duration_text(seconds) == text


def test_a_second_run_with_the_same_cache_encodes_nothing_again(segarena, monkeypatch):
    monkeypatch.setattr("segarena.engine.encoding_cache.WORTH", 0.0)
    base = (
        "run",
        "-s",
        f"{PACKING}:Packs",
        "-d",
        "sample-squares",
        "--rounds",
        "2",
        "-w",
        "0",
        "--cache",
        "kept",
    )
    assert segarena(*base, "-o", "clicks").exit_code == 0
    answer = segarena(
        *base[:1],
        "rclicks",
        *base[1:],
        "--click-model",
        "uniform",
        "--cache-gb",
        "1.5",
        "-o",
        "rclicks",
    )
    assert answer.exit_code == 0, answer.output
    counts = [
        (config(name)["counts"]["encodes"], config(name)["counts"]["encodes_from_cache"])
        for name in ("clicks", "rclicks")
    ]
    assert counts == [(3, 0), (0, 3)]


def test_a_damaged_run_is_refused(segarena, refused, tmp_path):
    segarena(*QUICK)
    (tmp_path / "r" / "run.json").write_text("{", encoding="utf-8")
    assert "run.json is damaged or not a run of segarena" in refused(*QUICK)

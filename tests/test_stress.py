"""A small part of `make stress`: every run tests damaged files and hostile requests, `make test-long` the rest."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.long
def test_damaged_files_are_read_or_refused_by_every_reader():
    script = Path(__file__).parent / "stress" / "files.py"
    done = subprocess.run(
        [sys.executable, str(script), "--cases", "170", "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "170 cases" in done.stdout
    assert "0 tracebacks, 0 signals, 0 late" in done.stdout


@pytest.mark.long
def test_edits_of_run_json_are_told_or_refused():
    script = Path(__file__).parent / "stress" / "run_json_edits.py"
    words = [
        sys.executable,
        script,
        "--cases",
        "6",
        "--seed",
        "7",
    ]  # others are drawn by `make stress`
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "uses went on, 0 tracebacks" in done.stdout


SERVERS = {
    "serving": "--kills 1 --worker-kills 1 --jobs 1 --clients 1",
    "postgres_restarts": "--restarts 1 --clients 1",
    "full_disk": "--times 1 --clients 1 --longest 0.2",
    "clock_jumps": "--jumps 1 --clients 1",
}


@pytest.mark.long
@pytest.mark.parametrize("script", SERVERS)
def test_a_server_in_trouble_loses_nothing_that_it_acknowledged(script):
    words = [
        sys.executable,
        Path(__file__).parent / "stress" / f"{script}.py",
        *SERVERS[script].split(),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    if "nothing was tried" in done.stdout:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 lost, 0 counted twice, 0 runs incomplete, 0 differ, database whole" in done.stdout


RUNS = {
    "kills": "--kills 1 --seeds 1",
    "sharing": "--kills 1",
    "cluster_kills": "--kills 1",
}


@pytest.mark.long
@pytest.mark.parametrize("script", RUNS)
def test_runs_whose_processes_are_killed_end_with_the_same_bytes(script):
    words = [sys.executable, Path(__file__).parent / "stress" / f"{script}.py"]
    done = subprocess.run(
        [*words, *RUNS[script].split()], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the same bytes" in done.stdout
    assert "DIFFER" not in done.stdout


@pytest.mark.long
def test_sessions_at_once_see_no_error():
    script = Path(__file__).parent / "stress" / "load.py"
    words = [
        sys.executable,
        script,
        "--minutes",
        "0.05",
        "--sessions",
        "2",
        "--think",
        "0.1",
        "--most-ms",
        "60000",
    ]
    words += ["--workers", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "errors: 0 ; 0 runs not ended; database whole" in done.stdout
    assert "added: median" in done.stdout


@pytest.mark.long
def test_hostile_requests_are_refused_and_leave_nothing():
    script = Path(__file__).parent / "stress" / "hostile_requests.py"
    words = [sys.executable, script, "--requests", "50", "--seed", "3"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "50 requests, 0 with 5xx, 0 faults, 0 files left" in done.stdout


@pytest.mark.long
def test_saves_of_browsers_survive_kills_of_the_server_and_of_tabs():
    script = Path(__file__).parent / "stress" / "studio_saves.py"
    few = {
        "saves": 24,
        "kills": 1,
        "fills": 0,
        "sign-outs": 1,
        "tab-kills": 1,
        "browsers": 2,
        "seed": 5,
    }
    words = [sys.executable, script, *(f"--{name}={number}" for name, number in few.items())]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    if "nothing was tried" in done.stdout:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 acknowledged saves lost, 0 older edits lost, 0 false choices" in done.stdout


@pytest.mark.long
def test_annotators_at_once_have_every_save_acknowledged():
    script = Path(__file__).parent / "stress" / "studio_load.py"
    words = [
        sys.executable,
        script,
        "--minutes",
        "0.2",
        "--annotators",
        "3",
        "--every",
        "0.3",
        "--most-ms",
        "60000",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 saves not acknowledged [], 0 missing; database whole" in done.stdout


BY_HAND = (
    "sent",
    "stuck",
    "studio_assist",
    "studio_browser_kills",
    "studio_hostile",
    "studio_paint",
)
HELP_OF_EACH = """
import runpy, sys
from contextlib import suppress
from pathlib import Path
folder, *scripts = sys.argv[1:]
sys.path.insert(0, folder)
for script in scripts:
    sys.argv = [f"{script}.py", "--help"]
    with suppress(SystemExit):
        runpy.run_path(str(Path(folder, f"{script}.py")), run_name="__main__")
"""


@pytest.mark.long
def test_scripts_that_run_only_by_hand_still_fit_the_package():
    # One process for all, because the imports take longer than everything else.
    words = [sys.executable, "-c", HELP_OF_EACH, Path(__file__).parent / "stress", *BY_HAND]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert [script for script in BY_HAND if f"usage: {script}.py" not in done.stdout] == []


@pytest.mark.long
def test_scores_of_a_test_open_little_of_the_truth_and_exact_ones_open_more():
    script = Path(__file__).parent / "stress" / "score_oracle.py"
    done = subprocess.run(
        [sys.executable, str(script), "--runs", "400", "--seeds", "3", "--blocks", "8"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "by default (at most +0.01)" in done.stdout

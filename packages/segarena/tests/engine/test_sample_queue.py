"""Several processes share a run: the same bytes as from one, even if some die, and clear messages otherwise."""

import hashlib
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from segarena import RunFolder
from segarena.errors import InvalidInput, RunConflict, RunMissing, StoreError, WorkError
from segarena.work.sharing.claims import Claims
from segarena.work.sharing.process_heartbeats import Sharer, present_sharers

pytestmark = pytest.mark.usefixtures("quick_workers")

SAMPLES = 12
# One process imports everything once and forks for each that takes part in a run.
SCRIPT = """
import os, sys
import segarena
from segarena.engine import evaluate
from segarena.roles import Benchmark
from segarena.work.sharing import claims

segarena.registry.plugins_by_name("user")  # imports all plug-ins
os.fsync = lambda _: None  # no kill takes back what was written
user, segmenter, dataset = sys.argv[1:]
rules = Benchmark(name="b", users=(user, "sample-first-pixel"), metrics=("iou",), rounds=4, summary=())
for line in sys.stdin:
    what, *words = line.split()
    if what == "wait":
        print(os.waitstatus_to_exitcode(os.waitpid(int(words[0]), 0)[1]), flush=True)
        continue
    out, workers = words
    if (child := os.fork()) == 0:
        share, workers = what != "alone", int(workers)
        if what == "impatient":
            claims.Claims.__init__.__kwdefaults__["expire_s"] = 0.5
        try:
            os.setsid()
            evaluate.evaluate(rules, segmenter=segmenter, dataset=dataset, out=out, workers=workers, share=share)
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
"""


class Runs:
    """Starts processes that take part in runs."""

    def __init__(self, *arguments):
        command = [sys.executable, "-c", SCRIPT, *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def runs():
    plugins = Path(__file__).parent / "misbehaving.py"
    started = Runs(
        f"{plugins}:RandomUser",
        f"{plugins}:Good(pause_s=0.004)",
        f"sample-squares(count={SAMPLES})",
    )
    yield started
    started.process.communicate()


@pytest.fixture(scope="module")
def whole(runs, tmp_path_factory):
    """The run of a single process."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert runs.ask("wait", runs.ask("alone", out, 0)) == 0
    return digests(out)


def digests(out):
    """Return the SHA-256 of all files without durations."""
    files = [file for table in ("records", "masks") for file in sorted((out / table).iterdir())]
    return {
        str(file.relative_to(out)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def done(out):
    try:
        folder = RunFolder.open(out)
    except RunMissing:
        return 0
    return SAMPLES - len(folder.pending())


def wait_for_samples(out, count):
    deadline = time.monotonic() + 60
    while done(out) < count:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def wait_until_sharing(out, process):
    """Wait until a process takes part in a run; it handles signals before that."""
    deadline = time.monotonic() + 60
    while process not in {who.process for who in present_sharers(out / "claims").values()}:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_three_of_which_one_is_killed_give_the_same_bytes_and_all_return_with_the_run(
    runs, whole, tmp_path
):
    out = tmp_path / "run"
    dies, *others = [runs.ask("share", out, workers) for workers in (0, 0, 1)]
    wait_for_samples(out, 3)
    os.kill(dies, signal.SIGKILL)
    assert runs.ask("wait", dies) == -signal.SIGKILL
    assert [runs.ask("wait", other) for other in others] == [0, 0]
    assert digests(out) == whole
    folder = RunFolder.open(out)
    assert folder.config.counts.samples == SAMPLES
    assert sorted(path.name for path in out.iterdir()) == [
        "masks",
        "pieces.jsonl",
        "records",
        "run.json",
        "timings",
    ]


@pytest.mark.long
def test_what_was_begun_together_goes_on_alone_and_the_reverse(runs, whole, tmp_path):
    out = tmp_path / "run"
    for how, samples in (("share", 1), ("alone", 3), ("share", 5)):
        process = runs.ask(how, out, 0)
        wait_for_samples(out, samples)
        os.kill(process, signal.SIGKILL)
        runs.ask("wait", process)
    assert runs.ask("wait", runs.ask("alone", out, 0)) == 0
    assert digests(out) == whole
    assert not (out / "claims").exists()


@pytest.mark.long
def test_one_that_is_held_is_given_up_and_does_no_harm_when_it_goes_on(runs, whole, tmp_path):
    out = tmp_path / "run"
    held = runs.ask("impatient", out, 0)
    wait_for_samples(out, 2)
    os.kill(held, signal.SIGSTOP)
    assert runs.ask("wait", runs.ask("impatient", out, 0)) == 0
    assert digests(out) == whole
    os.kill(held, signal.SIGCONT)
    assert runs.ask("wait", held) == 0
    assert digests(out) == whole
    assert not (out / "claims").exists()
    assert not list(out.glob("*/.*.part"))


@pytest.mark.long
def test_one_that_is_stopped_leaves_the_rest_to_the_others(runs, whole, tmp_path):
    out = tmp_path / "run"
    one = runs.ask("share", out, 0)
    wait_until_sharing(out, one)
    other = runs.ask("share", out, 0)
    wait_for_samples(out, 2)
    os.kill(one, signal.SIGTERM)
    assert (runs.ask("wait", one), runs.ask("wait", other)) == (1, 0)
    assert digests(out) == whole


@contextmanager
def somebody(out, **changes):
    """Start a process that joins a run."""
    with Claims(out / "claims", out / "pieces.jsonl", were_done=lambda _: ()) as claims:
        if changes:
            (file,) = (out / "claims").glob("*.sharer")
            who = msgspec.json.decode(file.read_bytes(), type=Sharer)
            file.write_bytes(msgspec.json.encode(msgspec.structs.replace(who, **changes)))
        yield claims


def test_while_a_run_is_shared_nobody_works_on_it_alone(small_run, tmp_path):
    small_run()
    with somebody(tmp_path / "run"):
        for options in ({}, {"overwrite": True}):
            with pytest.raises(
                RunConflict, match=r"run is shared by .* \(process \d+\); add --share to join"
            ):
                small_run(**options)
    small_run()


def test_another_one_finishes_when_the_one_who_had_the_folder_is_gone(small_run, tmp_path):
    run = small_run()
    (tmp_path / "run" / "records" / "000000-000003.parquet").unlink()
    with somebody(tmp_path / "run") as gone:
        assert gone.try_keeping()
        (file,) = (tmp_path / "run" / "claims").glob("*.sharer")
        os.utime(file, (0, 0))
        assert small_run(share=True).records().equals(small_run(out=tmp_path / "other").records())
    assert run.is_complete


def test_while_one_works_alone_nobody_shares(small_run, tmp_path, monkeypatch):
    monkeypatch.setattr("segarena.work.sharing.locks._PATIENCE_S", 0.0)
    run = small_run()
    with run.lock(), pytest.raises(RunConflict, match="in use by another process without --share"):
        small_run(share=True)
    assert not (tmp_path / "run" / "claims").exists()


def test_another_run_is_refused_and_the_difference_named(small_run, tmp_path):
    small_run(share=True)
    with pytest.raises(
        RunConflict, match=r"holds a run with seed = 0, but the requested run has 1"
    ):
        small_run(share=True, seed=1)
    assert not (tmp_path / "run" / "claims").exists()


def test_other_files_are_refused_and_left_alone(small_run, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").touch()
    with pytest.raises(RunConflict, match="holds other files"):
        small_run(share=True)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.txt"]


def test_another_version_is_refused_and_named(small_run, tmp_path):
    with (
        somebody(tmp_path / "run", version="0.0.1", host="old"),
        pytest.raises(RunConflict, match=r"is shared by old \(process \d+\) with segarena 0\.0\.1"),
    ):
        small_run(share=True)


def test_a_finished_run_is_returned(small_run):
    first = small_run()
    again = small_run(share=True)
    assert again.config == first.config
    assert again.records().equals(first.records())


def test_samples_that_failed_are_done_again_by_the_first_who_comes(small_run, plugin):
    flaky = plugin("At", how="raises")
    assert small_run(flaky, share=True).config.counts.failures == 1
    seen = []
    run = small_run(
        flaky, share=True, retry_failed=True, on_progress=lambda state: seen.append(state.resumed)
    )
    assert seen[0] == 3
    assert run.config.counts.failures == 1


def test_a_run_that_fails_alike_from_the_start_ends_and_keeps_nothing(small_run, plugin, tmp_path):
    with pytest.raises(WorkError, match="the first 3 samples all failed for the same reason"):
        small_run(plugin("Refuses"), share=True, keep_going=False)
    assert len(RunFolder.open(tmp_path / "run").pending()) == 4
    assert not (tmp_path / "run" / "claims").exists()


def test_answers_are_asked_again_once(small_run):
    assert small_run(share=True, verify=2).config.verified.asked == 2


def test_overwriting_is_for_one(small_run):
    with pytest.raises(InvalidInput, match="without share"):
        small_run(share=True, overwrite=True)


def test_stretches_are_joined_while_the_run_goes_on(small_run, tmp_path, monkeypatch):
    for module in ("segarena.engine.sample_queue", "segarena.records.compaction"):
        monkeypatch.setattr(f"{module}.BLOCK_SAMPLES", 2)
    monkeypatch.setattr("segarena.work.sharing.claims.MIN_CLAIM_S", 0.0)
    joined = {}

    def look(state):
        joined[state.done] = len(list((tmp_path / "run" / "records").glob("*-*.parquet")))

    small_run(share=True, dataset="sample-squares(count=6)", on_progress=look)
    assert joined == {0: 0, 1: 0, 2: 0, 3: 0, 4: 1, 5: 2, 6: 2}


@pytest.fixture
def small_disk():
    """Limit the size of files to a few bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))

    yield fill
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


def test_whose_disk_is_full_ends_and_the_others_go_on(small_run, small_disk, tmp_path, monkeypatch):
    with somebody(tmp_path / "run") as other:
        filled = []

        def fill_after_one(state):
            if state.done and not filled:
                filled.append(small_disk())

        with pytest.raises(StoreError, match="cannot be written: File too large"):
            small_run(share=True, on_progress=fill_after_one)
        resource.setrlimit(resource.RLIMIT_FSIZE, resource.getrlimit(resource.RLIMIT_FSIZE)[1:] * 2)
        with other.keeping():
            other.begin("this run", 4, RunFolder.open(tmp_path / "run").pending)
        assert list(other.units()) == [1, 2, 3]


def test_a_folder_that_cannot_be_written_is_told(small_run, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        small_run(share=True, out=tmp_path / "file" / "run")

"""Faulty workers: the messages of a run, which continues."""

import gc
import pickle
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import segarena.worker
from segarena import evaluate
from segarena.dialogue import Dialogue
from segarena.engine.time_limit import TimeLimit
from segarena.errors import PluginInvalid, SegmenterError, UntrustedPlugin
from segarena.prompts import Click
from segarena.registry import build, only_built_in
from segarena.reports.boards import Entry, board_of, extract_of
from segarena.samples import ImageSample, VideoSample, VolumeSample
from segarena.segmenters.workers.worker import Worker, model_name
from segarena.segmenters.workers.worker_process import WorkerProcess

HERE = Path(__file__).parent
SAMPLE = ImageSample(id="a", image=np.zeros((20, 30, 3), np.uint8))
ONE = Dialogue().ask((Click((5, 6)),))


def honest(**options):
    return Worker(shlex.join([sys.executable, str(HERE / "honest.py")]), **options)


def moody(mood, *arguments, **options):
    return Worker(
        shlex.join([sys.executable, str(HERE / "moody.py"), mood, *map(str, arguments)]), **options
    )


def says(program, **options):
    """A worker that is a line of Python."""
    return Worker(shlex.join([sys.executable, "-c", program]), start_s=60.0, **options)


def answer(worker, sample=SAMPLE, dialogue=ONE):
    (given,) = worker.predict(worker.encode(sample), [dialogue])
    return given


def test_what_it_can_do_is_what_it_says():
    worker = honest(options={"radius": 1})
    assert worker.sample_kinds == {"image", "volume", "video"}
    assert "support" in worker.prompt_kinds
    assert answer(worker).mask.sum() == 9


def test_a_run_folder_that_is_only_read_starts_no_program(tmp_path):
    with only_built_in(), pytest.raises(UntrustedPlugin):
        build("segmenter", f"worker('touch {tmp_path}/flag')")
    assert not (tmp_path / "flag").exists()


def test_an_object_travels_to_other_processes():
    assert answer(pickle.loads(pickle.dumps(honest(options={"radius": 1})))).mask.sum() == 9


VOLUME = VolumeSample(
    id="v",
    voxels=np.full((40, 100, 2100), 7, np.int16),
    spacing_mm=(2.0, 1.0, 1.0),
    affine=np.eye(4),
)
FRAMES = [np.full((120, 200, 3), number, np.uint8) for number in range(120)]
CLIP = VideoSample(id="c", frames=FRAMES, frame_shape=(120, 200))


@pytest.mark.long
@pytest.mark.parametrize("sample", [VOLUME, CLIP], ids=["volume", "video"])
def test_large_arrays_are_mapped_and_nothing_of_them_stays_behind(sample):
    worker = honest()
    opened = open_files()
    encoded = worker.encode(sample)
    assert worker.pack(encoded)["mean"][0] == pytest.approx(7 if sample is VOLUME else 59.5)
    assert open_files() == opened


@pytest.mark.long
@pytest.mark.parametrize("address", ["tcp", "unix"])
def test_one_that_listens_answers_as_one_that_was_started(address, tmp_path, monkeypatch):
    monkeypatch.setenv("SEGARENA_WORKER_TOKEN", "secret")
    place = f"unix:{tmp_path / 'socket'}" if address == "unix" else f"tcp://127.0.0.1:{free_port()}"
    with listening(place):
        assert np.array_equal(answer(Worker(place)).mask, answer(honest()).mask)
        monkeypatch.setenv("SEGARENA_WORKER_TOKEN", "guess")
        with pytest.raises(PluginInvalid, match="wrong token; set SEGARENA_WORKER_TOKEN"):
            Worker(place)


def test_strangers_are_shown_out_and_do_not_keep_a_host_out(tmp_path, monkeypatch):
    monkeypatch.setenv("SEGARENA_WORKER_TOKEN", "secret")
    place = tmp_path / "socket"
    impatient = (
        f"import sys; sys.path.insert(0, {str(HERE)!r}); import honest, worker; "
        "worker._MOST_STRANGERS, worker._MOST_STRANGE_SECONDS = 2, 0.2; worker.serve(honest.Honest)"
    )
    with listening(f"unix:{place}", "-c", impatient), ExitStack() as strangers:
        for _ in range(5):
            one = strangers.enter_context(socket.socket(socket.AF_UNIX))
            one.connect(str(place))
            one.send(b"\0")
        assert Worker(f"unix:{place}").sample_kinds


def test_no_file_makes_room_for_a_socket(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    words = [sys.executable, HERE / "honest.py", "--listen", f"unix:{tmp_path / 'notes.txt'}"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "exists and is not a socket" in ended.stderr
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_one_that_does_not_listen_is_named_with_what_starts_it():
    with pytest.raises(
        PluginInvalid, match=r"nothing listens at tcp://127.0.0.1:1 .*--listen tcp://127.0.0.1:1"
    ):
        Worker("tcp://127.0.0.1:1")
    with pytest.raises(PluginInvalid, match="expected an address like"):
        Worker("tcp://somewhere")


def open_files():
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


class listening:
    def __init__(self, place, *program):
        self.words = [sys.executable, *(program or [HERE / "honest.py"]), "--listen", place]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stderr=subprocess.PIPE)
        assert b"listening" in self.process.stderr.readline()

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


REFUSALS = {
    "no command": ({"command": " "}, "expected a command like"),
    "no shell": ({"command": "python 'x"}, "is not a command"),
    "no program": ({"command": "/nowhere/python x.py"}, "there is no program /nowhere/python"),
    "no interpreter": (
        {"command": "python x.py", "python": "envs/ritm/bin/python"},
        "there is no program envs/ritm/bin/python; create that environment: python3 -m venv envs/ritm && "
        "envs/ritm/bin/python -m pip install numpy",
    ),
    "no folder": ({"command": "python x.py", "folder": "nowhere"}, "there is no folder nowhere"),
    "no module": (
        {"command": "python -c 'import mmcv.ops'", "python": sys.executable},
        f"{sys.executable} has no module mmcv; for mmcv, see the requirements of the model",
    ),
    "no adapter": (
        {"command": "python -m my_adapter", "python": sys.executable},
        "there is no module my_adapter in this folder; pass its folder",
    ),
    "no module in the constructor": (
        {"command": f"{sys.executable} {HERE / 'moody.py'} Imports"},
        f"{sys.executable} has no module tensorboard; for tensorboard, see the requirements of the model",
    ),
    "no file beside it": (
        {"command": "python -c 'from segarena_worker import serve'", "python": sys.executable},
        "segarena_worker.py is not next to the adapter",
    ),
    "another version": (
        {"command": f"{sys.executable} -c 'print(\"segarena-worker 2\")'"},
        "speaks version 2 of the protocol, but this segarena speaks version 1",
    ),
    "no worker": ({"command": "echo hello"}, "ended with exit code 0; it printed nothing"),
    "garbage": ({"command": "head -c 2000000 /dev/zero"}, "broke the protocol: no greeting"),
    "silence": ({"command": "sleep 60", "start_s": 0.3}, "gave no answer in time"),
    "an unknown option": (
        {"command": f"{sys.executable} {HERE / 'honest.py'}", "options": {"raduis": 3}},
        "unknown option 'raduis'; it takes radius=3",
    ),
    "a log that cannot be": (
        {"command": "sleep 60", "log": "/nowhere/log"},
        "log='/nowhere/log' cannot be written",
    ),
}


@pytest.mark.parametrize(("options", "message"), REFUSALS.values(), ids=list(REFUSALS))
def test_what_cannot_be_started_is_refused_with_what_to_do(options, message):
    with pytest.raises(PluginInvalid) as caught:
        Worker(**options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


GREETING = "import sys; sys.stdout.write('segarena-worker 1\\n'); sys.stdout.flush(); sys.stdin.buffer.read(20); "
NONSENSE = {
    "letters": (
        "print('Traceback (most recent call last)', flush=True)",
        "broke the protocol: expected a header of",
    ),
    "another request's answer": (
        "import struct, json; t = json.dumps({'id': 99, 'ok': {}}).encode(); "
        "sys.stdout.buffer.write(struct.pack('<IQ', len(t), 0) + t); sys.stdout.flush()",
        "it answers request 99 instead of request 1",
    ),
    "no hello": (
        "import struct, json; t = json.dumps({'id': 1, 'ok': {'protocol': 'x'}}).encode(); "
        "sys.stdout.buffer.write(struct.pack('<IQ', len(t), 0) + t); sys.stdout.flush()",
        "its description is not valid: Expected `int`",
    ),
    "unknown kinds": (
        "import struct, json; t = json.dumps({'id': 1, 'ok': {'protocol': 1, 'sample_kinds': ['x']}}).encode(); "
        "sys.stdout.buffer.write(struct.pack('<IQ', len(t), 0) + t); sys.stdout.flush()",
        "its description is not valid: ['x']",
    ),
    "the end": ("", "ended with exit code 0"),
}


@pytest.mark.parametrize(("program", "message"), NONSENSE.values(), ids=list(NONSENSE))
def test_nonsense_after_the_greeting_is_refused(program, message):
    with pytest.raises(PluginInvalid) as caught:
        says(GREETING + program)
    assert message in str(caught.value)


FAILURES = {
    "Raises": "predict: KeyError: 'decoder.weight'",
    "TooMany": "predict: expected 1 predictions, got 2",
    "TooFew": "predict: expected 1 predictions, got 0",
    "OtherShape": "expected a mask of shape (32, 32), got (3, 5)",
    "NoMask": "predict: TypeError: <U4 arrays cannot be sent",
    "Exits": "encode: SystemExit: no GPU",
    "Dies": "its worker was lost 2 times on this sample; the last time it was killed by SIGKILL; its last lines: enc",
}


@pytest.mark.parametrize(("mood", "message"), FAILURES.items(), ids=list(FAILURES))
def test_a_run_goes_on_and_records_what_a_worker_does_wrong(mood, message, small_run):
    run = small_run(moody(mood), dataset="sample-squares(count=2)", rounds=1)
    failures = run.records()["failure"].to_list()
    assert len(failures) >= 2
    assert all(message in failure for failure in failures), failures


def test_the_last_lines_are_told_and_all_lines_are_in_the_log(tmp_path):
    with pytest.raises(
        SegmenterError, match=r"its last lines: encoding a / about to die / of this"
    ):
        answer(moody("Dies", log=str(tmp_path / "log")))
    assert (tmp_path / "log").read_text() == 2 * "encoding a\nabout to die\nof this\n"


def test_what_it_prints_never_reaches_the_conversation(tmp_path):
    assert np.array_equal(answer(moody("Prints")).mask, answer(honest()).mask)


def test_one_that_hangs_is_ended_and_the_others_are_not_waited_for(small_run):
    started = time.monotonic()
    run = small_run(moody("Hangs"), dataset="sample-squares(count=1)", rounds=1, time_limit_s=0.3)
    assert time.monotonic() - started < 50
    assert all("longer than the limit of 0.3 s" in failure for failure in run.records()["failure"])


def test_no_time_limit_interrupts_the_end_of_one(monkeypatch):
    worker = honest()
    process = worker.client._stream.process
    close = WorkerProcess.close
    left_s = []

    def note_alarm_and_close(stream):
        left_s.append(signal.getitimer(signal.ITIMER_REAL)[0])
        return close(stream)

    monkeypatch.setattr(WorkerProcess, "close", note_alarm_and_close)
    with TimeLimit(60.0).watch("a call"):
        worker.client.end()
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0.0
    assert left_s == [0.0]
    assert process.poll() is not None


def test_one_that_forgets_a_handle_is_told_again():
    worker = moody("Forgets")
    encoded = worker.encode(SAMPLE)
    assert np.array_equal(
        worker.predict(encoded, [ONE])[0].mask, worker.predict(encoded, [ONE])[0].mask
    )
    assert encoded.losses.count == 1


@pytest.mark.long
def test_one_that_needs_more_memory_than_it_may_is_a_failure_after_two_tries():
    with pytest.raises(SegmenterError, match=r"lost 2 times .* had more than memory_gb=0.2 in use"):
        answer(moody("Leaks", memory_gb=0.2))


@pytest.mark.long
def test_one_that_leaks_from_sample_to_sample_is_started_again(tmp_path):
    worker = moody("LeaksSlowly", memory_gb=0.25, log=str(tmp_path / "log"))
    for _ in range(4):
        answer(worker)
    assert (tmp_path / "log").read_text().split("\n").count("held 1") >= 2


MOMENTS = [
    "hello:2,encode:1",
    "encoded:1",
    "predict:1",
    "predict:3",
    "predicted:2",
    "half:1",
    "half:7",
    "encode:2,half:6",
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return bytes_of_run(honest(), tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("moments", MOMENTS)
def test_whenever_it_is_killed_the_run_has_the_same_bytes(moments, whole, tmp_path):
    killed = moody("Killed", "--counts", tmp_path / "counts", "--moments", moments)
    assert bytes_of_run(killed, tmp_path) == whole
    counts = (tmp_path / "counts").read_text().split()
    assert counts.count("hello") > len(
        [one for one in moments.split(",") if not one.startswith("hello")]
    )


def bytes_of_run(segmenter, folder):
    run = evaluate(
        "clicks",
        segmenter=segmenter,
        dataset="sample-squares(count=3)",
        rounds=2,
        out=folder / "run",
        name="same",
    )
    assert run.config.counts.failures == 0
    assert run.config.counts.encodes == 3
    return [
        path.read_bytes()
        for table in ("records", "masks")
        for path in sorted((run.path / table).iterdir())
    ]


def test_it_ends_with_its_host_however_that_ends():
    program = (
        f"from segarena.segmenters.workers.worker import Worker; import os, sys\n"
        f"worker = Worker({shlex.join([sys.executable, str(HERE / 'moody.py'), 'Hangs'])!r})\n"
        "print(worker.client.pid, flush=True)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as host:
        pid = int(host.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        host.kill()
    until = time.monotonic() + 60
    while is_running(pid):
        assert time.monotonic() < until
        time.sleep(0.01)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_without_a_network_it_sees_none_where_the_system_allows_that(monkeypatch):
    program = f"import sys; sys.path.insert(0, {str(HERE)!r}); import honest, socket, worker; "
    program += "honest.Honest.version = str(socket.if_nameindex()); worker.serve(honest.Honest)"
    assert "eth0" not in says(program, network=False).client.description.version
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PluginInvalid, match=r"there is no unshare .* --network none"):
        says(program, network=False)


@pytest.mark.parametrize(
    ("announced", "command", "folder", "name"),
    [
        ("Ritm", "python adapter.py", "", "Ritm"),
        ("Model", "envs/ritm/bin/python my_adapter.py --fast", "", "my_adapter"),
        ("Model", "python adapters/ritm/adapter.py", "", "ritm"),
        ("Model", "python 'adapter.py'", "models/segnext", "segnext"),
        ("Model", "tcp://gpu:7000", "", ""),
    ],
)
def test_a_model_is_named_after_its_class_or_its_file(announced, command, folder, name):
    assert model_name(announced, command, folder) == name


def test_a_run_and_its_board_call_a_worker_by_its_model(tmp_path):
    (tmp_path / "sharp").mkdir()
    file = tmp_path / "sharp" / "adapter.py"
    shutil.copy(segarena.worker.__file__, file.with_name("worker.py"))
    lines = (HERE / "honest.py").read_text(encoding="utf-8")
    file.write_text(lines.replace("class Honest", "class Model").replace("(Honest)", "(Model)"))
    command = shlex.join([sys.executable, str(file)])
    run = evaluate(
        "clicks",
        segmenter=f"worker({command!r})",
        dataset="sample-squares",
        limit=1,
        rounds=1,
        out=tmp_path / "run",
    )
    assert run.config.segmenter.display_name == "sharp"
    assert run.summary()["segmenter"] == "sharp"
    assert run.config.segmenter.label == ""
    board = board_of([Entry(extract=extract_of(run.path))])
    assert board.names == ("sharp",)
    assert board.participants == ("sharp",)

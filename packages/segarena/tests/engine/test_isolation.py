"""A segmenter that searches for the ground truth, in the process of a run and isolated from it."""

import html
import io

import cv2
import numpy as np
import pytest
from rich.console import Console

import segarena
import segarena.engine.evaluate as evaluation
from segarena.errors import InvalidInput, PluginInvalid
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.reports import terminal_table, write_report
from segarena.segmenters.workers import isolation
from segarena.segmenters.workers.isolation import hidden_files, sandbox_fault

needs_sandbox = pytest.mark.skipif(bool(sandbox_fault()), reason=sandbox_fault() or "isolated")

PEEKING = '''
import gc, os, sys
from pathlib import Path
import cv2
import numpy as np

FOLDER = {folder!r}

class Peek:
    """Answer with the first mask of the ground truth that it finds."""

    def encode(self, sample):
        return sample

    def predict(self, sample, dialogues):
        masks = [self.found(sample, dialogue) for dialogue in dialogues]
        return [np.zeros(sample.shape, bool) if mask is None else mask for mask in masks]

    def fits(self, mask, sample, dialogue):
        if getattr(mask, "shape", None) != sample.shape or mask.dtype != bool or not mask.any():
            return False
        return mask.mean() < 1 and all(mask[c.position] == c.is_positive for c in dialogue.clicks)

    def found(self, sample, dialogue):
        for mask in getattr(self, "{way}")(sample):
            if self.fits(mask, sample, dialogue):
                return mask.copy()

    def objects(self, sample):
        for each in gc.get_objects():
            if type(each).__name__ == "Target":
                yield each.mask

    def frames(self, sample):
        frame = sys._getframe()
        reached = []
        while frame is not None:
            reached += frame.f_locals.values()
            frame = frame.f_back
        known = set()
        while reached and len(known) < 100_000:
            each = reached.pop(0)
            if id(each) in known or isinstance(each, type(os)):
                continue
            known.add(id(each))
            if type(each).__name__ == "Target":
                yield each.mask
            reached += gc.get_referents(each)

    def files(self, sample):
        for file in sorted(Path(FOLDER).glob("masks/*")):
            yield cv2.imread(str(file), 0) > 0

    def processes(self, sample):
        for process in Path("/proc").glob("[0-9]*"):
            if int(process.name) != os.getpid():
                try:
                    files = list((process / "root" / FOLDER[1:]).glob("masks/*"))
                except OSError:
                    continue
                for file in files:
                    yield cv2.imread(str(file), 0) > 0
'''


@pytest.fixture
def photos(tmp_path, rng):
    folder = tmp_path / "photos"
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
    mask = np.zeros((40, 50), np.uint8)
    cv2.circle(mask, (24, 18), 11, 255, -1)
    image = rng.integers(0, 256, (40, 50, 3), dtype=np.uint8)
    cv2.imwrite(str(folder / "images/a.png"), image)
    cv2.imwrite(str(folder / "masks/a.png"), mask)
    return folder


def _best_iou(photos, tmp_path, way, **options):
    plugin = tmp_path / f"{way}.py"
    plugin.write_text(PEEKING.replace("{folder!r}", repr(str(photos))).replace("{way}", way))
    run = segarena.evaluate(
        "clicks",
        segmenter=f"{plugin}:Peek",
        dataset=f"folder(path={str(photos)!r})",
        rounds=1,
        out=tmp_path / f"run-{way}-{len(options)}",
        **options,
    )
    return run, run.records()["iou"].max()


@pytest.mark.long
@needs_sandbox
@pytest.mark.parametrize("way", ["objects", "frames", "files", "processes"])
def test_a_peeking_segmenter_scores_1_only_if_it_is_not_isolated(way, photos, tmp_path):
    open_run, score = _best_iou(photos, tmp_path, way)
    assert score == 1.0
    isolated_run, score = _best_iou(photos, tmp_path, way, isolate=True)
    assert score == 0.0
    assert open_run.config.segmenter.isolation == ""
    assert isolated_run.config.segmenter.isolation == "sandbox"


@pytest.mark.long
def test_without_bubblewrap_objects_are_hidden_and_the_run_says_that_files_are_not(
    photos, tmp_path, monkeypatch
):
    monkeypatch.setattr(isolation, "sandbox_fault", lambda: "bubblewrap is not installed")
    monkeypatch.setattr(evaluation, "sandbox_fault", lambda: "bubblewrap is not installed")
    notes = []
    run, score = _best_iou(
        photos,
        tmp_path,
        "objects",
        isolate=True,
        on_progress=lambda progress: notes.extend(progress.notes),
    )
    assert (score, run.config.segmenter.isolation) == (0.0, "process")
    assert notes[0].startswith("isolate: bubblewrap is not installed, so the segmenter")
    text = _printed(terminal_table([run.path]))
    assert "isolated in a separate process, which could read the dataset's files" in text
    _, score = _best_iou(photos, tmp_path, "files", isolate=True)
    assert score == 1.0


@pytest.mark.long
@needs_sandbox
def test_an_isolated_segmenter_answers_like_any_other(photos, tmp_path):
    records = []
    for isolate in (False, True):
        run = segarena.evaluate(
            "clicks",
            segmenter="watershed",
            dataset=f"folder(path={str(photos)!r})",
            rounds=3,
            workers=int(isolate),
            isolate=isolate,
            out=tmp_path / f"run-{isolate}",
        )
        records.append(run.records())
    assert records[0].equals(records[1])
    text = "isolated: the segmenter had neither the ground truth nor the dataset's files"
    assert text in _printed(terminal_table([tmp_path / "run-True"]))
    assert "not isolated" in _printed(terminal_table([tmp_path / "run-False"]))
    write_report([tmp_path / "run-True"], tmp_path / "report")
    assert text in html.unescape((tmp_path / "report/report.html").read_text())


@pytest.mark.long
@needs_sandbox
@pytest.mark.parametrize(
    ("benchmark", "segmenter", "dataset"),
    [
        ("radioactive", "geodesic", "phantom(cases=1,shape=(20,48,48))"),
        ("radioactive", "slices(segmenter=watershed)", "phantom(cases=1,shape=(20,48,48))"),
        ("davis", "colour-flow", "demo-videos(size=(48,60),frames=4)"),
        ("toss", "superpixel-prototypes", "oneshot-demo"),
    ],
)
def test_volumes_videos_and_examples_reach_an_isolated_segmenter(
    benchmark, segmenter, dataset, tmp_path
):
    tables = []
    for isolate in (False, True):
        run = segarena.evaluate(
            benchmark,
            segmenter=segmenter,
            dataset=dataset,
            limit=1,
            rounds=2 if benchmark == "radioactive" else 1,
            isolate=isolate,
            out=tmp_path / f"run-{isolate}",
        )
        assert run.config.counts.failures == 0
        tables.append(run.records())
    assert tables[0].equals(tables[1])


def _printed(table):
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table)
    return " ".join(console.export_text().split())


@pytest.mark.parametrize(
    ("segmenter", "message"),
    [
        ("target-box", "is a control that sees the ground truth by design"),
        (object(), "expected a plug-in as written"),
    ],
)
def test_what_cannot_be_isolated_is_refused(segmenter, message, photos, tmp_path):
    with pytest.raises(InvalidInput, match=message):
        segarena.evaluate(
            "clicks",
            segmenter=segmenter,
            dataset=f"folder(path={str(photos)!r})",
            out=tmp_path / "run",
            isolate=True,
        )


def test_a_plug_in_in_the_dataset_is_refused_and_links_are_followed(photos, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (photos / "images/a.png").rename(elsewhere / "a.png")
    (photos / "images/a.png").symlink_to(elsewhere / "a.png")
    folder = build("dataset", f"folder(path={str(photos)!r})")
    hidden = hidden_files(folder, {"path": str(photos)}, PluginSpec.of("watershed"))
    assert hidden == (str(elsewhere), str(photos))
    with pytest.raises(InvalidInput, match=r"expected .*my\.py outside the dataset's folder"):
        hidden_files(folder, {"path": str(photos)}, PluginSpec.of(f"{photos}/my.py:Peek"))


def test_the_plug_in_is_not_imported_in_the_process_of_the_run(photos, tmp_path):
    trace = tmp_path / "imported-by"
    plugin = tmp_path / "importing.py"
    plugin.write_text(
        "import sys\n"
        f"open({str(trace)!r}, 'a').write('pytest ' if 'pytest' in sys.modules else 'worker ')\n"
        "class Empty:\n"
        "    def encode(self, sample): return sample\n"
        "    def predict(self, sample, dialogues): return [sample.image[..., 0] > 9 for _ in dialogues]\n"
    )
    segarena.evaluate(
        "clicks",
        segmenter=f"{plugin}:Empty",
        dataset=f"folder(path={str(photos)!r})",
        rounds=1,
        out=tmp_path / "run",
        isolate=True,
    )
    assert trace.read_text().split() == ["worker"]


HANGING = """
import time

class Hang:
    def __init__(self):
        time.sleep(60)
    def encode(self, sample): return sample
    def predict(self, sample, dialogues): return []
"""


@pytest.mark.long
def test_a_constructor_that_hangs_in_isolation_is_ended_with_its_line(photos, tmp_path):
    plugin = tmp_path / "hanging.py"
    plugin.write_text(HANGING)
    with pytest.raises(PluginInvalid) as caught:
        segarena.evaluate(
            "clicks",
            segmenter=f"{plugin}:Hang",
            dataset=f"folder(path={str(photos)!r})",
            time_limit_s=0.05,
            out=tmp_path / "run",
            isolate=True,
        )
    assert str(caught.value) == (
        f"the constructor of segmenter {plugin}:Hang took longer than the limit of 0.5 s; "
        "raise --time-limit to allow it (hanging.py, line 6, in __init__)"
    )


def test_native_code_that_hangs_in_isolation_is_ended_and_named(monkeypatch):
    """Native code never receives the alarm; here a program that ignores its input stands for it."""
    monkeypatch.setattr(isolation, "_PROCESS_START_S", 0.2)
    monkeypatch.setattr(isolation, "PROGRAM", "asyncio")
    with pytest.raises(PluginInvalid) as caught:
        isolation.IsolatedWorker("my_model.py:MyModel", (), 0.1)
    assert "bwrap" not in str(caught.value)
    assert str(caught.value).startswith(
        "segmenter my_model.py:MyModel, isolated, did not start: it gave no answer in time"
    )

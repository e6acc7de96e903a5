"""Errors in the code of a plug-in: their location in messages and tracebacks."""

import io
import sys

import pytest

from segarena.errors import InvalidInput, WorkStopped

pytestmark = pytest.mark.usefixtures("quick_workers")

SOURCE = """
import numpy as np

def inner(shape):
    return shape.nothing_here

class Mine:
    def encode(self, sample):
        return sample.shape

    def predict(self, encoded, dialogues):
        return [inner(encoded) for dialogue in dialogues]

class Writes(Mine):
    def encode(self, sample):
        sample.image[:3] = 0

class Returns(Mine):
    def __init__(self, *, what: str):
        self.what = what

    def predict(self, encoded, dialogues):
        grey = np.zeros(encoded, np.uint8)
        grey[0] = 255
        made = {"None": None, "dict": {"masks": 1, "scores": 2}, "tuple": (grey, 0.5), "grey": grey}
        if self.what == "all in a dict":
            return {"masks": [grey]}
        if self.what == "one mask":
            return grey > 0
        return [made[self.what] for _ in dialogues]

class Unbuilt(Mine):
    def __init__(self):
        inner(3)
"""


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    return str(file)


def first_failure(folder):
    return folder.records()["failure"].drop_nulls()[0]


@pytest.mark.parametrize("workers", [0, 1])
def test_an_error_says_file_and_line_and_the_run_folder_has_the_frames(small_run, mine, workers):
    notes = []
    folder = small_run(
        f"{mine}:Mine", workers=workers, on_progress=lambda state: notes.extend(state.notes)
    )
    message = "predict: AttributeError: 'tuple' object has no attribute 'nothing_here'"
    assert first_failure(folder) == f"{message} (mine.py, line 5, in inner)"
    text = (folder.path / "tracebacks.txt").read_text()
    assert f'File "{mine}", line 12, in predict' in text
    assert "return shape.nothing_here" in text
    assert "lockstep.py" not in text
    assert text.count("AttributeError: 'tuple'") == 2
    assert any(note.endswith("no attribute 'nothing_here'") and mine in note for note in notes)


def test_writing_into_the_image_says_copy_it(small_run, mine):
    why = first_failure(small_run(f"{mine}:Writes"))
    assert "copy it first, as in image = sample.image.copy() (mine.py, line 16, in encode)" in why


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("None", "expected a mask of shape (32, 32), got None; return an array"),
        ("dict", "got a dict with the keys 'masks', 'scores'; return an array"),
        ("tuple", "got a tuple of 2 (ndarray, float); return an array"),
        ("grey", "expected a bool mask, got uint8 with the values 0 and 255; return mask > 0"),
        ("all in a dict", "expected a list of 1 predictions, got a dict; return one for each"),
        ("one mask", "expected a list of 1 predictions, got one mask; return a list"),
    ],
)
def test_wrong_answers_are_called_what_they_are(small_run, mine, what, message):
    assert message in first_failure(small_run(f"{mine}:Returns(what={what!r})"))


def test_a_plug_in_that_cannot_be_built_says_where(small_run, mine):
    with pytest.raises(Exception, match=r"nothing_here' \(mine\.py, line 5, in inner\)"):
        small_run(f"{mine}:Unbuilt")


def test_the_debugger_opens_in_the_plug_in_and_ends_the_run(small_run, mine, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("p ('shape is', shape)\nq\n"))
    with pytest.raises(WorkStopped, match="the debugger was closed"):
        small_run(f"{mine}:Mine", pdb=True)
    assert "('shape is', (32, 32))" in capsys.readouterr().out


def test_the_debugger_begins_in_the_plug_in_if_a_package_raised(
    small_run, tmp_path, monkeypatch, capsys
):
    file = tmp_path / "calls.py"
    text = SOURCE.replace("return shape.nothing_here", "return np.nothing_here")
    file.write_text(text)
    monkeypatch.setattr(sys, "stdin", io.StringIO("p ('shape is', shape)\ndown\np __name__\nq\n"))
    with pytest.raises(WorkStopped, match="the debugger was closed"):
        small_run(f"{file}:Mine", pdb=True)
    shown = capsys.readouterr().out
    assert "('shape is', (32, 32))" in shown
    assert "'numpy'" in shown


def test_the_debugger_needs_this_process(small_run, mine):
    with pytest.raises(InvalidInput, match="set workers to 0"):
        small_run(f"{mine}:Mine", pdb=True, workers=1)


def test_an_overwritten_run_has_no_tracebacks_of_the_run_before(small_run, mine, plugin):
    small_run(f"{mine}:Mine")
    folder = small_run(plugin("Good"), overwrite=True)
    assert not (folder.path / "tracebacks.txt").exists()

"""A submitted program is unpacked with the server's worker files next to it, whatever it contains."""

import zipfile
from pathlib import Path

import pytest

import segarena.worker
from segarena.errors import InvalidInput
from segarena_server.challenges.submissions.programs import PROGRAM_FILE, prepare_program


@pytest.fixture
def sent(tmp_path):
    """Write a zip of text files."""

    def write(files):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return tmp_path / "a.zip"

    return write


def test_a_worker_module_that_comes_along_is_replaced(sent, tmp_path):
    root = prepare_program(
        sent({"mine/worker.py": "x = 1", "mine/segarena_worker.py": "evil"}),
        tmp_path / "to",
        most_bytes=99,
        most_files=9,
    )
    assert (root / PROGRAM_FILE).read_text() == "x = 1"
    assert (root / "segarena_worker.py").read_bytes() == Path(segarena.worker.__file__).read_bytes()


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"main.py": ""}, "expected a file worker.py"),
        ({"worker.py/x": ""}, "expected a file worker.py"),
        (
            {"worker.py": "", "segarena_worker.py/x": ""},
            "segarena_worker.py: expected no folder of this name",
        ),
    ],
)
def test_what_cannot_be_started_is_told_to_who_sent_it(files, told, sent, tmp_path):
    with pytest.raises(InvalidInput, match=told):
        prepare_program(sent(files), tmp_path / "to", most_bytes=99, most_files=9)

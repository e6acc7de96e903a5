"""Output in encodings that lack the characters of the tables."""

import io
import os
import subprocess
import sys

import pytest

import segarena
from segarena.terminal import output_encoding

START = "from segarena.cli.start import main; main()"


def _command(*arguments, **variables):
    """Run a command with additional environment variables; return its code, stdout and stderr as bytes."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LC_", "LANG", "PYTHONIO", "PYTHONUTF8"))
    }
    ended = subprocess.run(
        [sys.executable, "-c", START, *map(str, arguments)],
        capture_output=True,
        env=environment | variables,
        timeout=120,
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run in a folder whose name ASCII and Latin-1 cannot represent."""
    folder = tmp_path_factory.mktemp("runs") / "größe Ω 図"
    segarena.evaluate(
        "clicks",
        segmenter="watershed",
        dataset="demo",
        limit=1,
        rounds=2,
        workers=0,
        out=folder,
    )
    return folder


# Neither has the characters of tables and arrows; they go the same way.
@pytest.mark.long
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_the_report_of_a_run_is_readable_in_any_encoding(run, encoding):
    code, out, err = _command("report", run, PYTHONIOENCODING=encoding)
    assert (code, err) == (0, b"")
    text = out.decode(encoding)
    assert {"NoC@90 v", "IoU@1 ^"} <= {line[:10].rstrip() for line in text.splitlines()}
    assert "?" not in text
    assert "┃" not in text


@pytest.mark.long
@pytest.mark.parametrize("utf8", [{"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {}])
def test_boxes_are_plain_in_the_locale_c(utf8):
    code, out, err = _command("export", LC_ALL="C", **utf8)
    assert (code, out) == (2, b"")
    boxes = b"+- Error -" if utf8 else "╭─ Error ─".encode()
    assert boxes in err


@pytest.mark.parametrize(
    ("character", "expected"),
    [
        ("▼", b"v"),
        ("▲", b"^"),
        ("é", b"e"),
        ("ü", b"u"),
        ("²", b"2"),
        ("\u00a0", b" "),
        ("\u0301", b""),
        ("図", b"\\u56f3"),
        ("\udcff", b"\\xff"),
        ("😀", b"\\U0001f600"),
    ],
)
def test_replacements_in_ascii(monkeypatch, character, expected):
    raw = io.BytesIO()
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "ascii"))
    output_encoding.make_output_encodable()
    sys.stdout.write(f"a{character}b")
    sys.stdout.flush()
    assert raw.getvalue() == b"a" + expected + b"b"


def test_latin_1_keeps_what_it_has(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "latin-1"))
    output_encoding.make_output_encodable()
    sys.stdout.write("±é↓")
    sys.stdout.flush()
    assert raw.getvalue().decode("latin-1") == "±év"


def test_worker_processes_do_not_fail_either(monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    output_encoding.make_output_encodable()
    ended = subprocess.run([sys.executable, "-c", r"print('\u2193')"], capture_output=True)
    assert (ended.returncode, ended.stdout.strip()) == (0, rb"\u2193")

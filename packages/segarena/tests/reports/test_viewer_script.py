"""JavaScript of the viewer of rounds: its unit tests, and the script that pages embed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from segarena.reports.html_document import VIEWER_MODULES, VIEWER_SCRIPT, read_script, read_text

HERE = Path(__file__).parent / "viewer"


def node(*words, text=""):
    """Run node; skip without it."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("no node here; make test installs Debian's")
    return subprocess.run(
        [program, *words], input=text, capture_output=True, text=True, timeout=60, check=False
    )


def test_modules_pass_their_own_tests():
    done = node(HERE / "viewer.test.js")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    assert "\n# pass 0" not in done.stdout


def test_pages_embed_all_modules_as_one_script(tmp_path):
    script = read_script("segarena.reports", VIEWER_SCRIPT)
    assert "import {" not in script
    assert "export " not in script
    path = tmp_path / "viewer.js"
    path.write_text(script)
    done = node("--check", path)  # fails if two modules define the same name
    assert done.returncode == 0, done.stderr


def test_modules_follow_those_that_they_import():
    before = set()
    for name in VIEWER_MODULES:
        for line in read_text("segarena.reports", f"viewer/{name}").splitlines():
            if line.startswith("import "):
                assert line.partition('from "./')[2].rstrip('";') in before, (name, line)
        before.add(name)

"""Pages accept only installed plug-ins, and files below configured folders, however they are written."""

import pytest

from segarena_server.extensions.allowed_plugins import plugin_fault, plugin_faults


@pytest.fixture
def offered(tmp_path):
    """A configured folder, and another one next to it."""
    (tmp_path / "offered" / "photos").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "offered" / "out").symlink_to(tmp_path / "secret")
    return tmp_path / "offered"


def test_what_is_installed_and_what_lies_below_may_be_named(offered):
    for text in (
        "demo",
        f"folder(path='{offered}/photos')",
        f"folder('{offered}/photos')",
        "phantom",
    ):
        assert plugin_fault("dataset", text, [str(offered)]) == ""
    for text in ("clicks", "clicks(rounds=3, stop_at_iou=0.9)", "davis(rounds=2)"):
        assert plugin_fault("benchmark", text, []) == ""


@pytest.mark.parametrize(
    "text",
    [
        "folder(path='{secret}')",
        "folder('{secret}')",
        "folder(path='{offered}/../secret')",
        "folder(path='{offered}/out')",
        "folder(path='{offered}/photos,{secret}')",
        "folder(path='{offered}/photos:{secret}')",
        "folder(path='{offered}/photos\\n{secret}')",
        "folder(path='../secret')",
        "folder(path='~')",
        "folder(path='~root')",
        "folder(path='$HOME')",
        "folder(path='.')",
        "folder(path='..')",
        "folder(path='pyproject.toml')",
        "folder(path='http://127.0.0.1/x')",
        "folder(path=b'/etc')",
        "folder(path=['/etc'])",
        "folder(path={{'/etc': 1}})",
        "folder(path='{offered}/photos', masks='/etc')",
        "folder(path='x=folder(\"/etc\")')",
        "/etc/passwd",
        "evil.py:Evil",
        "{offered}/evil.py:Evil",
        "folder(",
        "",
    ],
)
def test_files_elsewhere_are_refused_however_they_are_written(offered, text):
    written = text.format(offered=offered, secret=offered.parent / "secret")
    assert plugin_fault("dataset", written, [str(offered)])


@pytest.mark.parametrize(
    "text",
    [
        "worker('touch x')",
        "worker(command='touch x')",
        "rclicks(click_model=\"network(path='/x/w.pt')\")",
        "rclicks(click_model='evil.py:Model')",
        "rclicks(click_model=\"worker('touch x')\")",
        "rclicks(clicks='/etc/passwd')",
        "clicks(rounds='a;worker(1)')",
    ],
)
@pytest.mark.parametrize("kind", ["benchmark", "segmenter"])
def test_nothing_is_run_by_an_option(offered, text, kind):
    assert plugin_fault(kind, text, [str(offered)])


def test_faults_are_told_by_field(offered):
    texts = {
        "title": "folder(path='/etc')",
        "benchmark": "nothing",
        "dataset": "demo",
        "phases[1].dataset": "folder(path='/etc')",
    }
    assert set(plugin_faults(texts, [str(offered)])) == {"benchmark", "phases[1].dataset"}

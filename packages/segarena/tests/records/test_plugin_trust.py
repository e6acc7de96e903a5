"""Reading a run does not execute code that its folder names; on request it does, and reports changes."""

import json

import pytest

from segarena.errors import RunConflict, UntrustedPlugin
from segarena.records.configuration import PluginRecord
from segarena.records.plugin_trust import rebuild_plugin
from segarena.registry import build, only_built_in
from segarena.reports import terminal_table, write_report
from segarena.reports.recorded_run import read_runs

EVIL = """
from pathlib import Path
Path(__file__).with_name("was-run").touch()

class D:
    name, sample_ids, fingerprint = "evil", ["a"], "f"

class U:
    pass

def statistic():
    raise RuntimeError
"""


@pytest.fixture
def evil(tmp_path):
    file = tmp_path / "evil.py"
    file.write_text(EVIL, encoding="utf-8")
    yield file
    assert not (tmp_path / "was-run").exists()


@pytest.fixture
def hostile(make_run, make_ramps, evil):
    """Create a run folder whose run.json names the file wherever it can name a plug-in."""

    def make(**changes):
        path = make_run(make_ramps(), name=f"run-{len(changes)}")
        file = path / "run.json"
        config = json.loads(file.read_text())
        for kind in ("segmenter", "dataset"):
            config[kind] |= {"name": f"{evil}:D", "options": {}}
        for user in config["users"]:
            user |= {"name": f"{evil}:U"}
        config["metrics"] = [{"name": f"{evil}:D", "options": {}}]
        config["benchmark"]["adapter"] = {"name": f"{evil}:D", "options": {}}
        config["benchmark"] |= changes
        file.write_text(json.dumps(config))
        return path

    return make


# Each benchmark with sections of its own, and each kind of sample; the others are further pairs of these.
@pytest.mark.parametrize(
    ("benchmark", "kind"),
    [
        *(("small", "image"), ("clicks", "image"), ("rclicks", "video"), ("toss", "image")),
        *(("radioactive", "volume"), ("cvpr2025", "image"), ("davis", "video")),
        *(
            pytest.param(*pair, marks=pytest.mark.long)
            for pair in (
                ("small", "volume"),
                ("small", "video"),
                ("toss", "volume"),
                ("davis", "volume"),
            )
        ),
    ],
)
def test_no_reader_runs_what_a_folder_names(hostile, segarena, benchmark, kind):
    run = hostile(name=benchmark, sample_kind=kind)
    segarena("report", run, run)
    segarena("toss", "score", run)
    segarena("toss", "bias", run)


def test_neither_does_a_statistic_of_a_summary(hostile, evil, segarena):
    run = hostile(summary=[{"name": "x", "kind": f"{evil}:statistic"}])
    answer = segarena("report", run)
    assert answer.exit_code == 2
    assert "no statistic is called" in answer.stderr


def test_nor_an_option_of_what_is_part_of_segarena(evil):
    used = PluginRecord(name="votes", options={"segmenter": f"{evil}:D"})
    with pytest.raises(UntrustedPlugin):
        rebuild_plugin("segmenter", used)
    with only_built_in(), pytest.raises(UntrustedPlugin):
        build("dataset", f"{evil}:D")


def test_nor_the_folder_of_a_session(hostile, small_run):
    with pytest.raises(RunConflict, match="holds a run with"):
        small_run("sample-disc", out=hostile(), workers=0)


def test_plug_ins_of_other_packages_are_not_built_either():
    assert rebuild_plugin("dataset", PluginRecord(name="demo")).name == "demo"
    with pytest.raises(UntrustedPlugin, match="sample-squares is not part of segarena"):
        rebuild_plugin("dataset", PluginRecord(name="sample-squares"))
    assert (
        rebuild_plugin("dataset", PluginRecord(name="sample-squares"), trust=True).name
        == "sample-squares"
    )


def test_one_line_says_what_is_not_shown_and_how_to_show_it(hostile, segarena, evil):
    run = hostile()
    answer = segarena("report", run)
    assert answer.exit_code == 0
    lines = [line for line in answer.stderr.splitlines() if "No photographs" in line]
    assert len(lines) == 1
    assert "evil.py:D" in lines[0]
    assert "--trust" in lines[0]
    assert "No photographs" in (run / "report" / "report.html").read_text()


@pytest.mark.long
def test_with_trust_pictures_come_and_a_changed_file_is_named(make_run, make_ramps, tmp_path):
    run = make_run(make_ramps())
    config = json.loads((run / "run.json").read_text())
    source = config["dataset"]["name"].rpartition(":")[0]
    config["dataset"]["sha256"] = "0" * 64
    (run / "run.json").write_text(json.dumps(config))
    files = write_report([run], tmp_path / "report", trust=True)
    assert files.not_shown == ()
    page = files.html.read_text()
    assert f"{source.rpartition('/')[2]} changed since this run" in page
    untrusted_page = write_report([run], tmp_path / "plain").html.read_text()
    assert page.count("data:image/") > untrusted_page.count("data:image/")


def test_the_summary_alone_asks_for_no_trust(hostile):
    run = hostile()
    assert terminal_table([run])
    assert read_runs([run])[0].trust is False

"""Demos of all installed packages, found by their entry points."""

from importlib.metadata import EntryPoint

import segarena.demos
from segarena.demos import NamedDemo, RunDemo, find_demos


def test_every_demo_names_the_command_that_uses_it(segarena):
    demos = find_demos(NamedDemo)
    assert {"photographs", "scenes"} <= {demo.name for demo in demos}
    assert len({demo.name for demo in demos}) == len(demos)
    listed = segarena("list", "demos").stdout
    for demo in demos:
        assert demo.name in listed
        assert demo.command in listed


def test_a_kind_of_demos_leaves_the_others_out():
    assert "photographs" in {demo.name for demo in find_demos(RunDemo)}
    assert "scenes" not in {demo.name for demo in find_demos(RunDemo)}


def test_a_demo_that_cannot_be_imported_is_reported_and_left_out(monkeypatch):
    wrong = [
        EntryPoint("absent", "no_such_package:DEMO", "segarena.demos"),
        EntryPoint("other", "segarena.demos:ENTRY_POINTS", "segarena.demos"),
        EntryPoint("right", "segarena.cli.demo:PHOTOGRAPHS", "segarena.demos"),
    ]
    monkeypatch.setattr(segarena.demos, "entry_points", lambda group: wrong)
    failures = []
    assert [demo.name for demo in find_demos(NamedDemo, failures.append)] == ["photographs"]
    assert "failed to import: ModuleNotFoundError" in failures[0]
    assert "expected a NamedDemo, got str" in failures[1]

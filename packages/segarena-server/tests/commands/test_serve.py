"""Output of `segarena serve`."""

import re

from segarena_server.commands import serve


def test_without_a_terminal_each_step_of_a_demo_is_a_line_at_once(capsys):
    with serve._demo_progress() as progress:
        progress.update("creating accounts")
        first = capsys.readouterr()
        progress.update("run 1 of 9")
        progress.stop()
    assert re.fullmatch(r"\[ +\d+ s\] creating accounts\n", first.err)
    assert first.out == ""
    assert "run 1 of 9" in capsys.readouterr().err


def test_the_samples_of_a_challenge_are_not_a_line_each(capsys, monkeypatch):
    with serve._demo_progress() as progress:
        for done in range(80):
            progress.update(f"photographs: {done} of 80 samples ready")
        progress.update("run 1 of 9: Ada at photographs, graph")
        assert len(capsys.readouterr().err.splitlines()) == 2
        monkeypatch.setattr(serve, "_LINE_EVERY_S", 0.0)
        for done in range(3):
            progress.update(f"volumes: {done} of 3 samples ready")
        assert len(capsys.readouterr().err.splitlines()) == 3


def test_on_a_terminal_one_line_changes(monkeypatch, capsys):
    class Terminal(serve.Console):
        @property
        def is_terminal(self):
            return True

    monkeypatch.setattr(serve, "Console", Terminal)
    with serve._demo_progress() as progress:
        assert isinstance(progress, serve.Status)
    assert " s] " not in capsys.readouterr().err

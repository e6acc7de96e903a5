"""Errors end in one line and an exit code."""

import errno

import pytest
import typer

from segarena.errors import InvalidInput
from segarena.terminal.exit_codes import REFUSED, one_line_errors


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InvalidInput("expected a,\n  got b"), "error: expected a, got b"),
        (
            PermissionError(errno.EACCES, "Permission denied", "kept/x"),
            "error: kept/x: Permission denied; ",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), "error: No space left on device; "),
        (MemoryError(), "error: out of memory; "),
    ],
)
def test_what_is_refused_is_one_line_and_exit_code_2(capsys, error, line):
    with pytest.raises(typer.Exit) as ended, one_line_errors():
        raise error
    told = capsys.readouterr().err
    assert ended.value.exit_code == REFUSED
    assert told.startswith(line)
    assert told.count("\n") == 1


def test_a_reader_that_left_and_a_mistake_of_ours_are_not_hidden():
    for error in (BrokenPipeError(), ZeroDivisionError()):
        with pytest.raises(type(error)), one_line_errors():
            raise error


def test_a_table_whose_reader_left_is_not_a_plugin_that_ended_the_program(capsys):
    ended = SystemExit(1)
    ended.__context__ = BrokenPipeError()  # as of rich, which answers one with the other
    with pytest.raises(SystemExit, match="1"), one_line_errors():
        raise ended
    assert not capsys.readouterr().err

"""Errors end in one line and an exit code."""

import errno

import pytest
import typer

from segarena.errors import InvalidInput
from segarena.terminal.exits import REFUSED, one_line_errors


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InvalidInput("expected a,\n  got b"), "error: expected a, got b"),
        (PermissionError(errno.EACCES, "Permission denied", "kept/x"), "error: kept/x: Permission denied; "),
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

"""Submitted programs: workers as in docs/workers.md, sandboxed, with access only to the model's input.

Once a program has seen a hidden sample, only the organiser sees its output and its failures. Before
that, the server tests it on synthetic samples, and its author sees all results of these tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import segarena.worker
from segarena.engine.plan import Plan
from segarena.errors import InvalidInput, SegarenaError
from segarena.plugin_capabilities import prompt_kinds
from segarena.registry import find
from segarena.segmenters.workers.check_helpers import (
    predict_two_rounds,
    run_check,
    tested_prompt_kinds,
)
from segarena.segmenters.workers.synthetic_samples import SHAPES
from segarena.segmenters.workers.worker import Worker
from segarena_server.challenges.submissions.archives import content_root, unpack_submission

PROGRAM_FILE = "worker.py"
"""The file that the server starts: the submitted file, or the one at the top of a zip."""

_HELPER_FILE = "segarena_worker.py"
_ZIP = b"PK\x03\x04"
_COMMAND = re.compile(r"""worker: (['"])(?:\\.|(?!\1).)*\1""")
"""Pattern of a command that an error message quotes as a Python string: in single or double quotes, with escapes."""


def prepare_program(
    sent: Path,
    folder: Path,
    *,
    most_bytes: int,
    most_files: int,
) -> Path:
    """Unpack a program and add the helper module that all workers need; return the folder in which to start it.

    Args:
        sent: a Python file, or a zip with `worker.py` at its top or in its only folder.
        folder: target folder, which is created.
        most_bytes: maximum unpacked size of all files of a zip.
        most_files: maximum number of files.

    Raises:
        InvalidInput: the file is neither, the zip cannot be unpacked, or it contains a folder with the
            name of the helper module.
    """
    with sent.open("rb") as file:
        is_zip = file.read(len(_ZIP)) == _ZIP
    if is_zip:
        unpack_submission(sent, folder, most_bytes=most_bytes, most_files=most_files)
        root = content_root(folder)
    else:
        folder.mkdir(parents=True)
        (folder / PROGRAM_FILE).write_bytes(_source(sent))
        root = folder
    if not (root / PROGRAM_FILE).is_file():
        raise InvalidInput(f"expected a file {PROGRAM_FILE} at the top of the zip, got none")
    if (root / _HELPER_FILE).is_dir():
        raise InvalidInput(
            f"{_HELPER_FILE}: expected no folder of this name, because the server puts a file there"
        )
    (root / _HELPER_FILE).write_text(
        Path(segarena.worker.__file__).read_text(encoding="utf-8"), encoding="utf-8"
    )
    # The sandbox runs programs as another user, who must be able to read them.
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return root


def program_faults(
    start: Callable[[], Worker],
    plan: Plan,
    *,
    limit_s: float,
) -> list[str]:
    """Test a program on synthetic samples; return the reasons why it cannot take part, one line each.

    Args:
        start: starts the program.
        plan: plan of runs in the phase.
        limit_s: time limit of each answer, in seconds.
    """
    try:
        worker = start()
    except SegarenaError as error:
        return [_without_command(str(error))]
    try:
        return list(_faults(worker, plan, limit_s))
    finally:
        worker.client.end()


def _faults(
    worker: Worker,
    plan: Plan,
    limit_s: float,
) -> Iterator[str]:
    try:
        replace(plan, segmenter=worker).cast()
    except SegarenaError as error:
        yield str(error)
        return
    asked = [prompt_kinds(find("user", user.reference)) for user in plan.benchmark.users]
    if None in asked:
        given = set(tested_prompt_kinds(worker))
    else:
        given = {kind for kinds in asked if kinds for kind in kinds}
    kinds = {plan.benchmark.sample_kind} & set(worker.sample_kinds) or {"image"}
    with worker.client.response_limit(limit_s):
        for kind in sorted(given & set(tested_prompt_kinds(worker))):
            for of in kinds:
                checked = run_check(
                    f"{kind} prompts ({of})", lambda kind=kind, of=of: _answered(worker, kind, of)
                )
                if not checked.has_passed:
                    yield f"{checked.check}: {_without_command(checked.details)}"


def _answered(
    worker: Worker,
    kind: str,
    of: str,
) -> str:
    predict_two_rounds(worker, kind, of, SHAPES[of])
    return ""


def _source(sent: Path) -> bytes:
    text = sent.read_bytes()
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            "expected a Python file in UTF-8, or a zip; got something else"
        ) from error
    return text


def _without_command(message: str) -> str:
    """Remove the server's start command from the error message of a worker, and explain a missing module."""
    if missing := re.search(r"has no module ([\w.]+)", message):
        return f"the server has no module {missing[1]}; ask the organiser for it, or include it in a zip"
    if command := _COMMAND.search(message):
        return f"{message[: command.start()]}the program {message[command.end() :].strip()}"
    return message.removeprefix("worker: ")

"""Sending something that the server judges: a folder of masks, the folder of a run, a program."""

from __future__ import annotations

import io
import time
import uuid
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from segarena.client.address import read_address
from segarena.client.connection import Connection
from segarena.client.participate import choose_phase
from segarena.client.participation import read_participation
from segarena.client.run_display import score_lines
from segarena.client.server import Server, SubmissionInfo
from segarena.client.tokens import token_for
from segarena.errors import InvalidInput
from segarena.files.hashes import sha256

SubmissionKind: TypeAlias = Literal["masks", "run", "worker"]

_PROGRAM = "worker.py"
_LOOK_S = 0.25
_LONGEST_LOOK_S = 10.0
_UNPACKED = frozenset({".png", ".jpg", ".npz", ".parquet", ".pth", ".pt", ".safetensors", ".zip"})
"""Files that are packed already."""
_LEFT_OUT = frozenset({"__pycache__", "__MACOSX", ".git", ".DS_Store", "report"})


def detect_kind(path: Path) -> SubmissionKind:
    """Return what a path is.

    Raises:
        InvalidInput: nothing that can be sent.
    """
    if path.is_dir():
        if (path / "run.json").is_file():
            return "run"
        return "worker" if (path / _PROGRAM).is_file() else "masks"
    if path.suffix not in (".py", ".zip") or not path.is_file():
        raise InvalidInput(
            f"{path}: expected a folder of masks, the folder of a run, a .py file or a zip of a program"
        )
    return "worker"


def pack_files(path: Path) -> bytes:
    """Return what is sent of a path: a file as it is, a folder as a zip; the same content gives the same bytes."""
    if path.is_file():
        return path.read_bytes()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for file in sorted(path.rglob("*")):
            name = file.relative_to(path)
            if file.is_file() and not file.is_symlink() and not _LEFT_OUT & {*name.parts}:
                entry = zipfile.ZipInfo(name.as_posix())
                if file.suffix in _UNPACKED:
                    entry.compress_type = zipfile.ZIP_STORED
                else:
                    entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())
    return out.getvalue()


def send_submission(
    challenge: str,
    path: Path,
    *,
    kind: SubmissionKind | None = None,
    name: str = "",
    segmenter: str = "",
    note: str = "",
    token: str | None = None,
    wait_s: float = 0.0,
    on_told: Callable[[SubmissionInfo], object] = lambda told: None,
) -> SubmissionInfo:
    """Send something; return what became of it. The same again is the same submission, unless that was refused.

    Args:
        challenge: `https://host/challenges/NAME`, with `/PHASE` where several are open.
        path: of the file or the folder.
        kind: what it is; by default as `detect_kind` sees it.
        name: of the run; by default that of the path.
        segmenter: what it is made with, for the board.
        note: for oneself.
        token: as `segarena.client.tokens.token_for` finds it by default.
        wait_s: how long to wait until it is judged.
        on_told: called with each new state meanwhile.

    Raises:
        InvalidInput: it is nothing that can be sent, or the phase takes no such thing.
        RemoteError: the server refuses, or is not reached.
    """
    address = read_address(challenge)
    kind = kind or detect_kind(path)
    with closing(Connection(address.server, token_for(address.server, token))) as connection:
        server = Server(connection)
        phase = choose_phase(server.challenge(address.slug), address)
        if kind not in phase.takes:
            raise InvalidInput(
                f"{address}: phase {phase.name} takes {' and '.join(phase.takes)}, not {kind}"
            )
        address = replace(address, phase=phase.name)
        run = _run_of(path) if kind == "masks" else ""
        content = pack_files(path)
        about = {
            "kind": kind,
            "name": (name or path.resolve().name)[:80],
            "segmenter": segmenter,
            "note": note,
        }
        key = sha256(f"{address} {run} {about} ", content)
        told = server.send(
            address, str(uuid.uuid5(uuid.NAMESPACE_URL, key)), content, {**about, "run": run}
        )
        if told.state in (
            "refused",
            "dead",
        ):  # as it was before: here or there something may be mended
            told = server.send(address, str(uuid.uuid4()), content, {**about, "run": run})
        on_told(told)
        until = time.monotonic() + wait_s
        pause_s = _LOOK_S
        while not told.is_over and time.monotonic() < until:
            time.sleep(pause_s)
            pause_s = min(1.5 * pause_s, _LONGEST_LOOK_S)
            before = told
            told = server.sent(told.id)
            if told != before:
                on_told(told)
        if told.run is not None and told.is_over:
            lines = score_lines(str(address), server.scores_of(told.run))
            return msgspec.structs.replace(told, standing=tuple(lines))
    return told


def _run_of(path: Path) -> str:
    """Return the run that masks are for: `segarena fetch` began it in the folder above them, or in the same."""
    for folder in (path, path.resolve().parent):
        begun = read_participation(folder)
        if begun is not None and begun.kind == "masks":
            return begun.run
    raise InvalidInput(
        f"{path}: expected challenge.json of segarena fetch in the folder above, got none; fetch first"
    )

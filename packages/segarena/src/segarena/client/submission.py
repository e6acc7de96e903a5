"""Submissions for the server to evaluate: a folder of masks, a run folder, or a program."""

from __future__ import annotations

import io
import time
import uuid
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from segarena.client.address import read_address
from segarena.client.challenge_run_record import read_participation
from segarena.client.challenge_server_api import Server, SubmissionInfo
from segarena.client.connection import Connection
from segarena.client.participate import choose_phase
from segarena.client.run_display import score_lines
from segarena.client.tokens import token_for
from segarena.errors import InvalidInput, RemoteError
from segarena.files.hashes import sha256

SubmissionKind: TypeAlias = Literal["masks", "run", "worker"]

_PROGRAM = "worker.py"
# Polling slows down gradually: short evaluations are noticed at once, and long ones cost few
# requests.
_FIRST_POLL_S = 0.25
_LONGEST_POLL_S = 10.0
_COMPRESSED_SUFFIXES = frozenset(
    {".png", ".jpg", ".npz", ".parquet", ".pth", ".pt", ".safetensors", ".zip"}
)
"""Suffixes of files that are stored in the zip without compression, because they are already compressed."""
# Caches and files of the operating system would make equal programs differ, and a report is not
# part of a submission.
_LEFT_OUT = frozenset({"__pycache__", "__MACOSX", ".git", ".DS_Store", "report"})


def detect_kind(path: Path) -> SubmissionKind:
    """Return the kind of submission at a path.

    Raises:
        InvalidInput: the path contains no submission.
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
    """Return the bytes to upload: a file unchanged, a folder as a zip. The same content gives the same bytes.

    The zip leaves out symbolic links and everything named in `_LEFT_OUT`.
    """
    if path.is_file():
        return path.read_bytes()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for file in sorted(path.rglob("*")):
            name = file.relative_to(path)
            if not file.is_file() or file.is_symlink() or _LEFT_OUT & {*name.parts}:
                continue
            # `ZipInfo` has a fixed date, so that the same content gives the same bytes.
            entry = zipfile.ZipInfo(name.as_posix())
            if file.suffix in _COMPRESSED_SUFFIXES:
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
    on_change: Callable[[SubmissionInfo], object] = lambda info: None,
    on_notice: Callable[[str], object] = lambda line: None,
) -> SubmissionInfo:
    """Send a submission and return its status. The same content is the same submission, unless it was rejected.

    Args:
        challenge: `https://host/challenges/NAME`, with `/PHASE` if several are open.
        path: path of the file or folder.
        kind: kind of the submission; by default the result of `detect_kind`.
        name: name of the run; by default the name of the path.
        segmenter: its name on the leaderboard.
        note: a private note.
        token: by default the result of `segarena.client.tokens.token_for`.
        wait_s: how long to wait for the evaluation, in seconds.
        on_change: called with each new status.
        on_notice: called with one line before a submission whose run will not be ranked; masks
            belong to a run that has begun, so `segarena fetch` reports it for them.

    Raises:
        InvalidInput: the path is not a submission, or the phase does not accept its kind.
        RemoteError: the server rejects the request or is unreachable.
    """
    address = read_address(challenge)
    kind = kind or detect_kind(path)
    with closing(Connection(address.server, token_for(address.server, token))) as connection:
        server = Server(connection)
        phase = choose_phase(server.challenge(address.slug), address)
        if kind not in phase.takes:
            raise InvalidInput(
                f"{address}: phase {phase.name} accepts {' and '.join(phase.takes)}, not {kind}"
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
        same_id = str(uuid.uuid5(uuid.NAMESPACE_URL, key))
        if not run:
            # The server decides again when the run begins, so nothing is lost if this request fails.
            with suppress(RemoteError):
                next_run = server.next_run(address)
                if next_run.unranked:
                    on_notice(
                        f"this run will not be ranked, because it will be {next_run.unranked}"
                    )
        info = server.send(address, same_id, content, {**about, "run": run})
        if info.state in ("refused", "dead"):
            # Rejected before: the problem may have been fixed since, here or on the server.
            info = server.send(address, str(uuid.uuid4()), content, {**about, "run": run})
        on_change(info)
        until = time.monotonic() + wait_s
        pause_s = _FIRST_POLL_S
        while not info.is_over and time.monotonic() < until:
            time.sleep(pause_s)
            pause_s = min(1.5 * pause_s, _LONGEST_POLL_S)
            before = info
            info = server.sent(info.id)
            if info != before:
                on_change(info)
        if info.run is not None and info.is_over:
            lines = score_lines(str(address), server.scores_of(info.run))
            return msgspec.structs.replace(info, standing=tuple(lines))
    return info


def _run_of(path: Path) -> str:
    """Return the id of the run that `segarena fetch` started; it is stored with the masks or in the parent folder."""
    for folder in (path, path.resolve().parent):
        participation = read_participation(folder)
        if participation is not None and participation.kind == "masks":
            return participation.run
    raise InvalidInput(
        f"{path}: expected a challenge.json written by `segarena fetch` in this folder or its parent, found none; "
        "run `segarena fetch` first"
    )

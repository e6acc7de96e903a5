"""What a process keeps of what was sent: the last thing that it unpacked, and the program in it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from segarena.protocol.challenge_info import Way
from segarena.protocol.samples import unpack_sample
from segarena.samples import ImageSample, VideoSample, VolumeSample
from segarena.segmenters.workers.sandbox import Sandbox
from segarena.segmenters.workers.worker import Worker
from segarena_server.challenges.description import read_challenge
from segarena_server.challenges.rehearsal import Rehearsal
from segarena_server.challenges.submissions import masks, programs
from segarena_server.challenges.submissions.archives import content_root, unpack_submission
from segarena_server.storage.content_store import Storage

_PREFIX = "segarena-sent-"
_KINDS: dict[type, str] = {ImageSample: "image", VolumeSample: "volume", VideoSample: "video"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionContent:
    """Something that was sent.

    Attributes:
        kind: what it is.
        sha256: of its bytes.
        storage: where these are.
        most_bytes: that it may have unpacked.
        sandbox: confines programs.
        answer_s: the limit of one answer of theirs.
    """

    kind: Way
    sha256: str
    storage: Storage = field(compare=False)
    most_bytes: int
    sandbox: Sandbox
    answer_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskSample:
    """A sample that masks are asked for: its key, hash and storage of its body, the objects of each dialogue."""

    key: str
    sha256: str
    storage: Storage = field(compare=False)
    objects: tuple[int, ...]

    def expected(self) -> masks.ExpectedMasks:
        """Return what its masks have to be."""
        sample = unpack_sample(self.storage.read(self.sha256), self.key)
        return masks.ExpectedMasks(
            key=self.key, kind=_KINDS[type(sample)], shape=tuple(sample.shape), objects=self.objects
        )


class UnpackedSubmission:
    """Something that was sent, in a folder of its own; strangers' files are read here.

    Args:
        content: what.

    Raises:
        InvalidInput: it cannot be unpacked, or is something else.
    """

    def __init__(self, content: SubmissionContent) -> None:
        self.content = content
        self._made = tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-")
        self._rehearsal: tuple[str, Rehearsal] | None = None
        self._worker: Worker | None = None
        try:
            Path(self._made.name).chmod(0o755)  # programs run as somebody else
            folder = Path(self._made.name) / "sent"
            self.root = self._unpack(content.storage.fetch(content.sha256), folder)
        except BaseException:
            self.remove()
            raise

    def _unpack(self, file: Path, folder: Path) -> Path:
        """Return where its files begin."""
        most = self.content.most_bytes
        if self.content.kind == "worker":
            return programs.prepare_program(file, folder, most_bytes=most)
        unpack_submission(file, folder, most_bytes=most)
        return folder if self.content.kind == "masks" else content_root(folder)

    def start(self) -> Worker:
        """Start the program, confined.

        Raises:
            PluginInvalid: it cannot be started, or is none.
        """
        return self.content.sandbox.start(self.root, programs.PROGRAM_FILE)

    def rehearsal(self, description: str, phase: str) -> Rehearsal:
        """Return what holds dialogues of a challenge with the program, started once."""
        key = f"{phase} {description}"
        if self._rehearsal is None or self._rehearsal[0] != key:
            self._worker = self.start()
            self._rehearsal = (
                key,
                Rehearsal(read_challenge(description), phase, self._worker, self.content.answer_s),
            )
        return self._rehearsal[1]

    def remove(self) -> None:
        """Remove the folder and end the program."""
        self._rehearsal = None
        if self._worker is not None:
            self._worker.conversation.end()
        self._made.cleanup()


class SubmissionCache:
    """The last thing that a process unpacked."""

    def __init__(self) -> None:
        remove_leftover_folders()
        self._last: UnpackedSubmission | None = None

    def unpacked(self, content: SubmissionContent) -> UnpackedSubmission:
        """Return something unpacked; what was at hand before is removed unless it is the same."""
        if self._last is None or self._last.content != content:
            self.forget()
            self._last = UnpackedSubmission(content)
        return self._last

    def forget(self) -> None:
        """Keep nothing."""
        if self._last is not None:
            self._last.remove()
            self._last = None


@cache
def process_cache() -> SubmissionCache:
    """Return what this process has at hand."""
    return SubmissionCache()


def remove_leftover_folders() -> None:
    """Remove what processes left that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        number = re.match(r"\d+", folder.name.removeprefix(_PREFIX))
        if number is not None and not Path(f"/proc/{number[0]}").exists():
            shutil.rmtree(folder, ignore_errors=True)

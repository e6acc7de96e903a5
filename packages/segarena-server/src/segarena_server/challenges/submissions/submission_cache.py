"""The last submission that a worker process unpacked, and the program started from it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from segarena.protocol.challenge_info import ParticipationMode
from segarena.protocol.sample_serialization import unpack_sample
from segarena.samples import ImageSample, VideoSample, VolumeSample
from segarena.segmenters.workers.sandbox import Sandbox
from segarena.segmenters.workers.worker import Worker
from segarena_server.challenges.description import read_challenge
from segarena_server.challenges.rehearsal import Rehearsal
from segarena_server.challenges.submissions import masks, programs
from segarena_server.challenges.submissions.archives import content_root, unpack_submission
from segarena_server.storage.content_store import ContentStore

_PREFIX = "segarena-sent-"
_SAMPLE_KINDS: dict[type, str] = {
    ImageSample: "image",
    VolumeSample: "volume",
    VideoSample: "video",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionContent:
    """Reference to the content of a submission.

    Attributes:
        kind: masks, a run folder, or a program.
        sha256: hash of its bytes.
        storage: store that contains them.
        most_bytes: maximum unpacked size.
        most_files: maximum number of files.
        sandbox: sandbox for programs.
        answer_s: time limit of one answer of a program.
    """

    kind: ParticipationMode
    sha256: str
    storage: ContentStore = field(compare=False)
    most_bytes: int
    most_files: int
    sandbox: Sandbox
    answer_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskSample:
    """A sample for which a submission must contain masks.

    Attributes:
        key: key under which the participant received it.
        sha256: hash of its encoded form.
        storage: store that contains it.
        objects: number of objects of each dialogue.
    """

    key: str
    sha256: str
    storage: ContentStore = field(compare=False)
    objects: tuple[int, ...]

    def expected_masks(self) -> masks.ExpectedMasks:
        """Return the requirements for the sample's masks."""
        sample = unpack_sample(self.storage.read(self.sha256), self.key)
        return masks.ExpectedMasks(
            key=self.key,
            kind=_SAMPLE_KINDS[type(sample)],
            shape=tuple(sample.shape),
            objects=self.objects,
        )


class UnpackedSubmission:
    """A submission, unpacked into a temporary folder. Its files are untrusted.

    Args:
        content: content of the submission.

    Raises:
        InvalidInput: the file cannot be unpacked, or is of another kind.
    """

    def __init__(self, content: SubmissionContent) -> None:
        self.content = content
        self._temporary = tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-")
        self._rehearsal: tuple[str, Rehearsal] | None = None
        self._worker: Worker | None = None
        try:
            Path(self._temporary.name).chmod(0o755)  # programs run as another user
            folder = Path(self._temporary.name) / "sent"
            self.root = self._unpack(content.storage.fetch(content.sha256), folder)
        except BaseException:
            self.remove()
            raise

    def _unpack(self, file: Path, folder: Path) -> Path:
        """Unpack a file and return the folder where its content starts."""
        limits = {
            "most_bytes": self.content.most_bytes,
            "most_files": self.content.most_files,
        }
        if self.content.kind == "worker":
            return programs.prepare_program(file, folder, **limits)
        unpack_submission(file, folder, **limits)
        return folder if self.content.kind == "masks" else content_root(folder)

    def start(self) -> Worker:
        """Start the program in its sandbox.

        Raises:
            PluginInvalid: the program cannot be started, or is not a worker.
        """
        return self.content.sandbox.start(self.root, programs.PROGRAM_FILE)

    def rehearsal(self, description: str, phase: str) -> Rehearsal:
        """Return a rehearsal of a challenge with the program, which is started only once for all samples."""
        key = f"{phase} {description}"
        if self._rehearsal is None or self._rehearsal[0] != key:
            self._worker = self.start()
            challenge = read_challenge(description)
            rehearsal = Rehearsal(challenge, phase, self._worker, self.content.answer_s)
            self._rehearsal = (key, rehearsal)
        return self._rehearsal[1]

    def remove(self) -> None:
        """Stop the program and remove the folder."""
        self._rehearsal = None
        if self._worker is not None:
            self._worker.client.end()
        self._temporary.cleanup()


class SubmissionCache:
    """A cache of one unpacked submission, because the samples of a run are evaluated one after the other."""

    def __init__(self) -> None:
        remove_leftover_folders()
        self._last: UnpackedSubmission | None = None

    def unpacked(self, content: SubmissionContent) -> UnpackedSubmission:
        """Return a submission, unpacked; remove the cached one first if it is another submission."""
        if self._last is None or self._last.content != content:
            self.clear()
            self._last = UnpackedSubmission(content)
        return self._last

    def clear(self) -> None:
        """Remove the cached submission."""
        if self._last is not None:
            self._last.remove()
            self._last = None


@cache
def process_cache() -> SubmissionCache:
    """Return the cache of this process."""
    return SubmissionCache()


def remove_leftover_folders() -> None:
    """Remove the temporary folders of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        process_id = re.match(r"\d+", folder.name.removeprefix(_PREFIX))
        if process_id is not None and not Path(f"/proc/{process_id[0]}").exists():
            shutil.rmtree(folder, ignore_errors=True)

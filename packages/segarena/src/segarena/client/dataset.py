"""A dataset of the samples of a challenge run, without ground truth; the server evaluates the dialogues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from segarena.client.address import Address
from segarena.client.challenge_run_record import (
    CLIENT_FILES,
    Participation,
    begin_participation,
    read_participation,
)
from segarena.client.challenge_server_api import SampleInfo, Server
from segarena.client.sample_cache import SampleCache
from segarena.client.session import LONGEST_WAIT_S, RemoteSession
from segarena.client.turn_exchange import SampleExchange
from segarena.engine.round_recorder import DialogueKey, RecordedDialogue
from segarena.errors import InvalidInput, RemoteError
from segarena.files.hashes import fingerprint
from segarena.protocol.sample_serialization import unpack_sample
from segarena.roles import Benchmark, Finding
from segarena.samples import Sample
from segarena.work.deadline import pause_deadline


@dataclass
class ChallengeDataset:
    """The dataset of a run in a challenge; the run starts on the server when the first sample is read.

    The late start lets the engine check everything else first: if a segmenter cannot be built, no
    run is counted.

    Args:
        server: the server, which gives prompts and evaluates answers.
        address: address of the phase.
        rules: rules of the challenge.
        prompt_kinds: kinds of prompts by user; None if unknown.
        folder: folder of the run on this machine.
        segmenter: description for the server.
        cache: folder of downloaded samples; None takes the user's cache folder.
        cache_bytes: size limit of that folder.
        overwrite: whether to replace another run in `folder`.
        is_together: whether all dialogues about a sample run concurrently.
        uses_up_samples: whether later runs about the same samples are not ranked, as in a test phase.
        skips_trial: whether such a run begins without first trying the segmenter on a synthetic sample.
    """

    server: Server
    address: Address
    rules: Benchmark
    prompt_kinds: Mapping[str, AbstractSet[str] | None]
    folder: Path
    segmenter: str
    cache: Path | None = None
    cache_bytes: int = 20 * 10**9
    overwrite: bool = False
    is_together: bool = True
    uses_up_samples: bool = False
    skips_trial: bool = False
    name: str = field(init=False)
    beside: ClassVar[frozenset[str]] = CLIENT_FILES

    def __post_init__(self) -> None:
        """Set the name of the dataset in records."""
        self.name = f"{self.address.slug}/{self.address.phase}"

    @property
    def sample_kind(self) -> str:
        """Kind of the samples."""
        return self.rules.sample_kind

    @property
    def needs_trial(self) -> bool:
        """Whether to try the segmenter on a synthetic sample first, because the run uses up samples."""
        if self.skips_trial or not self.uses_up_samples:
            return False
        return read_participation(self.folder) is None

    @cached_property
    def participation(self) -> Participation:
        """The run on the server, started if necessary."""
        return begin_participation(
            self.server,
            self.address,
            self.folder,
            segmenter=self.segmenter,
            overwrite=self.overwrite,
        )

    @property
    def sample_ids(self) -> Sequence[str]:
        """Keys of the samples, which do not reveal the sample names."""
        return [sample.key for sample in self.participation.places]

    @property
    def fingerprint(self) -> str:
        """Hash over the hashes of all samples."""
        return fingerprint(*(sample.sha256 for sample in self.participation.places))

    def load(self, sample_id: str) -> Sample:
        """Return a sample, downloaded if necessary.

        Raises:
            RemoteError: the download failed.
        """
        with pause_deadline(LONGEST_WAIT_S):
            body = self._samples.body(self._sample_info(sample_id))
        try:
            return unpack_sample(body, sample_id)
        except InvalidInput as error:
            raise RemoteError(f"{self.address.server}: {error}") from error

    def check(self) -> Sequence[Finding]:
        """Return no findings: samples are checked when they arrive."""
        return ()

    def open_sessions(
        self, sample: Sample, keep_rounds: tuple[int, ...]
    ) -> Sequence[RemoteSession]:
        """Return the sessions about a sample; the first request to any of them contacts the server."""
        info = self._sample_info(sample.id)
        exchange = SampleExchange(
            self.server,
            self.participation.run,
            info,
            self.folder,
            sample.shape,
            is_together=self.is_together,
        )
        sessions: list[RemoteSession] = []
        for number in range(len(info.dialogues)):
            record = self._recorded_dialogue(info, number)
            sessions.append(
                RemoteSession(exchange, number, sample, record, keep_rounds=keep_rounds)
            )
        return sessions

    @cached_property
    def _samples(self) -> SampleCache:
        return SampleCache(self.server, self.participation.run, self.cache, self.cache_bytes)

    def _recorded_dialogue(self, sample: SampleInfo, number: int) -> RecordedDialogue:
        info = sample.dialogues[number]
        key = DialogueKey(
            sample=sample.key,
            target=info.target,
            user=info.user,
            repeat=info.repeat,
        )
        return RecordedDialogue(
            benchmark=self.rules.name,
            dataset=self.name,
            key=key,
            objects=info.objects,
        )

    def _sample_info(self, key: str) -> SampleInfo:
        return next(sample for sample in self.participation.places if sample.key == key)

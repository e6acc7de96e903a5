"""The samples of a run at a challenge, as the engine takes them: without truth, in dialogues that the server leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from segarena.client.address import Address
from segarena.client.participation import BESIDE, Participation, begin_participation
from segarena.client.sample_cache import FetchedSamples
from segarena.client.sample_exchange import SampleExchange
from segarena.client.server import SampleInfo, Server
from segarena.client.session import LONGEST_WAIT_S, RemoteSession
from segarena.engine.round_recorder import DialogueKey, RecordedDialogue
from segarena.errors import InvalidInput, RemoteError
from segarena.files.hashes import fingerprint
from segarena.protocol.sample_frames import unpack_sample
from segarena.roles import Benchmark, Finding
from segarena.samples import Sample
from segarena.work.deadline import pause_deadline


@dataclass
class ChallengeSamples:
    """What a run at a challenge is about; the run begins at the server when its samples are first asked for.

    Until then everything else was looked at: a segmenter that cannot be built costs no try.

    Args:
        server: who asks and judges.
        address: of the phase.
        rules: of the challenge.
        prompt_kinds: what its users give; None where that is not known.
        folder: of the run, here.
        segmenter: what the server is told of it.
        cache: where samples are kept; None: in the user's cache folder.
        cache_bytes: what they may take there.
        overwrite: whether the folder may hold another run, which ends here.
        is_together: whether all dialogues about a sample are held at once.
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
    name: str = field(init=False)
    beside: ClassVar[frozenset[str]] = BESIDE

    def __post_init__(self) -> None:
        """Say what records call them."""
        self.name = f"{self.address.slug}/{self.address.phase}"

    @property
    def sample_kind(self) -> str:
        """What the samples are."""
        return self.rules.sample_kind

    @cached_property
    def begun(self) -> Participation:
        """The run at the server."""
        return begin_participation(
            self.server,
            self.address,
            self.folder,
            segmenter=self.segmenter,
            overwrite=self.overwrite,
        )

    @property
    def sample_ids(self) -> Sequence[str]:
        """The keys of the samples; they tell nothing of the samples' names."""
        return [place.key for place in self.begun.places]

    @property
    def fingerprint(self) -> str:
        """Changes with the samples."""
        return fingerprint(*(place.sha256 for place in self.begun.places))

    def load(self, sample_id: str) -> Sample:
        """Return a sample, fetched if it is not here yet.

        Raises:
            RemoteError: it cannot be had.
        """
        with pause_deadline(LONGEST_WAIT_S):
            body = self._samples.body(self._place(sample_id))
        try:
            return unpack_sample(body, sample_id)
        except InvalidInput as error:
            raise RemoteError(f"{self.address.server}: {error}") from error

    def check(self) -> Sequence[Finding]:
        """Return nothing: what comes is checked when it comes."""
        return ()

    def open_sessions(
        self, sample: Sample, keep_rounds: tuple[int, ...]
    ) -> Sequence[RemoteSession]:
        """Return the sessions about a sample; the server is asked when the first of them is."""
        told = self._place(sample.id)
        place = SampleExchange(
            self.server,
            self.begun.run,
            told,
            self.folder,
            sample.shape,
            is_together=self.is_together,
        )
        return [
            RemoteSession(place, number, sample, self._about(told, number), keep_rounds=keep_rounds)
            for number in range(len(told.dialogues))
        ]

    @cached_property
    def _samples(self) -> FetchedSamples:
        return FetchedSamples(self.server, self.begun.run, self.cache, self.cache_bytes)

    def _about(self, place: SampleInfo, number: int) -> RecordedDialogue:
        told = place.dialogues[number]
        key = DialogueKey(sample=place.key, target=told.target, user=told.user, repeat=told.repeat)
        return RecordedDialogue(
            benchmark=self.rules.name, dataset=self.name, key=key, objects=told.objects
        )

    def _place(self, key: str) -> SampleInfo:
        return next(place for place in self.begun.places if place.key == key)

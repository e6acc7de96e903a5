"""What can be asked of a server, and what it tells; fields that this version does not know are passed over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

import msgspec

from segarena.client.address import Address
from segarena.client.connection import Connection, ServerResponse
from segarena.dialogue import Lift
from segarena.errors import RemoteError
from segarena.protocol.challenge_info import ChallengeInfo, ScoreVisibility
from segarena.protocol.frames import CONTENT_TYPE

MOST_REPLY_BYTES = 2**30
MOST_SAMPLE_BYTES = 64 * 2**30
_PINGS = 3

_Key = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z_-]{1,100}\Z")]
_Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Told = TypeVar("_Told")


class DialogueInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One dialogue about a sample: the number of its target, who talks, and about how many objects."""

    target: str
    user: str
    repeat: int = 0
    objects: Annotated[int, msgspec.Meta(ge=1, le=255)] = 1
    lift: Lift | None = None


class SampleInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A sample of a run, under a key of its own; its body has so many bytes and this hash."""

    key: _Key
    bytes: Annotated[int, msgspec.Meta(ge=1, le=MOST_SAMPLE_BYTES)]
    sha256: _Sha256
    dialogues: list[DialogueInfo]


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A run, as the server has it."""

    id: str
    places: list[SampleInfo] = []
    shows: ScoreVisibility = "prompts"
    state: str = ""


class QueueInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Where something waits: what happens to it, how many come before it, and about how long that takes."""

    phase: str = ""
    place: int = 0
    estimate_s: float = 0.0


class SubmissionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What became of something that was sent: see `segarena_server.runs.submissions`."""

    id: str
    state: str
    faults: list[str] = []
    run: str | None = None
    run_state: str | None = None
    queue: QueueInfo | None = None
    standing: tuple[str, ...] = ()
    """What is shown of its scores, in lines; of one that is over."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will become of it."""
        return self.state in ("refused", "dead") or self.run_state == "over"


class _Waiting(msgspec.Struct, frozen=True, kw_only=True):
    retry_after_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server of challenges, over a connection."""

    connection: Connection
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def challenge(self, slug: str) -> ChallengeInfo:
        """Return what participants are told of a challenge."""
        return self._told(self.connection.ask("GET", f"/challenges/{slug}"), ChallengeInfo)

    def start_run(
        self,
        address: Address,
        run: str,
        *,
        name: str,
        segmenter: str,
        note: str = "",
        kind: str = "dialogue",
    ) -> RunInfo:
        """Begin the run that has this id, or return it if it began before."""
        about = {"id": run, "name": name, "segmenter": segmenter, "note": note}
        about |= {"kind": kind} if kind != "dialogue" else {}
        path = f"/challenges/{address.slug}/phases/{address.phase}/runs"
        return self._told(
            self.connection.ask("POST", path, body=msgspec.json.encode(about)), RunInfo
        )

    def finish_run(self, run: str) -> None:
        """End a run before its last place is over."""
        self.connection.ask("POST", f"/runs/{run}/finish", body=b"{}")

    def send(
        self, address: Address, sent: str, content: bytes, about: Mapping[str, str]
    ) -> SubmissionInfo:
        """Send something to be judged there, under an id; the same again changes nothing."""
        query = urlencode({name: value for name, value in about.items() if value})
        path = f"/challenges/{address.slug}/phases/{address.phase}/sent/{sent}?{query}"
        answer = self.connection.ask(
            "POST", path, body=content, content_type="application/octet-stream"
        )
        return self._told(answer, SubmissionInfo)

    def sent(self, sent: str) -> SubmissionInfo:
        """Return what became of something that was sent."""
        return self._told(self.connection.ask("GET", f"/sent/{sent}"), SubmissionInfo)

    def scores_of(self, run: str) -> Mapping[str, Any]:
        """Return the scores of a run and its place on the board, as far as they are shown."""
        return self._told(self.connection.ask("GET", f"/runs/{run}/scores"), dict[str, Any])

    def sample(self, run: str, place: SampleInfo) -> bytes:
        """Return the body of a sample."""
        path = f"/runs/{run}/samples/{place.key}"
        return self.connection.ask("GET", path, most_bytes=place.bytes).body

    def turn(self, run: str, key: str, number: int, body: bytes) -> bytes:
        """Return the reply to a turn, when it is there; a turn that was received before is not counted again."""
        path = f"/runs/{run}/samples/{key}/turns/{number}"
        answer = self.connection.ask(
            "POST", path, body=body, content_type=CONTENT_TYPE, most_bytes=MOST_REPLY_BYTES
        )
        while answer.status == HTTPStatus.ACCEPTED:  # it is kept there, and waits to be judged
            self.sleep(min(max(self._told(answer, _Waiting).retry_after_s, 0.05), 30.0))
            answer = self.connection.ask("GET", path, most_bytes=MOST_REPLY_BYTES)
        return answer.body

    def round_trip_s(self) -> float:
        """Return how long the quickest of a few questions takes that need no work."""
        found: list[float] = []
        for _ in range(_PINGS):
            started = time.perf_counter()
            self.connection.ask("GET", "/ping")
            found.append(time.perf_counter() - started)
        return min(found)

    def _told(self, answer: ServerResponse, kind: type[_Told]) -> _Told:
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RemoteError(
                f"{self.connection.server}: what it says cannot be: {str(error)[:200]}"
            ) from error

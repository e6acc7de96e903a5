"""The HTTP interface of a challenge server as methods; unknown fields of responses are ignored."""

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
from segarena.protocol.message_frames import CONTENT_TYPE

MAX_REPLY_BYTES = 2**30
MAX_SAMPLE_BYTES = 64 * 2**30
# Use the shortest of a few round trips: the first one also opens the connection.
_PINGS = 3

_Key = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z_-]{1,100}\Z")]
_Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Response = TypeVar("_Response")


class DialogueInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One dialogue about a sample: index of the target, user, index of the repeat, number of objects, and lift."""

    target: str
    user: str
    repeat: int = 0
    objects: Annotated[int, msgspec.Meta(ge=1, le=255)] = 1
    lift: Lift | None = None


class SampleInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A sample of a run: its key, and the size and hash of the packed sample."""

    key: _Key
    bytes: Annotated[int, msgspec.Meta(ge=1, le=MAX_SAMPLE_BYTES)]
    sha256: _Sha256
    dialogues: list[DialogueInfo]


class ChallengeRunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A run on the server, as the server describes it to the participant."""

    id: str
    places: list[SampleInfo] = []
    shows: ScoreVisibility = "prompts"
    state: str = ""
    unranked: str = ""
    """Why the leaderboards omit the run; "" for a ranked run."""


class NextRunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a new run may begin now, and why it would not be ranked ("" if it would be)."""

    may_begin: bool = True
    unranked: str = ""


class TermsInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The current version of a challenge's terms, in Markdown."""

    version: int
    text: str
    is_accepted: bool


class AdmissionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that a participant must meet before a run: accepted terms, and an approved team.

    Attributes:
        terms: None for a challenge without terms.
        needs_approval: whether organisers approve teams.
        request: state of the team's request: "waiting", "approved", "declined"; "" for none.
        reason: why organisers declined it.
    """

    terms: TermsInfo | None = None
    needs_approval: bool = False
    request: str = ""
    reason: str = ""


class QueueInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Position in a queue: processing step, entries ahead, and estimated wait in seconds."""

    phase: str = ""
    place: int = 0
    estimate_s: float = 0.0


class SubmissionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Status of a submission; see `segarena_server.runs.submissions`."""

    id: str
    state: str
    faults: list[str] = []
    run: str | None = None
    run_state: str | None = None
    queue: QueueInfo | None = None
    standing: tuple[str, ...] = ()
    """Lines of text about the run's scores, after the evaluation."""

    @property
    def is_over(self) -> bool:
        """Whether the state is final."""
        return self.state in ("refused", "dead") or self.run_state == "over"


class _Waiting(msgspec.Struct, frozen=True, kw_only=True):
    retry_after_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Server:
    """A challenge server."""

    connection: Connection
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def challenge(self, slug: str) -> ChallengeInfo:
        """Return the description of a challenge for participants."""
        return self._decode(self.connection.ask("GET", f"/challenges/{slug}"), ChallengeInfo)

    def start_run(
        self,
        address: Address,
        run: str,
        *,
        name: str,
        segmenter: str,
        note: str = "",
        kind: str = "dialogue",
    ) -> ChallengeRunInfo:
        """Start the run with this id; if it has already started, return it."""
        about = {"id": run, "name": name, "segmenter": segmenter, "note": note}
        if kind != "dialogue":
            about["kind"] = kind
        path = f"/challenges/{address.slug}/phases/{address.phase}/runs"
        return self._decode(
            self.connection.ask("POST", path, body=msgspec.json.encode(about)), ChallengeRunInfo
        )

    def next_run(self, address: Address) -> NextRunInfo:
        """Return whether the next run of the participant's team may begin and would be ranked."""
        path = f"/challenges/{address.slug}/phases/{address.phase}/next-run"
        return self._decode(self.connection.ask("GET", path), NextRunInfo)

    def admission(self, slug: str) -> AdmissionInfo:
        """Return the conditions that the participant must meet before a run in a challenge."""
        path = f"/challenges/{slug}/admission"
        return self._decode(self.connection.ask("GET", path), AdmissionInfo)

    def accept_terms(self, slug: str, version: int) -> AdmissionInfo:
        """Accept a version of the terms of a challenge; return the conditions afterwards."""
        body = msgspec.json.encode({"version": version})
        path = f"/challenges/{slug}/terms"
        return self._decode(self.connection.ask("POST", path, body=body), AdmissionInfo)

    def ask_to_join(self, slug: str, message: str) -> AdmissionInfo:
        """Ask the organisers of a challenge to approve the participant's team; return the conditions afterwards."""
        body = msgspec.json.encode({"message": message})
        path = f"/challenges/{slug}/join"
        return self._decode(self.connection.ask("POST", path, body=body), AdmissionInfo)

    def finish_run(self, run: str) -> None:
        """End a run before its last sample is complete."""
        self.connection.ask("POST", f"/runs/{run}/finish", body=b"{}")

    def send(
        self,
        address: Address,
        sent: str,
        content: bytes,
        about: Mapping[str, str],
    ) -> SubmissionInfo:
        """Send a submission under an id; repeating the request has no further effect."""
        query = urlencode({name: value for name, value in about.items() if value})
        path = f"/challenges/{address.slug}/phases/{address.phase}/sent/{sent}?{query}"
        answer = self.connection.ask(
            "POST", path, body=content, content_type="application/octet-stream"
        )
        return self._decode(answer, SubmissionInfo)

    def sent(self, sent: str) -> SubmissionInfo:
        """Return the status of a submission."""
        return self._decode(self.connection.ask("GET", f"/sent/{sent}"), SubmissionInfo)

    def scores_of(self, run: str) -> Mapping[str, Any]:
        """Return the scores and the rank of a run, as far as the server shows them."""
        return self._decode(self.connection.ask("GET", f"/runs/{run}/scores"), dict[str, Any])

    def sample(self, run: str, place: SampleInfo) -> bytes:
        """Return a packed sample."""
        path = f"/runs/{run}/samples/{place.key}"
        return self.connection.ask("GET", path, most_bytes=place.bytes).body

    def turn(
        self,
        run: str,
        key: str,
        number: int,
        body: bytes,
    ) -> bytes:
        """Send a turn and wait for its reply; the server evaluates a turn only once, however often it is sent."""
        path = f"/runs/{run}/samples/{key}/turns/{number}"
        answer = self.connection.ask(
            "POST", path, body=body, content_type=CONTENT_TYPE, most_bytes=MAX_REPLY_BYTES
        )
        while answer.status == HTTPStatus.ACCEPTED:  # stored, but not evaluated yet
            wait_s = self._decode(answer, _Waiting).retry_after_s
            self.sleep(min(max(wait_s, 0.05), 30.0))
            answer = self.connection.ask("GET", path, most_bytes=MAX_REPLY_BYTES)
        return answer.body

    def round_trip_s(self) -> float:
        """Return the shortest of a few round trips to the server, in seconds."""
        times_s: list[float] = []
        for _ in range(_PINGS):
            started = time.perf_counter()
            self.connection.ask("GET", "/ping")
            times_s.append(time.perf_counter() - started)
        return min(times_s)

    def _decode(self, answer: ServerResponse, kind: type[_Response]) -> _Response:
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RemoteError(
                f"{self.connection.server}: expected another response: {str(error)[:200]}"
            ) from error

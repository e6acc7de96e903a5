"""The run that a folder takes part in a challenge with, as `challenge.json` beside run.json remembers it. No token."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Annotated

import msgspec

from segarena.client.address import Address, read_address
from segarena.client.sample_exchange import TURNS
from segarena.client.server import SampleInfo, Server
from segarena.errors import InvalidInput, RunConflict, StoreError
from segarena.files.atomic_write import is_leftover, write_whole
from segarena.protocol.challenge_info import ParticipationMode, ScoreVisibility

FILE = "challenge.json"
BESIDE = frozenset({FILE, TURNS})
"""What a client keeps in the folder of a run."""

_RunId = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]


class Participation(msgspec.Struct, frozen=True, kw_only=True):
    """A run at a challenge.

    Attributes:
        server, challenge, phase: where it is.
        run: its id, made here before the server is asked, so that asking twice begins one run.
        places: its samples; none before the server answered.
        shows: what participants see of its scores.
        kind: how it takes part; see `segarena_server.challenges.description.Way`.
    """

    server: str
    challenge: str
    phase: str
    run: _RunId
    places: list[SampleInfo] = []
    shows: ScoreVisibility = "prompts"
    kind: ParticipationMode = "dialogue"

    @property
    def address(self) -> Address:
        """The phase of the challenge."""
        return Address(self.server, self.challenge, self.phase)


def read_participation(folder: Path) -> Participation | None:
    """Return what a folder remembers; None when it takes part in nothing.

    Raises:
        StoreError: it is damaged.
    """
    file = folder / FILE
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Participation)
        read_address(str(found.address))  # a token will be sent there
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, InvalidInput) as error:
        raise StoreError(
            f"{file} is damaged: {str(error)[:200]}; begin another run with --out"
        ) from error
    return found


def begin_participation(
    server: Server,
    address: Address,
    folder: Path,
    *,
    segmenter: str,
    overwrite: bool = False,
    kind: ParticipationMode = "dialogue",
) -> Participation:
    """Begin a run, or return the one that the folder remembers; the server is asked until it has answered once.

    Raises:
        RunConflict: the folder holds something else.
        RemoteError: the server refuses, or is not reached.
        StoreError: the folder cannot be written.
    """
    known = read_participation(folder)
    if known is None:
        if not (overwrite and (folder / "run.json").is_file()):
            _check_free(folder)
        run = str(uuid.uuid4())
        known = Participation(
            server=address.server, challenge=address.slug, phase=address.phase, run=run, kind=kind
        )
        write_whole(folder / FILE, msgspec.json.format(msgspec.json.encode(known)))
    if known.address != address:
        raise RunConflict(
            f"{folder} holds a run at {known.address}, not {address}; another --out keeps both"
        )
    if known.kind != kind:
        raise RunConflict(
            f"{folder} holds a run of {known.kind}, not of {kind}; another --out keeps both"
        )
    if not known.places:
        told = server.start_run(
            address, known.run, name=folder.name, segmenter=segmenter, kind=kind
        )
        known = msgspec.structs.replace(known, places=told.places, shows=told.shows)
        write_whole(folder / FILE, msgspec.json.format(msgspec.json.encode(known)))
    return known


def forget_participation(folder: Path) -> None:
    """Let a folder take part in nothing any more; the server keeps what it has."""
    forget_turns(folder)
    (folder / FILE).unlink(missing_ok=True)


def forget_turns(folder: Path) -> None:
    """Let go of what was sent and what came back, when the run is over."""
    shutil.rmtree(folder / TURNS, ignore_errors=True)


def _check_free(folder: Path) -> None:
    """Raise unless a run can begin there: the server counts it once it was asked."""
    if folder.is_dir():
        others = [path for path in folder.iterdir() if not is_leftover(path)]
    else:
        others = []
    if others:
        what = "another run" if (folder / "run.json").is_file() else "other files"
        raise RunConflict(f"{folder} holds {what}; choose an empty or new folder with --out")

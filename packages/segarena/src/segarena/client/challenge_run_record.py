"""The challenge run that belongs to a folder, stored in `challenge.json` next to run.json, without the token."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Annotated

import msgspec

from segarena.client.address import Address, read_address
from segarena.client.challenge_server_api import SampleInfo, Server
from segarena.client.turn_exchange import TURNS_FOLDER
from segarena.errors import InvalidInput, RunConflict, StoreError
from segarena.files.atomic_write import is_leftover, write_atomic
from segarena.protocol.challenge_info import ParticipationMode, ScoreVisibility

PARTICIPATION_FILE = "challenge.json"
CLIENT_FILES = frozenset({PARTICIPATION_FILE, TURNS_FOLDER})
"""Files that the client writes into the folder of a run."""

_RunId = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]


class Participation(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a challenge.

    Attributes:
        server, challenge, phase: address of the phase.
        run: id of the run, generated here, so that a repeated request starts only one run.
        places: samples of the run; empty before the first response of the server.
        shows: which scores participants see.
        kind: mode of participation.
        unranked: why the leaderboards omit the run; "" for a ranked run.
    """

    server: str
    challenge: str
    phase: str
    run: _RunId
    places: list[SampleInfo] = []
    shows: ScoreVisibility = "prompts"
    kind: ParticipationMode = "dialogue"
    unranked: str = ""

    @property
    def address(self) -> Address:
        """The phase of the challenge."""
        return Address(self.server, self.challenge, self.phase)


def read_participation(folder: Path) -> Participation | None:
    """Return the participation of a folder, or None if it has none.

    Raises:
        StoreError: the file is damaged.
    """
    file = folder / PARTICIPATION_FILE
    try:
        participation = msgspec.json.decode(file.read_bytes(), type=Participation)
        read_address(str(participation.address))  # checked, because a token is sent to it
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, InvalidInput) as error:
        raise StoreError(
            f"{file} is damaged: {str(error)[:200]}; start another run with --out"
        ) from error
    return participation


def begin_participation(
    server: Server,
    address: Address,
    folder: Path,
    *,
    segmenter: str,
    overwrite: bool = False,
    kind: ParticipationMode = "dialogue",
) -> Participation:
    """Start a run, or return the run of the folder; each call asks the server until it has responded once.

    Raises:
        RunConflict: the folder contains other files, or a run of another phase or kind.
        RemoteError: the server rejects the request or is unreachable.
        StoreError: the folder cannot be written.
    """
    known = read_participation(folder)
    if known is None:
        if not (overwrite and (folder / "run.json").is_file()):
            _check_free(folder)
        run = str(uuid.uuid4())
        known = Participation(
            server=address.server,
            challenge=address.slug,
            phase=address.phase,
            run=run,
            kind=kind,
        )
        write_atomic(folder / PARTICIPATION_FILE, msgspec.json.format(msgspec.json.encode(known)))
    if known.address != address:
        raise RunConflict(
            f"{folder} holds a run at {known.address}, not {address}; choose another --out to keep both"
        )
    if known.kind != kind:
        raise RunConflict(
            f"{folder} holds a run of {known.kind}, not of {kind}; choose another --out to keep both"
        )
    if not known.places:
        run_info = server.start_run(
            address, known.run, name=folder.name, segmenter=segmenter, kind=kind
        )
        known = msgspec.structs.replace(
            known, places=run_info.places, shows=run_info.shows, unranked=run_info.unranked
        )
        write_atomic(folder / PARTICIPATION_FILE, msgspec.json.format(msgspec.json.encode(known)))
    return known


def delete_participation(folder: Path) -> None:
    """Delete the participation of a folder on this machine, not on the server."""
    delete_turns(folder)
    (folder / PARTICIPATION_FILE).unlink(missing_ok=True)


def delete_turns(folder: Path) -> None:
    """Delete stored turns and replies after the end of a run."""
    shutil.rmtree(folder / TURNS_FOLDER, ignore_errors=True)


def _check_free(folder: Path) -> None:
    """Raise an error unless the folder is empty, because the server counts every run that is started."""
    others: list[Path] = []
    if folder.is_dir():
        others = [path for path in folder.iterdir() if not is_leftover(path)]
    if others:
        what = "another run" if (folder / "run.json").is_file() else "other files"
        raise RunConflict(f"{folder} holds {what}; choose an empty or new folder with --out")

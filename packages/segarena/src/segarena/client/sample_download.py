"""Download of samples and first prompts into a folder, for phases that accept masks.

FOLDER/
challenge.json      server, challenge and run
samples/KEY.png     an image; KEY.npz a volume with voxels, spacing_mm and affine; KEY/00000.png the
                    frames of a video
prompts.json        user, objects and prompts, by sample key and dialogue index
examples/           images and masks that are prompts
masks/              the masks that `segarena submit` sends
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from segarena.client.address import read_address
from segarena.client.challenge_run_record import Participation, begin_participation
from segarena.client.challenge_server_api import SampleInfo, Server
from segarena.client.connection import Connection
from segarena.client.participate import choose_phase
from segarena.client.sample_cache import SampleCache
from segarena.client.tokens import token_for
from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.prompts import MaskPrompt, Prompt
from segarena.protocol.replies import DialogueReply, unpack_reply
from segarena.protocol.sample_serialization import unpack_sample
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena.records.prompts import prompts_text
from segarena.samples import ImageSample, Sample, Support, VideoSample, VolumeSample

MASKS = "masks"


def download_samples(
    challenge: str,
    out: Path,
    *,
    segmenter: str = "",
    token: str | None = None,
    on_sample: Callable[[int, int], object] = lambda done, total: None,
) -> Participation:
    """Start a run of masks and download its samples and first prompts; a second call resumes it.

    Args:
        challenge: `https://host/challenges/NAME`, with `/PHASE` if several are open.
        out: a new folder, or the folder of an earlier call.
        segmenter: its name on the leaderboard.
        token: by default the result of `segarena.client.tokens.token_for`.
        on_sample: called with the number of downloaded samples and the total number.

    Raises:
        InvalidInput: the phase does not accept masks.
        RemoteError: the server rejects a request or is unreachable.
        RunConflict: the folder contains other files.
    """
    address = read_address(challenge)
    with closing(Connection(address.server, token_for(address.server, token))) as connection:
        server = Server(connection)
        phase = choose_phase(server.challenge(address.slug), address)
        if "masks" not in phase.takes:
            raise InvalidInput(
                f"{address}: phase {phase.name} accepts {' and '.join(phase.takes)}, not masks"
            )
        run = begin_participation(
            server, replace(address, phase=phase.name), out, segmenter=segmenter, kind="masks"
        )
        (out / MASKS).mkdir(exist_ok=True)
        bodies = SampleCache(server, run.run)
        prompts: dict[str, Any] = {}
        for number, info in enumerate(run.places, start=1):
            sample = unpack_sample(bodies.body(info), info.key)
            _write_sample(out / "samples", sample)
            prompts[info.key] = _first_prompts(server, run, info, sample, out / "examples")
            on_sample(number, len(run.places))
        write_atomic(out / "prompts.json", json.dumps(prompts, indent=1))
    return run


def _first_prompts(
    server: Server,
    run: Participation,
    info: SampleInfo,
    sample: Sample,
    examples: Path,
) -> dict[str, Any]:
    # Use the same id and content each time, so that the server counts a repeated request once.
    turn_id = str(uuid.uuid5(uuid.UUID(run.run), info.key))
    turn = TurnHeader(id=turn_id, open=[*range(len(info.dialogues))])
    replies = unpack_reply(server.turn(run.run, info.key, 0, pack_turn(turn)), sample.shape)
    by_number = {each.dialogue: each for each in replies}
    entries: dict[str, Any] = {}
    for number, dialogue in enumerate(info.dialogues):
        prompts = _write_prompts(by_number.get(number), examples, f"{info.key}-{number}")
        entries[str(number)] = {
            "target": dialogue.target,
            "user": dialogue.user,
            "repeat": dialogue.repeat,
            "objects": dialogue.objects,
            "prompts": prompts,
        }
    return entries


def _write_prompts(
    reply: DialogueReply | None,
    examples: Path,
    stem: str,
) -> list[Any]:
    """Return the prompts of the first round as JSON values; write their images and masks."""
    prompts: list[Prompt] = []
    if reply is not None and reply.rounds:
        prompts = list(reply.rounds[-1])
    entries = json.loads(prompts_text(prompts))
    for number, (prompt, entry) in enumerate(zip(prompts, entries, strict=True)):
        entry |= _write_example(examples, f"{stem}-{number}", prompt)
    return entries


def _write_example(
    folder: Path,
    stem: str,
    prompt: Prompt,
) -> dict[str, str]:
    """Write the image and the mask of a prompt, if it has any; return the file names."""
    if not isinstance(prompt, MaskPrompt | Support):
        return {}
    folder.mkdir(exist_ok=True)
    mask = np.asarray(prompt.mask)
    suffix = "png" if mask.ndim == 2 else "npz"
    name = f"{stem}-mask.{suffix}"
    if mask.ndim == 2:
        Image.fromarray(mask.astype(np.uint8)).save(folder / name)
    else:
        np.savez_compressed(folder / name, mask=mask)
    if isinstance(prompt, MaskPrompt):
        return {"mask": f"examples/{name}"}
    Image.fromarray(prompt.sample.image).save(folder / f"{stem}.png")
    return {"image": f"examples/{stem}.png", "mask": f"examples/{name}"}


def _write_sample(folder: Path, sample: Sample) -> None:
    folder.mkdir(exist_ok=True)
    match sample:
        case ImageSample():
            Image.fromarray(sample.image).save(folder / f"{sample.id}.png")
        case VolumeSample():
            affine = np.full((4, 4), np.nan) if sample.affine is None else sample.affine
            path = folder / f"{sample.id}.npz"
            spacing_mm = np.asarray(sample.spacing_mm)
            np.savez_compressed(path, voxels=sample.voxels, spacing_mm=spacing_mm, affine=affine)
        case VideoSample():
            _write_frames(folder / sample.id, sample.frames)


def _write_frames(folder: Path, frames: Sequence[Any]) -> None:
    folder.mkdir(exist_ok=True)
    for number, frame in enumerate(frames):
        Image.fromarray(np.asarray(frame)).save(folder / f"{number:05d}.png")

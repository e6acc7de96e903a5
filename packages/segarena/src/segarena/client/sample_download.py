"""The samples of a phase that takes masks, in files that any program reads, with the first prompts of each dialogue.

FOLDER/
challenge.json      which run at which server this is
samples/KEY.png     an image; KEY.npz a volume with voxels, spacing_mm and affine; KEY/00000.png the frames of a video
prompts.json        by key and number of the dialogue: user, objects, prompts
examples/           pictures and masks that are prompts
masks/              where `segarena submit` looks for the answers
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
from segarena.client.connection import Connection
from segarena.client.participate import choose_phase
from segarena.client.participation import Participation, begin_participation
from segarena.client.sample_cache import FetchedSamples
from segarena.client.server import SampleInfo, Server
from segarena.client.tokens import token_for
from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_whole
from segarena.prompts import MaskPrompt, Prompt
from segarena.protocol.replies import DialogueReply, unpack_reply
from segarena.protocol.sample_frames import unpack_sample
from segarena.protocol.turns import TurnMessage, pack_turn
from segarena.records.prompts import prompts_text
from segarena.samples import ImageSample, Sample, Support, VideoSample, VolumeSample

MASKS = "masks"


def fetch(
    challenge: str,
    out: Path,
    *,
    segmenter: str = "",
    token: str | None = None,
    on_sample: Callable[[int, int], object] = lambda done, of: None,
) -> Participation:
    """Begin a run of masks and fetch its samples and first prompts; given again, go on.

    Args:
        challenge: `https://host/challenges/NAME`, with `/PHASE` where several are open.
        out: a new folder, or one that was fetched into.
        segmenter: what the server is told of what will answer.
        token: as `segarena.client.tokens.token_for` finds it by default.
        on_sample: called with how many samples are there, and of how many.

    Raises:
        InvalidInput: the phase takes no masks.
        RemoteError: the server refuses, or is not reached.
        RunConflict: the folder holds something else.
    """
    address = read_address(challenge)
    with closing(Connection(address.server, token_for(address.server, token))) as connection:
        server = Server(connection)
        phase = choose_phase(server.challenge(address.slug), address)
        if "masks" not in phase.takes:
            raise InvalidInput(
                f"{address}: phase {phase.name} takes {' and '.join(phase.takes)}, no masks"
            )
        run = begin_participation(
            server, replace(address, phase=phase.name), out, segmenter=segmenter, kind="masks"
        )
        (out / MASKS).mkdir(exist_ok=True)
        bodies = FetchedSamples(server, run.run)
        prompts = dict[str, Any]()
        for number, place in enumerate(run.places, start=1):
            sample = unpack_sample(bodies.body(place), place.key)
            _write_sample(out / "samples", sample)
            prompts[place.key] = _first_prompts(server, run, place, sample, out / "examples")
            on_sample(number, len(run.places))
        write_whole(out / "prompts.json", json.dumps(prompts, indent=1))
    return run


def _first_prompts(
    server: Server, run: Participation, place: SampleInfo, sample: Sample, examples: Path
) -> dict[str, Any]:
    # The same id and content each time: whoever asks again gets the same answer, and it counts once.
    turn = TurnMessage(
        id=str(uuid.uuid5(uuid.UUID(run.run), place.key)), open=[*range(len(place.dialogues))]
    )
    reply = unpack_reply(server.turn(run.run, place.key, 0, pack_turn(turn)), sample.shape)
    asked = {one.dialogue: one for one in reply.dialogues}
    return {
        str(number): {
            "target": told.target,
            "user": told.user,
            "repeat": told.repeat,
            "objects": told.objects,
            "prompts": _told(asked.get(number), examples, f"{place.key}-{number}"),
        }
        for number, told in enumerate(place.dialogues)
    }


def _told(asked: DialogueReply | None, examples: Path, stem: str) -> list[Any]:
    given = list(asked.rounds[-1]) if asked is not None and asked.rounds else []
    told = json.loads(prompts_text(given))
    for number, (prompt, one) in enumerate(zip(given, told, strict=True)):
        one |= _write_example(examples, f"{stem}-{number}", prompt)
    return told


def _write_example(folder: Path, stem: str, prompt: Prompt) -> dict[str, str]:
    """Write what of a prompt is a picture or a mask; return the names of the files."""
    if not isinstance(prompt, MaskPrompt | Support):
        return {}
    folder.mkdir(exist_ok=True)
    mask = np.asarray(prompt.mask)
    name = f"{stem}-mask.{'png' if mask.ndim == 2 else 'npz'}"
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

"""Masks for a folder of images from a few examples; nothing is judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from segarena.abilities import abilities_of_segmenter
from segarena.datasets.encodings import MaskEncoding
from segarena.dialogue import Dialogue, as_prediction
from segarena.errors import DatasetMissing, InvalidInput, PluginInvalid
from segarena.files.hashes import sha256_of_file
from segarena.files.images import check_same_shape, list_files, read_image
from segarena.files.marks import Mark, marked
from segarena.files.whole import write_whole
from segarena.registry import build, describe
from segarena.samples import ImageSample, Support
from segarena.version import __version__
from segarena.work.executors import make_executor
from segarena.work.jobs import FactoryJob, Workers
from segarena.work.ledger import Ledger, refuse_other_work
from segarena.work.progress import OnProgress, ignore_progress
from segarena.work.resumable_work import do_pending
from segarena.work.sharing.locks import refuse_sharers, remove_claims
from segarena.work.sharing.shared_ledger import SharedLedger, claims_beside

DESCRIPTION = "segment.json"


@dataclass(slots=True, kw_only=True)
class SegmentationSummary:
    """What became of a folder of images.

    Attributes:
        images: how many there are.
        done: masks that there are now.
        resumed: masks of these that were there before.
        empty: masks made now that have no pixel.
        failed: why an image has no mask, by its path in the folder.
    """

    images: int
    done: int = 0
    resumed: int = 0
    empty: int = 0
    failed: dict[str, str] = field(default_factory=dict[str, str])


def segment_folder(
    segmenter: str,
    supports: Sequence[tuple[Path, Path]],
    queries: Path,
    out: Path,
    *,
    workers: Workers = 0,
    share: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> SegmentationSummary:
    """Write a mask for each image under `queries`: grey PNG, 0 and 255, under `out` by the image's own path.

    Examples are encoded once per process. An image that fails is counted and the others go on. A mask that is there
    already is not made again, so an interrupted call is repeated to go on; `segment.json` in `out` says what made them.

    Args:
        segmenter: who answers supports: a plug-in as written.
        supports: images with the mask of the object in each: one value beside 0.
        queries: an image, or a folder of images, nested ones too.
        out: a folder; made if need be.
        workers: processes, or an executor such as `segarena.Ray`; 0 works in this one.
        share: divide the images among all processes that are called so with this `out`.
        on_progress: told when it starts and after each image.

    Raises:
        InvalidInput: no support, or two images whose masks would have one name.
        InvalidImage, InvalidMask: a support cannot be used, or its mask shows nothing.
        DatasetMissing: there is no image.
        PluginInvalid: the segmenter does not answer supports.
        RunConflict: `out` holds masks made otherwise.
        StoreError: the disk is full, or `out` cannot be written.
    """
    if not supports:
        raise InvalidInput(
            "which object? give at least one support: an image and the mask of the object in it"
        )
    executor = make_executor(workers)
    files = {name: (file, out / f"{name}.png") for name, file in _images_of(queries).items()}
    job = FactoryJob(partial(_build, segmenter, tuple(supports), None))
    job.check(executor)
    identity = _describe(out, segmenter, supports)
    claims = claims_beside(out / DESCRIPTION)
    if not share:
        refuse_sharers(claims)
        remove_claims(claims)
    with SharedLedger(claims, None, identity) if share else Ledger(None, identity) as ledger:
        # A mask is whole or absent, so those that are there need no other note.
        before = [name for name, (_, target) in files.items() if target.is_file()]
        ledger.done.update(dict.fromkeys(before))
        with marked(out) as mark:
            if not executor.is_near:
                job = FactoryJob(partial(_build, segmenter, tuple(supports), mark))
            failures = do_pending(
                job, files, ledger, executor, on_progress=on_progress, noted=_arrived
            )
    return SegmentationSummary(
        images=len(files),
        done=len(ledger.done),
        resumed=len(before),
        empty=sum(has_pixel is False for has_pixel in ledger.done.values()),
        failed={name: str(error) for name, error in failures.items()},
    )


def _images_of(queries: Path) -> dict[str, Path]:
    """Return the images by the names of their masks, without ending."""
    if queries.is_file():
        return {queries.stem: queries}
    if not queries.is_dir():
        raise DatasetMissing(f"{queries}: expected a folder of images, found none")
    files: dict[str, Path] = {}
    for file in list_files(queries):
        name = file.relative_to(queries).with_suffix("").as_posix()
        if name in files:
            raise InvalidInput(
                f"{files[name]} and {file} would have one mask, {name}.png; rename one of them"
            )
        files[name] = file
    if not files:
        raise DatasetMissing(f"{queries}: expected images in this folder, found none")
    return files


def _read_support(image: Path, mask: Path) -> Support:
    pixels = read_image(image)
    shown = MaskEncoding().read(mask).masks[""]
    check_same_shape(shown, mask, pixels, image)
    return Support(ImageSample(id=image.stem, image=pixels), shown)


def _describe(out: Path, segmenter: str, supports: Sequence[tuple[Path, Path]]) -> dict[str, Any]:
    """Write down what makes the masks, unless it stands there already; return it."""
    described: dict[str, Any] = {
        "segarena": __version__,
        "segmenter": describe("segmenter", segmenter),
        "supports": [
            {"image": sha256_of_file(image), "mask": sha256_of_file(mask)}
            for image, mask in supports
        ],
    }
    file = out / DESCRIPTION
    if file.is_file():
        refuse_other_work(
            out, json.loads(file.read_text(encoding="utf-8")), json.loads(json.dumps(described))
        )
    else:
        write_whole(file, json.dumps(described, indent=2) + "\n")
    return described


def _build(
    segmenter: str, supports: Sequence[tuple[Path, Path]], mark: Mark | None
) -> Callable[[tuple[Path, Path]], tuple[bool, bytes]]:
    """Return what writes the mask of (image, file of the mask), and tells whether it has a pixel.

    Where the folder that is marked is not seen, it returns the file too.
    """
    built: Any = build("segmenter", segmenter)
    if not abilities_of_segmenter(built).understands("support"):
        raise PluginInvalid(
            f"{segmenter} does not answer supports; `segarena list segmenters` shows who does"
        )
    shown = [_read_support(image, mask) for image, mask in supports]
    encoded = [Support(each.sample, each.mask, encoded=built.encode(each.sample)) for each in shown]
    return partial(_segment, built, Dialogue().ask(tuple(encoded)), mark is None or mark.is_seen)


def _segment(
    segmenter: Any, question: Dialogue, writes: bool, files: tuple[Path, Path]
) -> tuple[bool, bytes]:
    file, target = files
    sample = ImageSample(id=target.stem, image=read_image(file))
    (answer,) = segmenter.predict(segmenter.encode(sample), [question])
    mask = np.asarray(as_prediction(answer, sample.shape).mask, np.bool_)
    encoded = cv2.imencode(".png", mask.astype(np.uint8) * 255)[1].tobytes()
    if writes:
        write_whole(target, encoded)
    return bool(mask.any()), b"" if writes else encoded


def _arrived(files: tuple[Path, Path], result: tuple[bool, bytes]) -> bool:
    """Write a mask that could not be written where it was made; return whether it has a pixel."""
    has_pixel, encoded = result
    if encoded:
        write_whole(files[1], encoded)
    return has_pixel

"""Segmentation of a folder of images from a few examples, without evaluation."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from segarena.datasets.mask_encodings import MaskEncoding
from segarena.datasets.mask_orientation import MaskedPhotograph, orientation_assumptions
from segarena.dialogue import Dialogue, as_prediction
from segarena.errors import DatasetMissing, InvalidInput, PluginInvalid, StoreError
from segarena.files.atomic_write import write_atomic
from segarena.files.folder_probe import FolderProbe, place_probe
from segarena.files.hashes import sha256_of_file
from segarena.files.images import check_same_shape, list_image_files, read_image
from segarena.plugin_capabilities import segmenter_capabilities
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
    """Counts and errors of a segmented folder of images.

    Attributes:
        images: number of images.
        done: number of masks, old and new.
        resumed: number of masks that existed before.
        empty: number of new masks without a pixel.
        failed: error messages of images without a mask, by their paths in the folder.
        assumptions: how masks are interpreted if EXIF rotates their example images; see `orientation_assumptions`.
    """

    images: int
    done: int = 0
    resumed: int = 0
    empty: int = 0
    failed: dict[str, str] = field(default_factory=dict[str, str])
    assumptions: tuple[str, ...] = ()


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
    """Write a mask for each image under `queries`: greyscale PNG, 0 and 255, at the image's relative path in `out`.

    Each process encodes the examples once. A failed image is counted without stopping the others.
    Existing masks are kept, so repeating an interrupted call continues it; `segment.json` in `out`
    describes the segmenter and the examples.

    Args:
        segmenter: a plug-in specification; the segmenter must accept support examples.
        supports: (image, mask of the object in it); the mask has 0 and one other value.
        queries: an image, or a folder of images with subfolders.
        out: a folder; created if it does not exist.
        workers: number of processes, or an executor such as `segarena.Ray`; 0 works in this process.
        share: divide the images among all processes that are called with `share` and this `out`.
        on_progress: called at the start and after each image.

    Raises:
        InvalidInput: there is no support example, or two images would have the same mask file.
        InvalidImage, InvalidMask: a support example cannot be used, or its mask is empty.
        DatasetMissing: there is no image.
        PluginInvalid: the segmenter does not take support examples.
        RunConflict: `out` contains masks made with other settings.
        StoreError: the disk is full, or `out` cannot be written.
    """
    if not supports:
        raise InvalidInput(
            "no example given; expected at least one support: an image and the mask of the object in it"
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
        # A mask is complete or absent, so its file is the only record needed.
        before = [name for name, (_, target) in files.items() if target.is_file()]
        ledger.done.update(dict.fromkeys(before))
        with place_probe(out) as mark:
            if not executor.is_near:
                job = FactoryJob(partial(_build, segmenter, tuple(supports), mark))
            failures = do_pending(
                job, files, ledger, executor, on_progress=on_progress, noted=_write_returned_mask
            )
    return SegmentationSummary(
        images=len(files),
        done=len(ledger.done),
        resumed=len(before),
        empty=sum(has_pixel is False for has_pixel in ledger.done.values()),
        failed={name: str(error) for name, error in failures.items()},
        assumptions=tuple(_assumptions(supports)),
    )


def _assumptions(supports: Sequence[tuple[Path, Path]]) -> Sequence[str]:
    examples = [MaskedPhotograph(image, (mask,)) for image, mask in supports]
    return orientation_assumptions(
        examples, "upright", remedy="rotate the masks, or remove the tag of the photographs"
    )


def _images_of(queries: Path) -> dict[str, Path]:
    """Return the images, keyed by the names of their masks without suffix."""
    if queries.is_file():
        return {queries.stem: queries}
    if not queries.is_dir():
        raise DatasetMissing(f"{queries}: expected a folder of images, found none")
    files: dict[str, Path] = {}
    for file in list_image_files(queries):
        name = file.relative_to(queries).with_suffix("").as_posix()
        if name in files:
            raise InvalidInput(
                f"{files[name]} and {file} would have the same mask file, {name}.png; rename one of them"
            )
        files[name] = file
    if not files:
        raise DatasetMissing(f"{queries}: expected images in this folder, found none")
    return files


def _read_support(image: Path, mask: Path) -> Support:
    pixels = read_image(image)
    decoded = MaskEncoding().read(mask)
    object_mask = decoded.masks[""]
    check_same_shape(object_mask, mask, pixels, image)
    sample = ImageSample(id=image.stem, image=pixels)
    return Support(sample, object_mask)


def _describe(
    out: Path,
    segmenter: str,
    supports: Sequence[tuple[Path, Path]],
) -> dict[str, Any]:
    """Describe the segmenter and the examples; write the description, or compare it with an existing one."""
    support_hashes: list[dict[str, str]] = []
    for image, mask in supports:
        support_hashes.append({"image": sha256_of_file(image), "mask": sha256_of_file(mask)})
    described: dict[str, Any] = {
        "segarena": __version__,
        "segmenter": describe("segmenter", segmenter),
        "supports": support_hashes,
    }
    file = out / DESCRIPTION
    if file.is_file():
        try:
            existing = json.loads(file.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise StoreError(
                f"{file}: expected a description of earlier work, got something else; choose another folder"
            ) from error
        refuse_other_work(out, existing, json.loads(json.dumps(described)))
    else:
        write_atomic(file, json.dumps(described, indent=2) + "\n")
    return described


def _build(
    segmenter: str,
    supports: Sequence[tuple[Path, Path]],
    mark: FolderProbe | None,
) -> Callable[[tuple[Path, Path]], tuple[bool, bytes]]:
    """Return the function that segments the image of a pair (image, mask file) and writes the mask file.

    The function returns whether the mask has a pixel, and b"". On a machine that does not share the
    output folder, it returns the bytes of the file in place of b"" and writes nothing.
    """
    built: Any = build("segmenter", segmenter)
    if not segmenter_capabilities(built).understands("support"):
        raise PluginInvalid(
            f"{segmenter} does not accept support examples; `segarena list segmenters` shows which do"
        )
    encoded: list[Support] = []
    for image, mask in supports:
        support = _read_support(image, mask)
        encoding = built.encode(support.sample)
        encoded.append(Support(support.sample, support.mask, encoded=encoding))
    question = Dialogue().ask(tuple(encoded))
    can_write = mark is None or mark.is_visible
    return partial(_segment, built, question, can_write)


def _segment(
    segmenter: Any,
    question: Dialogue,
    can_write: bool,
    files: tuple[Path, Path],
) -> tuple[bool, bytes]:
    file, target = files
    sample = ImageSample(id=target.stem, image=read_image(file))
    encoding = segmenter.encode(sample)
    (answer,) = segmenter.predict(encoding, [question])
    prediction = as_prediction(answer, sample.shape)
    mask = np.asarray(prediction.mask, np.bool_)
    has_pixel = bool(mask.any())
    # White on black, so that the mask is visible in an image viewer.
    _, png = cv2.imencode(".png", mask.astype(np.uint8) * 255)
    encoded = png.tobytes()
    if can_write:
        write_atomic(target, encoded)
        return has_pixel, b""
    return has_pixel, encoded


def _write_returned_mask(files: tuple[Path, Path], result: tuple[bool, bytes]) -> bool:
    """Write a mask for a process that cannot write to the folder; return whether the mask has a pixel."""
    has_pixel, encoded = result
    if encoded:
        write_atomic(files[1], encoded)
    return has_pixel

"""Masks for a folder of images from a few examples, for who wants masks and nothing judged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from segarena.datasets.encodings import Encoding
from segarena.dialogue import Dialogue, as_prediction
from segarena.errors import DatasetMissing, InvalidInput, PluginInvalid, RunConflict, SegarenaError
from segarena.files.images import check_same_shape, list_files, read_image
from segarena.files.whole import write_whole
from segarena.registry import build, describe
from segarena.samples import ImageSample, Mask, Support
from segarena.version import __version__

DESCRIPTION = "segment.json"


@dataclass(slots=True, kw_only=True)
class Segmented:
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
    on_progress: Callable[[Segmented], None] = lambda _: None,
) -> Segmented:
    """Write a mask for each image under `queries`: grey PNG, 0 and 255, under `out` by the image's own path.

    Examples are encoded once. An image that fails is counted and the others go on. A mask that is there already is
    not made again, so an interrupted call is repeated to go on; `segment.json` in `out` says what made them.

    Args:
        segmenter: who answers supports: a plug-in as written.
        supports: images with the mask of the object in each: one value beside 0.
        queries: an image, or a folder of images, nested ones too.
        out: a folder; made if need be.
        on_progress: told after each image.

    Raises:
        InvalidInput: no support, or two images whose masks would have one name.
        InvalidImage, InvalidMask: a support cannot be used, or its mask shows nothing.
        DatasetMissing: there is no image.
        PluginInvalid: the segmenter does not answer supports.
        RunConflict: `out` holds masks made otherwise.
    """
    if not supports:
        raise InvalidInput("which object? give at least one support: an image and the mask of the object in it")
    files = _targets_of(queries)
    built = build("segmenter", segmenter)
    if "support" not in getattr(built, "prompt_kinds", {"support"}):
        raise PluginInvalid(f"{segmenter} does not answer supports; `segarena list segmenters` shows who does")
    shown = [_read_support(image, mask) for image, mask in supports]
    _describe(out, segmenter, supports)
    encoded = [Support(each.sample, each.mask, encoded=built.encode(each.sample)) for each in shown]
    state, question = Segmented(images=len(files)), Dialogue().ask(tuple(encoded))
    for name, file in files.items():
        target = out / f"{name}.png"
        try:
            if target.is_file():
                state.resumed += 1
            else:
                state.empty += not _segment(built, question, file, target)
            state.done += 1
        except Exception as error:  # one image's fault must not stop the others
            state.failed[name] = str(error) if isinstance(error, SegarenaError) else repr(error)
        on_progress(state)
    return state


def _targets_of(queries: Path) -> dict[str, Path]:
    """Return the images by the names of their masks, without ending."""
    if queries.is_file():
        return {queries.stem: queries}
    if not queries.is_dir():
        raise DatasetMissing(f"{queries}: expected a folder of images, found none")
    files: dict[str, Path] = {}
    for file in list_files(queries):
        name = file.relative_to(queries).with_suffix("").as_posix()
        if name in files:
            raise InvalidInput(f"{files[name]} and {file} would have one mask, {name}.png; rename one of them")
        files[name] = file
    if not files:
        raise DatasetMissing(f"{queries}: expected images in this folder, found none")
    return files


def _read_support(image: Path, mask: Path) -> Support:
    pixels = read_image(image)
    shown = Encoding().read(mask).masks[""]
    check_same_shape(shown, mask, pixels, image)
    return Support(ImageSample(id=image.stem, image=pixels), shown)


def _describe(out: Path, segmenter: str, supports: Sequence[tuple[Path, Path]]) -> None:
    """Write down what makes the masks, unless it stands there already."""
    described: dict[str, Any] = {
        "segarena": __version__,
        "segmenter": describe("segmenter", segmenter),
        "supports": [{"image": _hash(image), "mask": _hash(mask)} for image, mask in supports],
    }
    file = out / DESCRIPTION
    if file.is_file():
        if json.loads(file.read_text(encoding="utf-8")) != json.loads(json.dumps(described)):
            raise RunConflict(
                f"{out} holds masks made by another segmenter, other supports or another version; "
                "give another --out, or remove it"
            )
        return
    write_whole(file, json.dumps(described, indent=2) + "\n")


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _segment(segmenter: Any, question: Dialogue, file: Path, target: Path) -> bool:
    """Write one mask; return whether it has a pixel."""
    sample = ImageSample(id=target.stem, image=read_image(file))
    (answer,) = segmenter.predict(segmenter.encode(sample), [question])
    mask = np.asarray(as_prediction(answer, sample.shape).mask, np.bool_)
    write_whole(target, _png(mask))
    return bool(mask.any())


def _png(mask: Mask) -> bytes:
    return cv2.imencode(".png", mask.astype(np.uint8) * 255)[1].tobytes()

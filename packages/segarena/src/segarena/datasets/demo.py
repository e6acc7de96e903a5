"""Demo dataset: ten photographs with hand-drawn masks that are part of the installation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from segarena.datasets.listed_dataset import CheckTally, Files, ListedDataset
from segarena.errors import DatasetMissing, InvalidImage, InvalidMask, SampleInvalid
from segarena.files.hashes import sha256
from segarena.files.images import LOSSY_SUFFIXES, check_same_shape, read_image, read_mask_values
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import ImageSample, Mask, Target

SKIMAGE = "skimage:"


@dataset("demo")
class Demo(ListedDataset[ImageSample]):
    """Photographs of scikit-image and two more, with masks drawn for this project.

    `demo_data/demo.json` lists them with their licences; a target carries "size" ("small", "medium", "large") and
    "shape" ("thin" or "compact").

    Raises:
        DatasetMissing: the data are not installed, or scikit-image lacks a photograph.
    """

    def __init__(self) -> None:
        self._folder = _installed("segarena.datasets") / "demo_data"
        index = self._folder / "demo.json"
        if not index.is_file():
            raise DatasetMissing(
                f"{index}: expected the demo data in the installation, found none; install segarena again"
            )
        self._photographs: dict[str, dict[str, Any]] = {
            photograph["name"]: photograph
            for photograph in json.loads(index.read_text(encoding="utf-8"))["photographs"]
        }
        files = {name: self._files_of(photograph) for name, photograph in self._photographs.items()}
        super().__init__("demo", files, {"index": sha256(index.read_bytes())})

    def _files_of(self, photograph: dict[str, Any]) -> Files:
        image = self._image(photograph["file"])
        masks = [self._mask(photograph["name"], entry) for entry in photograph["objects"]]
        absent = [str(file) for file in (image, *masks) if not file.is_file()]
        if absent:
            raise DatasetMissing(
                f"demo photograph {photograph['name']!r}: expected {absent[0]}, found none; "
                "install segarena again, with a scikit-image that brings its photographs"
            )
        return (image, *masks)

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        photograph = self._photographs[sample_id]
        image = read_image(files[0])
        expected = (photograph["height"], photograph["width"])
        if image.shape[:2] != expected:
            raise InvalidImage(
                f"{files[0]}: expected {expected[1]} x {expected[0]} pixels, got {image.shape[1]} x {image.shape[0]}; "
                "the installed scikit-image carries another photograph, install another version of it"
            )
        targets = [
            self._target(sample_id, entry, files[0], image) for entry in photograph["objects"]
        ]
        return ImageSample(id=sample_id, image=image, targets=tuple(targets))

    def _target(
        self, photograph: str, entry: dict[str, Any], image_path: Path, image: Any
    ) -> Target:
        path = self._mask(photograph, entry)
        ignore_path = path.with_name(f"{path.stem}__ignore.png")
        mask = _read_mask(path, image_path, image)
        ignore = None
        if entry["ignore"]:
            ignore = _read_mask(ignore_path, image_path, image)
        area_px = np.count_nonzero(mask)
        if area_px != entry["area_px"]:
            raise InvalidMask(
                f"{path}: expected {entry['area_px']} object pixels, got {area_px}; install segarena again"
            )
        return Target(
            id=entry["name"],
            mask=mask,
            ignore=ignore,
            label=entry["label"],
            attributes={"size": entry["size"], "shape": "thin" if entry["is_thin"] else "compact"},
        )

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        del tally
        for name, photograph in self._photographs.items():
            try:
                pixels = self.load(name).image
            except SampleInvalid:
                continue
            if sha256(pixels.tobytes()) != photograph["sha256"]:
                yield _other_pixels(self._files[name][0])

    def _image(self, file: str) -> Path:
        if file.startswith(SKIMAGE):
            return _installed("skimage") / "data" / file.removeprefix(SKIMAGE)
        return self._folder / file

    def _mask(self, photograph: str, entry: dict[str, Any]) -> Path:
        return self._folder / "masks" / f"{photograph}__{entry['name']}.png"


def _other_pixels(path: Path) -> Finding:
    is_lossy = path.suffix in LOSSY_SUFFIXES
    if is_lossy:
        difference = "a few levels apart, as JPEG decoders differ; results change slightly"
    else:
        difference = "another photograph"
    return Finding(
        is_error=not is_lossy,
        message=f"{path}: expected the pixels that the demo masks were drawn on, got others ({difference}); "
        "install the scikit-image and pillow versions that docs/datasets.md names to get the same",
    )


def _read_mask(path: Path, image_path: Path, image: Any) -> Mask:
    values = read_mask_values(path)
    check_same_shape(values, path, image, image_path)
    return values != 0


def _installed(package: str) -> Path:
    return Path(str(resources.files(package)))

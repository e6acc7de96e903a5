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
    """Photographs from scikit-image and two more, with masks drawn for this project.

    `demo_data/demo.json` lists them with their licences. Targets have the attributes "size" ("small", "medium",
    "large") and "shape" ("thin" or "compact").

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
        content = index.read_bytes()
        self._photographs: dict[str, dict[str, Any]] = {}
        files: dict[str, Files] = {}
        for photograph in json.loads(content)["photographs"]:
            name = photograph["name"]
            self._photographs[name] = photograph
            files[name] = self._files_of(photograph)
        super().__init__("demo", files, {"index": sha256(content)})

    def _files_of(self, photograph: dict[str, Any]) -> Files:
        image = self._image(photograph["file"])
        masks = [self._mask(photograph["name"], entry) for entry in photograph["objects"]]
        absent = [str(file) for file in (image, *masks) if not file.is_file()]
        if absent:
            raise DatasetMissing(
                f"demo photograph {photograph['name']!r}: expected {absent[0]}, found none; "
                "install segarena again, with a scikit-image that includes its photographs"
            )
        return (image, *masks)

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        photograph = self._photographs[sample_id]
        image_path = files[0]
        image = read_image(image_path)
        height, width = image.shape[:2]
        expected_height = photograph["height"]
        expected_width = photograph["width"]
        # The photographs come with scikit-image, which may replace one in a later version.
        if (height, width) != (expected_height, expected_width):
            raise InvalidImage(
                f"{image_path}: expected {expected_width} x {expected_height} pixels, got {width} x {height}; "
                "the installed scikit-image has another photograph; install another version"
            )
        targets: list[Target] = []
        for entry in photograph["objects"]:
            targets.append(self._target(sample_id, entry, image_path, image))
        return ImageSample(id=sample_id, image=image, targets=tuple(targets))

    def _target(
        self,
        photograph: str,
        entry: dict[str, Any],
        image_path: Path,
        image: Any,
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
        shape = "thin" if entry["is_thin"] else "compact"
        return Target(
            id=entry["name"],
            mask=mask,
            ignore=ignore,
            label=entry["label"],
            attributes={"size": entry["size"], "shape": shape},
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
        message=f"{path}: expected the pixels that the demo masks were drawn on, got different pixels ({difference}); "
        "install the scikit-image and pillow versions listed in docs/datasets.md for identical pixels",
    )


def _read_mask(
    path: Path,
    image_path: Path,
    image: Any,
) -> Mask:
    values = read_mask_values(path)
    check_same_shape(values, path, image, image_path)
    return values != 0


def _installed(package: str) -> Path:
    return Path(str(resources.files(package)))

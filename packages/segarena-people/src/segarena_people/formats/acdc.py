"""Expert scribbles on heart structures in short-axis MR (ACDC), one per structure and slice.

Three layouts of the same data are supported: slices in HDF5 (`patient001_frame01_slice_0.h5` with
`image`, `label`, `scribble`), volumes in NIfTI (`patient001_frame01_scribble.nii.gz` next to
`..._gt.nii.gz`), and slices packed into one `.npz` (`name`, `shape`, and the raveled `label` and
`scribble` arrays, concatenated). Labels: 0 background, 1 right ventricle, 2 myocardium, 3 left
ventricle. Scribbles: 0 to 3 were drawn for that class, 4 means no ink.

Source: Valvano et al., Learning to Segment From Scribbles (IEEE TMI 2021), data description; Luo et
al. (MICCAI 2022), repository WSL4MIS, `acdc_data_processing.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.hdf5 import read_hdf5
from segarena.files.limits import voxel_limit
from segarena.files.npy import read_arrays
from segarena.samples import Mask
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    UnitReader,
    Units,
    prompt_format,
)
from segarena_people.prompts import PersonPrompt

# Labels of ACDC; scribbles use the same values, with 0 for the background and 4 for no ink.
STRUCTURES = {1: "right ventricle", 2: "myocardium", 3: "left ventricle"}
_BACKGROUND = 0
_NO_INK = 4
# Longest side of a slice in px: products of longer sides could overflow.
_LONGEST_SIDE = 1 << 20
_SLICE = re.compile(r"(?P<case>(?P<patient>patient\d+)_frame\d+)_slice_(?P<plane>\d+)")
_VOLUME = "_scribble.nii.gz"
_PACKED = ("name", "shape", "label", "scribble")


@prompt_format(
    "acdc-scribbles",
    source="a folder of ..._slice_N.h5, or of ..._scribble.nii.gz and ..._gt.nii.gz; or an .npz of slices",
    holds="1 902 slices of 100 patients, with one expert stroke per heart structure and one for the background",
    terms="research; cite Bernard et al. 2018 (ACDC) and Valvano et al. 2021 (scribbles)",
    origin="Valvano et al. 2021; HiLab-git/WSL4MIS",
)
def open_acdc(source: Path, _: ImportInputs) -> Units:
    """Return the slices or volumes of any of the three layouts; files are sorted by name."""
    if source.is_file():
        return _packed(source)
    slices = sorted(source.rglob("*_slice_*.h5"), key=_in_order)
    units: dict[str, UnitReader] = {}
    if slices:
        for path in slices:
            units[str(path.relative_to(source))] = partial(_slice_of_file, path)
        return units
    volumes = sorted(source.rglob(f"*{_VOLUME}"))
    if volumes:
        for path in volumes:
            units[str(path.relative_to(source))] = partial(_slices_of_volume, path)
        return units
    raise DatasetMissing(
        f"{source}: expected files ..._slice_N.h5 or ..._scribble.nii.gz in this folder or its subfolders, found none"
    )


def _in_order(path: Path) -> tuple[str, int]:
    case, _, plane = path.stem.rpartition("_slice_")
    return case, int(plane) if plane.isdecimal() else 0


def _slice_of_file(path: Path) -> Iterator[ImportedPrompt]:
    arrays = read_hdf5(path, ("label", "scribble"))
    return _strokes(path.stem, arrays["label"], arrays["scribble"])


def _slices_of_volume(path: Path) -> Iterator[ImportedPrompt]:
    from segarena.systems.volumes.files.nifti import read_nifti, read_nifti_header

    case = path.name.removesuffix(_VOLUME)
    files = (path.with_name(f"{case}_gt.nii.gz"), path)
    for file in files:
        if not file.is_file():
            raise InvalidMask(
                f"{file}: expected this file with the labels for {path.name}, found none"
            )
    # NIfTI stores the axes as column, row, slice.
    volumes: list[NDArray[Any]] = []
    for file in files:
        voxels = read_nifti(read_nifti_header(file, "axial"))
        volumes.append(voxels.transpose(2, 1, 0))
    label, scribble = volumes
    if label.shape != scribble.shape:
        raise InvalidMask(
            f"{path}: expected the size of its labels, {label.shape}, got {scribble.shape}; download it again"
        )
    for plane in range(len(label)):
        yield from _strokes(f"{case}_slice_{plane}", label[plane], scribble[plane])


def _packed(path: Path) -> Units:
    arrays = read_arrays(
        path,
        ("name", "shape", "label", "scribble"),
        most=voxel_limit(),
        has_text=True,
    )
    missing = [name for name in _PACKED if name not in arrays]
    if missing:
        raise InvalidMask(
            f"{path}: expected arrays name, shape, label and scribble; missing: {', '.join(missing)}"
        )
    names, shapes, labels, scribbles = (arrays[name] for name in _PACKED)
    is_right = names.ndim == 1 and names.dtype.kind == "U" and shapes.shape == (len(names), 2)
    is_right &= (
        shapes.dtype.kind in "iu"
        and 0 < shapes.min(initial=1) <= shapes.max(initial=0) <= _LONGEST_SIDE
    )
    if is_right:
        sizes = shapes.prod(axis=1, dtype=np.int64)
    else:
        sizes = np.zeros(0, np.int64)
    if not is_right or not labels.shape == scribbles.shape == (sizes.sum(),):
        raise InvalidMask(
            f"{path}: the lengths of label and scribble do not match the shapes of the slices; download it again"
        )
    ends = np.cumsum(sizes).tolist()
    units: dict[str, UnitReader] = {}
    for name, shape, size, end in zip(names, shapes.tolist(), sizes.tolist(), ends, strict=True):
        units[str(name)] = partial(
            _strokes,
            str(name),
            labels[end - size : end].reshape(shape),
            scribbles[end - size : end].reshape(shape),
        )
    return units


def _strokes(
    name: str,
    label: NDArray[Any],
    scribble: NDArray[Any],
) -> Iterator[ImportedPrompt]:
    """Yield the strokes on one slice by structure, background last."""
    found = _SLICE.fullmatch(name)
    if found is None:
        raise InvalidMask(
            f"{name}: expected the name of a slice such as patient001_frame01_slice_0"
        )
    if label.ndim != 2 or label.shape != scribble.shape:
        raise InvalidMask(
            f"{name}: expected labels and scribbles of one size, got {label.shape} and "
            f"{scribble.shape}; download it again"
        )
    # Other label values would silently swap the structures.
    values = set(np.unique(label).tolist()) - {0, *STRUCTURES}
    values |= set(np.unique(scribble).tolist()) - {_BACKGROUND, *STRUCTURES, _NO_INK}
    if values:
        raise InvalidMask(f"{name}: expected labels 0 to 3 and scribbles 0 to 4, got {min(values)}")
    for number in (*STRUCTURES, _BACKGROUND):
        # A stroke on the background lies outside the heart, so its goal is the whole heart.
        goal = label == number if number else label > 0
        drawn = scribble == number
        # Slices at either end of the heart lack some structures.
        if drawn.any() and goal.any():
            yield _imported(found, number, goal, drawn)


def _imported(
    found: re.Match[str],
    number: int,
    goal: Mask,
    drawn: Mask,
) -> ImportedPrompt:
    name = found[0]
    target = STRUCTURES.get(number, "heart")
    row = PersonPrompt(
        id=f"{name}-{number}",
        study="acdc-scribbles",
        dataset="acdc",
        sample=found["case"],
        target=target,
        plane=int(found["plane"]),
        label=target,
        height=goal.shape[0],
        width=goal.shape[1],
        person="acdc-expert",
        kind="scribble",
        is_positive=number > 0,
        group=found["patient"],
    )
    return ImportedPrompt(
        row=row,
        goal=goal,
        goal_name=f"{name}-{target}",
        drawn=drawn,
    )

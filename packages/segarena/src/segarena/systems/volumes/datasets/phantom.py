"""Synthetic patients: CT-like and MR-like volumes, computed on demand, with typical difficulties of real scans."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from segarena.errors import PluginInvalid, SampleInvalid
from segarena.files import hashes
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import Target, VolumeSample, check_sample
from segarena.systems.volumes.phantom.anatomy import Anatomy, AnatomyPart, invent_anatomy
from segarena.systems.volumes.phantom.distance_fields import DistanceField, VoxelSpace

PHANTOM_EDITION = 1
"""Version of the phantom, increased whenever the same options give different volumes."""

FIELDS_MM = {"CT": (120.0, 144.0, 144.0), "MR": (140.0, 148.0, 148.0)}
LEAST_SHAPE = (20, 48, 48)
_MODALITIES = ("CT", "MR")

TISSUE_NAMES = [
    "air",
    "lung",
    "fat",
    "muscle",
    "bowel",
    "bone",
    "marrow",
    "liver",
    "spleen",
    "kidney",
    "heart",
    "blood",
    "lesion",
    "node",
    "stone",
]
# In Hounsfield units.
_CT_VALUES = (-1000, -820, -95, 58, 20, 420, 190, 108, 128, 172, 142, 196, 62, 42, 380)
CT_TISSUES = dict(zip(TISSUE_NAMES, _CT_VALUES, strict=True))
# Signal intensities of a fictitious MR sequence in which blood is dark.
_MR_VALUES = (0, 25, 620, 170, 330, 70, 390, 260, 410, 520, 210, 90, 430, 450, 30)
MR_TISSUES = dict(zip(TISSUE_NAMES, _MR_VALUES, strict=True))
NOISE_LEVELS = {"CT": 14.0, "MR": 26.0}


@dataset("phantom")
class Phantom:
    """Synthetic patients, alternately CT-like and MR-like; equal `seed` and `shape` always give the same voxels.

    A target has the attributes "modality" ("CT" or "MR"), "kind" ("organ" or "pathology") and
    "volume_mm3". Lesions and vessels inside an organ are also part of the organ, so their masks
    overlap.

    Args:
        cases: number of volumes; raising it does not change the existing ones.
        shape: planes, rows and columns, at least 20, 48 and 48. The field of view is fixed, so a
            larger shape gives a finer resolution.
        seed: seed for all random choices.

    Raises:
        PluginInvalid: `cases` is below 1, or `shape` is too small.
    """

    name = "phantom"
    sample_kind = "volume"

    def __init__(
        self,
        *,
        cases: int = 6,
        shape: Sequence[int] = (40, 96, 96),
        seed: int = 0,
    ) -> None:
        if cases < 1:
            raise PluginInvalid(f"phantom: expected at least 1 case, got {cases}")
        if len(shape) != 3 or any(n < least for n, least in zip(shape, LEAST_SHAPE, strict=True)):
            raise PluginInvalid(
                f"phantom: expected a shape of at least {LEAST_SHAPE}, got {tuple(shape)}"
            )
        self._shape = (int(shape[0]), int(shape[1]), int(shape[2]))
        self._seed = seed
        self._numbers: dict[str, int] = {}
        for number in range(cases):
            prefix = _MODALITIES[number % 2].lower()
            self._numbers[f"{prefix}-{number // 2 + 1:02d}"] = number

    @property
    def sample_ids(self) -> Sequence[str]:
        """All sample ids, in order."""
        return tuple(self._numbers)

    @property
    def fingerprint(self) -> str:
        """Hash of the options and of the phantom's version."""
        content = [PHANTOM_EDITION, self._shape, self._seed, len(self._numbers)]
        return hashes.fingerprint(json.dumps(content))

    def load(self, sample_id: str) -> VolumeSample:
        """Return one sample, computed anew on each call.

        Raises:
            SampleInvalid: there is no sample with this id.
        """
        if sample_id not in self._numbers:
            raise SampleInvalid(
                f"phantom has no sample {sample_id!r}; its samples are {', '.join(self._numbers)}"
            )
        number = self._numbers[sample_id]
        modality = _MODALITIES[number % 2]
        rng = np.random.default_rng([self._seed, number])
        field_mm = FIELDS_MM[modality]
        depth_mm, height_mm, width_mm = field_mm
        depth = depth_mm / self._shape[0]
        height = height_mm / self._shape[1]
        width = width_mm / self._shape[2]
        space = VoxelSpace(self._shape, (depth, height, width))
        anatomy = invent_anatomy(space, rng)
        targets = (_target(part, modality, depth * height * width) for part in anatomy.parts)
        sample = VolumeSample(
            id=sample_id,
            voxels=_scan(anatomy, modality, space, rng),
            spacing_mm=space.spacing_mm,
            affine=_affine(space, rng, tilt_degrees=8.0 if modality == "MR" else 0.0),
            modality=modality,
            targets=tuple(target for target in targets if target.mask.any()),
        )
        check_sample(sample)
        return sample

    def check(self) -> Sequence[Finding]:
        """Compute every sample once and return the counts."""
        samples = [self.load(sample_id) for sample_id in self._numbers]
        kinds: Counter[str] = Counter()
        for sample in samples:
            kinds.update(str(target.attributes["kind"]) for target in sample.targets)
        found = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        modality_counts = Counter(sample.modality for sample in samples)
        modalities = ", ".join(f"{n} {name}" for name, n in sorted(modality_counts.items()))
        planes, rows, columns = self._shape
        message = (
            f"{self.name}: {sum(kinds.values())} targets ({found}) in {len(samples)} volumes ({modalities}) "
            f"of {planes} x {rows} x {columns} voxels"
        )
        return [Finding(is_error=False, message=message)]


def _target(
    part: AnatomyPart,
    modality: str,
    voxel_mm3: float,
) -> Target:
    mask = part.mask
    attributes = {
        "modality": modality,
        "kind": part.kind,
        "volume_mm3": float(np.count_nonzero(mask) * voxel_mm3),
    }
    return Target(
        id=part.id,
        mask=mask,
        label=part.label,
        attributes=attributes,
    )


def _scan(
    anatomy: Anatomy,
    modality: str,
    space: VoxelSpace,
    rng: np.random.Generator,
) -> NDArray[np.int16]:
    """Return a simulated scan: tissues mixed at their edges, texture, blur, shading (MR only) and noise."""
    from scipy.ndimage import gaussian_filter

    is_ct = modality == "CT"
    signal = _mixed(anatomy, CT_TISSUES if is_ct else MR_TISSUES, space)
    _, body = anatomy.background[0]
    inside = space.occupancy(body)
    contrast = 6.0 if is_ct else 18.0
    # The order of draws from `rng` determines the voxels: if it changes, the phantom's version must
    # too.
    signal += np.float32(contrast) * inside * space.noise(rng, 4.0)
    signal = gaussian_filter(signal, 0.45)
    if is_ct:
        white = rng.standard_normal(space.shape, dtype=np.float32)
        # A reconstruction kernel correlates CT noise within slices, not across them.
        grain = gaussian_filter(white, (0.0, 0.6, 0.6))
        signal += NOISE_LEVELS["CT"] * grain / grain.std()
    else:
        signal = signal * np.exp(np.float32(0.18) * space.noise(rng, 35.0))
        noise = rng.standard_normal((2, *space.shape), dtype=np.float32)
        real, imaginary = NOISE_LEVELS["MR"] * noise
        # MR images are magnitudes of complex signals, so their noise is Rician.
        magnitude = np.hypot(signal + real, imaginary)
        signal = magnitude * rng.uniform(0.7, 1.6)
    return np.rint(signal).astype(np.int16)


def _mixed(
    anatomy: Anatomy,
    tissues: Mapping[str, float],
    space: VoxelSpace,
) -> DistanceField:
    signal = np.full(space.shape, tissues["air"], dtype=np.float32)
    layers = list(anatomy.background)
    for part in anatomy.parts:
        layers.append((part.tissue, part.distance))
    for tissue, distance in layers:
        share = space.occupancy(distance)
        difference = np.float32(tissues[tissue]) - signal
        signal += share * difference
    return signal


def _affine(
    space: VoxelSpace,
    rng: np.random.Generator,
    *,
    tilt_degrees: float,
) -> NDArray[np.float64]:
    """Return an affine with planes to Superior, rows to Anterior and columns to Right, tilted about the last axis."""
    tilt = np.deg2rad(rng.uniform(-tilt_degrees, tilt_degrees))
    affine = np.eye(4)
    superior = (0.0, -np.sin(tilt), np.cos(tilt))
    anterior = (0.0, np.cos(tilt), np.sin(tilt))
    right = (1.0, 0.0, 0.0)
    affine[:3, :3] = np.column_stack([superior, anterior, right]) * space.spacing_mm
    affine[:3, 3] = rng.uniform(-200, 200, size=3).round(1)
    return affine

"""Samples (images, volumes, videos) and their targets.

Axes are (row, column) in images, (plane, row, column) in volumes and (frame, row, column) in videos;
colour is a last axis of length 3. Only file formats and protocols that require it use (x, y).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidImage, InvalidInput, InvalidMask

Mask: TypeAlias = NDArray[np.bool_]
"""Mask of one object: True on the object. Shape (H, W), (D, H, W) or (T, H, W)."""

Labels: TypeAlias = NDArray[np.uint8]
"""Labels of several objects that are scored together (DAVIS): 0 background, 1..N objects."""

VOID = 255
"""Value of ignored pixels in label files; no object has this label."""

Shape: TypeAlias = tuple[int, ...]


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class Target:
    """Ground truth of a sample: an object, or a group of objects, to segment.

    Attributes:
        id: id, unique among the sample's targets.
        mask: bool, shape of the sample, for one object; uint8 labels (0 background, 1..N) for several
            objects that are scored together.
        ignore: bool, same shape, True for ignored pixels; None if every pixel counts.
        label: class of the object as text ("cat", "liver").
        attributes: values by which a summary may group ("size", "tier", "modality").
    """

    id: str
    mask: Mask | Labels
    ignore: Mask | None = None
    label: str = ""
    attributes: Mapping[str, str | float] = field(default_factory=dict[str, str | float])

    @property
    def objects(self) -> int:
        """Number of objects that are scored together: 1 for a bool mask, the highest label otherwise."""
        if self.mask.dtype == np.bool_:
            return 1
        return int(self.mask.max(initial=0))


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class ImageSample:
    """A photograph, uint8 (H, W, 3), RGB.

    Attributes:
        image: the pixels.
        targets: the objects to segment.
        supports: examples for one-shot segmentation, by target id; may be loaded lazily.
    """

    id: str
    image: NDArray[np.uint8]
    targets: tuple[Target, ...] = ()
    supports: Mapping[str, Sequence[Support]] = field(
        default_factory=dict[str, "Sequence[Support]"]
    )

    @property
    def shape(self) -> Shape:
        """(H, W)."""
        return self.image.shape[:2]


@dataclass(frozen=True, slots=True, eq=False)
class Support:
    """An example for one-shot segmentation: an image and the mask of its object.

    Attributes:
        sample: the support image.
        mask: bool, shape of the support image.
        encoded: encoding of the support image by the segmenter. The engine sets it, once per
            distinct support; users leave it at None.
    """

    sample: ImageSample
    mask: Mask
    encoded: Any = field(default=None, repr=False)

    kind: ClassVar[str] = "support"
    effort: ClassVar[float] = 1.0


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class VolumeSample:
    """A 3D scan: `voxels` (D, H, W), any real dtype, in (plane, row, column).

    Attributes:
        spacing_mm: edge lengths of a voxel along (plane, row, column).
        affine: 4 x 4, voxel index (plane, row, column, 1) to millimetres in RAS+; None when unknown.
        modality: "CT", "MR", ... or "".
    """

    id: str
    voxels: NDArray[Any]
    spacing_mm: tuple[float, float, float]
    affine: NDArray[np.float64] | None = None
    modality: str = ""
    targets: tuple[Target, ...] = ()

    @property
    def shape(self) -> Shape:
        """(D, H, W)."""
        return self.voxels.shape


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class VideoSample:
    """A video: `frames` is a sequence of uint8 (H, W, 3) images, possibly loaded lazily.

    Attributes:
        frames: the images, in order.
        frame_shape: (H, W), the same for all frames.
        targets: the objects to segment; in a challenge, one target with the labels of all objects.
        scribbles: first scribbles drawn by people, one dictionary per person, in the format of the
            challenge's files.
    """

    id: str
    frames: Sequence[NDArray[np.uint8]]
    frame_shape: tuple[int, int]
    targets: tuple[Target, ...] = ()
    scribbles: tuple[Mapping[str, Any], ...] = ()

    @property
    def shape(self) -> Shape:
        """(T, H, W)."""
        return (len(self.frames), *self.frame_shape)


Sample: TypeAlias = ImageSample | VolumeSample | VideoSample


def as_image(array: Any, *, name: str = "image") -> NDArray[np.uint8]:
    """Return `array` as uint8 RGB (H, W, 3).

    Greyscale (H, W) is repeated over three channels, and alpha (H, W, 4) is dropped. Bool, 16-bit
    and float images are rejected, because scaling them is up to the reader (see
    `segarena.files.images`).

    Raises:
        InvalidImage: wrong number of axes or channels, wrong dtype, or no pixels.
    """
    image = np.asarray(array)
    if image.ndim == 2:
        image = np.repeat(image[:, :, None], 3, axis=2)
    if image.ndim != 3 or image.shape[2] not in (3, 4) or 0 in image.shape:
        raise InvalidImage(
            f"{name}: expected (H, W), (H, W, 3) or (H, W, 4) pixels, got shape {np.shape(array)}"
        )
    if image.dtype != np.uint8:
        raise InvalidImage(
            f"{name}: expected 8-bit pixels (uint8), got {image.dtype}; scale it to 0..255 first"
        )
    return np.ascontiguousarray(image[:, :, :3])


def as_mask(
    array: Any,
    shape: Shape | None = None,
    *,
    name: str = "mask",
) -> Mask:
    """Return `array` as a bool mask.

    Bool arrays are returned unchanged; integers and floats are accepted only if every value is 0 or
    1 (thresholding is up to the caller).

    Args:
        array: the mask, (H, W), (D, H, W) or (T, H, W).
        shape: required shape; None accepts any.
        name: name of the array in error messages.

    Raises:
        InvalidMask: wrong shape or dtype, NaN, or values other than 0 and 1.
    """
    mask = np.asarray(array)
    if shape is not None and mask.shape != tuple(shape):
        raise InvalidMask(f"{name}: expected shape {tuple(shape)}, got {mask.shape}")
    if mask.dtype == np.bool_:
        return mask
    if mask.dtype.kind not in "iuf":
        raise InvalidMask(f"{name}: expected bool or numbers 0 and 1, got dtype {mask.dtype}")
    if mask.dtype.kind == "f" and not np.isfinite(mask).all():
        raise InvalidMask(f"{name}: contains NaN or infinity; a mask holds only 0 and 1")
    if not ((mask == 0) | (mask == 1)).all():
        values = np.unique(mask)[:5].tolist()
        raise InvalidMask(
            f"{name}: expected only 0 and 1, got values {values}...; threshold it first"
        )
    return mask.astype(np.bool_)


def as_labels(array: Any, *, name: str = "labels") -> Labels:
    """Return `array` as uint8 labels, without clipping or wrapping values.

    Raises:
        InvalidMask: the array is neither bool nor numeric, or has values other than integers from 0 to 255.
    """
    labels = np.asarray(array)
    if labels.dtype == np.uint8:
        return labels
    if labels.dtype.kind not in "biuf":
        raise InvalidMask(f"{name}: expected whole numbers 0 to 255, got dtype {labels.dtype}")
    wrong = ~((labels >= 0) & (labels <= 255)) | (labels != np.floor(labels))
    if wrong.any():
        raise InvalidMask(f"{name}: expected whole numbers 0 to 255, got {labels[wrong][0]:g}")
    return labels.astype(np.uint8)


def without_void(labels: Labels, ignore: Any = None) -> tuple[Labels, Mask | None]:
    """Return labels with 255 replaced by 0, and the mask `ignore` with the pixels of 255 added.

    The mask is None if `ignore` is None and no label is 255.

    Raises:
        InvalidMask: `ignore` is not a mask, or its shape differs from that of `labels`.
    """
    excluded: Mask | None = None
    if ignore is not None:
        excluded = as_mask(ignore, labels.shape, name="ignore")
    is_void = labels == VOID
    if not is_void.any():
        return labels, excluded
    objects = np.where(is_void, np.uint8(0), labels)
    if excluded is None:
        return objects, is_void
    return objects, is_void | excluded


def word_of_kind(sample_kind: str) -> str:
    """Return the word that pages and terminals use for a sample: "photograph" for an image, else its kind."""
    return "photograph" if sample_kind == "image" else sample_kind


def check_sample(sample: Sample) -> None:
    """Raise an error unless the parts of a sample have the right types and shapes, and its target ids are distinct.

    Raises:
        InvalidImage: an image is not uint8, or neither (H, W, 3) nor (H, W).
        InvalidMask: a target or ignore mask has a wrong shape or dtype, or values that are not allowed.
        InvalidInput: two targets share an id, an id or a label is not text, an attribute is neither text nor a
            number, or the sample or another part of it has a wrong type.
    """
    _check_contents(sample)
    for target in sample.targets:
        _check_text(f"sample {sample.id}, a target", "id", target.id)
    ids = [target.id for target in sample.targets]
    if len(set(ids)) != len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise InvalidInput(
            f"sample {sample.id}: two targets have the id {twice!r}; rename one of them"
        )
    for target in sample.targets:
        name = f"sample {sample.id}, target {target.id}"
        _check_text(name, "label", target.label)
        _check_attributes(name, target.attributes)
        _check_array(name, "mask", target.mask)
        if str(target.mask.dtype) not in ("bool", "uint8"):
            raise InvalidMask(
                f"{name}: expected a bool mask or uint8 labels, got {target.mask.dtype}"
            )
        if target.mask.shape != sample.shape:
            raise InvalidMask(
                f"{name}: expected a mask in the shape of the sample, {sample.shape}, got {target.mask.shape}"
            )
        if target.mask.dtype == np.uint8 and target.objects == VOID:
            raise InvalidMask(
                f"{name}: expected labels 0 to 254, got 255; set ignored pixels to 0 and pass them as ignore"
            )
        if target.ignore is not None:
            as_mask(target.ignore, sample.shape, name=f"{name}, ignore")


def _check_contents(sample: Any) -> None:
    """Raise an error unless an object from a plug-in is a sample whose id, targets and pixels have the right types."""
    if not isinstance(sample, ImageSample | VolumeSample | VideoSample):
        raise InvalidInput(
            f"expected a sample, such as segarena.ImageSample, got {type(sample).__name__}"
        )
    called = f"sample {sample.id}"
    _check_text(called, "id", sample.id)
    targets: Any = sample.targets
    if not isinstance(targets, tuple | list):
        raise InvalidInput(f"{called}: expected a tuple of targets, got {type(targets).__name__}")
    for target in targets:
        if not isinstance(target, Target):
            raise InvalidInput(
                f"{called}: expected a Target in targets, got {type(target).__name__}"
            )
    if isinstance(sample, ImageSample):
        _check_array(called, "image", sample.image)
        has_pixels = sample.image.ndim == 2 or sample.image.shape[2:] == (3,)
        if sample.image.dtype != np.uint8 or not has_pixels:
            raise InvalidImage(
                f"{called}: expected an image of uint8 (H, W, 3), got {sample.image.dtype} {sample.image.shape}; "
                "segarena.samples.as_image converts other channels, and scaling is up to the dataset"
            )
    if isinstance(sample, VolumeSample):
        _check_array(called, "voxels", sample.voxels)


def _check_array(
    called: str,
    name: str,
    value: object,
) -> None:
    if not isinstance(value, np.ndarray):
        raise InvalidInput(
            f"{called}: expected a NumPy array as {name}, got {type(value).__name__}"
        )


def _check_text(
    called: str,
    name: str,
    value: object,
) -> None:
    if not isinstance(value, str):
        raise InvalidInput(
            f"{called}: expected text as {name}, got {type(value).__name__}; convert it with str()"
        )


def _check_attributes(called: str, attributes: object) -> None:
    if not isinstance(attributes, Mapping):
        raise InvalidInput(
            f"{called}: expected a dictionary as attributes, got {type(attributes).__name__}"
        )
    for name, value in attributes.items():
        _check_text(called, "the name of an attribute", name)
        if not isinstance(value, (str, int, float, np.generic)):
            raise InvalidInput(
                f"{called}: expected text or a number as attribute {name}, got {type(value).__name__}"
            )

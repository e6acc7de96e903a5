"""Serialized samples for participants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import msgspec
import numpy as np

from segarena.errors import InvalidInput
from segarena.protocol.message_frames import convert_field, read_frame, restore_fields, write_frame
from segarena.readonly import without_truth
from segarena.samples import ImageSample, Sample, Shape, VideoSample, VolumeSample, as_image
from segarena.serialization import encode_sample

_Edge = Annotated[float, msgspec.Meta(gt=0, lt=1e6)]
_MAX_TEXT = 200
# A frame starts with two lengths, those of the header (4 bytes) and of the body (8 bytes).
_HEADER_START = 12
# The field with the pixels of each kind of sample, and the number of its axes that are positions.
_PIXELS = {"image": ("image", 2), "volume": ("voxels", 3), "video": ("frames", 3)}


class _SampleHeader(msgspec.Struct, frozen=True, kw_only=True):
    sample: Any = None


def pack_sample(sample: Sample) -> bytes:
    """Serialize a sample for participants: without ground truth and without its name.

    The same sample gives the same bytes in each run, so it is transmitted only once and identified
    by its hash.
    """
    arrays: list[Any] = []
    anonymous = replace(without_truth(sample), id="")
    header = encode_sample(anonymous, arrays)
    return write_frame({"sample": header}, arrays)


def unpack_sample(data: bytes, key: str) -> Sample:
    """Parse a sample that `pack_sample` serialized, with a key in place of its name.

    Raises:
        InvalidInput: the data are not a sample.
    """
    header, arrays = read_frame(data, _SampleHeader, what="sample")
    return replace(decode_sample(header.sample, arrays), id=key)


def packed_sample_shape(data: bytes) -> Shape:
    """Return the shape of a packed sample without building its arrays; only for trusted data.

    Raises:
        InvalidInput: the data are not a sample.
    """
    size = int.from_bytes(data[:4], "little")
    try:
        header = msgspec.json.decode(data[_HEADER_START : _HEADER_START + size])
        sample = header["sample"]
        field, axes = _PIXELS[sample["kind"]]
        announced = header["arrays"][sample[field]["array"]]
        return tuple(announced["shape"][:axes])
    except (msgspec.MsgspecError, LookupError, TypeError) as error:
        raise InvalidInput("sample: expected a frame with an image, a volume or a video") from error


def decode_sample(encoded: Any, arrays: Sequence[Any]) -> Sample:
    """Build the sample that a header describes.

    Raises:
        InvalidInput: the header does not describe a sample.
    """
    fields = restore_fields(encoded, arrays, "sample")
    kind = fields.get("kind")
    name = convert_field(fields.get("id"), str, "id")[:_MAX_TEXT]
    if not isinstance(kind, str):
        raise InvalidInput(f"sample: expected its kind as text, got {type(kind).__name__}")
    if kind == "image":
        return ImageSample(id=name, image=as_image(_array(fields.get("image"), 3)))
    if kind == "volume":
        return _volume(fields, name)
    if kind != "video":
        raise InvalidInput(f"sample: expected an image, a volume or a video, got {kind[:40]!r}")
    frames = _array(fields.get("frames"), 4)
    if frames.dtype != np.uint8 or frames.shape[3] != 3:
        raise InvalidInput(
            f"sample: expected frames of 8-bit colours, got {frames.dtype} {frames.shape}"
        )
    return VideoSample(id=name, frames=list(frames), frame_shape=frames.shape[1:3])


def _volume(fields: Mapping[str, Any], name: str) -> VolumeSample:
    affine = fields.get("affine")
    if affine is not None and _array(affine, 2).shape != (4, 4):
        raise InvalidInput(f"sample: expected an affine of 4 × 4, got {affine.shape}")
    spacing_mm = convert_field(fields.get("spacing_mm"), tuple[_Edge, _Edge, _Edge], "spacing_mm")
    modality = convert_field(fields.get("modality", ""), str, "modality")
    return VolumeSample(
        id=name,
        voxels=_array(fields.get("voxels"), 3),
        spacing_mm=spacing_mm,
        affine=affine,
        modality=modality[:_MAX_TEXT],
    )


def _array(value: Any, axes: int) -> Any:
    if not isinstance(value, np.ndarray) or value.ndim != axes or 0 in value.shape:
        raise InvalidInput(
            f"sample: expected an array with {axes} axes, got {type(value).__name__} {np.shape(value)}"
        )
    return value

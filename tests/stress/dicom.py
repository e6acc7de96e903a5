"""A small CT series with pixels encoded in several ways, and a DICOM segmentation of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from pydicom import uid
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import encapsulate

SHAPE = (3, 12, 10)
PLAIN = uid.ExplicitVRLittleEndian
PACKED = {"plain": PLAIN, "rle": PLAIN, "jpeg": uid.JPEGBaseline8Bit, "j2k": uid.JPEG2000Lossless}
"""How pixels are packed, and the transfer syntax they are written with; run lengths are packed from plain ones."""


def write_ct(folder: Path, packed: str = "plain") -> None:
    """Write slices 0.dcm, 1.dcm and 2.dcm."""
    folder.mkdir(parents=True, exist_ok=True)
    values = np.arange(np.prod(SHAPE), dtype=np.uint16).reshape(SHAPE) % 200
    for plane, pixels in enumerate(values):
        content = _new(uid.CTImageStorage, f"1.2.3.{plane + 1}", PACKED[packed])
        content.Modality, content.SeriesInstanceUID = "CT", "1.2.3"
        content.ImageOrientationPatient, content.ImagePositionPatient = (
            [1, 0, 0, 0, 1, 0],
            [0, 0, 2.0 * plane],
        )
        content.PixelSpacing, content.RescaleSlope, content.RescaleIntercept = [1, 1], 1, -100
        bits = 8 if packed == "jpeg" else 16
        _describe(content, pixels.shape, bits)
        content.PixelData = pixels.astype(f"<u{bits // 8}").tobytes()
        if packed == "rle":
            content.compress(uid.RLELossless, generate_instance_uid=False)
        elif packed != "plain":
            content.PixelData = encapsulate([_picture(pixels, packed)])
            content["PixelData"].is_undefined_length = True
        content.save_as(folder / f"{plane}.dcm", enforce_file_format=True)


def write_seg(path: Path, kind: str = "BINARY") -> None:
    """Write a segmentation with a segment on two of the slices."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = _new(uid.SegmentationStorage, "1.2.9", PLAIN)
    content.Modality, content.SeriesInstanceUID, content.SegmentationType = "SEG", "1.2.4", kind
    content.ReferencedSeriesSequence = [_with(SeriesInstanceUID="1.2.3")]
    measures = _with(PixelSpacing=[1, 1], SpacingBetweenSlices=2)
    turned = _with(ImageOrientationPatient=[1, 0, 0, 0, 1, 0])
    content.SharedFunctionalGroupsSequence = [
        _with(PixelMeasuresSequence=[measures], PlaneOrientationSequence=[turned])
    ]
    content.SegmentSequence = [_with(SegmentNumber=1, SegmentLabel="lymph node")]
    content.PerFrameFunctionalGroupsSequence = [
        _with(
            SegmentIdentificationSequence=[_with(ReferencedSegmentNumber=1)],
            PlanePositionSequence=[_with(ImagePositionPatient=[0, 0, 2.0 * plane])],
        )
        for plane in range(2)
    ]
    frames = np.zeros((2, *SHAPE[1:]), np.uint8)
    frames[:, 3:8, 2:7] = 1
    content.NumberOfFrames = len(frames)
    _describe(content, SHAPE[1:], 1 if kind == "BINARY" else 8)
    content.PixelData = np.packbits(frames.ravel(), bitorder="little").tobytes()
    if kind == "FRACTIONAL":
        content.MaximumFractionalValue, content.PixelData = 200, (200 * frames).tobytes()
    content.save_as(path, enforce_file_format=True)


def _new(sop_class: str, instance: str, syntax: str) -> Any:
    content = Dataset()
    content.file_meta = FileMetaDataset()
    content.file_meta.MediaStorageSOPClassUID = content.SOPClassUID = sop_class
    content.file_meta.MediaStorageSOPInstanceUID = content.SOPInstanceUID = instance
    content.file_meta.TransferSyntaxUID = syntax
    content.PatientID, content.StudyInstanceUID = "x", "1.2"
    return content


def _with(**values: Any) -> Dataset:
    content = Dataset()
    for name, value in values.items():
        setattr(content, name, value)
    return content


def _describe(content: Any, shape: tuple[int, ...], bits: int) -> None:
    content.Rows, content.Columns = shape
    content.SamplesPerPixel, content.PhotometricInterpretation, content.PixelRepresentation = (
        1,
        "MONOCHROME2",
        0,
    )
    content.BitsAllocated = content.BitsStored = bits
    content.HighBit = bits - 1


def _picture(pixels: np.ndarray, packed: str) -> bytes:
    found = io.BytesIO()
    if packed == "jpeg":
        Image.fromarray(pixels.astype(np.uint8)).save(found, "JPEG")
    else:
        Image.fromarray(pixels).save(found, "JPEG2000", no_jp2=True)
    return found.getvalue()

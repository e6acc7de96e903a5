"""Small 16-bit pictures: TIFF by hand and DICOM."""

import io
import struct

import numpy as np
from PIL import Image

RAMP = (np.arange(60 * 80).reshape(60, 80) * 10).astype(np.uint16)


def tiff(pixels, *, photometric=1, is_signed=False):
    """Return an uncompressed grey TIFF of 16 bits, in the byte order of the pixels."""
    order = ">" if pixels.dtype.byteorder == ">" else "<"
    data = pixels.tobytes()
    height, width = pixels.shape
    long_, short = 4, 3
    tags = [
        (256, long_, width),
        (257, long_, height),
        (258, short, 16),
        (259, short, 1),
        (262, short, photometric),
        (273, long_, 8),
        (277, short, 1),
        (278, long_, height),
        (279, long_, len(data)),
        (339, short, 2 if is_signed else 1),
    ]
    content = (
        (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8 + len(data)) + data
    )
    content += struct.pack(order + "H", len(tags))
    for tag, kind, value in tags:
        field = (value,) if kind == long_ else (value, 0)
        content += struct.pack(order + "HHI", tag, kind, 1)
        content += struct.pack(order + ("I" if kind == long_ else "HH"), *field)
    return content + struct.pack(order + "I", 0)


def encoded(pixels, kind, **options):
    """Return pixels as a file of a format of Pillow."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format=kind, **options)
    return buffer.getvalue()


def dicom(pixels=RAMP, *, syntax="1.2.840.10008.1.2.1", **values):
    """Return a DICOM file of one frame; `values` replace or add data elements, and None removes one."""
    from pydicom.dataset import Dataset, FileMetaDataset

    content = Dataset()
    content.file_meta = FileMetaDataset()
    content.file_meta.MediaStorageSOPClassUID = content.SOPClassUID = "1.2.840.10008.5.1.4.1.1.2"
    content.file_meta.MediaStorageSOPInstanceUID = content.SOPInstanceUID = "1.2.3"
    content.file_meta.TransferSyntaxUID = syntax
    bits = 8 * pixels.dtype.itemsize
    elements = {
        "Modality": "CT",
        "Rows": pixels.shape[0],
        "Columns": pixels.shape[1],
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "BitsAllocated": bits,
        "BitsStored": bits,
        "HighBit": bits - 1,
        "PixelRepresentation": int(pixels.dtype.kind == "i"),
        "RescaleSlope": 2,
        "RescaleIntercept": -1000,
        "PixelData": pixels.astype(pixels.dtype.newbyteorder("<")).tobytes(),
        **values,
    }
    for name, value in elements.items():
        if value is not None:
            setattr(content, name, value)
    buffer = io.BytesIO()
    content.save_as(buffer, enforce_file_format=True)
    return buffer.getvalue()

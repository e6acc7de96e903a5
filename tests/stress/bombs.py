"""Small files that decode to gigabytes, and files that contain code: how much is decoded before they are rejected.

    python tests/stress/bombs.py

Each file is read in a process that may allocate 1 GiB more. Requirement: all are rejected within 5 s of processor time.
"""

from __future__ import annotations

import io
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
from children import in_child

from segarena.errors import SegarenaError

SECONDS = 5
ZEROS = bytes(1 << 20)


def bombs() -> dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any]]]:
    """Return the cases: a function that writes the file, and one that reads it."""
    from segarena.errors import DatasetError
    from segarena.files.checkpoint import read_checkpoint
    from segarena.files.images import read_image
    from segarena.files.npy import read_arrays
    from segarena.files.parquet import read_parquet
    from segarena.files.xml import parse_xml
    from segarena.files.zip_archives import extract_zip
    from segarena.systems.volumes.files.volume_io import read_labels
    from segarena.systems.volumes.preparation.dicom_series import read_dicom

    def unpack_small(path: Path) -> None:
        extract_zip(path, path.with_suffix(".out"), most_bytes=100 << 20)

    def read_xml(path: Path) -> None:
        parse_xml(path.read_bytes(), path)

    def read_table(path: Path) -> None:
        read_parquet(path, error=DatasetError)

    return {
        "zip, 10 GiB in 10 MiB": (_zip, unpack_small),
        "zip, a file larger than it says": (_lying_zip, unpack_small),
        "PNG, 30,000 x 30,000 in 110 kB": (png, read_image),
        "NIfTI, 32767 x 32767 x 32767 in 352 bytes": (_nifti, read_labels),
        "npz, 15 GB in 700 bytes": (npz, read_arrays),
        "npz with pickled objects": (pickled_npz, read_arrays),
        "XML, 40 million elements": (_wide_xml, read_xml),
        "XML, 4 GB of names in 400 kB": (_named_xml, read_xml),
        "DICOM, 1 GiB deflated": (_deflated, read_dicom),
        "Parquet, 2.2 billion values in 4 MB": (_parquet, read_table),
        "checkpoint that runs a command": (_pickled_checkpoint, read_checkpoint),
    }


def main() -> int:
    """Read all files and print the outcomes; return 1 if a file is not rejected in time."""
    known = bombs()
    names = list(known)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        place = Path(folder)

        def make(number: int) -> int:
            known[names[number]][0](place / f"{number}.nii")
            return (place / f"{number}.nii").stat().st_size

        def read(number: int) -> tuple[str, float]:
            started = time.process_time()
            try:
                known[names[number]][1](place / f"{number}.nii")
            except SegarenaError as error:
                return f"refused: {error}".replace(folder, "..."), time.process_time() - started
            return "READ", time.process_time() - started

        sizes = in_child(make, range(len(names)), seconds=300, is_limited=False).answers
        before = in_child(lambda _: None, range(1), seconds=60).peak_bytes
        wrong = 0
        for number, name in enumerate(names):
            done = in_child(read, range(number, number + 1), seconds=60)
            said, took_s = done.answers[0] if done.answers else (f"ENDED: {done.by}", SECONDS + 1)
            is_held = (
                said.startswith("refused") and took_s <= SECONDS and not (place / "ran").exists()
            )
            wrong += not is_held
            memory = max(0, done.peak_bytes - before) >> 20
            print(
                f"{name} ({sizes[number]:,} bytes): {memory} MiB, {took_s:.2f} s: {said[:90]}",
                flush=True,
            )
        left = sum(
            file.stat().st_size
            for file in place.rglob("*")
            if file.is_file() and file.parent != place
        )
        print(f"{len(names)} bombs, {wrong} not refused; {left:,} bytes unpacked")
    return int(bool(wrong))


def _zip(path: Path) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.bin", "w", force_zip64=True) as out,
    ):
        for _ in range(10 << 10):
            out.write(ZEROS)


def _lying_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.bin", ZEROS * 200)
    data = path.read_bytes()
    true, told = struct.pack("<I", len(ZEROS) * 200), struct.pack("<I", 1000)
    path.write_bytes(data.replace(true, told))


def png(path: Path) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    side = 30_000
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + side // 8)) for _ in range(side)) + packer.flush()
    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


def _nifti(path: Path) -> None:
    import nibabel

    header = nibabel.Nifti1Header()
    header.set_data_dtype(np.uint8)
    header.set_data_shape((32767, 32767, 32767))
    header["magic"], header["vox_offset"] = b"n+1", 352
    path.write_bytes(header.binaryblock + bytes(4))


def npz(path: Path) -> None:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "|u1", "fortran_order": False, "shape": (15 * 10**9,)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", head.getvalue())


def _wide_xml(path: Path) -> None:
    path.write_bytes(b"<a>" + b"<b/>" * 40_000_000 + b"</a>")


def _named_xml(path: Path) -> None:
    names = b" ".join(b"n:b%d=''" % number for number in range(20_000))
    path.write_bytes(b"<a xmlns:n='" + b"n" * 200_000 + b"' " + names + b"/>")


def _deflated(path: Path) -> None:
    import pydicom
    from dicom import write_ct

    with tempfile.TemporaryDirectory() as name:
        write_ct(Path(name))
        content = pydicom.dcmread(Path(name) / "0.dcm")
    content.add_new((0x0009, 0x0010), "LO", "NOTHING")
    content.add_new((0x0009, 0x1001), "OB", ZEROS * 1024)
    content.file_meta.TransferSyntaxUID = pydicom.uid.DeflatedExplicitVRLittleEndian
    content.save_as(path, enforce_file_format=True)


def _parquet(path: Path) -> None:
    import polars as pl

    pl.LazyFrame({"a": [1]}).select(
        pl.repeat(1, 2_200_000_000, dtype=pl.Boolean).alias("a")
    ).sink_parquet(path)


def pickled_npz(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, a=np.array([{"an": "object"}], dtype=object))


class _Command:
    def __reduce__(self) -> Any:
        import os

        return os.system, ("touch ran",)


def _pickled_checkpoint(path: Path) -> None:
    import torch

    torch.save({"state_dict": _Command()}, path)


if __name__ == "__main__":
    sys.exit(main())

"""Encodings of samples, kept for the next run over the same images.

Encoding is the expensive part of most models. A segmenter that offers `pack` and `unpack` (see
`segarena.roles.Segmenter`) has what it made of an image kept, first in memory, then in a folder that users,
benchmarks and worker processes share. Kept encodings are found by what decides them: the pixels, and the
segmenter with its options, source, weights and device. A file that is damaged counts as absent.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.abilities import abilities_of_segmenter
from segarena.arrays.sizes import bytes_of
from segarena.engine.blob_folder import BlobFolder, Recent
from segarena.errors import SegmenterError
from segarena.files.hashes import sha256, sha256_of_all
from segarena.files.sources import imported_beside
from segarena.readonly import without_truth
from segarena.samples import ImageSample, Sample, VolumeSample

WORTH = 1.0
"""An encoding is kept when making it takes at least so many times what reading it back takes."""

MEMORY_BYTES = 256 * 2**20
"""What each process keeps in memory beside the folder."""

SUPPORTS_BYTES = 2**30
"""What encodings of support images may take that each process keeps at hand; the last one always stays."""

_CHECKSUM_BYTES = 16


@dataclass(frozen=True, slots=True)
class Encoding:
    """What a segmenter made of a sample.

    Attributes:
        value: what `encode` returned.
        seconds: what it took to make or to read.
        is_from_cache: it was read; no encoder pass was made.
    """

    value: Any
    seconds: float
    is_from_cache: bool = False


class Encoder:
    """Encodes samples by a segmenter, or reads what was made of the same pixels before.

    Args:
        segmenter: who encodes.
        key: what stands for the segmenter (see `segmenter_key`); empty keeps nothing.
        folder: where encodings are kept; None keeps nothing.
        limit_bytes: what the folder may take.
        clock: seconds since some fixed moment.

    The first encoding is written and read back: when making it took less than reading, nothing is kept or
    looked for any more.
    """

    def __init__(
        self,
        segmenter: Any,
        *,
        key: str = "",
        folder: Path | None = None,
        limit_bytes: int = 0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._segmenter = segmenter
        self._sees_truth = abilities_of_segmenter(segmenter).sees_truth
        self._key = key
        self._clock = clock
        self._folder = BlobFolder(folder, limit_bytes) if folder is not None and key else None
        self._memory = Recent[bytes](min(limit_bytes, MEMORY_BYTES))
        self._is_measured = False
        self._supports = Recent[Encoding](SUPPORTS_BYTES, keeps_last=True)

    def encode(self, sample: Sample) -> Encoding:
        """Return the encoding of `sample`; raises whatever the segmenter raises.

        Raises:
            SegmenterError: the segmenter packs something else than named arrays of numbers.
        """
        if self._folder is None:
            return self._make(sample)
        started = self._clock()
        key = sample_key(self._key, sample)
        arrays = self._read(key, self._folder)
        if arrays is not None:
            value = self._segmenter.unpack(arrays)
            return Encoding(value, self._clock() - started, is_from_cache=True)
        made = self._make(sample)
        self._keep(key, sample, made, self._folder)
        return made

    def encode_support(self, sample: Sample) -> tuple[Encoding, bool]:
        """Return the encoding of a support image, and whether it was made or read just now.

        Those used last are kept at hand, `SUPPORTS_BYTES` of them: pairs that share a support image share its encoding.
        """
        key = sample_key("", sample)
        known = self._supports.get(key)
        if known is not None:
            return known, False
        encoding = self.encode(sample)
        self._supports.put(key, encoding, bytes_of(encoding.value))
        return encoding, True

    def _make(self, sample: Sample) -> Encoding:
        started = self._clock()
        value = self._segmenter.encode(sample if self._sees_truth else without_truth(sample))
        return Encoding(value, self._clock() - started)

    def _read(self, key: str, folder: BlobFolder) -> dict[str, NDArray[Any]] | None:
        kept = self._memory.get(key)
        data = folder.get(key) if kept is None else kept
        arrays = None if data is None else from_bytes(data)
        if arrays is not None and data is not kept and data is not None:
            self._memory.put(key, data, len(data))
        return arrays

    def _keep(self, key: str, sample: Sample, made: Encoding, folder: BlobFolder) -> None:
        data = to_bytes(self._segmenter.pack(made.value))
        folder.put(key, data)
        if not self._is_measured:
            self._is_measured = True
            if made.seconds < WORTH * self._reading_s(sample, folder, data):
                self._folder = None
                return
        self._memory.put(key, data, len(data))

    def _reading_s(self, sample: Sample, folder: BlobFolder, data: bytes) -> float:
        started = self._clock()
        read = folder.get(sample_key(self._key, sample))
        self._segmenter.unpack(from_bytes(data if read is None else read) or {})
        return self._clock() - started


def segmenter_key(
    segmenter: Any, described: Mapping[str, Any] | None, environment: Mapping[str, str]
) -> str:
    """Return what stands for all that decides a segmenter's encodings; empty when they must not be kept.

    Args:
        segmenter: needs `pack` and `unpack`; an object that no name describes needs `fingerprint` too.
        described: what a run records of it, all options resolved; None for an object.
        environment: the versions that could matter.
    """
    abilities = abilities_of_segmenter(segmenter)
    if abilities.packing is None or (abilities.fingerprint is None and described is None):
        return ""
    facts = [
        described,
        environment,
        _source_of(type(segmenter)),
        abilities.fingerprint,
        device_of(segmenter),
    ]
    return sha256(json.dumps(facts, sort_keys=True, default=str))


def device_of(segmenter: Any) -> str:
    """Return the kind of device a segmenter works on, without its number: "cuda"; "cpu" when it does not say."""
    return abilities_of_segmenter(segmenter).device.partition(":")[0]


def sample_key(segmenter: str, sample: Sample) -> str:
    """Return the name under which an encoding is kept: a hash of the segmenter's key and of every pixel."""
    digest = hashlib.sha256(segmenter.encode())
    for name, values in _contents(sample):
        array = np.ascontiguousarray(values)
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def to_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Return named arrays as a checksum and an uncompressed NPZ file.

    Raises:
        SegmenterError: something in it is no array of numbers.
    """
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            values = np.asarray(array)
            if values.dtype.hasobject:
                raise SegmenterError(
                    f"pack: expected named arrays of numbers, got {type(array).__name__} for {name!r}"
                )
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, values, allow_pickle=False)
    return _checksum(buffer.getbuffer()) + buffer.getvalue()


def from_bytes(data: bytes) -> dict[str, NDArray[Any]] | None:
    """Return the named arrays, fresh copies; None when the bytes are damaged."""
    content = memoryview(data)[_CHECKSUM_BYTES:]
    if _checksum(content) != data[:_CHECKSUM_BYTES]:
        return None
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return {name.removesuffix(".npy"): _array(archive, name) for name in archive.namelist()}


def _checksum(data: memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKSUM_BYTES).digest()


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    return np.lib.format.read_array(BytesIO(archive.read(name)), allow_pickle=False)


def _contents(sample: Sample) -> Iterator[tuple[str, Any]]:
    """Yield all that a segmenter may look at when it encodes, by name; frames one at a time."""
    if isinstance(sample, ImageSample):
        yield "image", sample.image
    elif isinstance(sample, VolumeSample):
        yield "voxels", sample.voxels
        yield "spacing_mm", np.asarray(sample.spacing_mm)
        yield "affine", np.zeros(0) if sample.affine is None else sample.affine
        yield "modality", np.frombuffer(sample.modality.encode(), np.uint8)
    else:
        for index, frame in enumerate(sample.frames):
            yield f"frame {index}", frame


def _source_of(kind: type) -> str:
    """Return class and hash of its source: code that changes makes other encodings."""
    content = sha256_of_all(
        f"{name}\n".encode() + file.read_bytes()
        for name, file in sorted(source_files(kind).items())
    )
    return f"{kind.__qualname__} {content}"


def source_files(kind: type) -> dict[str, Path]:
    """Return the files that decide what a class does, by a name that is the same wherever they are installed.

    For a class in a package that is the whole package, because the work is seldom done in the class's own file; for
    one in a file of its own that file and what it imports from beside it. What it inherits from counts too, and all of
    segarena when that is among it.
    Empty for a class that was typed into a console, or compiled.
    """
    own = kind.__module__.partition(".")[0]
    files = dict[str, Path]()
    for base in kind.__mro__:
        name = base.__module__.partition(".")[0]
        if name in (own, "segarena"):
            roots = getattr(sys.modules.get(name), "__path__", ())
        else:
            roots = ()
        for root in map(Path, roots):
            files |= {
                f"{name}/{file.relative_to(root).as_posix()}": file for file in root.rglob("*.py")
            }
        if not roots:
            with suppress(TypeError, OSError):  # no file
                file = Path(inspect.getfile(base))
                beside = imported_beside(file) if name == own else [file]
                files |= {f"{base.__module__}/{one.name}": one for one in beside}
    return {name: file for name, file in files.items() if file.is_file()}

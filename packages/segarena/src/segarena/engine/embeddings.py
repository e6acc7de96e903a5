"""A cache of encodings, for later runs over the same images.

Encoding is the expensive part of most models. The encodings of a segmenter with `pack` and `unpack` (see
`segarena.roles.Segmenter`) are kept in memory and in a folder that users, benchmarks and worker processes
share. The cache key covers everything that decides an encoding: the pixels, and the segmenter with its
options, source, weights and device. A damaged file counts as absent.
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

from segarena.arrays.memory_size import memory_bytes
from segarena.capabilities import segmenter_capabilities
from segarena.engine.blob_folder import BlobFolder
from segarena.errors import SegmenterError
from segarena.files.hashes import sha256, sha256_of_parts
from segarena.files.python_imports import source_files
from segarena.readonly import without_truth
from segarena.samples import ImageSample, Sample, VolumeSample
from segarena.work.lru_cache import LruCache

WORTH = 1.0
"""Keep encodings only if making one takes at least this many times as long as reading it back."""

MEMORY_BYTES = 256 * 2**20
"""Memory limit of the packed encodings that each process keeps beside the folder."""

SUPPORTS_BYTES = 2**30
"""Memory limit of the encoded support images of each process; the last one always stays."""

_CHECKSUM_BYTES = 16


@dataclass(frozen=True, slots=True)
class Encoding:
    """A segmenter's encoding of a sample.

    Attributes:
        value: the result of `encode`.
        seconds: time it took to make, or to read.
        is_from_cache: whether it was read, without an encoder pass.
    """

    value: Any
    seconds: float
    is_from_cache: bool = False


class Encoder:
    """Encodes samples with a segmenter, or reads the encoding of the same pixels from the cache.

    Args:
        segmenter: encodes.
        key: identity of the segmenter (see `segmenter_key`); empty turns the cache off.
        folder: folder of the cache; None turns the cache off.
        limit_bytes: maximum size of the folder.
        clock: seconds since some fixed moment.

    The first encoding is written and read back. If making it took less time than reading, the cache is
    turned off.
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
        self._sees_truth = segmenter_capabilities(segmenter).sees_truth
        self._key = key
        self._clock = clock
        self._folder: BlobFolder | None = None
        if folder is not None and key:
            self._folder = BlobFolder(folder, limit_bytes)
        self._memory = LruCache[str, bytes](max_bytes=min(limit_bytes, MEMORY_BYTES))
        self._is_measured = False
        self._supports = LruCache[str, Encoding](max_bytes=SUPPORTS_BYTES, keeps_last=True)

    def encode(self, sample: Sample) -> Encoding:
        """Return the encoding of `sample`; raises whatever the segmenter raises.

        Raises:
            SegmenterError: the segmenter packs something other than named arrays of numbers.
        """
        if self._folder is None:
            return self._encode(sample)
        started = self._clock()
        key = sample_key(self._key, sample)
        arrays = self._read(key, self._folder)
        if arrays is not None:
            value = self._segmenter.unpack(arrays)
            return Encoding(value, self._clock() - started, is_from_cache=True)
        encoding = self._encode(sample)
        self._store(key, sample, encoding, self._folder)
        return encoding

    def encode_support(self, sample: Sample) -> tuple[Encoding, bool]:
        """Return the encoding of a support image, and whether it was made or read just now.

        Pairs that share a support image share its encoding: those used last stay in memory, up to
        `SUPPORTS_BYTES`.
        """
        key = sample_key("", sample)
        known = self._supports.get(key)
        if known is not None:
            return known, False
        encoding = self.encode(sample)
        self._supports.put(key, encoding, memory_bytes(encoding.value))
        return encoding, True

    def _encode(self, sample: Sample) -> Encoding:
        started = self._clock()
        shown = sample if self._sees_truth else without_truth(sample)
        value = self._segmenter.encode(shown)
        return Encoding(value, self._clock() - started)

    def _read(self, key: str, folder: BlobFolder) -> dict[str, NDArray[Any]] | None:
        in_memory = self._memory.get(key)
        if in_memory is not None:
            return from_bytes(in_memory)
        data = folder.get(key)
        if data is None:
            return None
        arrays = from_bytes(data)
        if arrays is not None:
            self._memory.put(key, data, len(data))
        return arrays

    def _store(self, key: str, sample: Sample, encoding: Encoding, folder: BlobFolder) -> None:
        data = to_bytes(self._segmenter.pack(encoding.value))
        folder.put(key, data)
        if not self._is_measured:
            self._is_measured = True
            if encoding.seconds < WORTH * self._measure_reading_s(sample, folder, data):
                self._folder = None
                return
        self._memory.put(key, data, len(data))

    def _measure_reading_s(self, sample: Sample, folder: BlobFolder, data: bytes) -> float:
        """Return the seconds of a cache hit, which include hashing the sample."""
        started = self._clock()
        read = folder.get(sample_key(self._key, sample))
        # A full disk stored nothing; unpacking the bytes at hand is then the best estimate.
        arrays = from_bytes(data if read is None else read)
        self._segmenter.unpack(arrays or {})
        return self._clock() - started


def segmenter_key(
    segmenter: Any, described: Mapping[str, Any] | None, environment: Mapping[str, str]
) -> str:
    """Return a hash of everything that decides a segmenter's encodings; empty if they must not be kept.

    Args:
        segmenter: needs `pack` and `unpack`; an object without a registered name needs `fingerprint` too.
        described: the run's record of the segmenter, all options resolved; None for an object.
        environment: the versions that could matter.
    """
    abilities = segmenter_capabilities(segmenter)
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
    """Return the kind of a segmenter's device without its number ("cuda"); "cpu" if it names none."""
    return segmenter_capabilities(segmenter).device.partition(":")[0]


def sample_key(segmenter: str, sample: Sample) -> str:
    """Return the cache key of an encoding: a hash of the segmenter's key and of every pixel."""
    digest = hashlib.sha256(segmenter.encode())
    for name, values in _encoder_inputs(sample):
        array = np.ascontiguousarray(values)
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def to_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Return named arrays as a checksum followed by an uncompressed NPZ file.

    Raises:
        SegmenterError: a value is no array of numbers.
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
    """Return the named arrays as fresh copies; None when the bytes are damaged."""
    content = memoryview(data)[_CHECKSUM_BYTES:]
    if _checksum(content) != data[:_CHECKSUM_BYTES]:
        return None
    arrays: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(BytesIO(content)) as archive:
        for name in archive.namelist():
            stored = BytesIO(archive.read(name))
            arrays[name.removesuffix(".npy")] = np.lib.format.read_array(stored, allow_pickle=False)
    return arrays


def _checksum(data: memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKSUM_BYTES).digest()


def _encoder_inputs(sample: Sample) -> Iterator[tuple[str, Any]]:
    """Yield everything that a segmenter may read when it encodes, by name; frames one at a time."""
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
    """Return the name of a class and the hash of its source, because edited code encodes differently."""
    files = sorted(class_source_files(kind).items())
    content = sha256_of_parts(f"{name}\n".encode() + file.read_bytes() for name, file in files)
    return f"{kind.__qualname__} {content}"


def class_source_files(kind: type) -> dict[str, Path]:
    """Return the source files that decide the behaviour of a class, by names independent of the machine.

    For a class in a package these are all files of the package, because a class seldom does all its work
    in its own file. For a class in a file of its own they are that file and the modules that it imports
    from the same folder. Base classes count too, and with them all of segarena if one is from there.
    The result is empty for a class typed into a console, and for a compiled one.
    """
    own_package = kind.__module__.partition(".")[0]
    files = dict[str, Path]()
    for base in kind.__mro__:
        package = base.__module__.partition(".")[0]
        roots = _package_folders(package) if package in (own_package, "segarena") else []
        for root in roots:
            for file in root.rglob("*.py"):
                files[f"{package}/{file.relative_to(root).as_posix()}"] = file
        if not roots:
            # Built-in classes have no file.
            with suppress(TypeError, OSError):
                file = Path(inspect.getfile(base))
                beside = source_files(file) if package == own_package else [file]
                files |= {f"{base.__module__}/{one.name}": one for one in beside}
    return {name: file for name, file in files.items() if file.is_file()}


def _package_folders(package: str) -> list[Path]:
    """Return the folders of an imported package; none for a module of a single file."""
    return [Path(folder) for folder in getattr(sys.modules.get(package), "__path__", ())]

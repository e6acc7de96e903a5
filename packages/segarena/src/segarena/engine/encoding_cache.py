"""Cache of encodings for later runs over the same images.

Encoding is the most expensive part of most models. The encodings of a segmenter with `pack` and
`unpack` (see `segarena.plugin_capabilities`) are cached in memory and in a folder that users, benchmarks
and worker processes share. The cache key covers everything that determines an encoding: the pixels,
and the segmenter with its options, source, weights and device. A damaged file counts as absent.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.memory_size import memory_bytes
from segarena.engine.disk_cache import BlobFolder
from segarena.errors import SegmenterError
from segarena.files.hashes import sha256, sha256_of_parts
from segarena.files.python_imports import source_files
from segarena.plugin_capabilities import segmenter_capabilities
from segarena.readonly import without_truth
from segarena.samples import ImageSample, Sample, VolumeSample
from segarena.work.lru_cache import LruCache

WORTH = 1.0
"""Minimum ratio of encoding time to reading time; below it, caching is turned off."""

MEMORY_BYTES = 256 * 2**20
"""Memory limit of the packed encodings that each process caches in addition to the folder."""

SUPPORTS_BYTES = 2**30
"""Memory limit of encoded support images per process; the most recent one is never evicted."""

_CHECKSUM_BYTES = 16


@dataclass(frozen=True, slots=True)
class Encoding:
    """A segmenter's encoding of a sample.

    Attributes:
        value: the result of `encode`.
        seconds: time spent to compute or read it.
        is_from_cache: whether it was read from the cache, without an encoder pass.
    """

    value: Any
    seconds: float
    is_from_cache: bool = False


class Encoder:
    """Encodes samples with a segmenter; caches the encodings by the pixels of the samples.

    Args:
        segmenter: the segmenter.
        key: identity of the segmenter (see `segmenter_key`); empty turns the cache off.
        folder: folder of the cache; None turns the cache off.
        limit_bytes: maximum size of the folder.
        clock: seconds since a fixed moment.

    The first encoding is written and read back. If computing it was faster than reading it, the
    cache is turned off.

    Attributes:
        image_batch: number of samples that the segmenter encodes in one pass.
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
        abilities = segmenter_capabilities(segmenter)
        self._sees_truth = abilities.sees_truth
        self._encode_batch = abilities.encode_batch
        self.image_batch = 1
        if self._encode_batch is not None:
            self.image_batch = abilities.image_batch
        # Encodings that were computed in the pass of an earlier sample.
        self._ahead: dict[str, tuple[Sample, Encoding]] = {}
        # Samples that had a pass with others, which is not tried again.
        self._alone: set[str] = set()
        self._key = key
        self._clock = clock
        self._folder: BlobFolder | None = None
        if folder is not None and key:
            self._folder = BlobFolder(folder, limit_bytes)
        self._memory = LruCache[str, bytes](max_bytes=min(limit_bytes, MEMORY_BYTES))
        self._is_measured = False
        self._supports = LruCache[str, Encoding](max_bytes=SUPPORTS_BYTES, min_entries=1)

    def encode(self, sample: Sample) -> Encoding:
        """Return the encoding of `sample`; propagates any exception of the segmenter.

        Raises:
            SegmenterError: the result of `pack` contains an array of Python objects.
        """
        known, encoding = self._ahead.pop(sample.id, (None, None))
        if known is not sample:
            encoding = None
        if self._folder is None:
            return encoding or self._encode(sample)
        started = self._clock()
        key = sample_key(self._key, sample)
        if encoding is None:
            arrays = self._read(key, self._folder)
            if arrays is not None:
                value = self._segmenter.unpack(arrays)
                return Encoding(value, self._clock() - started, is_from_cache=True)
            encoding = self._encode(sample)
        self._store(key, sample, encoding, self._folder)
        return encoding

    def encode_support(self, sample: Sample) -> tuple[Encoding, bool]:
        """Return the encoding of a support image, and whether it is new: False if it was still in memory.

        Pairs that share a support image share its encoding. The most recently used encodings stay
        in memory, up to `SUPPORTS_BYTES`.
        """
        # An encoder has a single segmenter, so the pixels alone identify an encoding in memory.
        key = sample_key("", sample)
        known = self._supports.get(key)
        if known is not None:
            return known, False
        encoding = self.encode(sample)
        self._supports.put(key, encoding, memory_bytes(encoding.value))
        return encoding, True

    def wants_batch(self, sample: Sample) -> bool:
        """Return whether `encode_together` should encode this sample with the following ones."""
        if self.image_batch == 1 or sample.id in self._ahead or sample.id in self._alone:
            return False
        if self._folder is None:
            return True
        return self._read(sample_key(self._key, sample), self._folder) is None

    def encode_together(self, samples: Sequence[Sample]) -> None:
        """Encode samples in one pass, and keep the encodings until `encode` requests them.

        If this fails, `encode` computes each of them alone, so that only the sample that causes the
        error fails. Propagates the exception of the segmenter.

        Raises:
            SegmenterError: the segmenter has no `encode_batch`, or returns the wrong number of encodings.
        """
        if self._encode_batch is None:
            raise SegmenterError("the segmenter has no encode_batch")
        self._alone.update(sample.id for sample in samples)
        started = self._clock()
        values = list(self._encode_batch([self._shown(sample) for sample in samples]))
        if len(values) != len(samples):
            raise SegmenterError(
                f"encode_batch: expected {len(samples)} encodings, got {len(values)}"
            )
        # A pass has one duration, which its samples share equally.
        seconds = (self._clock() - started) / len(samples)
        for sample, value in zip(samples, values, strict=True):
            self._ahead[sample.id] = (sample, Encoding(value, seconds))

    def _encode(self, sample: Sample) -> Encoding:
        started = self._clock()
        value = self._segmenter.encode(self._shown(sample))
        return Encoding(value, self._clock() - started)

    def _shown(self, sample: Sample) -> Sample:
        # Only controls may see the ground truth.
        return sample if self._sees_truth else without_truth(sample)

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

    def _store(
        self,
        key: str,
        sample: Sample,
        encoding: Encoding,
        folder: BlobFolder,
    ) -> None:
        data = to_bytes(self._segmenter.pack(encoding.value))
        folder.put(key, data)
        if not self._is_measured:
            self._is_measured = True
            if encoding.seconds < WORTH * self._measure_reading_s(sample, folder, data):
                # Encoding is faster than reading here, so stop using the cache in this process.
                self._folder = None
                return
        self._memory.put(key, data, len(data))

    def _measure_reading_s(
        self,
        sample: Sample,
        folder: BlobFolder,
        data: bytes,
    ) -> float:
        """Return the seconds that a cache hit takes, including the hash of the sample."""
        started = self._clock()
        read = folder.get(sample_key(self._key, sample))
        # A full disk stored nothing; the time to unpack the bytes in memory is then the best
        # estimate.
        if read is None:
            read = data
        arrays = from_bytes(read)
        self._segmenter.unpack(arrays or {})
        return self._clock() - started


def segmenter_key(
    segmenter: Any,
    described: Mapping[str, Any] | None,
    environment: Mapping[str, str],
) -> str:
    """Return a hash of everything that determines a segmenter's encodings; empty if they cannot be cached.

    Args:
        segmenter: needs `pack` and `unpack`; an object without a registered name needs `fingerprint` too.
        described: the run's description of the segmenter, with all options resolved; None for an object.
        environment: versions that may influence encodings.
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
    """Return the kind of a segmenter's device without its index ("cuda"); "cpu" if it declares none."""
    # Another GPU of the same kind gives the same encodings, so its index must not change the key.
    return segmenter_capabilities(segmenter).device.partition(":")[0]


def sample_key(segmenter: str, sample: Sample) -> str:
    """Return the cache key of an encoding: a hash of the segmenter's key, all pixels and the properties of a volume."""
    digest = hashlib.sha256(segmenter.encode())
    for name, values in _encoder_inputs(sample):
        array = np.ascontiguousarray(values)
        # The same bytes with another shape or dtype are another input.
        header = json.dumps([name, array.dtype.str, array.shape])
        digest.update(header.encode())
        octets = array.reshape(-1).view(np.uint8)
        digest.update(octets.data)
    return digest.hexdigest()


def to_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Serialize named arrays as a checksum followed by an uncompressed NPZ file.

    Raises:
        SegmenterError: a value is an array of Python objects.
    """
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            values = np.asarray(array)
            # Object arrays would need pickle, which could run code when the cache is read.
            if values.dtype.hasobject:
                raise SegmenterError(
                    f"pack: expected named arrays of numbers, got {type(array).__name__} for {name!r}"
                )
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, values, allow_pickle=False)
    return _checksum(buffer.getbuffer()) + buffer.getvalue()


def from_bytes(data: bytes) -> dict[str, NDArray[Any]] | None:
    """Restore named arrays as fresh copies; None if the bytes are damaged."""
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
    """Return the source files that determine the behaviour of a class, by machine-independent names.

    For a class in a package, these are all files of the package, because a class rarely works
    without the rest of its package. For a class in a standalone file, they are that file and the
    modules that it imports from the same folder. Base classes count as well: all of segarena if one
    of them is part of it, and only the file of the class for those in other packages. A compiled
    class, or one that was defined in a console, adds no file.
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
    """Return the folders of an imported package; an empty list for a single-file module."""
    return [Path(folder) for folder in getattr(sys.modules.get(package), "__path__", ())]

"""Cache of recently viewed samples, so that each is loaded once for all requests of its planes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from segarena.arrays.quantization import Quantization, fit_quantization
from segarena.errors import SampleInvalid, SegarenaError
from segarena.records.plugin_trust import restrict_plugins
from segarena.reports.dialogue_gallery import error_line
from segarena.roles import Dataset
from segarena.samples import ImageSample, Sample, Target, VideoSample, VolumeSample, check_sample
from segarena.work.lru_cache import LruCache
from segarena_studio.viewer.planes import Plane, list_planes

MOST_BYTES = 2**30
"""Memory limit of the cached samples; the last one always stays."""


@dataclass(eq=False)
class LoadedSample:
    """A loaded sample with properties of its pictures."""

    sample: Sample

    @cached_property
    def planes(self) -> Sequence[Plane]:
        """Axes along which the sample can be browsed."""
        return list_planes(self.sample)

    @cached_property
    def levels(self) -> Quantization | None:
        """Grey levels of a volume; None for other samples."""
        return (
            fit_quantization(self.sample.voxels) if isinstance(self.sample, VolumeSample) else None
        )

    def targets(self, target: str) -> Sequence[Target]:
        """Return the target with an id, or all targets for "".

        Raises:
            SampleInvalid: the sample has no such target.
        """
        found = [one for one in self.sample.targets if target in ("", one.id)]
        if target and not found:
            raise SampleInvalid(
                f"sample {self.sample.id!r} has no target {target!r} in this dataset any more"
            )
        return found


class SampleCache:
    """Loads samples of one dataset, one at a time, because plug-ins need not be thread-safe.

    Args:
        dataset: the dataset; None if it cannot be opened.
        problem: why it cannot be opened, or a warning about it; "" for none.
        trust: see `segarena.records.plugin_trust`.
        most_bytes: memory limit.
    """

    def __init__(
        self,
        dataset: Dataset | None,
        problem: str,
        *,
        trust: bool,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.dataset = dataset
        self.problem = problem
        self._trust = trust
        self._recent = LruCache[str, LoadedSample](max_bytes=most_bytes, min_entries=1)
        self._is_loading = threading.Lock()

    def load(self, sample_id: str) -> LoadedSample:
        """Return a sample.

        Raises:
            SegarenaError: the sample cannot be loaded; the message is a sentence.
        """
        if self.dataset is None:
            raise SampleInvalid(self.problem)
        with self._is_loading:
            known = self._recent.get(sample_id)
            if known is not None:
                return known
            try:
                with restrict_plugins(trust=self._trust):
                    sample = self.dataset.load(sample_id)
                check_sample(sample)
            except SegarenaError:
                raise
            except Exception as error:  # the dataset's own code
                raise SampleInvalid(
                    f"sample {sample_id!r} cannot be shown: {error_line(error)}"
                ) from error
            loaded = LoadedSample(sample)
            self._recent.put(sample_id, loaded, sample_bytes(sample))
            return loaded


def sample_bytes(sample: Sample) -> int:
    """Return the memory of a sample, without frames that a video loads on demand."""
    size = 0
    for target in sample.targets:
        size += target.mask.nbytes
        if target.ignore is not None:
            size += target.ignore.nbytes
    match sample:
        case ImageSample():
            return size + sample.image.nbytes
        case VolumeSample():
            return size + sample.voxels.nbytes
        case VideoSample():
            if isinstance(sample.frames, np.ndarray):
                size += sample.frames.nbytes
            return size

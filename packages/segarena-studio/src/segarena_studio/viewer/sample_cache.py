"""The samples looked at last: each is loaded once while it is looked at, however many planes of it are asked for."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from segarena.arrays.quantization import Quantization, fit_quantization
from segarena.errors import SampleInvalid, SegarenaError
from segarena.records.trust import restrict_plugins
from segarena.reports.gallery import error_line
from segarena.roles import Dataset
from segarena.samples import ImageSample, Sample, Target, VideoSample, VolumeSample, check_sample
from segarena.work.lru_cache import LruCache
from segarena_studio.viewer.planes import Plane, list_planes

MOST_BYTES = 2**30
"""What the samples held may take, the one looked at last apart."""


@dataclass(eq=False)
class LoadedSample:
    """A sample that is looked at, and what is known of its pictures."""

    sample: Sample

    @cached_property
    def planes(self) -> Sequence[Plane]:
        """The directions in which it can be gone through."""
        return list_planes(self.sample)

    @cached_property
    def levels(self) -> Quantization | None:
        """What the greys of a volume stand for."""
        return (
            fit_quantization(self.sample.voxels) if isinstance(self.sample, VolumeSample) else None
        )

    def targets(self, target: str) -> Sequence[Target]:
        """Return the target of that id, or all of them where it is "".

        Raises:
            SampleInvalid: there is none.
        """
        found = [one for one in self.sample.targets if target in ("", one.id)]
        if target and not found:
            raise SampleInvalid(
                f"sample {self.sample.id!r} has no target {target!r} in this dataset any more"
            )
        return found


class SampleCache:
    """Loads samples of one dataset, one at a time: datasets are foreign code, and need not bear more.

    Args:
        dataset: where they are; None where it cannot be opened.
        problem: why, or what must be known of it.
        trust: see `segarena.records.trust`.
        most_bytes: what may be kept.
    """

    def __init__(
        self, dataset: Dataset | None, problem: str, *, trust: bool, most_bytes: int = MOST_BYTES
    ) -> None:
        self.dataset = dataset
        self.problem = problem
        self._trust = trust
        self._recent = LruCache[str, LoadedSample](max_bytes=most_bytes, keeps_last=True)
        self._is_loading = threading.Lock()

    def look(self, sample_id: str) -> LoadedSample:
        """Return a sample.

        Raises:
            SegarenaError: it cannot be shown; the message is a sentence.
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
            looked = LoadedSample(sample)
            self._recent.put(sample_id, looked, sample_bytes(sample))
            return looked


def sample_bytes(sample: Sample) -> int:
    """Return what a sample takes in memory, the frames that a video loads when asked apart."""
    masks: int = sum(
        target.mask.nbytes + (0 if target.ignore is None else target.ignore.nbytes)
        for target in sample.targets
    )
    match sample:
        case ImageSample():
            return masks + sample.image.nbytes
        case VolumeSample():
            return masks + sample.voxels.nbytes
        case VideoSample():
            return masks + (sample.frames.nbytes if isinstance(sample.frames, np.ndarray) else 0)

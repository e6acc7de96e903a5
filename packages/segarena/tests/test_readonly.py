"""Read-only samples for plug-ins."""

import numpy as np
import pytest

from segarena.readonly import read_only_sample
from segarena.samples import VideoSample


def test_frames_have_a_shape_without_being_loaded_and_become_one_array():
    loaded = []

    class Lazy(list):
        def __getitem__(self, index):
            loaded.append(index)
            return super().__getitem__(index)

        def __iter__(self):
            return (self[index] for index in range(len(self)))

    made = Lazy(np.full((4, 5, 3), number, np.uint8) for number in range(3))
    frames = read_only_sample(VideoSample(id="v", frames=made, frame_shape=(4, 5))).frames
    assert frames.shape == (3, 4, 5, 3)
    assert (frames.ndim, frames.dtype) == (4, np.uint8)
    assert loaded == []
    whole = np.asarray(frames)
    assert whole.shape == (3, 4, 5, 3)
    assert whole[2, 0, 0, 0] == 2
    assert np.asarray(frames, np.float32).dtype == np.float32
    whole[:] = 9
    assert frames[0].max() == 0
    with pytest.raises(ValueError, match="read-only"):
        frames[0][:] = 1

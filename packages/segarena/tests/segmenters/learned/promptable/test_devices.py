from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from segarena.errors import PluginInvalid, SegmenterError  # noqa: E402
from segarena.segmenters.learned.promptable.devices import (  # noqa: E402
    BatchRunner,
    choose_batch_size,
    choose_device,
    copy_to_device,
    copy_together_to_host,
)

NO_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is there")


class Memory:
    """Work with memory for only `room` items at once, which records its input."""

    def __init__(self, room):
        self.room, self.given = room, []

    def __call__(self, batch):
        self.given.append(len(batch))
        if len(batch) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 2 GiB")
        return [item * 10 for item in batch]


def test_batches_answer_in_order():
    work = Memory(room=4)
    assert BatchRunner(4).map(work, list(range(10))) == [item * 10 for item in range(10)]
    assert work.given == [4, 4, 2]
    assert BatchRunner(4).map(work, []) == []


def test_out_of_memory_halves_the_batch_for_good_and_says_so():
    work, batches = Memory(room=2), BatchRunner(8)
    with pytest.warns(RuntimeWarning, match="out of memory with") as caught:
        assert batches.map(work, list(range(9))) == [item * 10 for item in range(9)]
    assert work.given == [8, 4, 2, 2, 2, 2, 1]
    assert "continuing with 4" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batches.map(work, [1, 2, 3])
    assert work.given[-2:] == [2, 1]


def test_each_batch_size_is_warned_about_once():
    batches = BatchRunner(8)
    with pytest.warns(RuntimeWarning) as caught:
        batches.map(Memory(room=4), list(range(16)))
    assert len(caught) == 1


def test_a_single_item_that_does_not_fit_is_an_error():
    with pytest.raises(
        SegmenterError, match=r"decoding one dialogue: CUDA out of memory\.; use dtype='bfloat16'"
    ):
        BatchRunner(1).map(Memory(room=0), [1])


@NO_GPU
def test_a_device_that_is_not_there_is_named_with_those_that_are():
    assert choose_device("auto").type == choose_device("cpu").type == "cpu"
    for name in ("cuda", "cuda:3", "tpu"):
        with pytest.raises(
            PluginInvalid, match=rf"device='{name}' does not exist; available: 'auto', 'cpu'"
        ):
            choose_device(name)


def test_other_batch_sizes_are_refused():
    for size in (0, -1, 1.5, "many", True):
        with pytest.raises(PluginInvalid, match="expected 'auto' or a whole number of at least 1"):
            choose_batch_size(size, torch.device("cpu"))


def test_the_cpu_decodes_one_by_one_whatever_is_asked():
    assert (
        choose_batch_size("auto", torch.device("cpu"))
        == choose_batch_size(8, torch.device("cpu"))
        == 1
    )


@pytest.mark.parametrize(
    ("free_gib", "side_px", "size"), [(80, 1024, 64), (2, 1024, 8), (0.1, 1024, 1), (2, 512, 32)]
)
def test_automatic_batches_take_half_of_the_free_memory(monkeypatch, free_gib, side_px, size):
    monkeypatch.setattr(
        torch.cuda, "mem_get_info", lambda device: (int(free_gib * 2**30), 80 * 2**30)
    )
    assert choose_batch_size("auto", torch.device("cuda:0"), side_px=side_px) == size
    assert choose_batch_size(5, torch.device("cuda:0"), side_px=side_px) == 5


def test_tensors_that_are_copied_together_keep_shapes_types_and_values():
    mask = torch.arange(15).reshape(3, 5) % 2 == 0
    scores = torch.tensor([0.5, -1.25, float("nan")])
    flag = torch.tensor(True)
    arrays = copy_together_to_host(flag, scores, mask)
    assert [array.dtype for array in arrays] == [np.bool_, np.float32, np.bool_]
    assert [array.shape for array in arrays] == [(), (3,), (3, 5)]
    for array, tensor in zip(arrays, (flag, scores, mask), strict=True):
        np.testing.assert_array_equal(array, tensor.numpy())


def test_arrays_reach_the_device_in_the_wanted_format():
    array = np.arange(12, dtype=np.int64).reshape(3, 4)[:, ::2]
    tensor = copy_to_device(array, torch.device("cpu"), torch.float32)
    assert tensor.dtype == torch.float32
    np.testing.assert_array_equal(tensor.numpy(), array)

from __future__ import annotations

import argparse

import pytest

torch = pytest.importorskip("torch")

from segarena.checkpoint import load_weights, misfits_of, read_checkpoint, state_dict_of  # noqa: E402
from segarena.errors import InvalidInput  # noqa: E402


def test_tensors_come_back_as_they_were(tmp_path):
    weights = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([True])}
    torch.save({"model": {f"module.{key}": value for key, value in weights.items()}}, tmp_path / "w.pt")
    read = state_dict_of(read_checkpoint(tmp_path / "w.pt"), tmp_path / "w.pt")
    assert list(read) == ["a", "b"]
    assert all(torch.equal(read[key], weights[key]) for key in weights)


@pytest.mark.parametrize("zipped", [True, False])
def test_objects_are_refused_by_their_name(tmp_path, zipped):
    content = {"args": argparse.Namespace(epochs=3), "model": {"a": torch.zeros(1)}}
    torch.save(content, tmp_path / "w.pth", _use_new_zipfile_serialization=zipped)
    with pytest.raises(InvalidInput, match=r"argparse\.Namespace.*could run code") as caught:
        read_checkpoint(tmp_path / "w.pth")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("kept", [0, 10, 1000])
def test_a_cut_file_is_refused(tmp_path, zipped, kept):
    torch.save({"a": torch.zeros(1000)}, tmp_path / "w.pth", _use_new_zipfile_serialization=zipped)
    (tmp_path / "w.pth").write_bytes((tmp_path / "w.pth").read_bytes()[:kept])
    with pytest.raises(InvalidInput, match=r"w\.pth") as caught:
        read_checkpoint(tmp_path / "w.pth")
    assert "run code" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_that_fit_differ_in_nothing():
    layer = torch.nn.Linear(2, 3)
    weights = {"weight": torch.ones(3, 2), "bias": torch.ones(3)}
    assert not misfits_of({"weight": (3, 2), "bias": (3,)}, weights)
    load_weights(layer, weights, "w.pth")
    assert torch.equal(layer.weight, torch.ones(3, 2))


def test_weights_that_do_not_fit_leave_the_network_as_it_was():
    layer = torch.nn.Linear(2, 3)
    before = layer.weight.clone()
    with pytest.raises(InvalidInput, match=r"1 missing \(bias\); 1 of another shape \(weight \(3, 3\) for \(3, 2\)\)"):
        load_weights(layer, {"weight": torch.ones(3, 3)}, "w.pth")
    assert torch.equal(layer.weight, before)

from __future__ import annotations

import argparse
import random
import warnings

import pytest

torch = pytest.importorskip("torch")

from segarena.errors import InvalidInput  # noqa: E402
from segarena.files.checkpoint import (  # noqa: E402
    describe_mismatch,
    extract_state_dict,
    load_weights,
    read_checkpoint,
)


def test_tensors_come_back_as_they_were(tmp_path):
    weights = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([True])}
    torch.save(
        {"model": {f"module.{key}": value for key, value in weights.items()}}, tmp_path / "w.pt"
    )
    read = extract_state_dict(read_checkpoint(tmp_path / "w.pt"), tmp_path / "w.pt")
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
def test_a_file_is_refused_wherever_it_is_cut(tmp_path, zipped):
    torch.save({"a": torch.zeros(1000)}, tmp_path / "w.pth", _use_new_zipfile_serialization=zipped)
    whole = (tmp_path / "w.pth").read_bytes()
    for kept in [*range(40), *range(40, len(whole), 41), len(whole) - 1]:
        (tmp_path / "w.pth").write_bytes(whole[:kept])
        # Half of the name of a known function is the name of an unknown one.
        message = r"w\.pth is not a torch checkpoint, or is incomplete" + (
            "" if zipped else "|could run code"
        )
        with pytest.raises(InvalidInput, match=message) as caught:
            read_checkpoint(tmp_path / "w.pth")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_damaged_file_is_read_or_refused_but_never_a_crash(tmp_path, zipped):
    rng = random.Random(0)
    torch.save({"a": torch.zeros(3)}, tmp_path / "w.pth", _use_new_zipfile_serialization=zipped)
    whole = (tmp_path / "w.pth").read_bytes()
    refused = 0
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[rng.randrange(len(whole))] = rng.randrange(256)
        (tmp_path / "w.pth").write_bytes(damaged)
        try:
            extract_state_dict(read_checkpoint(tmp_path / "w.pth"), "w.pth")
        except InvalidInput:
            refused += 1
    assert refused


@pytest.mark.parametrize(
    "content",
    [
        b"text",
        b"hello world\n",
        b"<!DOCTYPE html>",
        b"version https://git-lfs.github.com/spec/v1\n",
        b"\x89PNG\r\n\x1a\n",
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    (tmp_path / "w.pth").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"w\.pth is not a torch checkpoint, or is incomplete"):
        read_checkpoint(tmp_path / "w.pth")


def test_a_program_is_refused_without_advice_to_run_it(tmp_path):
    class Same(torch.nn.Module):
        def forward(self, x):
            return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is on its way out
        torch.jit.script(Same()).save(tmp_path / "w.pt")
    with pytest.raises(
        InvalidInput,
        match=r"\(a TorchScript program\), and is not loaded because it could run code",
    ):
        read_checkpoint(tmp_path / "w.pt")


def test_what_holds_no_tensors_by_name_is_refused(tmp_path):
    for content, came in (([1], "got list"), (torch.zeros(1), "got Tensor")):
        torch.save(content, tmp_path / "w.pth")
        with pytest.raises(InvalidInput, match=f"expected a state dict, {came}"):
            read_checkpoint(tmp_path / "w.pth")
    for content, came in (
        ({}, "nothing"),
        ({"a": 1, "b": "x"}, "a, b"),
        ({0: torch.zeros(1)}, "0"),
    ):
        for wrapped in (content, {"model": content}):
            with pytest.raises(InvalidInput, match=f"expected tensors by name, got {came}"):
                extract_state_dict(wrapped, "w.pth")


def test_no_file_and_no_right_to_read_it_are_said(tmp_path):
    with pytest.raises(InvalidInput, match=r"there is no checkpoint .*w\.pth"):
        read_checkpoint(tmp_path / "w.pth")
    with pytest.raises(InvalidInput, match="cannot be read: Is a directory"):
        read_checkpoint(tmp_path)


def test_weights_that_fit_differ_in_nothing():
    layer = torch.nn.Linear(2, 3)
    weights = {"weight": torch.ones(3, 2), "bias": torch.ones(3)}
    assert not describe_mismatch({"weight": (3, 2), "bias": (3,)}, weights)
    load_weights(layer, weights, "w.pth")
    assert torch.equal(layer.weight, torch.ones(3, 2))


def test_weights_that_do_not_fit_leave_the_network_as_it_was():
    layer = torch.nn.Linear(2, 3)
    before = layer.weight.clone()
    with pytest.raises(
        InvalidInput,
        match=r"1 missing \(bias\); 1 of another shape \(weight \(3, 3\) for \(3, 2\)\)",
    ):
        load_weights(layer, {"weight": torch.ones(3, 3)}, "w.pth")
    assert torch.equal(layer.weight, before)

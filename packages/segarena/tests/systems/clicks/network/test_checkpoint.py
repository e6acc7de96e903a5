from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from segarena.errors import InvalidInput  # noqa: E402
from segarena.systems.clicks.network.checkpoint import load_checkpoint, save_checkpoint  # noqa: E402
from segarena.systems.clicks.network.model import NETWORK_SIZES, ClickabilityNetwork  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture
def network():
    torch.manual_seed(0)
    return ClickabilityNetwork("tiny")


def is_equal(first, second):
    return all(torch.equal(first[name], second[name]) for name in first) and list(first) == list(
        second
    )


@pytest.mark.parametrize("wrap", ["plain", "state_dict", "model", "module", "state_dict+module"])
def test_every_usual_wrapping_loads(tmp_path, network, wrap):
    weights = network.state_dict()
    content = {f"module.{k}": v for k, v in weights.items()} if "module" in wrap else dict(weights)
    key = wrap.split("+")[0]
    torch.save(
        {key: content, "epoch": 3} if key in ("state_dict", "model") else content,
        tmp_path / "w.pth",
    )
    loaded = load_checkpoint(tmp_path / "w.pth", "tiny")
    assert is_equal(loaded.state_dict(), weights)
    assert not loaded.training


def test_our_checkpoints_know_their_size(tmp_path, network):
    save_checkpoint(tmp_path / "a" / "w.pt", network, epoch=2)
    loaded = load_checkpoint(tmp_path / "a" / "w.pt")
    assert loaded.size == NETWORK_SIZES["tiny"]
    assert is_equal(loaded.state_dict(), network.state_dict())
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["w.pt"]


def test_missing_unknown_and_misshapen_tensors_are_counted_and_named(tmp_path, network):
    weights = dict(network.state_dict())
    del weights["maps_transform.0.weight"], weights["maps_transform.0.bias"]
    weights["extra.weight"] = torch.zeros(1)
    weights["maps_transform.5.scale"] = torch.zeros(7)
    torch.save(weights, tmp_path / "w.pth")
    with pytest.raises(InvalidInput) as caught:
        load_checkpoint(tmp_path / "w.pth", "tiny")
    message = str(caught.value)
    assert "2 missing (maps_transform.0.weight, maps_transform.0.bias)" in message
    assert "1 unknown (extra.weight)" in message
    assert "1 of another shape (maps_transform.5.scale (7,) for (1,))" in message


def test_a_checkpoint_of_another_size_is_refused(tmp_path, network):
    torch.save(network.state_dict(), tmp_path / "w.pth")
    with pytest.raises(InvalidInput, match="Is `size` right"):
        load_checkpoint(tmp_path / "w.pth", "t")


class Trap:
    def __reduce__(self):
        return (exec, ("raise SystemExit('code in the checkpoint ran')",))


def test_pickled_code_is_refused_and_does_not_run(tmp_path):
    torch.save({"state_dict": {"a": Trap()}}, tmp_path / "w.pth")
    with pytest.raises(InvalidInput, match="could run code"):
        load_checkpoint(tmp_path / "w.pth")


def test_files_that_are_no_checkpoints_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="there is no checkpoint"):
        load_checkpoint(tmp_path / "none.pth")
    (tmp_path / "text.pth").write_text("<html>not found</html>")
    with pytest.raises(InvalidInput, match=r"text\.pth"):
        load_checkpoint(tmp_path / "text.pth")
    (tmp_path / "empty.pth").write_bytes(b"")
    with pytest.raises(InvalidInput, match=r"empty\.pth"):
        load_checkpoint(tmp_path / "empty.pth")
    torch.save([torch.zeros(1)], tmp_path / "list.pth")
    with pytest.raises(InvalidInput, match="expected a state dict, got list"):
        load_checkpoint(tmp_path / "list.pth")
    torch.save({"epoch": 3}, tmp_path / "other.pth")
    with pytest.raises(InvalidInput, match=r"expected tensors by name, got epoch"):
        load_checkpoint(tmp_path / "other.pth")

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from segarena.errors import InvalidInput  # noqa: E402
from segarena.systems.clicks.network.hamburger import NonNegativeFactorisation  # noqa: E402
from segarena.systems.clicks.network.model import ClickabilityNetwork, NetworkSize  # noqa: E402
from segarena.systems.clicks.network.mscan import Attention, Block, DropPath  # noqa: E402

torch.set_num_threads(1)
PUBLISHED = json.loads((Path(__file__).parent / "data" / "published_state_dict.json").read_text())


@pytest.fixture(autouse=True)
def own_draws():
    """Make weights and inputs independent of earlier tests."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture(scope="module")
def network_b():
    return ClickabilityNetwork("b")


def parameter_count(network):
    return sum(parameter.numel() for parameter in network.parameters())


def test_names_shapes_and_order_are_those_of_the_published_checkpoints(network_b):
    ours = {name: list(tensor.shape) for name, tensor in network_b.state_dict().items()}
    assert ours == PUBLISHED
    assert list(ours) == list(PUBLISHED)


def test_parameters_of_the_published_sizes(network_b):
    assert parameter_count(network_b) == 27_604_290
    assert parameter_count(ClickabilityNetwork("t")) == 4_240_322


def test_small_sizes_differ_from_each_other_as_named():
    assert parameter_count(ClickabilityNetwork("tiny")) < 200_000
    small = ClickabilityNetwork("s")
    assert [
        len(small.get_submodule(f"encoder_decoder.backbone.block{i}")) for i in (1, 2, 3, 4)
    ] == [2, 2, 4, 2]


def test_an_unknown_size_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput, match="b, s, t, tiny"):
        ClickabilityNetwork("large")


def test_a_map_covers_the_canvas_and_is_stretched_to_zero_and_one():
    network = ClickabilityNetwork("tiny").eval()
    with torch.no_grad():
        maps = network(torch.randn(3, 3, 128, 128), torch.rand(3, 2, 128, 128))
    assert maps.shape == (3, 1, 128, 128)
    assert maps.amin(dim=(1, 2, 3)).tolist() == [0, 0, 0]
    np.testing.assert_allclose(maps.amax(dim=(1, 2, 3)), 1, atol=1e-6)


def test_a_constant_map_is_zero_not_nan():
    network = ClickabilityNetwork("tiny").eval()
    head = network.encoder_decoder.decode_head[0]
    torch.nn.init.zeros_(head.conv_seg.weight)
    torch.nn.init.zeros_(head.conv_seg.bias)
    with torch.no_grad():
        maps = network(torch.randn(1, 3, 64, 64), torch.rand(1, 2, 64, 64))
    assert not maps.any()


def test_networks_of_one_seed_are_equal_bases_included():
    states = []
    for _ in range(2):
        torch.manual_seed(5)
        states.append(ClickabilityNetwork("tiny").state_dict())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_the_bases_do_not_depend_on_the_global_seed():
    torch.manual_seed(1)
    first = NonNegativeFactorisation(8).bases
    torch.manual_seed(2)
    assert torch.equal(first, NonNegativeFactorisation(8).bases)
    np.testing.assert_allclose(first.norm(dim=1), 1, atol=1e-6)


def convolve(x, weight, bias, groups):
    """A depth-wise or full convolution with zero border, one output pixel at a time."""
    channels_out, _, down, across = weight.shape
    padded = np.pad(x, ((0, 0), (down // 2, down // 2), (across // 2, across // 2)))
    result = np.zeros((channels_out, *x.shape[1:]))
    for c in range(channels_out):
        source = padded[c : c + 1] if groups > 1 else padded
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                result[c, i, j] = (
                    source[:, i : i + down, j : j + across] * weight[c]
                ).sum() + bias[c]
    return result


def test_attention_equals_its_definition_pixel_by_pixel():
    attention = Attention(3).double()
    x = torch.randn(1, 3, 9, 12, dtype=torch.float64)
    p = {name: tensor.numpy() for name, tensor in attention.state_dict().items()}
    gate = "spatial_gating_unit."

    def apply(name, values, groups=3):
        return convolve(values, p[name + ".weight"], p[name + ".bias"], groups)

    mixed = functional.gelu(torch.from_numpy(apply("proj_1", x[0].numpy(), groups=1))).numpy()
    near = apply(gate + "conv0", mixed)
    strips = [apply(gate + f"conv{k}_2", apply(gate + f"conv{k}_1", near)) for k in (0, 1, 2)]
    weights = apply(gate + "conv3", near + strips[0] + strips[1] + strips[2], groups=1)
    expected = x[0].numpy() + apply("proj_2", weights * mixed, groups=1)
    np.testing.assert_allclose(attention(x)[0].detach().numpy(), expected, atol=1e-12)


def test_a_block_adds_scaled_branches_of_normalised_input():
    block = Block(4, 2, drop_path=0.0).eval()
    for norm in (block.norm1, block.norm2):
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
    x = torch.randn(2, 4, 6, 6)

    def normalise(values, norm):
        mean = norm.running_mean[:, None, None]
        var = norm.running_var[:, None, None]
        return (values - mean) / torch.sqrt(var + 1e-5)

    with torch.no_grad():
        middle = x + 0.01 * block.attn(normalise(x, block.norm1))
        mlp = block.mlp
        hidden = functional.conv2d(
            mlp.fc1(normalise(middle, block.norm2)), mlp.dwconv.weight, mlp.dwconv.bias, 1, 1, 1, 8
        )
        expected = middle + 0.01 * mlp.fc2(functional.gelu(hidden))
        torch.testing.assert_close(block(x), expected, atol=1e-5, rtol=1e-5)


def test_drop_path_keeps_the_mean_and_drops_whole_samples():
    drop = DropPath(0.25)
    x = torch.ones(4000, 2, 2)
    dropped = drop(x)
    per_sample = dropped.flatten(1)
    assert (per_sample == per_sample[:, :1]).all()
    assert set(np.round(per_sample[:, 0].unique().numpy(), 5)) == {0.0, np.float32(1.33333)}
    assert dropped.mean().item() == pytest.approx(1, abs=0.03)
    assert torch.equal(drop.eval()(x), x)


@pytest.mark.parametrize(("is_training", "steps"), [(True, 6), (False, 7)])
def test_factorisation_equals_multiplicative_updates_written_out(is_training, steps):
    factorise = NonNegativeFactorisation(5, rank=3).double().train(is_training)
    x = torch.rand(2, 5, 4, 6, dtype=torch.float64)
    got = factorise(x).numpy()
    for sample in range(2):
        data = x[sample].numpy().reshape(5, 24)
        bases = factorise.bases[0].numpy().copy()
        codes = np.exp(data.T @ bases)
        codes /= codes.sum(axis=1, keepdims=True)
        for _ in range(steps):
            codes = codes * (data.T @ bases) / (codes @ (bases.T @ bases) + 1e-6)
            bases = bases * (data @ codes) / (bases @ (codes.T @ codes) + 1e-6)
        codes = codes * (data.T @ bases) / (codes @ (bases.T @ bases) + 1e-6)
        np.testing.assert_allclose(got[sample].reshape(5, 24), bases @ codes.T, atol=1e-10)


def test_the_third_mask_convolution_has_no_activation_and_the_scale_is_absolute():
    network = ClickabilityNetwork(
        NetworkSize(channels=(8, 8, 8, 8), depths=(1, 1, 1, 1), head_channels=8, groups=2)
    ).eval()
    masks = torch.rand(1, 2, 32, 32)
    branch = network.maps_transform
    with torch.no_grad():
        plain = branch(masks)
        assert plain.min() < 0
        assert plain.shape == (1, 8, 8, 8)
        branch[5].scale.neg_()
        torch.testing.assert_close(branch(masks), plain)

"""MSCAN, the convolutional backbone of SegNeXt, with an additional input from the mask branch.

Source: Guo et al., SegNeXt (NeurIPS 2022), section 3.1. The parameter names match the published
checkpoints. Needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence

from segarena.pytorch import Tensor, nn, torch


class DropPath(nn.Module):
    """Stochastic depth: during training, drops a residual branch for randomly selected samples.

    The remaining samples are scaled up to preserve the mean.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        """Return `x`, (B, ...), with some samples set to zero."""
        if not self.training or self.probability == 0:
            return x
        keep = 1 - self.probability
        shape = (len(x),) + (1,) * (x.ndim - 1)
        is_kept = x.new_empty(shape).bernoulli_(keep)
        # The division keeps the expected value, so that evaluation needs no scaling.
        return x * is_kept / keep


class SpatialGatingUnit(nn.Module):
    """Gate that multiplies the input by weights from multi-scale depth-wise strip convolutions."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv0 = _depthwise(channels, (5, 5))
        self.conv0_1 = _depthwise(channels, (1, 7))
        self.conv0_2 = _depthwise(channels, (7, 1))
        self.conv1_1 = _depthwise(channels, (1, 11))
        self.conv1_2 = _depthwise(channels, (11, 1))
        self.conv2_1 = _depthwise(channels, (1, 21))
        self.conv2_2 = _depthwise(channels, (21, 1))
        self.conv3 = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W)."""
        near = self.conv0(x)
        # A row strip followed by a column strip covers a large square at low cost.
        strips = (
            self.conv0_2(self.conv0_1(near)),
            self.conv1_2(self.conv1_1(near)),
            self.conv2_2(self.conv2_1(near)),
        )
        weights = self.conv3(near + sum(strips))
        return weights * x


class Attention(nn.Module):
    """Convolution, GELU, spatial gate and convolution, with a residual connection."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.proj_1 = nn.Conv2d(channels, channels, 1)
        self.activation = nn.GELU()
        self.spatial_gating_unit = SpatialGatingUnit(channels)
        self.proj_2 = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W)."""
        mixed = self.activation(self.proj_1(x))
        gated = self.spatial_gating_unit(mixed)
        return x + self.proj_2(gated)


class Mlp(nn.Module):
    """1x1 expansion, depth-wise 3x3 convolution, GELU, 1x1 projection."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(channels, hidden, 1)
        self.dwconv = _depthwise(hidden, (3, 3))
        self.activation = nn.GELU()
        self.fc2 = nn.Conv2d(hidden, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W)."""
        expanded = self.dwconv(self.fc1(x))
        return self.fc2(self.activation(expanded))


class Block(nn.Module):
    """Attention, then an MLP; each is added to its input with a learned weight per channel."""

    def __init__(
        self,
        channels: int,
        mlp_ratio: int,
        drop_path: float,
    ) -> None:
        super().__init__()
        # Attribute names are those of the published checkpoints, here and in the other modules.
        self.layer_scale_1 = nn.Parameter(torch.full((channels,), 0.01))
        self.layer_scale_2 = nn.Parameter(torch.full((channels,), 0.01))
        self.norm1 = nn.BatchNorm2d(channels)
        self.attn = Attention(channels)
        self.norm2 = nn.BatchNorm2d(channels)
        self.mlp = Mlp(channels, channels * mlp_ratio)
        self.drop_path = DropPath(drop_path)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W)."""
        attended = self.layer_scale_1[:, None, None] * self.attn(self.norm1(x))
        x = x + self.drop_path(attended)
        transformed = self.layer_scale_2[:, None, None] * self.mlp(self.norm2(x))
        return x + self.drop_path(transformed)


class Stem(nn.Module):
    """Two 3x3 convolutions with stride 2 each: a total stride of 4."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        half = channels // 2
        self.proj = nn.Sequential(
            nn.Conv2d(3, half, 3, stride=2, padding=1),
            nn.BatchNorm2d(half),
            nn.GELU(),
            nn.Conv2d(half, channels, 3, stride=2, padding=1),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H / 4, W / 4)."""
        return self.proj(x)


class PatchEmbedding(nn.Module):
    """Downsampling between stages: a 3x3 convolution with stride 2."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(channels_in, channels_out, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(channels_out)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H / 2, W / 2)."""
        return self.norm(self.proj(x))


class Mscan(nn.Module):
    """Backbone of four stages at strides 4, 8, 16 and 32.

    Args:
        channels: number of channels in each stage.
        depths: number of blocks in each stage.
        mlp_ratios: expansion factor of the MLPs in each stage.
        drop_path: drop probability of the last block; it rises linearly from 0 at the first block.
    """

    def __init__(
        self,
        channels: Sequence[int],
        depths: Sequence[int],
        mlp_ratios: Sequence[int],
        drop_path: float,
    ) -> None:
        super().__init__()
        # The rate rises over all blocks of all stages, not anew in each stage.
        rates = iter(torch.linspace(0, drop_path, sum(depths)).tolist())
        stages = zip(channels, depths, mlp_ratios, strict=True)
        # The published checkpoints count the stages from 1.
        for number, (width, depth, ratio) in enumerate(stages, 1):
            if number == 1:
                embedding: nn.Module = Stem(width)
            else:
                embedding = PatchEmbedding(channels[number - 2], width)
            blocks = [Block(width, ratio, next(rates)) for _ in range(depth)]
            self.add_module(f"patch_embed{number}", embedding)
            self.add_module(f"block{number}", nn.ModuleList(blocks))
            self.add_module(f"norm{number}", nn.LayerNorm(width))
        self.stages = len(channels)

    def forward(self, image: Tensor, masks: Tensor) -> list[Tensor]:
        """Return the features of every stage.

        Args:
            image: (B, 3, H, W).
            masks: (B, channels[0], H / 4, W / 4), added to the output of the stem.
        """
        features: list[Tensor] = []
        x = image
        for number in range(1, self.stages + 1):
            x = self.get_submodule(f"patch_embed{number}")(x)
            if number == 1:
                x = x + masks
            for block in self.get_submodule(f"block{number}").children():
                x = block(x)
            # LayerNorm normalises the last axis, so channels move there.
            channels_last = x.permute(0, 2, 3, 1)
            normalised = self.get_submodule(f"norm{number}")(channels_last)
            x = normalised.permute(0, 3, 1, 2).contiguous()
            features.append(x)
        return features


def _depthwise(channels: int, kernel: tuple[int, int]) -> nn.Conv2d:
    height, width = kernel
    padding = (height // 2, width // 2)
    return nn.Conv2d(channels, channels, kernel, padding=padding, groups=channels)

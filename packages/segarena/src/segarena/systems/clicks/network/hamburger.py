"""Hamburger, the decoder of SegNeXt: global context by matrix factorisation. Needs torch.

The factorisation is non-negative. Source: Geng et al., Is Attention Better Than Matrix
Decomposition? (ICLR 2021); Guo et al., SegNeXt (2022). The published clickability head reads the
features of all four stages; SegNeXt reads only the last three.
"""

from __future__ import annotations

from collections.abc import Sequence

from segarena.pytorch import Tensor, functional, nn, torch

EPSILON = 1e-6


class ConvolutionUnit(nn.Module):
    """A 1x1 convolution, followed by group normalisation if `groups` is given."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        groups: int | None = None,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 1, bias=groups is None)
        self.gn = nn.Identity() if groups is None else nn.GroupNorm(groups, channels_out)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W)."""
        return self.gn(self.conv(x))


class NonNegativeFactorisation(nn.Module):
    """Approximation of features as combinations of a few non-negative bases.

    The initial bases are random but fixed: they are sampled once from a seed and stored in the
    checkpoint. (The published code creates them in its first forward pass, so there a checkpoint
    can only be loaded after a dummy pass.)

    Args:
        channels: length of a basis vector.
        rank: number of basis vectors.
        train_steps: number of multiplicative updates during training.
        eval_steps: number of multiplicative updates during evaluation.
    """

    bases: Tensor

    def __init__(
        self,
        channels: int,
        *,
        rank: int = 16,
        train_steps: int = 6,
        eval_steps: int = 7,
    ) -> None:
        super().__init__()
        self.train_steps = train_steps
        self.eval_steps = eval_steps
        # A separate generator with a fixed seed keeps the bases independent of the global seed,
        # which training and callers set.
        drawn = torch.rand((1, channels, rank), generator=torch.Generator().manual_seed(0))
        self.register_buffer("bases", functional.normalize(drawn, dim=1))

    def forward(self, x: Tensor) -> Tensor:
        """Return the non-negative approximation of `x`, (B, C, H, W)."""
        data = x.flatten(2)  # (B, C, N), approximated by bases (B, C, R) @ codes (B, R, N)
        bases = self.bases.expand(len(x), -1, -1)
        codes = torch.softmax(bases.mT @ data, dim=1)
        steps = self.train_steps if self.training else self.eval_steps
        for _ in range(steps):
            codes = _update_codes(data, bases, codes)
            bases = bases * (data @ codes.mT) / (bases @ (codes @ codes.mT) + EPSILON)
        codes = _update_codes(data, bases, codes)
        return (bases @ codes).reshape(x.shape)


def _update_codes(
    data: Tensor,
    bases: Tensor,
    codes: Tensor,
) -> Tensor:
    return codes * (bases.mT @ data) / ((bases.mT @ bases) @ codes + EPSILON)


class Hamburger(nn.Module):
    """Matrix factorisation between two 1x1 convolutions, with a residual connection."""

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.ham_in = ConvolutionUnit(channels, channels)
        self.ham = NonNegativeFactorisation(channels)
        self.ham_out = ConvolutionUnit(channels, channels, groups)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W)."""
        features = torch.relu(self.ham_in(x))
        context = self.ham_out(self.ham(features))
        return torch.relu(x + context)


class HamburgerHead(nn.Module):
    """Decoder head that fuses the features of all stages, at the first stage's size, into one channel.

    Args:
        channels_in: number of channels of each stage.
        channels: number of channels inside the head and its hamburger.
        groups: number of groups in the group normalisations.
        dropout: share of channels dropped before the last convolution.
    """

    def __init__(
        self,
        channels_in: Sequence[int],
        channels: int,
        *,
        groups: int = 32,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.conv_seg = nn.Conv2d(channels, 1, 1)
        # Drops whole channels: neighbouring pixels of a feature map are too similar for dropping
        # single values to matter.
        self.dropout = nn.Dropout2d(dropout)
        self.squeeze = ConvolutionUnit(sum(channels_in), channels, groups)
        self.hamburger = Hamburger(channels, groups)
        self.align = ConvolutionUnit(channels, channels, groups)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        """Return (B, 1, H / 4, W / 4)."""
        size = features[0].shape[2:]
        resized: list[Tensor] = []
        for stage in features:
            in_size = functional.interpolate(stage, size=size, mode="bilinear", align_corners=False)
            resized.append(in_size)
        fused = torch.cat(resized, dim=1)
        x = torch.relu(self.squeeze(fused))
        x = self.hamburger(x)
        x = torch.relu(self.align(x))
        x = self.dropout(x)
        return self.conv_seg(x)

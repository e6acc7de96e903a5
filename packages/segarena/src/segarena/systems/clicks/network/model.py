"""The clickability network: from image, target and error to a click map. Needs torch.

Source: RClicks (NeurIPS 2024), section 4.1 and appendix B.1. The names and shapes of the state dict
are those of the published checkpoints, so they load as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from segarena.errors import InvalidInput
from segarena.pytorch import Tensor, functional, nn, torch
from segarena.systems.clicks.network.hamburger import HamburgerHead
from segarena.systems.clicks.network.mscan import Mscan


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSize:
    """Size of a clickability network.

    Attributes:
        channels: width of the four stages.
        depths: blocks in the four stages.
        head_channels: width of the decoder; a multiple of `groups`.
        mlp_ratios: expansion factor of the MLPs in each stage.
        groups: groups of the decoder's normalisations.
        drop_path: probability at the last block.
        dropout: share of decoder channels dropped.
        side_px: side of the square that images are put into; a multiple of 32.
        margin: None: the input is the whole image, as published. Otherwise it is the error's
            bounding box with a margin, in units of the box's longer side, which gives more
            resolution on a small canvas; outside of it the map is 0.
    """

    channels: tuple[int, ...]
    depths: tuple[int, ...]
    head_channels: int
    mlp_ratios: tuple[int, ...] = (8, 8, 4, 4)
    groups: int = 32
    drop_path: float = 0.1
    dropout: float = 0.1
    side_px: int = 416
    margin: float | None = None


NETWORK_SIZES = {
    "b": NetworkSize(channels=(64, 128, 320, 512), depths=(3, 3, 12, 3), head_channels=512),
    "s": NetworkSize(channels=(64, 128, 320, 512), depths=(2, 2, 4, 2), head_channels=256),
    "t": NetworkSize(channels=(32, 64, 160, 256), depths=(3, 3, 5, 2), head_channels=256),
    # Ours, not of the paper: trains on a CPU in minutes; for demonstrations and tests.
    "tiny": NetworkSize(
        channels=(16, 32, 48, 64),
        depths=(1, 1, 1, 1),
        head_channels=32,
        mlp_ratios=(4, 4, 2, 2),
        groups=8,
        drop_path=0.0,
        side_px=128,
        margin=0.3,
    ),
}
"""Published sizes "b" (the paper's), "s" and "t", and our "tiny"."""


class LearntScale(nn.Module):
    """Multiplication by the absolute value of one learned scalar."""

    def __init__(self, start: float = 0.05) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((1,), start))

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` times |scale|."""
        return x * self.scale.abs()


class EncoderDecoder(nn.Module):
    """Backbone with decoder head."""

    def __init__(self, size: NetworkSize) -> None:
        super().__init__()
        self.backbone = Mscan(size.channels, size.depths, size.mlp_ratios, size.drop_path)
        # A list of one: published checkpoints name the head "decode_head.0".
        head = HamburgerHead(
            size.channels, size.head_channels, groups=size.groups, dropout=size.dropout
        )
        self.decode_head = nn.ModuleList([head])

    def forward(self, image: Tensor, masks: Tensor) -> Tensor:
        """Return (B, 1, H / 4, W / 4)."""
        return self.decode_head[0](self.backbone(image, masks))


class ClickabilityNetwork(nn.Module):
    """Network that predicts a click map from a letterboxed image and two masks.

    The third convolution of the mask branch has no activation, as in the published code; according
    to the paper, each has one.

    Args:
        size: a name in `SIZES`, or your own.

    Raises:
        InvalidInput: no size of that name.
    """

    def __init__(self, size: NetworkSize | str = "b") -> None:
        super().__init__()
        if isinstance(size, str) and size not in NETWORK_SIZES:
            raise InvalidInput(
                f"network size {size!r}: expected one of {', '.join(NETWORK_SIZES)} or a NetworkSize"
            )
        self.size = NETWORK_SIZES[size] if isinstance(size, str) else size
        self.encoder_decoder = EncoderDecoder(self.size)
        self.maps_transform = nn.Sequential(
            nn.Conv2d(2, 16, 1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, self.size.channels[0], 3, stride=2, padding=1),
            LearntScale(),
        )

    def forward(self, image: Tensor, masks: Tensor, *, epsilon: float = 1e-9) -> Tensor:
        """Return the maps on the square canvas, (B, 1, S, S), each stretched to [0, 1].

        Args:
            image: (B, 3, S, S), normalised colours, zero beside the image.
            masks: (B, 2, S, S): target and error, zero beside the image.
            epsilon: keeps a constant map finite. The published model has 1e-9, its benchmark 1e-8.
        """
        coarse = self.encoder_decoder(image, self.maps_transform(masks))
        # Aligned corners, as published, unlike all other resizing.
        canvas = functional.interpolate(
            coarse, size=image.shape[2:], mode="bilinear", align_corners=True
        )
        low = canvas.amin(dim=(1, 2, 3), keepdim=True)
        high = canvas.amax(dim=(1, 2, 3), keepdim=True)
        return (canvas - low) / (high - low + epsilon)

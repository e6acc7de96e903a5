"""The clickability network, which predicts a click map from image, target and error. Needs torch.

Source: RClicks (NeurIPS 2024), section 4.1 and appendix B.1. The parameter names and shapes match
the published checkpoints, so these load without conversion.
"""

from __future__ import annotations

from dataclasses import dataclass

from segarena.errors import InvalidInput
from segarena.pytorch import Tensor, functional, nn, torch
from segarena.systems.clicks.network.hamburger import HamburgerHead
from segarena.systems.clicks.network.mscan import Mscan


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSize:
    """Size parameters of a clickability network.

    Attributes:
        channels: number of channels in each of the four stages.
        depths: number of blocks in each of the four stages.
        head_channels: number of channels in the decoder, a multiple of `groups`.
        mlp_ratios: expansion factor of the MLPs in each stage.
        groups: number of groups in the decoder's group normalisations.
        drop_path: drop probability of the last block; see `DropPath`.
        dropout: share of decoder channels dropped.
        side_px: side of the square canvas, a multiple of 32.
        margin: None feeds the whole image to the network, as in the published code. A number feeds
            the error's bounding box with this margin, as a multiple of the box's longer side. This
            gives more resolution on a small canvas; the map is 0 outside the margin.
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
    # Not from the paper: trains on a CPU in minutes, for demonstrations and tests.
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
"""Published sizes "b" (the paper's), "s" and "t", and this project's "tiny"."""


class LearntScale(nn.Module):
    """Multiplication by the absolute value of a learned scalar."""

    # The initial value of the published code: training starts with almost no influence of the masks
    # on the image features.
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
        # A list with one element, because published checkpoints name the head "decode_head.0".
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
    to the paper, all three have one.

    Args:
        size: a size name, or a `NetworkSize`.

    Raises:
        InvalidInput: there is no size with that name.
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
            # Two strides of 2 bring the masks to the stride of the stem, to whose output they are
            # added.
            nn.Conv2d(16, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, self.size.channels[0], 3, stride=2, padding=1),
            LearntScale(),
        )

    def forward(
        self,
        image: Tensor,
        masks: Tensor,
        *,
        epsilon: float = 1e-9,
    ) -> Tensor:
        """Return the maps on the square canvas, (B, 1, S, S), each stretched to [0, 1].

        Args:
            image: (B, 3, S, S), normalised colours, zero outside the image.
            masks: (B, 2, S, S): target and error, zero outside the image.
            epsilon: added to the range of values to avoid division by zero for a constant map. The
                published model uses 1e-9, its benchmark 1e-8.
        """
        coarse = self.encoder_decoder(image, self.maps_transform(masks))
        # Aligned corners as in the published code, although all its other resizing uses
        # align_corners=False.
        canvas = functional.interpolate(
            coarse, size=image.shape[2:], mode="bilinear", align_corners=True
        )
        # As in the published code, the range includes the padding of the canvas.
        low = canvas.amin(dim=(1, 2, 3), keepdim=True)
        high = canvas.amax(dim=(1, 2, 3), keepdim=True)
        return (canvas - low) / (high - low + epsilon)

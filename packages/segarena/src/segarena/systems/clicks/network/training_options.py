"""Training options of the clickability network.

The options cover the differences between the paper and the published script, and the points where
the script does not do what its code suggests. The defaults are this project's own choice;
`PUBLISHED_OPTIONS` reproduces the script.
"""

from __future__ import annotations

from dataclasses import dataclass

from segarena.errors import InvalidInput
from segarena.systems.clicks.click_maps import RadiusRule


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOptions:
    """Training options, all of which affect the result.

    Attributes:
        epochs: number of passes over the training instances.
        batch_size: number of instances per step.
        rate: highest learning rate of Adam.
        warmup_share: share of all steps in which the learning rate rises from 0. Not in the paper.
        is_published_schedule: see `learning_rate`.
        backbone_share: learning rate of the backbone relative to that of the other layers. The
            published script sets 0.1 but does not apply it, so its effective value is 1. A value of
            0.1 is usual if training starts from the weights of an image classifier (`initial`).
        flip_share: probability of a horizontal flip.
        sigma: blur of the click maps, in pixels of a Full-HD image.
        radius: smoothing of the error masks in the click maps, see `click_radius_px`.
        seed: seed for initial weights, order, flips and dropout.
        select_by: the column of the history whose highest value selects the best epoch.

    Raises:
        InvalidInput: a value is out of range.
    """

    epochs: int = 20
    batch_size: int = 16
    rate: float = 0.01
    warmup_share: float = 0.1
    is_published_schedule: bool = False
    backbone_share: float = 1.0
    flip_share: float = 0.5
    sigma: float = 5.0
    radius: RadiusRule = "paper"
    seed: int = 0
    select_by: str = "sim"

    def __post_init__(self) -> None:
        """Check the values."""
        is_valid = {
            "epochs": self.epochs >= 1,
            "batch_size": self.batch_size >= 1,
            "rate": self.rate > 0,
            "warmup_share": 0 <= self.warmup_share < 1,
            "backbone_share": self.backbone_share >= 0,
            "flip_share": 0 <= self.flip_share <= 1,
            "sigma": self.sigma > 0,
        }
        invalid = [name for name, valid in is_valid.items() if not valid]
        wrong = [f"{name}={getattr(self, name)}" for name in invalid]
        if wrong:
            raise InvalidInput(
                "training options: expected epochs >= 1, batch_size >= 1, rate > 0, sigma > 0, "
                "0 <= warmup_share < 1, backbone_share >= 0 and 0 <= flip_share <= 1, "
                f"got {', '.join(wrong)}"
            )


PUBLISHED_OPTIONS = TrainingOptions(is_published_schedule=True, radius="published")
TINY_OPTIONS = TrainingOptions(
    epochs=14,
    batch_size=8,
    rate=0.005,
    sigma=20.0,
)
"""Options for the size "tiny" on about a thousand instances: trains in minutes on a CPU. The wide
blur smooths maps of few clicks.
"""

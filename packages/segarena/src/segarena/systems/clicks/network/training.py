"""Training of the clickability network. Needs torch.

Source: RClicks, section 4.1, appendix B.1 and B.3; the published training script.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from segarena.errors import InvalidInput, RunConflict, SegarenaError
from segarena.files.checkpoint import load_weights, read_checkpoint, state_dict_of
from segarena.pytorch import torch
from segarena.systems.clicks.crowd.instances import Instance
from segarena.systems.clicks.models.click_maps import ImageClickMap
from segarena.systems.clicks.network.checkpoint import save_checkpoint
from segarena.systems.clicks.network.model import ClickabilityNetwork, NetworkSize
from segarena.systems.clicks.network.objectives import (
    kl_divergence,
    learning_rate,
    map_correlation,
    map_similarity,
)
from segarena.systems.clicks.network.prediction import ClickabilityModel
from segarena.systems.clicks.network.training_data import TrainingSet, batches
from segarena.systems.clicks.network.training_options import TrainingOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingResult:
    """What a training leaves.

    Attributes:
        best: checkpoint of the best epoch, for `ClickabilityModel.load`.
        last: checkpoint to resume from.
        history: one row per epoch: epoch, train_loss, loss, sim, cc, what `evaluate` gave, elapsed_s.
    """

    best: Path
    last: Path
    history: tuple[dict[str, float], ...]


EpochCallback = Callable[[dict[str, float]], None]
EpochEvaluation = Callable[[ImageClickMap], Mapping[str, float]]


def train_network(
    training: Sequence[Instance],
    validation: Sequence[Instance],
    folder: Path | str,
    *,
    size: NetworkSize | str = "b",
    options: TrainingOptions | None = None,
    initial: Path | str | None = None,
    device: str = "auto",
    workers: int = 0,
    is_cached: bool = False,
    progress: EpochCallback | None = None,
    evaluate: EpochEvaluation | None = None,
) -> TrainingResult:
    """Train a network and keep its best epoch.

    After every epoch `folder` holds `last.pt` and `best.pt`; a training that was stopped goes on from the last
    epoch when it is called again with the same arguments, to the same result on the same machine.

    Args:
        training: instances with clicks; may load lazily.
        validation: instances that choose the best epoch. Choosing on what is reported later, as the published script
            does with TETRIS val, flatters.
        folder: where the checkpoints go.
        size: of the network.
        options: see `TrainingOptions`.
        initial: a checkpoint to start from; None starts from random weights, as the published script does.
        device: see `ClickabilityModel`.
        workers: processes that load instances ahead.
        is_cached: keep the prepared instances in memory.
        progress: called with each new row of the history.
        evaluate: called with the model after each epoch; what it returns goes into the history.

    Raises:
        InvalidInput: no instances, or `select_by` is no column.
        RunConflict: `folder` holds a training with other options or instances.
        SegarenaError: the loss is not finite any more.
    """
    options = options or TrainingOptions()
    run = _Run(
        training, validation, Path(folder), size, options, initial, device, workers, is_cached
    )
    while run.epoch < options.epochs:
        row = run.one_epoch(evaluate)
        run.save(row)
        if progress is not None:
            progress(row)
    return TrainingResult(best=run.best, last=run.last, history=tuple(run.history))


class _Run:
    """The state of a training between epochs."""

    def __init__(
        self,
        training: Sequence[Instance],
        validation: Sequence[Instance],
        folder: Path,
        size: NetworkSize | str,
        options: TrainingOptions,
        initial: Path | str | None,
        device: str,
        workers: int,
        is_cached: bool,
    ) -> None:
        self.options = options
        self.workers = workers
        self.best = folder / "best.pt"
        self.last = folder / "last.pt"
        self.history: list[dict[str, float]] = []
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(options.seed)
            self.model = ClickabilityModel(ClickabilityNetwork(size), device=device)
        self.network = self.model.network
        self.device = self.model.device
        canvas = partial(
            TrainingSet,
            side_px=self.network.size.side_px,
            margin=self.network.size.margin,
            sigma=options.sigma,
            radius=options.radius,
            is_cached=is_cached,
        )
        self.training = canvas(training)
        self.validation = canvas(validation)
        self.optimiser = torch.optim.Adam(self._parameter_groups(), lr=options.rate)
        self.settings = {
            "options": asdict(options),
            "size": asdict(self.network.size),
            "initial": "" if initial is None else str(initial),
            "training": self.training.fingerprint,
            "validation": self.validation.fingerprint,
        }
        if self.last.is_file():
            self._resume()
        elif initial is not None:
            load_weights(self.network, state_dict_of(read_checkpoint(initial), initial), initial)

    @property
    def epoch(self) -> int:
        """How many epochs are done."""
        return len(self.history)

    def one_epoch(self, evaluate: EpochEvaluation | None) -> dict[str, float]:
        """Train for one epoch, validate, and return the row for the history."""
        start = time.monotonic()
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            # A seed of its own for each epoch: a resumed training draws the same dropout.
            torch.manual_seed(self.options.seed * 100_003 + self.epoch + 1)
            train_loss = self._train()
        row = {"epoch": self.epoch + 1, "train_loss": train_loss, **self._validate()}
        if evaluate is not None:
            row |= {key: float(value) for key, value in evaluate(self.model).items()}
        return {**row, "elapsed_s": time.monotonic() - start}

    def save(self, row: dict[str, float]) -> None:
        """Add a row to the history and write the checkpoints."""
        column = self.options.select_by
        if column not in row:
            raise InvalidInput(f"select_by {column!r}: expected one of {', '.join(row)}")
        is_best = all(row[column] > earlier[column] for earlier in self.history)
        self.history.append(row)
        if is_best:
            save_checkpoint(self.best, self.network, epoch=self.epoch, metrics=row)
        save_checkpoint(
            self.last,
            self.network,
            optimiser=self.optimiser.state_dict(),
            history=self.history,
            settings=self.settings,
        )

    def _train(self) -> float:
        self.network.train()
        options = self.options
        count = len(self.training)
        rng = np.random.default_rng([options.seed, self.epoch])
        order = rng.permutation(count)
        is_flipped = rng.random(count) < options.flip_share
        per_epoch = math.ceil(count / options.batch_size)
        total = 0.0
        loader = batches(
            self.training,
            options.batch_size,
            order=order,
            is_flipped=is_flipped,
            workers=self.workers,
        )
        for i, planes in enumerate(loader):
            self._set_rate(self.epoch * per_epoch + i, options.epochs * per_epoch)
            planes = planes.to(self.device)
            losses = kl_divergence(self.network(planes[:, :3], planes[:, 3:5]), planes[:, 5:])
            loss = losses.mean()
            if not math.isfinite(loss.item()):
                raise SegarenaError(
                    f"the loss became {loss.item()} in epoch {self.epoch + 1}; lower the rate"
                )
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            total += float(losses.detach().sum())
        return total / count

    def _validate(self) -> dict[str, float]:
        """Return the means over instances; the published script takes means of batch means."""
        self.network.eval()
        sums = np.zeros(3)
        with torch.inference_mode():
            for planes in batches(self.validation, self.options.batch_size, workers=self.workers):
                planes = planes.to(self.device)
                predicted = self.network(planes[:, :3], planes[:, 3:5])
                true = planes[:, 5:]
                sums += [
                    float(f(predicted, true).sum())
                    for f in (kl_divergence, map_similarity, map_correlation)
                ]
        loss, sim, cc = (sums / len(self.validation)).tolist()
        return {"loss": loss, "sim": sim, "cc": cc}

    def _set_rate(self, step: int, steps: int) -> None:
        options = self.options
        rate = learning_rate(
            step,
            steps,
            base=options.rate,
            warmup_share=options.warmup_share,
            is_published=options.is_published_schedule,
        )
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["share"]

    def _parameter_groups(self) -> list[dict[str, Any]]:
        backbone = list(self.network.encoder_decoder.backbone.parameters())
        known = {id(parameter) for parameter in backbone}
        others = [
            parameter for parameter in self.network.parameters() if id(parameter) not in known
        ]
        return [
            {"params": backbone, "share": self.options.backbone_share},
            {"params": others, "share": 1.0},
        ]

    def _resume(self) -> None:
        content = read_checkpoint(self.last)
        earlier = content.get("settings", {})
        different = [key for key, value in self.settings.items() if earlier.get(key) != value]
        if different:
            raise RunConflict(
                f"{self.last} belongs to a training with other {', '.join(different)}; choose another folder"
            )
        load_weights(self.network, state_dict_of(content, self.last), self.last)
        self.optimiser.load_state_dict(content["optimiser"])
        self.history = list(content["history"])

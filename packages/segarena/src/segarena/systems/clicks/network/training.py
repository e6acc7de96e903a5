"""Training of the clickability network. Needs torch.

Source: RClicks, section 4.1, appendix B.1 and B.3, and the published training script.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from segarena.errors import InvalidInput, RunConflict, SegarenaError
from segarena.files.checkpoint import extract_state_dict, load_weights, read_checkpoint
from segarena.pytorch import Tensor, torch
from segarena.systems.clicks.click_maps import ImageClickMap
from segarena.systems.clicks.crowd.instances import Instance
from segarena.systems.clicks.network.checkpoint import save_checkpoint
from segarena.systems.clicks.network.losses_and_schedule import (
    kl_divergence,
    learning_rate,
    map_correlation,
    map_similarity,
)
from segarena.systems.clicks.network.model import ClickabilityNetwork, NetworkSize
from segarena.systems.clicks.network.prediction import ClickabilityModel
from segarena.systems.clicks.network.training_data import TrainingSet, batches
from segarena.systems.clicks.network.training_options import TrainingOptions

EPOCH_SEED_STRIDE = 100_003
"""Prime stride between the epoch seeds of trainings with consecutive seeds, so that these do not coincide."""
# Channel indices of a batch of canvases, see `CanvasInstance`.
_IMAGE = slice(0, 3)
_MASKS = slice(3, 5)
_CLICK_MAP = slice(5, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingResult:
    """Checkpoint files and history of a training run.

    Attributes:
        best: checkpoint of the best epoch, for `ClickabilityModel.load`.
        last: checkpoint to resume from.
        history: one row per epoch, with the columns epoch, train_loss, loss, sim, cc, the values
            returned by `evaluate`, and elapsed_s.
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
    """Train a network and keep the checkpoint of its best epoch.

    After every epoch, `folder` contains `last.pt` and `best.pt`. Calling the function again with
    the same arguments resumes an interrupted training after its last complete epoch; on the same
    machine, the result is the same as without the interruption.

    Args:
        training: instances with clicks; may be loaded lazily.
        validation: instances that select the best epoch. Selecting on the data that is reported
            later, as the published script does with TETRIS val, makes the report optimistic.
        folder: destination of the checkpoints.
        size: size of the network.
        options: see `TrainingOptions`.
        initial: a checkpoint to start from; None starts from random weights, as the published
            script does.
        device: where to compute, see `ClickabilityModel`.
        workers: number of processes that prefetch instances.
        is_cached: keep the prepared instances in memory.
        progress: callback for each new row of the history.
        evaluate: function that is called with the model after each epoch; the values it returns are
            added to the history.

    Raises:
        InvalidInput: there are no instances, or `select_by` is not a column of the history.
        RunConflict: `folder` contains a training with different options or instances.
        SegarenaError: the loss is not finite.
    """
    options = options or TrainingOptions()
    state = _TrainingState(
        training, validation, Path(folder), size, options, initial, device, workers, is_cached
    )
    while state.epoch < options.epochs:
        row = state.run_epoch(evaluate)
        state.save(row)
        if progress is not None:
            progress(row)
    return TrainingResult(best=state.best, last=state.last, history=tuple(state.history))


class _TrainingState:
    """State of a training run between epochs."""

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
            # Only the initial weights depend on this seed; the caller's generator is restored
            # afterwards.
            torch.manual_seed(options.seed)
            self.model = ClickabilityModel(ClickabilityNetwork(size), device=device)
        self.network = self.model.network
        self.device = self.model.device
        self.training = self._prepare(training, is_cached)
        self.validation = self._prepare(validation, is_cached)
        self.optimiser = torch.optim.Adam(self._parameter_groups(), lr=options.rate)
        initial_path = "" if initial is None else str(initial)
        # A training can only be resumed if all these settings are equal; see `_resume`.
        self.settings = {
            "options": asdict(options),
            "size": asdict(self.network.size),
            "initial": initial_path,
            "training": self.training.fingerprint,
            "validation": self.validation.fingerprint,
        }
        if self.last.is_file():
            self._resume()
        elif initial is not None:
            content = read_checkpoint(initial)
            state_dict = extract_state_dict(content, initial)
            load_weights(self.network, state_dict, initial)

    def _prepare(self, instances: Sequence[Instance], is_cached: bool) -> TrainingSet:
        return TrainingSet(
            instances,
            side_px=self.network.size.side_px,
            margin=self.network.size.margin,
            sigma=self.options.sigma,
            radius=self.options.radius,
            is_cached=is_cached,
        )

    @property
    def epoch(self) -> int:
        """Number of completed epochs."""
        return len(self.history)

    def run_epoch(self, evaluate: EpochEvaluation | None) -> dict[str, float]:
        """Train for one epoch, validate, and return the new history row."""
        start = time.monotonic()
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            # Each epoch has its own seed, so that a resumed training uses the same dropout masks.
            torch.manual_seed(self.options.seed * EPOCH_SEED_STRIDE + self.epoch + 1)
            train_loss = self._train()
        row = {"epoch": self.epoch + 1, "train_loss": train_loss, **self._validate()}
        if evaluate is not None:
            for name, value in evaluate(self.model).items():
                row[name] = float(value)
        return {**row, "elapsed_s": time.monotonic() - start}

    def save(self, row: dict[str, float]) -> None:
        """Add a row to the history and write the checkpoints."""
        column = self.options.select_by
        if column not in row:
            raise InvalidInput(f"select_by {column!r}: expected one of {', '.join(row)}")
        # Strictly greater, so that of several equal epochs the first remains the best.
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
        """Train for one epoch and return the mean loss over instances."""
        self.network.train()
        options = self.options
        count = len(self.training)
        # Derived from the epoch, so that a resumed training continues with the same order and
        # flips.
        rng = np.random.default_rng([options.seed, self.epoch])
        order = rng.permutation(count)
        is_flipped = rng.random(count) < options.flip_share
        steps_per_epoch = math.ceil(count / options.batch_size)
        total_loss = 0.0
        loader = batches(
            self.training,
            options.batch_size,
            order=order,
            is_flipped=is_flipped,
            workers=self.workers,
        )
        for i, planes in enumerate(loader):
            step = self.epoch * steps_per_epoch + i
            self._set_rate(step, options.epochs * steps_per_epoch)
            planes = planes.to(self.device)
            predicted = self.network(planes[:, _IMAGE], planes[:, _MASKS])
            losses = kl_divergence(predicted, planes[:, _CLICK_MAP])
            loss = losses.mean()
            # Checked before the step, because one non-finite gradient would spoil the weights and
            # Adam's moments.
            if not math.isfinite(loss.item()):
                raise SegarenaError(
                    f"the loss became {loss.item()} in epoch {self.epoch + 1}; lower the learning rate"
                )
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
            total_loss += float(losses.detach().sum())
        return total_loss / count

    def _validate(self) -> dict[str, float]:
        """Return the validation means over instances; the published script averages batch means."""
        self.network.eval()
        measures = {"loss": kl_divergence, "sim": map_similarity, "cc": map_correlation}
        sums = dict.fromkeys(measures, 0.0)
        with torch.inference_mode():
            for planes in batches(self.validation, self.options.batch_size, workers=self.workers):
                planes = planes.to(self.device)
                predicted = self.network(planes[:, _IMAGE], planes[:, _MASKS])
                true = planes[:, _CLICK_MAP]
                for name, measure in measures.items():
                    sums[name] += float(measure(predicted, true).sum())
        return {name: total / len(self.validation) for name, total in sums.items()}

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
            # The published script sets a multiplier of 0.1 for the backbone, but its optimiser
            # never receives it. Two parameter groups make the share effective.
            group["lr"] = rate * group["share"]

    def _parameter_groups(self) -> list[dict[str, Any]]:
        backbone = list(self.network.encoder_decoder.backbone.parameters())
        # Compared by identity, because == on tensors compares their elements.
        backbone_ids = {id(parameter) for parameter in backbone}
        others: list[Tensor] = []
        for parameter in self.network.parameters():
            if id(parameter) not in backbone_ids:
                others.append(parameter)
        return [
            {"params": backbone, "share": self.options.backbone_share},
            {"params": others, "share": 1.0},
        ]

    def _resume(self) -> None:
        content = read_checkpoint(self.last)
        earlier = content.get("settings", {})
        different: list[str] = []
        for key, value in self.settings.items():
            if earlier.get(key) != value:
                different.append(key)
        if different:
            raise RunConflict(
                f"{self.last} belongs to a training run with different {', '.join(different)}; "
                "choose another folder"
            )
        load_weights(self.network, extract_state_dict(content, self.last), self.last)
        self.optimiser.load_state_dict(content["optimiser"])
        self.history = list(content["history"])

"""Program of an isolated segmenter: builds a plug-in and serves it as a worker.

    python -m segarena.segmenters.workers.isolated_program PLUGIN SECONDS

SECONDS is the time limit of the plug-in's import and constructor. The plug-in receives the types of
`segarena`, as in the process of a run.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from segarena import worker
from segarena.dialogue import Dialogue, Lift, Prediction
from segarena.errors import PluginInvalid, PredictTimeout
from segarena.plugin_capabilities import segmenter_capabilities
from segarena.plugin_spec import PluginSpec
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Scribble
from segarena.readonly import accept_read_only
from segarena.registry import build
from segarena.samples import ImageSample, Sample, Support, VideoSample, VolumeSample

_PROMPTS: Mapping[str, Any] = {
    kind.kind: kind for kind in (Click, Box, Limits, Scribble, Lasso, MaskPrompt)
}


class ServedPlugin:
    """A plug-in with the interface of a worker's model.

    Args:
        written: the segmenter as written.
        limit_s: seconds for its import and constructor.

    Raises:
        PluginInvalid: the segmenter needs the ground truth, or exceeds the limit.
        PluginError: the segmenter cannot be built.
    """

    def __init__(self, written: str, limit_s: float) -> None:
        accept_read_only()
        with _interrupt_after(limit_s, f"the constructor of segmenter {written}"):
            self._segmenter: Any = build("segmenter", PluginSpec.of(written))
        abilities = segmenter_capabilities(self._segmenter)
        if abilities.sees_truth:
            raise PluginInvalid(f"{written} sees the ground truth by design; leave out isolate")
        self.prompt_kinds = abilities.prompt_kinds
        self.sample_kinds = abilities.sample_kinds
        self.encodes_with_prompts = abilities.encodes_with_prompts
        self.device = abilities.device
        self.fingerprint = abilities.fingerprint
        self.slice_intensity = abilities.slice_intensity
        self.version = getattr(self._segmenter, "version", "")
        self.weights = getattr(self._segmenter, "weights", ())
        if abilities.packing is not None:
            self.pack = self._segmenter.pack
            self.unpack = self._segmenter.unpack

    def encode(self, sample: Any) -> Any:
        """Encode a sample as the plug-in does."""
        return self._segmenter.encode(convert_sample(sample))

    def predict(self, encoded: Any, dialogues: Sequence[Any]) -> Any:
        """Predict dialogues as the plug-in does."""
        return self._segmenter.predict(encoded, [convert_dialogue(each) for each in dialogues])


@contextmanager
def _interrupt_after(limit_s: float, what: str) -> Generator[None]:
    """Raise PredictTimeout in the block after `limit_s` seconds, so that the error names the plug-in's line."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise PredictTimeout(
            f"{what} took longer than the limit of {limit_s:g} s; raise --time-limit to allow it"
        )

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def convert_sample(sample: Any) -> Sample:
    """Convert a sample of the protocol to a sample of `segarena`, without targets."""
    if sample.kind == "image":
        return ImageSample(id=sample.id, image=sample.image)
    if sample.kind == "video":
        return VideoSample(id=sample.id, frames=sample.frames, frame_shape=sample.frame_shape)
    return VolumeSample(
        id=sample.id,
        voxels=sample.voxels,
        spacing_mm=sample.spacing_mm,
        affine=sample.affine,
        modality=sample.modality,
    )


def convert_dialogue(dialogue: Any) -> Dialogue:
    """Convert a dialogue of the protocol to a dialogue of `segarena`."""
    previous = None
    if dialogue.previous is not None:
        previous = Prediction(**vars(dialogue.previous))
    lift = None
    if dialogue.lift is not None:
        lift = Lift(**vars(dialogue.lift))
    rounds = tuple(tuple(map(_convert_prompt, prompts)) for prompts in dialogue.rounds)
    return Dialogue(rounds=rounds, previous=previous, lift=lift)


def _convert_prompt(prompt: Any) -> Any:
    if prompt.kind == "support":
        sample: Any = prompt.sample
        # The image of an unpacked encoding is not known here.
        if isinstance(sample, worker.Fields):
            sample = convert_sample(sample)
        return Support(sample=sample, mask=prompt.mask, encoded=prompt.encoded)
    return _PROMPTS[prompt.kind](**vars(prompt))


def main() -> None:
    """Serve the plug-in that the command line names."""
    written, limit = sys.argv[1:]

    def isolated() -> ServedPlugin:
        return ServedPlugin(written, float(limit))

    isolated.__name__ = written
    worker.serve(isolated, ())


if __name__ == "__main__":
    main()

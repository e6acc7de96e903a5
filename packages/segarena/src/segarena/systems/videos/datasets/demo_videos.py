"""Short videos generated on demand: objects that move, deform, occlude one another, leave and return."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import cos, pi, sin

import numpy as np

from segarena.datasets.demo import Demo
from segarena.errors import PluginInvalid, SampleInvalid
from segarena.files import hashes
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import Target, VideoSample, check_sample
from segarena.systems.videos.synthetic_video_scene import (
    Actor,
    Bar,
    Blob,
    Colour,
    Cutout,
    MovingScene,
    make_texture,
)

EDITION = 1
"""Version of the videos, increased whenever the same options give different videos."""

LEAST_SIDE_PX = 48

Rng = np.random.Generator


@dataset("demo-videos")
class DemoVideos:
    """Three synthetic videos and one composed of photographs; the same options always give the same pixels.

    The target of each video is "objects": labels for two or three objects.

    Args:
        size: rows and columns of a frame, at least 48 each. The scene is fixed, so larger frames
            have a finer resolution.
        frames: number of frames of each video, at least 2. The scene is fixed, so with more frames
            the motion is slower.
        seed: seed of textures and noise.

    Raises:
        PluginInvalid: the frames are too small or too few.
    """

    name = "demo-videos"
    sample_kind = "video"

    def __init__(
        self,
        *,
        size: Sequence[int] = (120, 200),
        frames: int = 24,
        seed: int = 0,
    ) -> None:
        if len(size) != 2 or min(size) < LEAST_SIDE_PX:
            raise PluginInvalid(
                f"demo-videos: expected a size of at least {(LEAST_SIDE_PX,) * 2}, got {tuple(size)}"
            )
        if frames < 2:
            raise PluginInvalid(f"demo-videos: expected at least 2 frames, got {frames}")
        self._shape = (int(size[0]), int(size[1]))
        self._frames = frames
        self._seed = seed

    @property
    def sample_ids(self) -> Sequence[str]:
        """All sample ids, in order."""
        return tuple(SCENES)

    @property
    def fingerprint(self) -> str:
        """Hash of the options and of the version of the videos."""
        # The version changes with the rules, so that old records are not mixed with new videos.
        text = json.dumps([EDITION, self._shape, self._frames, self._seed])
        return hashes.fingerprint(text)

    def load(self, sample_id: str) -> VideoSample:
        """Generate one sample; nothing is cached.

        Raises:
            SampleInvalid: there is no sample with this id.
            DatasetMissing: the demo photographs are not in the installation.
        """
        if sample_id not in SCENES:
            raise SampleInvalid(
                f"demo-videos has no sample {sample_id!r}; its samples are {', '.join(SCENES)}"
            )
        rng = np.random.default_rng([self._seed, list(SCENES).index(sample_id)])
        images, labels = SCENES[sample_id](rng).shoot(self._frames, self._shape, rng)
        sample = VideoSample(
            id=sample_id,
            frames=tuple(images),
            frame_shape=self._shape,
            targets=(Target(id="objects", mask=labels),),
        )
        check_sample(sample)
        return sample

    def check(self) -> Sequence[Finding]:
        """Generate every sample once; return one finding with the number of videos and objects."""
        samples = [self.load(sample_id) for sample_id in self.sample_ids]
        objects = sum(sample.targets[0].objects for sample in samples)
        message = (
            f"{self.name}: {objects} objects in {len(samples)} videos of {self._frames} frames "
            f"of {self._shape[0]} x {self._shape[1]} pixels"
        )
        return [Finding(is_error=False, message=message)]


def _crossing(rng: Rng) -> MovingScene:
    """Two blobs cross, one in front of the other, while the camera pans."""
    meadow = make_texture(
        rng, (320, 480), [(58, 74, 40), (96, 112, 58), (134, 140, 84), (120, 104, 76)], cells=6
    )
    return MovingScene(
        ground=meadow,
        ground_px=120.0,
        camera=lambda time: (0.6 + 0.10 * sin(2 * pi * time), 0.4 + 0.35 * time),
        actors=(
            Actor(
                label=1,
                look=_blob(
                    rng,
                    [(168, 62, 48), (206, 112, 70), (120, 44, 44)],
                    (0.14, 0.10, 0.05),
                    pace=1.2,
                ),
                path=lambda time: (1.02 + 0.08 * sin(3 * time), 0.75 + 1.15 * time),
                size=lambda time: 0.20 + 0.03 * sin(5 * time),
                turn=lambda time: 0.9 * time,
                depth=lambda time: 1.0,
            ),
            Actor(
                label=2,
                look=_blob(
                    rng,
                    [(88, 104, 150), (132, 146, 178), (66, 80, 112)],
                    (0.10, 0.14, 0.06),
                    pace=0.8,
                ),
                path=lambda time: (1.16 - 0.14 * time, 1.85 - 0.75 * time),
                size=lambda time: 0.17,
                turn=lambda time: -1.5 * time,
                depth=lambda time: 0.0,
            ),
            # This shape has the colour of one of the objects, but is not an object.
            Actor(
                label=0,
                look=_blob(rng, [(150, 76, 56), (182, 106, 72)], (0.05, 0.08), pace=0.0),
                path=lambda time: (0.78, 1.42),
                size=lambda time: 0.08,
                depth=lambda time: 2.0,
            ),
        ),
    )


def _leaving(rng: Rng) -> MovingScene:
    """One blob leaves and returns, one approaches, and one passes behind a post."""
    street = make_texture(
        rng, (320, 480), [(92, 92, 98), (124, 120, 116), (150, 142, 130), (78, 84, 80)], cells=8
    )
    return MovingScene(
        ground=street,
        ground_px=120.0,
        camera=lambda time: (0.5 + 0.05 * cos(7 * time), 0.7 - 0.22 * time),
        actors=(
            Actor(
                label=1,
                look=_blob(
                    rng,
                    [(196, 164, 66), (224, 198, 104), (150, 120, 50)],
                    (0.12, 0.06, 0.08),
                    pace=1.0,
                ),
                path=lambda time: (0.82, 1.75 + 0.85 * sin(pi * min(1.0, 1.15 * time))),
                size=lambda time: 0.17,
                turn=lambda time: 2.0 * time,
            ),
            Actor(
                label=2,
                look=_blob(
                    rng,
                    [(54, 118, 106), (84, 150, 128), (40, 84, 84)],
                    (0.10, 0.10, 0.04),
                    pace=1.5,
                ),
                path=lambda time: (1.15 + 0.05 * time, 1.05 - 0.1 * time),
                size=lambda time: 0.12 + 0.13 * time,
                turn=lambda time: 0.5 * sin(4 * time),
                depth=lambda time: 0.5,
            ),
            Actor(
                label=3,
                look=_blob(
                    rng,
                    [(140, 84, 132), (176, 124, 160), (104, 66, 110)],
                    (0.06, 0.16, 0.05),
                    pace=2.0,
                ),
                path=lambda time: (0.78 + 0.06 * sin(9 * time), 0.75 + 0.95 * time),
                size=lambda time: 0.14,
                depth=lambda time: 1.0,
            ),
            Actor(
                label=0,
                look=Bar(
                    texture=make_texture(rng, (64, 64), [(70, 62, 58), (112, 98, 84)], cells=4),
                    width=0.075,
                ),
                path=lambda time: (1.0, 1.32),
                size=lambda time: 0.8,
                depth=lambda time: 0.2,
            ),
        ),
    )


def _alike(rng: Rng) -> MovingScene:
    """Two blobs of the same colour touch, and one of them hides behind a third; the background looks similar."""
    sea = make_texture(
        rng, (320, 480), [(44, 78, 98), (66, 104, 118), (92, 126, 126), (60, 90, 88)], cells=5
    )
    warm: list[Colour] = [(176, 118, 84), (206, 152, 112), (132, 88, 70)]
    return MovingScene(
        ground=sea,
        ground_px=120.0,
        camera=lambda time: (0.6 + 0.15 * time, 0.5 + 0.08 * sin(2 * pi * time)),
        actors=(
            Actor(
                label=1,
                look=_blob(rng, warm, (0.16, 0.06, 0.08), pace=1.5),
                path=lambda time: (0.95 + 0.12 * time, 0.80 + 0.28 * sin(pi * time)),
                size=lambda time: 0.16,
                turn=lambda time: 1.2 * time,
                depth=lambda time: 0.3,
            ),
            Actor(
                label=2,
                look=_blob(rng, warm, (0.08, 0.14, 0.04), pace=1.0),
                path=lambda time: (1.18 + 0.05 * time, 1.62 - 0.28 * sin(pi * time)),
                size=lambda time: 0.15 + 0.02 * cos(6 * time),
                turn=lambda time: -0.8 * time,
                depth=lambda time: 0.4,
            ),
            Actor(
                label=3,
                look=_blob(
                    rng,
                    [(96, 140, 142), (138, 178, 164), (70, 116, 124)],
                    (0.18, 0.10, 0.08),
                    pace=2.0,
                ),
                path=lambda time: (0.72 + 0.62 * time, 1.86 - 0.55 * time),
                size=lambda time: 0.19,
                turn=lambda time: 0.4 * sin(6 * time),
            ),
        ),
    )


def _photographs(rng: Rng) -> MovingScene:
    """A flower, a cup and a coin, cut out of their photographs, move over a photograph of a pagoda."""
    del rng
    demo = Demo()

    def cut(
        photograph: str,
        name: str,
        lean: float = 0.0,
    ) -> Cutout:
        sample = demo.load(photograph)
        mask = next(target.mask for target in sample.targets if target.id == name)
        return Cutout.of(sample.image, mask.astype(np.bool_), lean=lean)

    return MovingScene(
        ground=demo.load("china").image.astype(np.float32),
        ground_px=230.0,
        camera=lambda time: (0.42 + 0.12 * time, 0.35 + 0.12 * sin(4 * time)),
        actors=(
            Actor(
                label=1,
                look=cut("flower", "dahlia", lean=0.25),
                path=lambda time: (0.95 + 0.05 * sin(6 * time), 0.70 + 0.75 * time),
                size=lambda time: 0.22 + 0.05 * time,
                turn=lambda time: 0.5 * sin(5 * time),
                depth=lambda time: 0.5,
            ),
            Actor(
                label=2,
                look=cut("coffee", "cup", lean=0.1),
                path=lambda time: (1.15 - 0.1 * time, 1.72 - 0.6 * time),
                size=lambda time: 0.20,
                turn=lambda time: 0.25 * sin(7 * time),
                depth=lambda time: 1.0,
            ),
            Actor(
                label=3,
                look=cut("coins", "coin_r3c6"),
                path=lambda time: (0.72 + 0.35 * time * time, 1.9 - 0.9 * time),
                size=lambda time: 0.12,
                turn=lambda time: 4.0 * time,
            ),
        ),
    )


def _blob(
    rng: Rng,
    colours: Sequence[Colour],
    waves: Sequence[float],
    *,
    pace: float,
) -> Blob:
    texture = make_texture(rng, (128, 128), colours, cells=6, grain=0.7)
    return Blob(
        texture=texture,
        waves=waves,
        pace=pace,
        phase=float(rng.uniform(0, 2 * pi)),
    )


SCENES: dict[str, Callable[[Rng], MovingScene]] = {
    "crossing": _crossing,
    "leaving": _leaving,
    "alike": _alike,
    "photographs": _photographs,
}

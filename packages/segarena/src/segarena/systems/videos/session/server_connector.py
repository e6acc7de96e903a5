"""Connector for evaluation by a server: the session's calls, on top of the dialogues of `segarena.client`.

    FOLDER/run.json, records/, ...   the run as far as participants know it; a sequence is written when it is finished
    FOLDER/challenge.json, turns/    the run and its server; the requests and their replies

Passing the same folder again resumes the session.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from segarena.client.challenge_run_record import delete_turns
from segarena.client.participate import join, read_scores
from segarena.client.session import RemoteSession
from segarena.datasets.listed_dataset import require_folder
from segarena.dialogue import Dialogue, Prediction
from segarena.engine.evaluate import finish, open_folder
from segarena.engine.lockstep_dialogues import load_sample
from segarena.engine.plan import make_plan
from segarena.engine.rows import Rows
from segarena.errors import InvalidInput
from segarena.files.images import read_image
from segarena.records.parquet_tables import table_frame
from segarena.samples import Labels, Mask, VideoSample
from segarena.systems.videos.datasets.davis import DAVIS_LAYOUT
from segarena.systems.videos.files.frame_files import image_files
from segarena.systems.videos.scribbles.files import Scribbles
from segarena.systems.videos.scribbles.prompt_conversion import (
    fractions_of_round,
    scribbles_from_prompts,
)
from segarena.systems.videos.session.evaluator_connector import CurrentSample
from segarena.systems.videos.session.session_serialization import cast_object_ids

SERVER_REPORT_COLUMNS = ("session_id", "sequence", "scribble_idx", "interaction", "timing")
"""The columns of the report, which has one row per interaction. The server's scores are in the summary."""


MOST_DIFFERENCE = 2.0
"""Maximum mean difference, of 255, at which two images count as the same frame. JPEG decoders round
differently, but two frames of one video differ by more."""


class LocalImages:
    """Local copies of the sequences, matched to the server's sequences by their pixels.

    Args:
        root: the folder with `JPEGImages/480p`, in the layout of DAVIS.

    Raises:
        DatasetMissing: the folder does not exist.
    """

    def __init__(self, root: str | Path) -> None:
        folder = Path(root).expanduser() / "JPEGImages" / "480p"
        images = require_folder(folder, "sequences", DAVIS_LAYOUT)
        self._sequences: dict[str, tuple[Path, ...]] = {}
        # Sorted, so that among equal sequences every machine selects the same one.
        for sequence in sorted(images.iterdir()):
            if sequence.is_dir():
                self._sequences[sequence.name] = image_files(sequence)

    def name_of(self, sample: VideoSample) -> str | None:
        """Return the local name of a video, or None without a local copy."""
        for name, files in self._sequences.items():
            # Frame counts are compared first because this is free, while reading images is slow.
            if len(files) != len(sample.frames):
                continue
            # The first and the last frame identify a sequence.
            if all(_is_same_image(files[index], sample.frames[index]) for index in (0, -1)):
                return name
        return None


def _is_same_image(file: Path, frame: Any) -> bool:
    image = read_image(file)
    if image.shape != frame.shape:
        return False
    # int16 holds negative differences, which uint8 would wrap around.
    difference = np.abs(image.astype(np.int16) - frame).mean()
    return bool(difference <= MOST_DIFFERENCE)


class ServerConnector:
    """Connector to a server that evaluates; see `segarena.systems.videos.session.evaluator_connector.Connector`.

    Args:
        challenge: URL of a video challenge, `https://host/challenges/NAME`.
        token: token of the participant; by default the stored one.
        folder: folder of the session; an unfinished session in it is resumed.
        name: name of the model.
        images: local copies of the sequences, whose names the session then uses.

    Raises:
        InvalidInput: the challenge is not about videos.
        RemoteError: the server rejects the request or is unreachable.
        RunConflict: the folder contains a different session or is in use.
    """

    def __init__(
        self,
        challenge: str,
        *,
        token: str | None,
        folder: Path,
        name: str,
        images: LocalImages | None,
    ) -> None:
        with ExitStack() as stack:
            joined = join(challenge, called=name, out=folder, token=token)
            stack.callback(joined.close)
            self.rules = joined.benchmark
            if self.rules.sample_kind != "video":
                raise InvalidInput(
                    f"host: expected a video challenge, but {challenge} is for {self.rules.sample_kind}s"
                )
            self._samples = replace(joined.samples, is_together=False)
            self._keep_rounds = tuple(range(1, self.rules.rounds + 1))
            plan = make_plan(
                self.rules,
                dataset=self._samples,
                segmenter=None,
                name=name,
                keep_rounds=self._keep_rounds,
            )
            self._run = open_folder(plan, self._samples, folder)
            stack.enter_context(self._run.lock())
            self._resources = stack.pop_all()
        self._token = token
        self._images = images
        self._names: dict[str, str] = {}
        self._opened = self._each_sample()
        self._session: RemoteSession | None = None
        self._sample: VideoSample | None = None
        self._waiting: Dialogue | None = None

    @property
    def session_id(self) -> str:
        """Id of the run on the server."""
        return self._samples.participation.run

    @property
    def report_name(self) -> str:
        """See `Connector`."""
        return f"result_{self.session_id}"

    def all_samples(self) -> list[tuple[str, int]]:
        """See `Connector`; this downloads every sequence."""
        samples: list[tuple[str, int]] = []
        for place in self._samples.participation.places:
            for dialogue in place.dialogues:
                name = self._called(self._load(place.key))
                samples.append((name, dialogue.repeat + 1))
        return samples

    def advance(self) -> CurrentSample | None:
        """See `Connector`."""
        return next(self._opened, None)

    def frames(self) -> Sequence[Any]:
        """See `Connector`."""
        return self._open()[1].frames

    def ask(self) -> Scribbles | None:
        """See `Connector`.

        Raises:
            RemoteError: the server is unreachable; the session can be resumed.
        """
        session, _ = self._open()
        if self._waiting is None:
            self._waiting = session.next()
        return None if self._waiting is None else self._scribbles()

    def spend(self, seconds: float) -> None:
        """Do nothing: the server measures the time."""

    def give_up(self, seconds: float) -> bool:
        """Return False, because the server checks the time when it receives the prediction."""
        del seconds
        return False

    def submit(
        self,
        masks: Mask | Labels,
        *,
        seconds: float,
        candidates: Sequence[int] | None,
    ) -> bool:
        """See `Connector`; when this returns, the server has the prediction and has sent the next scribbles.

        Raises:
            RemoteError: see `ask`.
        """
        session, _ = self._open()
        frames = None if candidates is None else tuple(candidates)
        labels = cast_object_ids(masks, session.objects)
        session.submit(Prediction(labels, candidates=frames), seconds)
        self._waiting = session.next()
        return not session.is_late

    def report(self) -> pl.DataFrame:
        """Return one row per interaction so far, with the columns `SERVER_REPORT_COLUMNS`."""
        now = [] if self._session is None else self._session.rows().timings

        timings = pl.concat([self._run.timings(), table_frame("timings", now)])
        timings = timings.unique(maintain_order=True)
        return timings.filter(timings["round"] > 0).select(
            pl.lit(self.session_id).alias("session_id"),
            pl.col("sample").replace(self._names).alias("sequence"),
            (pl.col("repeat") + 1).alias("scribble_idx"),
            pl.col("round").alias("interaction"),
            pl.col("predict_s").alias("timing"),
        )

    def summary(self) -> dict[str, Any]:
        """Return the server's view of the run: its state, its scores, and its rank on the leaderboard."""
        _, scores = read_scores(self._run.path, token=self._token)
        return {"session_id": self.session_id, **scores}

    def finish(self) -> None:
        """See `Connector`."""
        finish(self._run)
        delete_turns(self._run.path)

    def close(self) -> None:
        """See `Connector`."""
        self._resources.close()

    def _open(self) -> tuple[RemoteSession, VideoSample]:
        if self._session is None or self._sample is None:
            raise InvalidInput("no sample is open; call advance() first")
        return self._session, self._sample

    def _each_sample(self) -> Iterator[CurrentSample]:
        for index in self._run.pending():
            sample = self._sample = self._load(self._run.samples[index])
            rows = Rows()
            for session in self._samples.open_sessions(sample, self._keep_rounds):
                self._session = session
                self._waiting = None
                earlier = self._replay(session)
                if not session.is_over:
                    yield CurrentSample(
                        sequence=self._called(sample),
                        scribble_idx=session.repeat + 1,
                        shape=sample.shape,
                        objects=session.objects,
                        earlier=earlier,
                    )
                rows.extend(session.rows())
            self._run.write(index, rows)
            self._session = None

    def _replay(self, session: RemoteSession) -> tuple[Scribbles, ...]:
        """Replay the predictions sent earlier for a sample; return the scribbles to which they responded."""
        answered: list[Scribbles] = []
        while session.has_stored_turn:
            self._waiting = session.next()
            before = session.stored_answer() if self._waiting is not None else None
            if before is None:
                break
            answered.append(self._scribbles())
            session.submit(before, 0.0)
            self._waiting = None
        return tuple(answered)

    def _load(self, key: str) -> VideoSample:
        sample = load_sample(self._samples, key)
        if not isinstance(sample, VideoSample):
            raise InvalidInput(f"sample {key}: expected a video, got {type(sample).__name__}")
        return sample

    def _called(self, sample: VideoSample) -> str:
        """Return the name of a sequence: that of the local copy, or without one, its key on the server."""
        if sample.id not in self._names:
            own_name = None
            if self._images is not None:
                own_name = self._images.name_of(sample)
            self._names[sample.id] = own_name or sample.id
        return self._names[sample.id]

    def _scribbles(self) -> Scribbles:
        session, sample = self._open()
        rounds = session.dialogue.rounds
        fractions = fractions_of_round(len(rounds), self.rules.protocol)
        return scribbles_from_prompts(
            rounds[-1], sample.shape, self._called(sample), fractions=fractions
        )

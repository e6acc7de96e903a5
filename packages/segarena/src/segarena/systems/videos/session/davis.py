"""Session of a DAVIS Interactive Challenge participant, with the same calls as the published package.

    from segarena.systems.videos.session.davis import DavisInteractiveSession

    with DavisInteractiveSession(davis_root="DAVIS", max_nb_interactions=8, max_time=240) as session:
        while session.next():
            sequence, scribbles, new_sequence = session.get_scribbles(only_last=True)
            session.submit_masks(my_model(sequence, scribbles))
        report, summary = session.get_report(), session.get_global_summary()

`docs/davis.md` lists the differences from the published package.
"""

from __future__ import annotations

import copy
import importlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from segarena.client.address import read_address
from segarena.engine.plan import Plan, make_plan
from segarena.errors import InvalidInput, ProtocolViolation
from segarena.files.atomic_write import write_atomic
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.roles import Benchmark, Dataset
from segarena.systems.videos.benchmarks.davis import MetricToOptimize
from segarena.systems.videos.scribbles.files import Scribbles, fuse_scribbles
from segarena.systems.videos.session.dataset_choice import choose_dataset
from segarena.systems.videos.session.davisinteractive_functions import (
    InteractiveScribblesRobot,
    Service,
    ServiceConnector,
)
from segarena.systems.videos.session.evaluator_connector import Connector, CurrentSample
from segarena.systems.videos.session.local_connector import LocalConnector
from segarena.systems.videos.session.session_argument_checks import (
    MOST_INTERACTIONS,
    MOST_SECONDS,
    capped_limit,
    check_frame_candidates,
    check_seed,
    make_folder,
    masks_array,
    new_session_folder,
)
from segarena.systems.videos.users.scribble_robot import ScribbleRobot

LOCALHOST = "localhost"


class DavisInteractiveSession:
    """Session that provides scribbles, accepts masks, measures time and evaluates, as a context manager.

    Args:
        host: "localhost" evaluates on this machine. With `https://host/challenges/NAME`, a server
            evaluates with its own rules, sequences, limits and robot; the corresponding arguments
            then have no effect.
        user_key: the participant's token for a server; by default the one that `segarena login`
            stored.
        davis_root: the folder with `JPEGImages`; by default the environment variable DATASET_DAVIS.
            Sequences of a server get the names of the matching local copies in this folder; other
            sequences are named by keys, and `frames` returns their images.
        subset: "train", "val" or "trainval".
        shuffle: put the sequences in random order.
        max_time: time limit in seconds for all interactions with a sample, per object; at most 600.
            None: no limit.
        max_nb_interactions: maximum number of interactions with a sample; at most 16. None: as many
            as the time allows.
        metric_to_optimize: "J", "F" or "J_AND_F": the robot draws in the frame with the lowest
            value of this metric.
        report_save_dir: folder for the report, created immediately; by default the folder of the
            session. A server keeps no report there.
        dataset: any video dataset instead of `davis_root`, by name ("demo-videos") or as an object.
        sequences: use only these sequences.
        folder: folder of the session. Passing the same folder again resumes the session; by default
            a new folder is created in `report_save_dir`, or in `runs` without it.
        preset: parameters of the robot: "default", "local-1.0.4" or "server-2020".
        protocol: "careful", or "published" to reproduce the published package in every respect.
        seed: seed for the order.
        name: name of the model in reports.
        clock: function that returns seconds since a fixed time; replaced in tests.

    Raises:
        InvalidInput: an option is invalid, or neither time nor interactions are limited.
        StoreError: `report_save_dir` cannot be created.
        DatasetError, PluginError: on entry, if the data are missing.
        RunConflict: on entry, if the folder contains a different session or is in use.
        RemoteError: the server is unreachable or rejects the request; entering again with the same
            `folder` resumes the session.
    """

    def __init__(
        self,
        host: str = "localhost",
        user_key: str | None = None,
        davis_root: str | Path | None = None,
        subset: str = "val",
        shuffle: bool = False,
        max_time: float | None = None,
        max_nb_interactions: int | None = 5,
        metric_to_optimize: MetricToOptimize = "J_AND_F",
        report_save_dir: str | Path | None = None,
        *,
        dataset: str | Dataset | None = None,
        sequences: Sequence[str] | None = None,
        folder: str | Path | None = None,
        preset: str = "local-1.0.4",
        protocol: str = "careful",
        seed: int = 0,
        name: str = "participant",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._plan: Plan | None = None
        if host != LOCALHOST:
            read_address(host)
        elif max_time is None and max_nb_interactions is None:
            raise InvalidInput(
                "max_time and max_nb_interactions: expected at least one of them, got none"
            )
        else:
            most = capped_limit(
                "max_nb_interactions", max_nb_interactions, MOST_INTERACTIONS, is_whole=True
            )
            rounds = None if most is None else int(most)
            options = {
                "preset": preset,
                "metric": metric_to_optimize,
                "rounds": rounds,
                "seconds_per_object": capped_limit("max_time", max_time, MOST_SECONDS),
                "protocol": protocol,
            }
            rules: Benchmark = build("benchmark", PluginSpec("davis", options))
            self._plan = make_plan(
                rules,
                dataset=choose_dataset(dataset, davis_root, subset, sequences),
                segmenter=None,
                name=name,
                keep_rounds=tuple(range(1, rules.rounds + 1)),
            )
        self._folder = Path(folder) if folder is not None else new_session_folder(report_save_dir)
        if report_save_dir is None:
            self._report_folder = None
        else:
            self._report_folder = make_folder(Path(report_save_dir))
        self._shuffle_seed = check_seed(seed) if shuffle else None
        self._server = partial(_server, host, user_key, name=name, davis_root=davis_root)
        self._clock = clock
        self._connector: Connector | None = None
        self._is_closed = self._is_finished = False
        self._open(None)
        self._left_at = self._asked_at = 0.0

    def __enter__(self) -> Self:
        """Start or resume the session."""
        if self._plan is None:
            self._connector = self._server(self._folder)
        else:
            self._connector = LocalConnector(
                self._plan,
                self._folder,
                report_folder=self._report_folder,
                shuffle_seed=self._shuffle_seed,
                clock=self._clock,
            )
        self._is_closed = self._is_finished = False
        self._open(None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the folder; an unfinished session can be resumed."""
        self._at_work().close()
        self._is_closed = True

    @property
    def folder(self) -> Path:
        """Folder of the session: a run folder, for `segarena report`."""
        return self._folder

    @cached_property
    def connector(self) -> ServiceConnector:
        """Object that provides the session's robot as `service.robot`, for scripts that use it."""
        if self._plan is None:
            rules = self._entered().rules
        else:
            rules = self._plan.benchmark
        (spec,) = rules.users
        user: ScribbleRobot = build("user", spec)
        robot = InteractiveScribblesRobot.drawing_by(user.settings)
        return ServiceConnector(Service(robot))

    @property
    def report_name(self) -> str:
        """File name of the report, without `.tmp.csv` or `.csv`."""
        return self._entered().report_name

    @cached_property
    def samples(self) -> list[tuple[str, int]]:
        """All samples in order: the sequence, and the index (from 1) of the person who starts it.

        The first access opens all videos.
        """
        return self._entered().all_samples()

    @property
    def sample_idx(self) -> int | None:
        """Index of the open sample in `samples`; None if no sample is open."""
        if self._opened is None:
            return None
        return self.samples.index((self._opened.sequence, self._opened.scribble_idx))

    @property
    def sample_last_scribble(self) -> dict[str, Any] | None:
        """The newest scribbles for the open sample, or None if there are none."""
        return copy.deepcopy(dict(self._given[-1])) if self._given else None

    def frames(self) -> Sequence[Any]:
        """Return the frames of the open sample, uint8 (H, W, 3) each, which a sequence without a local copy needs."""
        return self._at_work().frames()

    def next(self) -> bool:
        """Go to the next interaction or, after the last one, to the next sample; return False at the end.

        A sample ends after its last interaction, when its time is used up (including time for
        scribbles without a prediction), or when the robot has nothing to draw.
        """
        connector = self._at_work()
        self._spend_own_time(connector)
        if self._is_fetched and connector.give_up(self._clock() - self._asked_at):
            self._is_fetched = self._is_waiting = False
        while not self._is_finished:
            if self._opened is not None and (self._is_waiting or self._ask(connector)):
                break
            self._open(connector.advance())
            if self._opened is None:
                connector.finish()
                self._is_finished = True
        self._left_at = self._clock()
        return not self._is_finished

    def get_scribbles(self, only_last: bool = False) -> tuple[str, dict[str, Any], bool]:
        """Return the sequence, the scribbles, and whether a new sample begins; start the clock for the prediction.

        Args:
            only_last: return only the newest scribbles; otherwise all scribbles of this sample so
                far. The first call after resuming a session always returns all of them, because the
                script no longer has the earlier ones.

        Raises:
            ProtocolViolation: `next` was not called or returned False, or there is no prediction
                for the last scribbles yet.
        """
        connector = self._at_work()
        if self._opened is None or not self._is_waiting:
            raise ProtocolViolation(
                "no scribbles are available; call next() first, and stop when it returns False"
            )
        if self._is_fetched:
            raise ProtocolViolation(
                "there are no masks for the last scribbles yet; call submit_masks() first"
            )
        self._spend_own_time(connector)
        is_new = self._is_new
        self._is_new = False
        if only_last and not (is_new and self._opened.earlier):
            current = self._given[-1:]
        else:
            # A resumed session returns the earlier rounds once, even if only the last is requested.
            current = self._given
        # Copies, so that callers can modify the result without changing later rounds.
        fused = copy.deepcopy(dict(current[0]))
        for scribbles in current[1:]:
            fused = fuse_scribbles(fused, copy.deepcopy(dict(scribbles)))
        self._is_fetched = True
        self._left_at = self._asked_at = self._clock()
        return self._opened.sequence, fused, is_new

    def scribbles_iterator(
        self, only_last: bool = False
    ) -> Iterator[tuple[str, dict[str, Any], bool]]:
        """Yield the result of `get_scribbles` for every interaction of all samples."""
        while self.next():
            yield self.get_scribbles(only_last=only_last)

    def submit_masks(
        self, pred_masks: Any, next_scribble_frame_candidates: Sequence[int] | None = None
    ) -> None:
        """Submit masks for the last scribbles.

        When this method returns, they are stored on disk, or the server has received them. A
        prediction after the sample's time limit is dropped, with a warning.

        Args:
            pred_masks: object ids (T, H, W), 0 for the background.
            next_scribble_frame_candidates: the frames among which the robot chooses the worst; None
                or an empty list means all. Invalid indices are ignored, with a warning.

        Raises:
            ProtocolViolation: `get_scribbles` was not called before.
            PredictionInvalid: the shape, type or ids are wrong; the masks can be submitted again,
                and the clock keeps running.
        """
        seconds = self._clock() - self._asked_at
        connector = self._at_work()
        if self._opened is None or not self._is_fetched:
            raise ProtocolViolation(
                "no scribbles are waiting for masks; call get_scribbles() first"
            )
        candidates = check_frame_candidates(next_scribble_frame_candidates, self._opened.shape[0])
        if not connector.submit(masks_array(pred_masks), seconds=seconds, candidates=candidates):
            limit_s = connector.rules.options["seconds_per_object"] * self._opened.objects
            warnings.warn(
                f"{self._opened.sequence}: the time limit of {limit_s:g} s for {self._opened.objects} objects was "
                "over when the masks were submitted; they were dropped",
                stacklevel=2,
            )
        self._is_fetched = self._is_waiting = False
        self._left_at = self._clock()

    def get_report(self) -> Any:
        """Return the report so far as a pandas DataFrame or, without pandas, a polars one.

        It has one row per interaction, frame and object. With a server, it has one row per
        interaction, without scores.
        """
        report = self._entered().report()
        try:
            pandas: Any = importlib.import_module("pandas")
        except ImportError:
            return report
        return pandas.DataFrame(report.to_dict(as_series=False))

    def get_global_summary(self, save_file: str | Path | None = None) -> dict[str, Any]:
        """Return the curve, the area under it, and the value at 60 s; empty, with a warning, before the session ends.

        With a server, the result contains the state of the run, its scores and its rank.

        Args:
            save_file: also write the summary to this file, as JSON.

        Raises:
            StoreError: the file is not writable.
        """
        if not self._is_finished:
            warnings.warn(
                "there is no summary yet, because the session is not finished", stacklevel=2
            )
            return {}
        summary = self._entered().summary()
        if save_file is not None:
            write_atomic(Path(save_file), json.dumps(summary, indent=2))
        return summary

    def _at_work(self) -> Connector:
        if self._is_closed:
            raise ProtocolViolation(
                "the session was left; enter it again to continue: with session:"
            )
        return self._entered()

    def _entered(self) -> Connector:
        if self._connector is None:
            raise ProtocolViolation(
                "the session was not entered; write: with DavisInteractiveSession(...) as session:"
            )
        return self._connector

    def _ask(self, connector: Connector) -> bool:
        scribbles = connector.ask()
        if scribbles is None:
            return False
        self._given.append(scribbles)
        self._is_waiting = True
        return True

    def _open(self, opened: CurrentSample | None) -> None:
        self._opened = opened
        self._given: list[Scribbles] = list(opened.earlier) if opened is not None else []
        self._is_new = True
        self._is_waiting = self._is_fetched = False

    def _spend_own_time(self, connector: Connector) -> None:
        """Charge the participant's time between two interactions to the sample."""
        if self._opened is not None and not self._is_fetched:
            connector.spend(self._clock() - self._left_at)
            self._left_at = self._clock()


def _server(
    host: str,
    user_key: str | None,
    folder: Path,
    *,
    name: str,
    davis_root: str | Path | None,
) -> Connector:
    """Connect to a server."""
    # The client needs an optional dependency, which local sessions must not require.
    from segarena.systems.videos.session.server_connector import LocalImages, ServerConnector

    root = davis_root or os.environ.get("DATASET_DAVIS")
    images = None if root is None else LocalImages(root)
    return ServerConnector(
        host,
        token=user_key,
        folder=folder,
        name=name,
        images=images,
    )

"""Cached checks of large scenes: only changed parts are checked again, and each drawing only once."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import msgspec

from segarena.errors import InvalidMask
from segarena.systems.scenes.checks.single_annotation_checks import region_centre
from segarena.systems.scenes.model.incremental_check_cache import CheckMemory, CheckProgress
from segarena.systems.scenes.model.rasters import Rasters, RegionRaster, rasterise
from segarena_server.site import Site
from segarena_studio.annotation.scene_checks import CheckResult, check_document
from segarena_studio.annotation.scene_document import Document, document_to_scene
from segarena_studio.orm_models import Picture

_MOST_DRAWINGS = 256
"""Number of drawings whose results are kept; each has some hundred bytes per region."""
_LARGE_SCENE = 50
"""Minimum number of regions for a drawing to be analysed ahead; smaller ones take a fraction of a second."""
_AHEAD_EVERY_S = 60.0
_MOST_TASKS = 8
"""Number of tasks whose intermediate results are kept; each holds the masks of one scene."""
_REQUESTED_AT_ONCE = 2
"""Number of requested drawings that are analysed at the same time; the others wait."""


class SceneAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a drawing that takes a long time to compute.

    Attributes:
        result: result of the checks.
        occlusions: hidden share of each region, front first; None if the regions have too many
            pixels.
        numbers_at: (x, y) at which the number of each region is drawn; None without pixels.
    """

    result: CheckResult
    occlusions: tuple[float | None, ...]
    numbers_at: tuple[tuple[float, float] | None, ...]


@dataclass(slots=True)
class _TaskMemory:
    memory: CheckMemory = field(default_factory=CheckMemory)
    lock: threading.Lock = field(default_factory=threading.Lock)
    ahead_at: float = -math.inf
    """When the drawing was last analysed ahead."""


# Two concurrent first requests must not make two caches.
_MAKING = threading.Lock()


class CheckCache:
    """Analyses of drawings by content, and intermediate results of the tasks that were checked last.

    Safe for several threads: different tasks are analysed at the same time, and the drawings of one
    task one after the other, so that the second analysis finds the result of the first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ahead = threading.Lock()
        self._analyses: OrderedDict[bytes, SceneAnalysis] = OrderedDict()
        self._tasks: OrderedDict[int, _TaskMemory] = OrderedDict()
        self._requested: dict[bytes, Future[SceneAnalysis]] = {}
        self._slots = threading.Semaphore(_REQUESTED_AT_ONCE)

    def analyse(
        self,
        task_id: int,
        document: Document,
        picture: Picture,
    ) -> SceneAnalysis:
        """Return the analysis of a drawing; compute only what differs from the task's last analysis."""
        key = _content_key(document, picture)
        found = self._find(key)
        if found is not None:
            return found
        task = self._memory_of(task_id)
        with task.lock:
            found = self._find(key)
            if found is not None:
                return found
            try:
                analysis = _analyse(document, picture, task.memory)
            finally:
                task.memory.forget_unused()
                task.memory.progress = None
        with self._lock:
            self._analyses[key] = analysis
            while len(self._analyses) > _MOST_DRAWINGS:
                self._analyses.popitem(last=False)
        return analysis

    def request_analysis(
        self,
        task_id: int,
        document: Document,
        picture: Picture,
        wait_s: float,
    ) -> SceneAnalysis | None:
        """Return the analysis of a drawing; None if it takes longer than `wait_s`.

        It then continues in a thread of its own, and a later call with the same drawing returns the
        result. `progress_of` returns how far it is.
        """
        key = _content_key(document, picture)
        found = self._find(key)
        if found is not None:
            return found
        with self._lock:
            future = self._requested.get(key)
            is_new = future is None
            if future is None:
                future = self._requested[key] = Future()
        if is_new:
            # A daemon: the analysis of a large scene must not delay the end of the server.
            threading.Thread(
                target=self._answer,
                args=(key, future, task_id, document, picture),
                name="scene-checks",
                daemon=True,
            ).start()
        try:
            return future.result(wait_s)
        except TimeoutError:
            return None

    def progress_of(self, task_id: int) -> CheckProgress | None:
        """Return the progress of a task's analysis; None if it is waiting for other analyses, or if there is none."""
        with self._lock:
            task = self._tasks.get(task_id)
            return task.memory.progress if task else None

    def analyse_ahead(
        self,
        task_id: int,
        document: Document,
        picture: Picture,
        now: float,
    ) -> None:
        """Analyse a large drawing off the request path, so that its last check before finishing is short.

        Nothing happens for small drawings, within a minute of the last time for the same task, and
        while another drawing is analysed ahead.
        """
        if len(document.regions) < _LARGE_SCENE or not self._ahead.acquire(blocking=False):
            return
        try:
            task = self._memory_of(task_id)
            if now - task.ahead_at >= _AHEAD_EVERY_S:
                task.ahead_at = now
                self.analyse(task_id, document, picture)
        finally:
            self._ahead.release()

    def _answer(
        self,
        key: bytes,
        future: Future[SceneAnalysis],
        task_id: int,
        document: Document,
        picture: Picture,
    ) -> None:
        try:
            with self._slots:
                future.set_result(self.analyse(task_id, document, picture))
        except Exception as error:
            # The requests that wait for the result raise it.
            future.set_exception(error)
        finally:
            with self._lock:
                del self._requested[key]

    def _find(self, key: bytes) -> SceneAnalysis | None:
        with self._lock:
            found = self._analyses.get(key)
            if found is not None:
                self._analyses.move_to_end(key)
            return found

    def _memory_of(self, task_id: int) -> _TaskMemory:
        with self._lock:
            task = self._tasks.setdefault(task_id, _TaskMemory())
            self._tasks.move_to_end(task_id)
            while len(self._tasks) > _MOST_TASKS:
                self._tasks.popitem(last=False)
            return task


def check_cache_of(site: Site) -> CheckCache:
    """Return the cache of a serving process."""
    with _MAKING:
        if CheckCache not in site.things:
            site.things[CheckCache] = CheckCache()
        return site.things[CheckCache]


def _analyse(
    document: Document,
    picture: Picture,
    memory: CheckMemory,
) -> SceneAnalysis:
    scene = document_to_scene(document, name=picture.name, shape=(picture.height, picture.width))
    rasters: Rasters | None = None
    regions: Sequence[RegionRaster | None] = [None] * len(scene.regions)
    try:
        rasters = rasterise(scene, memory=memory)
        regions = rasters.regions
    except InvalidMask:
        # The checks report it as an error; the page shows such a scene without pixels.
        pass
    result = check_document(document, picture, scene=scene, rasters=rasters, memory=memory)
    occlusions: list[float | None] = []
    numbers_at: list[tuple[float, float] | None] = []
    for raster in regions:
        occlusions.append(raster.occlusion if raster else None)
        numbers_at.append(_number_at(raster) if raster else None)
    return SceneAnalysis(
        result=result,
        occlusions=tuple(occlusions),
        numbers_at=tuple(numbers_at),
    )


def _number_at(raster: RegionRaster) -> tuple[float, float] | None:
    """Return the position (x, y) of a region's number, in the region's visible part if there is one."""
    at = region_centre(replace(raster, amodal=raster.visible)) or region_centre(raster)
    if at is None:
        return None
    row, column = at
    return column, row


def _content_key(document: Document, picture: Picture) -> bytes:
    """Return a key of everything that an analysis depends on."""
    about = msgspec.json.encode((picture.name, picture.width, picture.height))
    return blake2b(about + msgspec.json.encode(document), digest_size=16).digest()

"""Checks of large scenes: only what has changed is checked again, and each drawing only once."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import msgspec

from segarena.errors import InvalidMask
from segarena.systems.scenes.checks.quality import region_centre
from segarena.systems.scenes.model.check_memory import CheckMemory
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


class SceneAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a drawing that takes long to compute.

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

    def analyse(
        self,
        task_id: int,
        document: Document,
        picture: Picture,
    ) -> SceneAnalysis:
        """Return the analysis of a drawing; compute only what differs from the last one of the task."""
        key = _content_key(document, picture)
        found = self._find(key)
        if found is not None:
            return found
        task = self._memory_of(task_id)
        with task.lock:
            found = self._find(key)
            if found is not None:
                return found
            analysis = _analyse(document, picture, task.memory)
            task.memory.forget_unused()
        with self._lock:
            self._analyses[key] = analysis
            while len(self._analyses) > _MOST_DRAWINGS:
                self._analyses.popitem(last=False)
        return analysis

    def analyse_ahead(
        self,
        task_id: int,
        document: Document,
        picture: Picture,
        now: float,
    ) -> None:
        """Analyse a large drawing off the request path, so that finishing it has little left to do.

        Nothing happens for small drawings, soon after the last time, and while another drawing is
        analysed ahead.
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
    result = check_document(document, picture, rasters=rasters, memory=memory)
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
    """Return (x, y) of a region's number, on its visible part if there is one."""
    at = region_centre(replace(raster, amodal=raster.visible)) or region_centre(raster)
    if at is None:
        return None
    row, column = at
    return column, row


def _content_key(document: Document, picture: Picture) -> bytes:
    """Return a key of everything that an analysis depends on."""
    about = msgspec.json.encode((picture.name, picture.width, picture.height))
    return blake2b(about + msgspec.json.encode(document), digest_size=16).digest()

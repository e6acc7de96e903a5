"""Memory of the intermediate results of checks, so that a check after an edit repeats only what changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar, cast

from segarena.systems.scenes.model.polygons import Points

Value = TypeVar("Value")


class CheckProgress(NamedTuple):
    """Progress of a check in its current step.

    Attributes:
        step: "areas", "outlines", "hidden regions", "duplicates", "concavities" or "borders".
        done: number of regions or pairs that are finished.
        total: number of them in this step.
        unit: "regions" or "pairs".
    """

    step: str
    done: int
    total: int
    unit: str


class CheckMemory:
    """Results for outlines and pairs of outlines of one image, kept from one check to the next.

    Keys contain everything that a result depends on, so a result is never stale: an edited region
    has a different outline and thus different keys, and so do its pairs with its neighbours.
    After a check, `forget_unused` drops the results that the check did not use, so that the memory
    does not hold more than one scene. Not thread-safe, except that other threads may read
    `progress`.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}
        self._used: dict[Hashable, Any] = {}
        self.computed = 0
        """Number of results that the checks had to compute."""
        self.progress: CheckProgress | None = None
        """Progress of the check under way; None before the first one."""

    def recall(
        self,
        key: Hashable,
        compute: Callable[[], Value],
    ) -> Value:
        """Return the result for a key; compute it if no earlier check has."""
        if key in self._used:
            return cast("Value", self._used[key])
        if key in self._kept:
            value = self._kept[key]
        else:
            value = compute()
            self.computed += 1
        self._used[key] = value
        return cast("Value", value)

    def track(
        self,
        step: str,
        items: Sequence[Value],
        unit: str = "regions",
    ) -> Iterator[Value]:
        """Yield the items of a step of the check, and update `progress`."""
        for done, item in enumerate(items):
            self.progress = CheckProgress(step, done, len(items), unit)
            yield item

    def forget_unused(self) -> None:
        """Forget the results that no check has used since the last call."""
        self._kept = self._used
        self._used = {}


def outline_key(*outlines: Points, has_holes: bool = False) -> bytes:
    """Return a 16-byte key for the polygons of a region; equal polygons have equal keys."""
    # The same polygons have another extent if some of them are holes.
    digest = blake2b(b"holes" if has_holes else b"", digest_size=16)
    for points in outlines:
        # The length separates two polygons from one with the vertices of both.
        digest.update(len(points).to_bytes(8, "little"))
        digest.update(points.tobytes())
    return digest.digest()

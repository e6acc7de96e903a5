"""Only what has changed is checked again, with the same results as checks of whole scenes."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from annotation_fixtures import text_of

from segarena_studio.annotation import scene_check_cache
from segarena_studio.annotation.scene_check_cache import CheckCache
from segarena_studio.annotation.scene_checks import check_document
from segarena_studio.annotation.scene_document import read_document

PICTURE = SimpleNamespace(name="street.png", width=400, height=300)


def drawn(rng, regions=12, corners=8):
    """Return a document of star-shaped regions, some of which overlap or nearly touch."""
    points = []
    outlines = []
    for number in range(regions):
        radius = rng.uniform(15, 60)
        middle = rng.uniform((0, 0), (400, 300))
        angles = np.arange(corners) / corners * 2 * np.pi
        radii = radius * rng.uniform(0.7, 1.1, corners)
        ring = middle + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        first = len(points)
        points += np.round(ring, 2).tolist()
        outlines.append(
            {
                "id": f"r{number + 1}",
                "ring": list(range(first, len(points))),
                "name": f"thing {number}",
                "is_stuff": False,
            }
        )
    return {"version": 1, "points": points, "regions": outlines, "next_id": regions + 1}


def edited(document, rng):
    """Return the document after one edit of a random kind."""
    points = [list(point) for point in document["points"]]
    regions = [dict(region) for region in document["regions"]]
    kind = rng.integers(5)
    place = int(rng.integers(len(regions)))
    if kind == 0:
        points[int(rng.integers(len(points)))] = rng.uniform((0, 0), (400, 300)).round(2).tolist()
    elif kind == 1:
        regions.insert(0, regions.pop(place))
    elif kind == 2:
        regions[place]["name"] = ""
    elif kind == 3 and len(regions) > 3:
        regions.pop(place)
    else:
        copy = {**regions[place], "id": f"r{document['next_id']}"}
        regions.insert(int(rng.integers(len(regions))), copy)
    return {
        **document,
        "points": points,
        "regions": regions,
        "next_id": document["next_id"] + 1,
    }


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_checks_after_edits_equal_checks_of_the_whole_scene(seed):
    rng = np.random.default_rng(seed)
    cache = CheckCache()
    document = drawn(rng)
    for _ in range(15):
        read = read_document(text_of(document))
        assert cache.analyse(1, read, PICTURE).result == check_document(read, PICTURE)
        document = edited(document, rng)


def test_an_edit_repeats_only_the_work_for_its_region_and_neighbours():
    rng = np.random.default_rng(1)
    cache = CheckCache()
    document = drawn(rng, regions=40)
    cache.analyse(1, read_document(text_of(document)), PICTURE)
    memory = cache._tasks[1].memory
    whole = memory.computed
    document["points"][5][0] += 1
    cache.analyse(1, read_document(text_of(document)), PICTURE)
    assert 0 < memory.computed - whole < whole / 8
    # What was analysed before is not analysed again, by whomever.
    repeated = memory.computed
    cache.analyse(1, read_document(text_of(document)), PICTURE)
    cache.analyse(2, read_document(text_of(document)), PICTURE)
    assert memory.computed == repeated
    assert 2 not in cache._tasks


def test_pictures_of_other_sizes_or_names_are_other_drawings():
    document = read_document(text_of(drawn(np.random.default_rng(2))))
    cache = CheckCache()
    smaller = SimpleNamespace(name="street.png", width=200, height=300)
    for picture in (PICTURE, smaller, PICTURE):
        assert cache.analyse(1, document, picture).result == check_document(document, picture)


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(scene_check_cache, "_MOST_TASKS", 2)
    monkeypatch.setattr(scene_check_cache, "_MOST_DRAWINGS", 3)
    cache = CheckCache()
    rng = np.random.default_rng(3)
    for task in range(5):
        cache.analyse(task, read_document(text_of(drawn(rng))), PICTURE)
    assert list(cache._tasks) == [3, 4]
    assert len(cache._analyses) == 3
    first = cache._tasks[4].memory
    for _ in range(3):
        cache.analyse(4, read_document(text_of(drawn(rng))), PICTURE)
    # Each drawing is another one, and results of earlier ones are forgotten.
    assert len(first._kept) < first.computed / 2


@pytest.mark.long
def test_large_drawings_are_analysed_ahead_but_not_all_the_time():
    cache = CheckCache()
    rng = np.random.default_rng(4)
    small, *large = (read_document(text_of(drawn(rng, regions=count))) for count in (5, 60, 60))
    cache.analyse_ahead(1, small, PICTURE, 0.0)
    assert not cache._analyses
    cache.analyse_ahead(1, large[0], PICTURE, 0.0)
    cache.analyse_ahead(1, large[1], PICTURE, 30.0)
    assert len(cache._analyses) == 1
    cache.analyse_ahead(1, large[1], PICTURE, 60.0)
    assert len(cache._analyses) == 2


def test_a_long_analysis_continues_after_the_request_and_tells_its_progress(monkeypatch):
    going, seen = threading.Event(), []
    check = scene_check_cache.check_document

    def slow_check(*given, memory, **options):
        seen.append(memory.progress)
        assert going.wait(30)
        return check(*given, memory=memory, **options)

    monkeypatch.setattr(scene_check_cache, "check_document", slow_check)
    cache = CheckCache()
    document = read_document(text_of(drawn(np.random.default_rng(5))))
    assert cache.progress_of(1) is None
    for _ in range(2):
        assert cache.request_analysis(1, document, PICTURE, 0.05) is None
    assert cache.progress_of(1) == ("areas", 11, 12, "regions")
    going.set()
    analysis = cache.request_analysis(1, document, PICTURE, 30)
    assert analysis.result == check(document, PICTURE)
    assert len(seen) == 1
    assert cache.progress_of(1) is None
    deadline = time.monotonic() + 30
    while cache._requested and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not cache._requested


def test_every_step_of_a_check_is_tracked(monkeypatch):
    steps = []
    track = scene_check_cache.CheckMemory.track

    def recorded(memory, step, items, unit="regions"):
        steps.append((step, len(items), unit))
        yield from track(memory, step, items, unit)

    monkeypatch.setattr(scene_check_cache.CheckMemory, "track", recorded)
    CheckCache().analyse(1, read_document(text_of(drawn(np.random.default_rng(6)))), PICTURE)
    regions = ("areas", "outlines", "hidden regions", "concavities")
    assert [step for step in steps if step[2] == "regions"] == [
        (step, 12, "regions") for step in regions
    ]
    pairs = {step: count for step, count, unit in steps if unit == "pairs"}
    assert set(pairs) == {"duplicates", "borders"}
    assert min(pairs.values()) > 0


def test_an_error_of_an_analysis_reaches_the_requests_that_wait(monkeypatch):
    def failing(*_, **__):
        raise ValueError("no memory")

    monkeypatch.setattr(scene_check_cache, "check_document", failing)
    document = read_document(text_of(drawn(np.random.default_rng(7))))
    with pytest.raises(ValueError, match="no memory"):
        CheckCache().request_analysis(1, document, PICTURE, 30)

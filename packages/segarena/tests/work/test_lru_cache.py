"""The least-recently-used cache: both limits, the order of eviction, and the newest entries, which stay."""

from segarena.work.lru_cache import LruCache


def test_the_least_recently_used_is_evicted_when_there_are_too_many() -> None:
    cache = LruCache[str, int](max_entries=2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)


def test_peeking_does_not_count_as_a_use() -> None:
    cache = LruCache[str, int](max_entries=2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.peek("a") == 1
    cache.put("c", 3)
    assert cache.peek("a") is None


def test_replacing_and_removing_give_the_bytes_back() -> None:
    cache = LruCache[str, int](max_bytes=100)
    cache.put("a", 1, 60)
    cache.put("a", 2, 60)
    assert cache.get("a") == 2
    assert cache.pop("a") == 2
    assert cache.pop("a") is None
    cache.put("b", 3, 60)
    cache.put("c", 4, 40)
    assert len(cache) == 2


def test_the_newest_stays_only_where_it_should() -> None:
    strict = LruCache[str, int](max_bytes=100)
    strict.put("large", 1, 101)
    assert strict.get("large") is None
    lenient = LruCache[str, int](max_bytes=100, min_entries=1)
    lenient.put("small", 1, 10)
    lenient.put("large", 2, 101)
    assert (lenient.get("small"), lenient.get("large")) == (None, 2)


def test_some_of_the_newest_stay_whatever_their_size() -> None:
    cache = LruCache[str, int](max_entries=3, max_bytes=100, min_entries=2)
    for number, key in enumerate(("a", "b", "c")):
        cache.put(key, number, 101)
    assert [cache.peek(key) for key in ("a", "b", "c")] == [None, 1, 2]
    for number, key in enumerate(("d", "e", "f", "g")):
        cache.put(key, number, 1)
    assert [cache.peek(key) for key in ("d", "e", "f", "g")] == [None, 1, 2, 3]

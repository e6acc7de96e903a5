"""The least-recently-used cache: both limits, the order of eviction, and the newest entry that stays."""

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
    lenient = LruCache[str, int](max_bytes=100, keeps_last=True)
    lenient.put("small", 1, 10)
    lenient.put("large", 2, 101)
    assert (lenient.get("small"), lenient.get("large")) == (None, 2)

"""Samples are loaded ahead in one thread, each once, within limits, with the outcomes of loading them in turn."""

import sqlite3
import threading
import time

import numpy as np
import pytest

import segarena
from segarena import ImageSample, Target
from segarena.engine.sample_prefetch import SamplePrefetcher
from segarena.errors import PredictTimeout, WorkError
from segarena.samples import Sample

LONG_S = 30.0


def sample_of(sample_id, side=16):
    mask = np.zeros((side, side), bool)
    mask[2:9, 2:9] = True
    image = np.zeros((side, side, 3), np.uint8)
    image[mask] = 200
    return ImageSample(id=sample_id, image=image, targets=(Target(id="0", mask=mask),))


class Loads:
    """Loads samples, and notes which, in which thread, and how many at the same time."""

    def __init__(self, behaviour=None):
        self.behaviour = behaviour or {}
        self.ids = []
        self.threads = set()
        self.at_once = 0
        self.most_at_once = 0
        self.lock = threading.Lock()

    def __call__(self, sample_id) -> Sample:
        with self.lock:
            self.ids.append(sample_id)
            self.threads.add(threading.current_thread().name)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return self.behaviour.get(sample_id, sample_of)(sample_id)
        finally:
            self.at_once -= 1


def prefetch_threads():
    return {thread for thread in threading.enumerate() if thread.name == "segarena-prefetch"}


def wait_until(is_true):
    deadline = time.monotonic() + LONG_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture
def is_prefetching():
    """Whether this test has such a thread; tests before it may have left one that sleeps in a system call."""
    others = prefetch_threads()
    return lambda: bool(prefetch_threads() - others)


@pytest.fixture
def prefetch():
    made = []

    def make(load, names="abcdef", **options):
        settings = {"limit_s": LONG_S, "max_samples": 2, "max_bytes": 10**9, **options}
        made.append(SamplePrefetcher(load, list(names), **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_nothing_is_loaded_ahead_before_the_start(prefetch):
    loads = Loads()
    prefetcher = prefetch(loads)
    assert prefetcher.load("a").id == "a"
    assert loads.ids == ["a"]
    assert loads.threads == {"MainThread"}


def test_each_sample_is_loaded_once_in_order_and_never_two_at_a_time(prefetch):
    loads = Loads()
    prefetcher = prefetch(loads)
    prefetcher.load("a")
    prefetcher.start()
    for name in "bcdef":
        assert prefetcher.load(name).id == name
    assert loads.ids == list("abcdef")
    assert loads.most_at_once == 1
    assert loads.threads == {"MainThread", "segarena-prefetch"}


def test_as_many_samples_are_loaded_ahead_as_allowed(prefetch):
    loads = Loads()
    prefetcher = prefetch(loads, max_samples=2)
    prefetcher.load("a")
    prefetcher.start()
    wait_until(lambda: loads.ids == ["a", "b", "c"])
    prefetcher.load("b")
    wait_until(lambda: loads.ids == ["a", "b", "c", "d"])


def test_no_load_starts_while_the_memory_is_full_but_the_requested_sample_comes(prefetch):
    loads = Loads()
    prefetcher = prefetch(loads, max_samples=5, max_bytes=1)
    prefetcher.start()
    wait_until(lambda: loads.ids == ["a"])
    assert [each.id for each in prefetcher.following("a", 3)] == []
    for name in "abcdef":
        assert prefetcher.load(name).id == name
    assert loads.ids == list("abcdef")


def test_an_exception_reaches_the_sample_whose_loading_raised_it(prefetch):
    def fail(sample_id):
        raise OSError(f"{sample_id} is damaged")

    loads = Loads({"b": fail, "d": fail})
    prefetcher = prefetch(loads)
    prefetcher.start()
    for name in "abcdef":
        if name in "bd":
            with pytest.raises(OSError, match=f"{name} is damaged"):
                prefetcher.load(name)
        else:
            assert prefetcher.load(name).id == name
    assert loads.ids == list("abcdef")


def test_a_load_that_hangs_ends_in_time_and_the_rest_is_loaded_in_turn(prefetch, is_prefetching):
    def hang(sample_id):
        while True:
            time.sleep(0.001)

    loads = Loads({"b": hang})
    prefetcher = prefetch(loads, limit_s=0.05)
    prefetcher.start()
    prefetcher.load("a")
    with pytest.raises(PredictTimeout, match=r"loading b took longer than the limit of 0\.05 s"):
        prefetcher.load("b")
    for name in "cdef":
        assert prefetcher.load(name).id == name
    assert loads.ids == list("abcdef")
    assert loads.most_at_once == 1
    wait_until(lambda: not is_prefetching())


def test_a_load_that_was_too_slow_fails_even_if_nobody_waited_for_it(prefetch):
    def slow(sample_id):
        time.sleep(0.05)
        return sample_of(sample_id)

    loads = Loads({"b": slow})
    prefetcher = prefetch(loads, limit_s=0.02)
    prefetcher.start()
    prefetcher.load("a")
    wait_until(lambda: loads.ids == list("abc"))
    with pytest.raises(PredictTimeout, match="loading b"):
        prefetcher.load("b")


def test_a_connection_of_another_thread_is_used_in_its_own(prefetch):
    connection = sqlite3.connect(":memory:")

    def read(sample_id):
        connection.execute("select 1")
        return sample_of(sample_id)

    loads = Loads(dict.fromkeys("abcdef", read))
    prefetcher = prefetch(loads)
    prefetcher.load("a")
    prefetcher.start()
    for name in "bcdef":
        assert prefetcher.load(name).id == name
    assert not prefetcher.is_ahead
    connection.close()


def test_following_samples_stay_loaded_and_failed_ones_are_left_out(prefetch):
    def fail(sample_id):
        raise OSError("damaged")

    loads = Loads({"c": fail})
    prefetcher = prefetch(loads, max_samples=4)
    assert prefetcher.following("a", 3) == []
    prefetcher.start()
    first = prefetcher.load("a")
    following = prefetcher.following(first.id, 3)
    assert [each.id for each in following] == ["b", "d"]
    assert prefetcher.load("b") is following[0]
    with pytest.raises(OSError, match="damaged"):
        prefetcher.load("c")
    assert prefetcher.load("d") is following[1]
    assert prefetcher.following("f", 3) == []


class Counted:
    """A dataset that notes its loads; `wrong` maps samples to the exception of their loading."""

    name = "counted"
    fingerprint = "counted-1"

    def __init__(self, count=6, wrong=None):
        self.sample_ids = [f"s{index}" for index in range(count)]
        self.wrong = wrong or {}
        self.loads = Loads()

    def load(self, sample_id):
        loaded = self.loads(sample_id)
        if sample_id in self.wrong:
            raise self.wrong[sample_id]
        return loaded


def files_of(run):
    found = {}
    for folder in ("records", "masks"):
        for file in sorted((run.path / folder).glob("*.parquet")):
            found[f"{folder}/{file.name}"] = file.read_bytes()
    return found


def evaluated(tmp_path, name, dataset, **options):
    return segarena.evaluate(
        "clicks",
        segmenter=options.pop("segmenter", "watershed"),
        dataset=dataset,
        rounds=2,
        out=tmp_path / name,
        **options,
    )


def test_records_are_the_same_with_and_without_prefetching(tmp_path):
    wrong = {"s2": OSError("disk"), "s4": ValueError("no image")}
    ahead, plain = Counted(wrong=wrong), Counted(wrong=wrong)
    run = evaluated(tmp_path, "ahead", ahead)
    assert files_of(run) == files_of(evaluated(tmp_path, "plain", plain, prefetch=0))
    assert ahead.loads.ids == plain.loads.ids == ahead.sample_ids
    assert ahead.loads.most_at_once == 1
    assert plain.loads.threads == {"MainThread"}
    assert "segarena-prefetch" in ahead.loads.threads


def test_the_next_sample_is_loaded_while_dialogues_run(tmp_path):
    dataset = Counted(count=4)

    class WaitsForTheNext:
        def encode(self, sample):
            return sample

        def predict(self, encoded, dialogues):
            if encoded.id == "s1":
                wait_until(lambda: dataset.loads.ids[-1] == "s3")
            return [np.ones(encoded.shape, bool)] * len(dialogues)

    run = evaluated(tmp_path, "run", dataset, segmenter=WaitsForTheNext())
    assert run.config.counts.failures == 0


def test_a_run_that_ends_early_loads_no_sample_in_vain(tmp_path):
    class Broken:
        def encode(self, sample):
            raise RuntimeError("no weights")

        predict = encode

    dataset = Counted()
    with pytest.raises(WorkError, match="the first 3 samples all failed"):
        evaluated(tmp_path, "run", dataset, segmenter=Broken(), keep_going=False)
    assert dataset.loads.ids == ["s0", "s1", "s2"]


def test_a_stopped_run_resumes_with_the_same_records_and_leaves_no_thread(tmp_path, is_prefetching):
    stops_at = set()

    class StopsAt:
        def encode(self, sample):
            if sample.id in stops_at:
                raise KeyboardInterrupt
            return sample

        def predict(self, encoded, dialogues):
            return [np.ones(encoded.shape, bool)] * len(dialogues)

    whole = evaluated(tmp_path, "whole", Counted(), segmenter=StopsAt())
    stops_at.add("s3")
    with pytest.raises(KeyboardInterrupt):
        evaluated(tmp_path, "stopped", Counted(), segmenter=StopsAt())
    stops_at.clear()
    wait_until(lambda: not is_prefetching())
    resumed = Counted()
    run = evaluated(tmp_path, "stopped", resumed, segmenter=StopsAt())
    assert files_of(run) == files_of(whole)
    assert resumed.loads.ids == ["s3", "s4", "s5"]


@pytest.mark.long
def test_a_hanging_load_is_the_failure_of_its_sample(tmp_path):
    class Hangs(Counted):
        def load(self, sample_id):
            loaded = super().load(sample_id)
            while sample_id == "s3":
                time.sleep(0.001)
            return loaded

    dataset = Hangs()
    run = evaluated(tmp_path, "run", dataset, time_limit_s=0.1)
    failed = run.records().filter(run.records()["failure"].is_not_null())
    assert failed["sample"].to_list() == ["s3"]
    assert (
        "loading s3 took longer than the limit of 1 s; raise --time-limit" in failed["failure"][0]
    )
    assert dataset.loads.ids == dataset.sample_ids


class InBatches:
    """Encodes several samples at once, and answers with their brightness."""

    image_batch = 3

    def __init__(self, fails=False, count=None):
        self.batches = []
        self.alone = []
        self.fails = fails
        self.count = count

    def encode(self, sample):
        assert not sample.targets
        self.alone.append(sample.id)
        return sample

    def encode_batch(self, samples):
        assert not any(sample.targets for sample in samples)
        self.batches.append([sample.id for sample in samples])
        if self.fails:
            raise RuntimeError("too large")
        return samples[: self.count]

    def predict(self, encoded, dialogues):
        return [encoded.image[..., 0] > 100] * len(dialogues)


def test_following_samples_are_encoded_in_one_pass_whose_seconds_they_share(tmp_path):
    segmenter = InBatches()
    run = evaluated(tmp_path, "run", Counted(count=8), segmenter=segmenter)
    assert segmenter.alone == ["s0", "s7"]
    assert segmenter.batches == [["s1", "s2", "s3"], ["s4", "s5", "s6"]]
    assert run.config.counts.encodes == 8
    timings = run.timings()
    seconds = dict(timings.filter(timings["user"] == "").select("sample", "predict_s").iter_rows())
    assert seconds["s1"] == seconds["s2"] == seconds["s3"]
    assert run.config.counts.failures == 0


@pytest.mark.parametrize("wrong", [{"fails": True}, {"count": 1}])
def test_a_batch_that_fails_is_encoded_one_by_one(tmp_path, wrong):
    segmenter = InBatches(**wrong)
    with pytest.warns(RuntimeWarning, match="3 samples could not be encoded together"):
        run = evaluated(tmp_path, "run", Counted(count=4), segmenter=segmenter)
    assert segmenter.batches == [["s1", "s2", "s3"]]
    assert segmenter.alone == ["s0", "s1", "s2", "s3"]
    plain = InBatches()
    plain.image_batch = 1
    other = evaluated(tmp_path, "plain", Counted(count=4), segmenter=plain)
    assert plain.batches == []
    assert run.records().equals(other.records())


@pytest.mark.long
def test_encodings_of_a_batch_are_cached(tmp_path):
    class Packs(InBatches):
        fingerprint = "1"

        def encode_batch(self, samples):
            # Slower than reading, so that the cache stays on.
            time.sleep(0.05)
            return super().encode_batch(samples)

        def encode(self, sample):
            time.sleep(0.05)
            return super().encode(sample)

        def pack(self, encoded):
            return {"image": encoded.image}

        def unpack(self, arrays):
            return ImageSample(id="", image=arrays["image"])

    first, second = Packs(), Packs()
    run = evaluated(tmp_path, "first", Brightness(), segmenter=first, cache=tmp_path / "cache")
    assert run.config.counts.encodes == 4
    again = evaluated(tmp_path, "second", Brightness(), segmenter=second, cache=tmp_path / "cache")
    assert again.config.counts.encodes_from_cache == 4
    assert second.batches == second.alone == []


class Brightness(Counted):
    """Four images that differ, as the cache tells them apart by their pixels."""

    def __init__(self):
        super().__init__(count=4)

    def load(self, sample_id):
        loaded = super().load(sample_id)
        loaded.image[0, 0] = int(sample_id[1:])
        return loaded
